"""The pages: links that are written relative to a file lead to files, and every public name has its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cosparse
from cosparse import baselines, cluster, images

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
# Pages that others are built into: what they include has links of its own place.
PAGES = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES += [REPOSITORY / "benchmarks" / "README.md", REPOSITORY / "src" / "cosparse" / "operators" / "README.md"]
PAGES += sorted(DOCS.glob("*.md")) + sorted((DOCS / "results").glob("*.md"))
MADE = re.compile(r"^gallery/(\w+)\.rst$")  # by the build, of an example


def anchors(path: Path) -> set[str]:
    """Those that a code host and MyST make of the headings of a page."""
    heads = re.findall(r"^#+ +(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def links(path: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_lead_somewhere(path):
    for link in links(path):
        name, _, anchor = link.partition("#")
        made = MADE.match(name)
        target = DOCS / "examples" / f"{made[1]}.py" if made and made[1] != "index" else path.parent / name
        target = path if not name else target
        assert target.exists() or name == "gallery/index.rst", f"{link} leads nowhere"
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), f"{link}: no such heading"


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("index.rst", [name for name in cosparse.__all__ if name != "__version__"]),
        ("cluster.rst", cluster.__all__),
        ("images.rst", images.__all__),
        ("baselines.rst", [name for name in baselines._modules if name]),
    ],
)
def test_every_public_name_is_documented(page, names):
    """In a list of names, or as a member of a module that is documented whole."""
    text = (DOCS / "api" / page).read_text(encoding="utf-8")
    missing = [name for name in names if not re.search(rf"\b{name}\b", text)]
    assert not missing or ":imported-members:" in text, f"docs/api/{page}: without {missing}"


def test_every_example_has_a_title():
    for path in (DOCS / "examples").glob("*.py"):
        head = re.match(r'"""\n(.+)\n(=+)\n\n\S', path.read_text(encoding="utf-8"))
        assert head and len(head[2]) >= len(head[1]), (
            f"{path.name}: begin with a title underlined by =, and a paragraph"
        )
