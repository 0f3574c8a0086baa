"""The texts that a source file gives to a call, as far as they are written in that file."""

from __future__ import annotations

import ast
import gc
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLANK = "X"
"""For what a text is given while it runs."""
SENTENCES = {"sentence", "message", "remedy", "default_remedy"}
"""Functions and attributes that are whole sentences. A test holds that where they are written."""


def parse(file: Path) -> ast.Module:
    """Return a source file as Python reads it."""
    # CPython before 3.11.8 may fail if the collector runs meanwhile and another thread parses (python/cpython#106905).
    gc.disable()
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    finally:
        gc.enable()


parsed = cache(parse)
"""The same for files that several tests read."""


class SourceTexts:
    """One parsed file. `find` follows local names, constants and functions of the file to the literals."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.functions = {
            node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }

    def find(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> list[str]:
        """Return each text that an expression can be, with a blank for every part that is not written here."""
        return [*dict.fromkeys(self._find(node, seen))]

    def _find(self, node: ast.expr, seen: frozenset[str]) -> Iterator[str]:
        match node:
            case ast.Constant(value=str() as text):
                yield text
            case ast.JoinedStr(values=parts):
                yield from self._joined(parts, seen)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                yield from self._find(value, seen)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from self._joined([left, right], seen)
            case ast.IfExp(body=first, orelse=second):
                yield from self._joined([first], seen)
                yield from self._joined([second], seen)
            case ast.BoolOp(values=parts):
                for part in parts:
                    yield from self._find(part, seen)
            case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)) if name not in seen:
                for value in [*self._values(name, node)]:
                    yield from self._find(value, seen | {name})
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in SENTENCES:
                yield f"{BLANK}."
            case ast.Attribute(attr=name) if name in SENTENCES:
                yield f"{BLANK}."
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in self.functions.keys() - seen:
                for value in self._results(name):
                    yield from self._find(value, seen | {name})
            case _:
                yield BLANK

    def _joined(self, parts: list[ast.expr], seen: frozenset[str]) -> Iterator[str]:
        for combination in product(*(self.find(part, seen) for part in parts)):
            yield "".join(combination)

    def _values(self, name: str, at: ast.AST) -> Iterator[ast.expr]:
        """Yield what a name can stand for: its assignments in the function around `at`, else in the file."""
        scope: ast.AST = at
        found: list[ast.expr] = []
        while scope is not self.tree and not found:
            scope = self.parents.get(scope, self.tree)
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
                parameters = {parameter.arg for parameter in ast.walk(scope.args) if isinstance(parameter, ast.arg)}
                found = [ast.Constant(value=BLANK)] if name in parameters else []
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
                found += [value for node in ast.walk(scope) for value in _assigned(name, node)]
        yield from found or [ast.Constant(value=BLANK)]

    def _results(self, name: str) -> Iterator[ast.expr]:
        for node in ast.walk(self.functions[name]):
            if isinstance(node, ast.Return) and node.value is not None:
                yield node.value


def _assigned(name: str, node: ast.AST) -> Iterator[ast.expr]:
    """Yield the values that a statement gives to a name; of a table, each of its values."""
    match node:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            pass
        case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
            pass
        case ast.NamedExpr(target=ast.Name(id=target), value=value) if target == name:
            pass
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=whole):
            yield from _assigned_in_tuple(name, targets, whole)
            return
        case ast.AugAssign(target=ast.Name(id=target), value=added) if target == name:
            yield ast.BinOp(left=ast.Constant(value=BLANK), op=ast.Add(), right=added)
            return
        case _:
            return
    if isinstance(value, ast.Dict):
        yield from value.values
    else:
        yield value


def _assigned_in_tuple(name: str, targets: list[ast.expr], whole: ast.expr) -> Iterator[ast.expr]:
    wholes = [whole.body, whole.orelse] if isinstance(whole, ast.IfExp) else [whole]
    for target, place in zip(targets, range(len(targets)), strict=True):
        if isinstance(target, ast.Name) and target.id == name:
            for each in wholes:
                yield each.elts[place] if isinstance(each, ast.Tuple) else ast.Constant(value=BLANK)
