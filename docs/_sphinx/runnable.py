"""Which examples can run here, in which order the gallery has them, and how figures look."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path

# The gallery's order; what is not named comes after these, by name.
ORDER = [
    "old_photograph", "text_removal", "deblurring", "upscaling", "noise", "stack",
    "kspace", "mri", "tomography", "measurement", "demosaic", "own_operator", "comparing_operators",
    "lemmas", "equation", "deinterlace", "cluster",
]  # fmt: skip
STYLE = {"figure.constrained_layout.use": True, "font.size": 10, "image.interpolation": "nearest"}


class Order:
    """The key by which the gallery sorts its scripts."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        stem = Path(name).stem
        return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)

    def __repr__(self) -> str:
        return "<Order>"


class Examples:
    """The scripts of a folder, and what each of them needs that is not installed."""

    def __init__(self, folder: Path, package: Path) -> None:
        self.package = package
        self.absent = {path.stem: self._absent(path, set()) for path in sorted(folder.glob("*.py"))}

    def pattern(self) -> str:
        """Matches the paths of those that can run."""
        names = [re.escape(stem) for stem, absent in self.absent.items() if not absent]
        return rf"[\\/]({'|'.join(names)})\.py$"

    def sweep(self, gallery: Path) -> None:
        """Remove what an earlier build made of scripts that are no longer there."""
        for page in gallery.glob("*.rst"):
            if page.stem not in self.absent and page.stem != "index":
                for left in gallery.glob(f"{page.stem}.*"):
                    left.unlink()

    def _absent(self, path: Path, seen: set[Path]) -> list[str]:
        """Names of packages that a file, or an adapter of ours that it imports, needs and that are not there."""
        seen.add(path)
        missing = set()
        for module in imports(ast.parse(path.read_text(encoding="utf-8"))):
            top, *rest = module.split(".")
            if top != "cosparse":
                missing.update([top] if find_spec(top) is None else [])
            elif rest[:1] == ["interop"]:
                for adapter in source(self.package, rest):
                    missing.update([] if adapter in seen else self._absent(adapter, seen))
        return sorted(missing)


def source(package: Path, parts: list[str]) -> list[Path]:
    """The file of a module of ours; none if it is a name within one."""
    folder = package.joinpath(*parts)
    return [path for path in (folder.with_suffix(".py"), folder / "__init__.py") if path.is_file()][:1]


def imports(node: ast.AST) -> set[str]:
    """All modules that a file imports by name, wherever in it, but for those that it can do without."""
    if isinstance(node, ast.Import):
        return {name.name for name in node.names}
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        ours = node.module.startswith("cosparse")
        return {node.module} | {f"{node.module}.{name.name}" for name in node.names if ours}
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Try) and any(forgiving(handler) for handler in node.handlers):
        children = [child for child in children if child not in node.body]
    return set().union(*map(imports, children))


def forgiving(handler: ast.ExceptHandler) -> bool:
    """Whether it goes on without what could not be imported."""
    caught = "" if handler.type is None else ast.unparse(handler.type)
    raises = any(isinstance(one, ast.Raise) for one in ast.walk(handler))
    return ("ImportError" in caught or "ModuleNotFoundError" in caught) and not raises


def reset(gallery_conf: dict, name: str) -> None:
    """Before every script: our style of figures, which the gallery has just taken away."""
    import matplotlib as mpl

    mpl.rcParams.update(STYLE)
