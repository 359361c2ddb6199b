"""At the end of a build: every link within the site leads somewhere, and no page is empty."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.util import logging

LEAST = 20  # words of a page's own
APART = {"search.html", "genindex.html"}  # filled by a script, or a list of names


class Page(HTMLParser):
    """The links and anchors of a page, and how many words its article has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.words = self.depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        self.links += [given[name] for name in ("href", "src") if name in given]
        self.depth += tag == "article"

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "article"

    def handle_data(self, data: str) -> None:
        self.words += len(data.split()) if self.depth else 0


def faults(site: Path) -> list[str]:
    """What is broken or empty in a built site."""
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        name = str(path.relative_to(site))
        if page.words < LEAST and path.name not in APART:
            found.append(f"{name}: next to nothing on it ({page.words} words)")
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{name}: {link} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: {link} names an anchor that is not there")
    return sorted(set(found))


def check(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.name == "html":
        for fault in faults(Path(app.outdir)):
            logging.getLogger(__name__).warning(fault, type="whole_site")


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", check)
    return {"parallel_read_safe": True}
