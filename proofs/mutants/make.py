"""The mutants of a source file: one small change each, by its syntax tree and in place."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_WITH_TEST = (ast.If, ast.While, ast.IfExp, ast.Assert)
_PLAIN = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.NamedExpr)
"""Tests that no other change turns around."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed file: `module` with `before` replaced by `after` on `line`. `function` is what it stands in, if any."""

    module: str
    line: int
    function: str
    kind: str
    before: str
    after: str
    source: str

    @property
    def name(self) -> str:
        """What it is called in lists: the same as long as the change and its function are, wherever that moves."""
        place = f"{self.module}:{self.function}:{self.kind}:{self.before}:{self.after}"
        return f"{self.module}:{self.function or '-'}:{hashlib.sha256(place.encode()).hexdigest()[:8]}"


def mutants_of(module: str, source: str) -> list[Mutant]:
    """All mutants of a file, in order; equal changes in one function are told apart by their number."""
    tree = ast.parse(source)
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data = source.encode()
    made: list[Mutant] = []
    seen: dict[tuple[str, str, str, str], int] = {}
    for node, function, kind, after in _changes(tree):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        before = data[start:end].decode()
        if after == before:
            continue
        # An expression may have stood over several lines: those after it stay where they are.
        filled = after + "\n" * (before.count("\n") - after.count("\n")) if kind == "delete" else after
        changed = (data[:start] + filled.encode() + data[end:]).decode()
        try:
            compile(changed, module, "exec", dont_inherit=True)
        except SyntaxError:
            continue
        key = (function, kind, before, after)
        seen[key] = seen.get(key, 0) + 1
        numbered = kind if seen[key] == 1 else f"{kind} {seen[key]}"
        made.append(Mutant(module, node.lineno, function, numbered, before, after, changed))
    return made


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str, str, str]]:
    """(node, function, kind, new text) of every change."""
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        parent, function = todo.pop(0)
        for node in _children(parent):
            inside = function
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inside = f"{function}.{node.name}" if function else node.name
            todo.append((node, inside))
            if isinstance(parent, _WITH_TEST) and node is parent.test and isinstance(node, _PLAIN):
                yield node, inside, "test", f"(not {ast.unparse(node)})"
            if isinstance(node, ast.expr):
                for kind, after in _changed_expression(node, inside):
                    yield node, inside, kind, after
            elif isinstance(node, ast.stmt) and function:
                for kind, after in _changed_statement(node):
                    yield node, inside, kind, after


def _children(parent: ast.AST) -> Iterator[ast.AST]:
    """What lies below a node and does something: no docstrings, annotations, imports or decorators."""
    for name, value in ast.iter_fields(parent):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for node in value if isinstance(value, list) else [value]:
            if (
                isinstance(node, ast.Import | ast.ImportFrom)
                or _is_docstring(node)
                or not isinstance(node, ast.AST)
            ):
                continue
            yield node


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changed_expression(node: ast.expr, function: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = _COMPARED[type(node.ops[0])]()
        yield "compare", f"({ast.unparse(ast.Compare(node.left, [other], node.comparators))})"
    elif isinstance(node, ast.Compare):
        for number, op in enumerate(node.ops):
            ops = [*node.ops[:number], _COMPARED[type(op)](), *node.ops[number + 1 :]]
            yield f"compare part {number}", f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})"
    elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        yield "arithmetic", f"({ast.unparse(ast.BinOp(node.left, _COMPUTED[type(node.op)](), node.right))})"
    elif isinstance(node, ast.BoolOp):
        joint: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "boolean", f"({ast.unparse(ast.BoolOp(joint, node.values))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "unary", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.IfExp):
        yield "condition", f"({ast.unparse(ast.IfExp(node.test, node.orelse, node.body))})"
    elif isinstance(node, ast.Constant):
        yield from _changed_constant(node.value, function)


def _changed_constant(value: object, function: str) -> Iterator[tuple[str, str]]:
    """Another number. Tuned constants of a module are changed by more than a little: do they matter at all?."""
    if isinstance(value, bool):
        yield "constant", repr(not value)
    elif isinstance(value, int | float) and not function:
        yield "constant", repr(value * 3 if value else 1)
    elif isinstance(value, int | float):
        yield "constant", repr(value + 1)


_DELETED = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)


def _changed_statement(node: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield "return", "return None"
    elif isinstance(node, _DELETED) and not (isinstance(node, ast.AnnAssign) and node.value is None):
        yield "delete", "pass"
