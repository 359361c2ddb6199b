"""The house is kept in order: every line has its room, every room its name and its test."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE, TESTS = REPOSITORY / "src" / "cosparse", REPOSITORY / "tests"
# Tested as they are used, not module by module.
EDGES = {"cli", "studio", "cluster", "interop", "baselines", "operators"}
LINES, BODY, ARGUMENTS = 400, 60, 8

MODULES = {
    path.relative_to(SOURCE): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(SOURCE.rglob("*.py"))
    if path.name != "_built.py"  # written by the build
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[Path, Function]]:
    for path, tree in MODULES.items():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, Function))


def arguments(function: Function) -> int:
    """How many it takes, *rest and **rest one each, self and cls apart."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in named) + bool(given.vararg) + bool(given.kwarg)


def body(function: Function) -> int:
    """Its lines from the first statement after the docstring to the last."""
    statements = function.body[ast.get_docstring(function) is not None :]
    return function.end_lineno - statements[0].lineno + 1 if statements else 0


def is_kernel(path: Path, function: Function) -> bool:
    """Kernels take numbers only, and so many of them."""
    return path.parts[0] == "kernels" or any(ast.unparse(one) == "compiled" for one in function.decorator_list)


def package(module: str) -> str:
    """The package of a module, which may be one itself."""
    folder = SOURCE.joinpath(*module.split(".")[1:])
    return module if folder.is_dir() else module.rpartition(".")[0]


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_no_two_modules_of_one_name():
    counts = Counter(path.name for path in MODULES if path.name != "__init__.py")
    twice = [str(path) for path in MODULES if counts[path.name] > 1]
    assert not twice, f"modules of one name; name each by what it alone does: {twice}"


def test_no_long_file():
    long = {str(path): len((SOURCE / path).read_text(encoding="utf-8").splitlines()) for path in MODULES}
    long = {path: lines for path, lines in long.items() if lines > LINES}
    assert not long, f"files of over {LINES} lines; split them by subject: {long}"


def test_no_long_function():
    long = {f"{path}::{one.name}": body(one) for path, one in functions() if body(one) > BODY}
    assert not long, f"bodies of over {BODY} lines; name their parts as functions: {long}"


def test_no_function_of_many_arguments():
    many = {
        f"{path}::{one.name}": arguments(one)
        for path, one in functions()
        if arguments(one) > ARGUMENTS and path.parts[0] != "cli" and not is_kernel(path, one)
    }
    assert not many, f"functions of over {ARGUMENTS} arguments; gather what belongs together in a dataclass: {many}"


def test_every_module_of_the_core_has_a_test_of_its_name():
    core = [path for path in MODULES if path.parts[0] not in EDGES and not path.stem.startswith("__")]
    wanted = [TESTS / path.parent / f"test_{path.stem.lstrip('_')}.py" for path in core]
    missing = [str(path.relative_to(REPOSITORY)) for path in wanted if not path.is_file()]
    assert not missing, f"modules without a test; write these, or move there the tests that exist: {missing}"


def test_folders_of_tests_mirror_the_source():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    strange = sorted(str(folder) for folder in folders if not (SOURCE / folder).is_dir())
    assert not strange, f"folders of tests that are no package's; put the tests where their module is: {strange}"


def test_private_names_stay_in_their_package():
    """Neither ``from cosparse.io.tiff import _page`` nor, with `tiff` imported, ``tiff._page`` outside cosparse.io."""
    found = []
    for path, tree in MODULES.items():
        own = ".".join(("cosparse", *path.parent.parts))
        imports = [one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.module]
        foreign = [one for one in imports if one.module.startswith("cosparse.") and package(one.module) != own]
        names = {name.asname or name.name for one in foreign for name in one.names}
        found += [f"{path}: {one.module}.{name.name}" for one in foreign for name in one.names if private(name.name)]
        found += [
            f"{path}: {ast.unparse(one)}"
            for one in ast.walk(tree)
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
            if one.value.id in names and private(one.attr)
        ]
    assert not found, f"private names used by another package; make them public, or ask for what is: {found}"
