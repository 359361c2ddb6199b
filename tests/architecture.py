"""The parts of docs/architecture.md that are made from the code: `make architecture` writes them, a test compares.

The picture of the rooms comes from the import graph, the walk from a real repair under `sys.setprofile`.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "src" / "cosparse"
PAGE = REPOSITORY / "docs" / "architecture.md"
PICTURE = REPOSITORY / "docs" / "images" / "architecture.svg"

WALK = """
import json, os, sys
import numpy as np
from skimage.data import camera
import cosparse

image = camera()[100:164, 200:264] / 255
noisy = image + 0.1 * np.random.default_rng(0).standard_normal(image.shape)
cosparse.denoise(noisy, 0.1)  # kernels are compiled, modules loaded
root = os.path.dirname(cosparse.__file__) + os.sep
met, depth = {}, 0

def profile(frame, event, _):
    global depth
    code = frame.f_code
    if not code.co_filename.startswith(root) or event not in ("call", "return"):
        return
    if event == "return":
        depth -= 1
        return
    depth += 1
    name = code.co_qualname.replace(".<locals>", "")
    if not any(part.startswith("<") for part in name.split(".")):
        met.setdefault((code.co_filename[len(root):-3].replace(os.sep, "."), name), depth)

sys.setprofile(profile)
cosparse.denoise(noisy, 0.1)
sys.setprofile(None)
print(json.dumps([[*place, depth] for place, depth in met.items()]))
"""


def walked() -> list[tuple[str, str, int]]:
    """The functions that one grey array meets in `denoise`: module, name, how deep; each when it is first met."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "COSPARSE_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", WALK], env=environment, capture_output=True, text=True, check=True)
    return [(module, name, depth) for module, name, depth in json.loads(done.stdout)]


def walk_text() -> str:
    """The walk as an indented list, with its measures."""
    met = walked()
    modules = {module for module, _, _ in met}
    lines = [f"{'  ' * (depth - 1)}{name}  ({module})" for module, name, depth in met]
    deep = max(depth for _, _, depth in met)
    return f"{len(met)} functions in {len(modules)} modules, {deep} deep.\n\n```text\n" + "\n".join(lines) + "\n```\n"


def layers() -> list[list[str]]:
    """The rooms as the import contract has them, from the edges to the bottom."""
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    stacked = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[room.strip().removeprefix("cosparse.") for room in layer.split("|")] for layer in stacked]


def imports() -> set[tuple[str, str]]:
    """Which room imports which, by the import graph."""
    import grimp

    graph = grimp.build_graph("cosparse")
    rooms = {room for layer in layers() for room in layer}
    found = set()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            pair = tuple(name.removeprefix("cosparse.").split(".")[0] for name in (module, other))
            if pair[0] != pair[1] and set(pair) <= rooms:
                found.add(pair)
    return found


def reduced(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Without those that follow from others: a picture of all would be a thicket."""

    def reaches(start: str, goal: str, without: tuple[str, str]) -> bool:
        nexts = {b for a, b in edges if a == start and (a, b) != without}
        return goal in nexts or any(reaches(each, goal, without) for each in nexts)

    return {edge for edge in edges if not reaches(*edge, without=edge)}


# Where each room is drawn: column and row. What is learned stands on the left, what repairs in the middle.
PLACES = {
    "cli": (2.2, 0), "interop": (5.0, 0), "cluster": (0.9, 1), "studio": (3.4, 1), "metrics": (6.3, 1.6),
    "operators": (2.2, 2.1), "repair": (4.4, 2), "refinement": (2.9, 3.1), "baselines": (5.4, 3.1),
    "testing": (5.4, 2.2),
    "learning": (0.6, 4), "reconstruction": (4.4, 4.1), "checkpoint": (1.8, 5.2), "operator": (4.4, 5.3),
    "patches": (0.3, 6.4), "optimize": (2.9, 6.4), "kernels": (4.4, 6.4), "images": (5.5, 6.4),
    "identity": (1.3, 7.5), "keywords": (2.6, 7.5), "penalty": (4, 7.5), "io": (6, 7.5),
    "jpeg": (6, 8.4), "noise": (6, 9.3), "foreign": (4, 9.3),
}  # fmt: skip
WIDE, TALL, COLUMN, ROW = 116, 38, 140, 84


def picture() -> str:
    """The rooms, and what each stands on."""
    middles = {room: (20 + WIDE / 2 + c * COLUMN, 24 + TALL / 2 + r * ROW) for room, (c, r) in PLACES.items()}
    width, height = 7.3 * COLUMN, 10.3 * ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#5b7083"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for upper, lower in sorted(reduced(imports())):
        (x1, y1), (x2, y2) = middles[upper], middles[lower]
        lean = max(-WIDE / 3, min(WIDE / 3, (x2 - x1) / 4))  # arrows to several rooms part at once
        parts.append(
            f'<line x1="{x1 + lean:.0f}" y1="{y1 + TALL / 2:.0f}" x2="{x2 - lean:.0f}" y2="{y2 - TALL / 2:.0f}" '
            'stroke="#5b7083" stroke-width="1.3" marker-end="url(#tip)"/>'
        )
    for room, (x, y) in middles.items():
        parts.append(
            f'<rect x="{x - WIDE / 2:.0f}" y="{y - TALL / 2:.0f}" width="{WIDE}" height="{TALL}" rx="8" '
            f'fill="#eef3f7" stroke="#5b7083"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle" font-size="14" fill="#16222c">{room}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def rooms_text() -> str:
    """Every module and the first sentence it says of itself, room by room."""
    lines = ["| room | what it is |", "|---|---|"]
    for room in (room for layer in layers() for room in layer):
        path = PACKAGE / f"{room}.py"
        files = [path] if path.exists() else sorted((PACKAGE / room).rglob("*.py"))
        for file in files:
            name = str(file.relative_to(PACKAGE).with_suffix("")).replace(os.sep, "/").removesuffix("/__init__")
            shown = f"**{name}**" if name == room else name.removeprefix(f"{room}/")
            lines.append(f"| {shown} | {first_sentence(file)} |")
    return "\n".join(lines) + "\n"


def first_sentence(file: Path) -> str:
    """Of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    sentence = re.split(r"(?<=[.!?])\s|\n\n", text, maxsplit=1)[0]
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", " ".join(sentence.split())).replace("|", "\\|")


def made(page: str) -> str:
    """The page with its three made parts as they are now."""
    for name, text in {"rooms": rooms_text(), "walk": walk_text()}.items():
        page, count = re.subn(
            rf"(<!-- {name}: made -->\n).*?(<!-- end of {name} -->)",
            lambda m, t=text: m[1] + t + m[2],
            page,
            flags=re.DOTALL,
        )
        assert count == 1, f"{PAGE.name} has no place for {name}"
    return page


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text()))
    PICTURE.write_text(picture())
