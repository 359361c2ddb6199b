"""Small faults planted in Python source, one at a time, as a slip of the hand would: what a test ought to notice.

Strings, annotations, decorators and what is said to type checkers are left as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
COMPUTED = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """Part of a source, and what stands there instead."""

    kind: str
    line: int
    start: int  # of the part, in bytes of the source
    end: int
    before: str
    after: str

    def planted(self, source: str) -> str:
        """The source with the fault in it."""
        text = source.encode()
        return (text[: self.start] + self.after.encode() + text[self.end :]).decode()


def mutants(source: str) -> list[Mutant]:
    """All of a source, in the order of their places."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def mutant(node: ast.expr | ast.stmt, kind: str, after: str) -> Mutant:
        start = starts[node.lineno - 1] + node.col_offset
        assert node.end_lineno is not None and node.end_col_offset is not None
        end = starts[node.end_lineno - 1] + node.end_col_offset
        return Mutant(kind, node.lineno, start, end, text[start:end].decode(), after)

    found = [mutant(node, kind, after) for node in _meaning(ast.parse(source)) for kind, after in _slips(node)]
    return sorted(found, key=lambda one: (one.start, one.end, one.kind))


def _meaning(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run: no annotations, decorators, docstrings, nor what only type checkers see."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _unrun(child):
                continue
            yield child
            yield from _meaning(child)


def _unrun(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
        return True
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id  # names of types and of what is exported
        return name.startswith("__") or (
            name[0].isupper() and isinstance(node.value, (ast.Subscript, ast.BinOp)) and not name.isupper()
        )
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _slips(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What could stand in a node's place."""
    say = ast.unparse
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        word = COMPARED[type(node.ops[0])]
        yield "comparison", f"(({say(node.left)}) {word} ({say(node.comparators[0])}))"
    elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not _text(node):
        yield "arithmetic", f"(({say(node.left)}) {COMPUTED[type(node.op)]} ({say(node.right)}))"
    elif isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield "logic", f"({word.join(f'({say(value)})' for value in node.values)})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        yield "sign", f"({say(node.operand)})"
    elif isinstance(node, ast.Constant):
        yield from _numbers(node.value)
    elif isinstance(node, (ast.If, ast.While)):
        pass  # their conditions are expressions of their own
    elif isinstance(node, ast.IfExp):
        yield "choice", f"(({say(node.orelse)}) if ({say(node.test)}) else ({say(node.body)}))"
    elif isinstance(node, ast.AugAssign) and type(node.op) in COMPUTED:
        yield "arithmetic", f"{say(node.target)} {COMPUTED[type(node.op)]}= {say(node.value)}"
    elif isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "left out", "pass"
    elif isinstance(node, ast.Return) and node.value is not None and say(node.value) != "None":
        yield "result", "return None"
    elif isinstance(node, ast.Break):
        yield "loop", "continue"
    elif isinstance(node, ast.Call) and say(node.func) in ("min", "max"):
        yield (
            "extreme",
            f"{'max' if say(node.func) == 'min' else 'min'}({', '.join(map(say, [*node.args, *node.keywords]))})",
        )


def _numbers(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, bool):
        yield "constant", repr(not value)
    elif isinstance(value, int):
        yield "constant", repr(value + 1)
    elif isinstance(value, float):
        yield "constant", repr(value * 2 if value else 1.0)


def _text(node: ast.BinOp) -> bool:
    """Whether texts or types are put together, not numbers."""
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, (str, type(None))))
        for part in ast.walk(node)
    )
