"""Write docs/reference/python.md from the docstrings of the stable modules: `python scripts/python_reference.py`."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.answers import fields_of
from memoriter.errors import MemoriterError
from memoriter.types import camel_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.answers import FieldRow

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "python.md"
MODULES = {
    "memoriter": "What most programs need. Its methods return the values of [memoriter.types](#memoritertypes).",
    "memoriter.types": """\
Every value that a result holds. All of them are frozen. Where a link leads to JSON, fields without a text mean what
they mean there.""",
    "memoriter.errors": """\
The tree of errors, which begins at `MemoriterError`. Each has `code`, `message` and `remedy`;
[Errors](errors.md#errors) says what each code means.""",
    "memoriter.tools": "The tools of agents as values.",
    "memoriter.hookspecs": "What a [plugin](../python.md#write-a-plugin) can add.",
}
"""The stable modules, each with a line about it."""
INTRODUCTION = """\
# Python

<!-- Written by `just docs` from the docstrings. -->

Every public name of the stable modules. [Use it from Python](../python.md) shows how to begin.
"""
IN_JSON = {
    **{name: name for name in ("Canary", "Candidacy", "CompactReport", "Estimate", "Explanation", "Health", "Hit")},
    **{name: name for name in ("LineScore", "MapGroup", "MapPoint", "NearDuplicates", "SearchResult", "Spending")},
    **{name: name for name in ("Certainty", "Fix", "Skipped", "Status", "WhyNot")},
    "BackgroundRun": "Run",
    "PassageMap": "Map",
    "RerankerState": "Reranker",
    "SettingChange": "Change",
    "SidecarCollection": "Collection",
    "SidecarStatus": "Sidecar",
    "StageReport": "Stage",
    "SyncReport": "IndexReport",
}
"""The object of docs/reference/json.md that describes the fields of a type."""
MOST_WORDS = 40
"""The most words of a type that the page lists."""
WIDTH = 100
SECTION = re.compile(r"^(Args|Returns|Raises):$", re.MULTILINE)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parsed(file: str) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def definition(value: Any) -> ast.ClassDef | Function | None:
    """Return the class or function in the file that defines it."""
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return None
    nodes = parsed(inspect.getsourcefile(value) or "").body
    return next((node for node in nodes if getattr(node, "name", "") == value.__name__), None)


def text_of(docstring: str | None) -> str:
    """Return a docstring as Markdown: arguments as a list, examples as a block."""
    if not docstring:
        return ""
    examples = re.compile(r"(?m)^>>>.*\n?(?:^(?!\n).*\n?)*")
    clean = examples.sub(lambda found: f"```python\n{found[0].rstrip()}\n```\n", inspect.cleandoc(docstring))
    first, *rest = SECTION.split(clean)
    parts = [first.strip()]
    for name, body in zip(rest[::2], rest[1::2], strict=True):
        indented, _, after = body.strip("\n").partition("\n\n")
        lines = re.split(r"\n(?=\S)", textwrap.dedent(indented).strip())
        items = [re.sub(r"^(\w+): ", r"`\1`: ", " ".join(line.split())) for line in lines]
        listed = "\n".join(f"- {item}" for item in items)
        parts += [f"Returns {' '.join(items)}" if name == "Returns" else f"{name}:\n\n{listed}", after.strip()]
    return "\n\n".join(part for part in parts if part).replace("Args:\n\n", "")


def signature(node: Function) -> str:
    """Return a signature, with a line for each parameter if it does not fit into one."""
    arguments = re.sub(r"(?<=[\w\]])=(?=\S)", " = ", ast.unparse(node.args))
    names = re.sub(r"^(?:self|cls)(?:, |$)", "", arguments)
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{keyword} {node.name}({names}){returned}"
    if len(line) <= WIDTH:
        return line
    # A comma that stands in no brackets ends a parameter.
    lines = re.split(r", (?![^\[(]*[\])])", names)
    inner = "".join(f"    {part},\n" for part in lines)
    return f"{keyword} {node.name}(\n{inner}){returned}"


def type_of(annotation: ast.expr) -> str:
    """Return a type without what is said of it: `int | None` for `Annotated[int | None, …]`."""
    match annotation:
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, *_])):
            return ast.unparse(kind)
        case _:
            return ast.unparse(annotation)


def described(body: list[ast.stmt], elsewhere: dict[str, FieldRow]) -> Iterator[tuple[str, str]]:
    """Yield the public fields of a class, with their types and, if no other page has it, what the text below each says.

    Args:
        body: the statements of the class.
        elsewhere: the fields of its object in JSON, by their names.
    """
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
            text = ""
            kind = type_of(node.annotation)
            row = elsewhere.get(camel_case(node.target.id))
            is_time = row is not None and row.type == "text" and "float" in kind
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and (row is None or is_time):
                text = " ".join(str(after.value.value).split())
            yield f"`{node.target.id}: {kind}`", text


def is_property(node: Function) -> bool:
    """Return whether a method is read as a value."""
    return any(ast.unparse(each) in {"property", "cached_property"} for each in node.decorator_list)


def class_part(name: str, node: ast.ClassDef) -> Iterator[str]:
    """Yield the parts of a class: its text, its fields and its methods."""
    bases = ", ".join(map(ast.unparse, node.bases))
    yield f"### {name}" + (f"\n\n`class {name}({bases})`" if bases not in {"", "Protocol", "Record"} else "")
    yield text_of(ast.get_docstring(node))
    elsewhere = IN_JSON.get(name, "")
    if elsewhere:
        yield f"[In JSON](json.md#{elsewhere.lower()})."
    fields = list(described(node.body, {row.name: row for row in fields_of(elsewhere)} if elsewhere else {}))
    methods = [
        each for each in node.body if isinstance(each, Function) and each.name[0] != "_" and ast.get_docstring(each)
    ]
    read = [
        (f"`{each.name}`", text_of(ast.get_docstring(each)).split("\n")[0]) for each in methods if is_property(each)
    ]
    yield "\n".join(f"- {about}{': ' if text else ''}{text}" for about, text in [*fields, *read])
    for each in methods:
        if not is_property(each):
            yield f"#### {name}.{each.name}"
            yield f"```python\n{signature(each)}\n```"
            yield text_of(ast.get_docstring(each))


def same_as_memory(name: str, node: ast.ClassDef) -> Iterator[str]:
    """Yield the part of AsyncMemory, whose methods are those of Memory."""
    yield f"### {name}"
    yield text_of(ast.get_docstring(node))
    yield "It has the methods of `Memory`, with the same parameters and results. `in_thread` runs any other call."


def names_of(module: Any) -> list[str]:
    """Return the public names of a module."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return list(getattr(module, "__all__", None) or [name for name in own if name[0] != "_"])


def error_lines(kind: type[MemoriterError], depth: int = 0) -> Iterator[str]:
    """Yield a line for an error, with its code, and those of the errors that derive from it."""
    yield f"{'    ' * depth}- `{kind.__name__}`: `{kind.code}`"
    for each in kind.__subclasses__():
        if each.__module__ == kind.__module__:
            yield from error_lines(each, depth + 1)


def shown_in(name: str) -> str:
    """Return the module on the page that describes a name: the first that has it, `memoriter` only if no other has."""
    modules = [*list(MODULES)[1:], "memoriter"]
    return next(module for module in modules if name in names_of(import_module(module)))


def module_parts(name: str, line: str) -> Iterator[str]:
    """Yield the parts of a module."""
    module = import_module(name)
    yield f"## {name}"
    yield line
    names = names_of(module)
    if name == "memoriter.errors":
        yield "\n".join(error_lines(MemoriterError))
        return
    elsewhere = []
    for each in names:
        value = getattr(module, each)
        node = definition(value)
        if shown_in(each) != name:
            elsewhere.append(f"`{each}`")
        elif isinstance(node, ast.ClassDef):
            yield from same_as_memory(each, node) if each == "AsyncMemory" else class_part(each, node)
        elif node is not None:
            yield f"### {each}"
            yield f"```python\n{signature(node)}\n```"
            yield text_of(ast.get_docstring(node))
        elif name != "memoriter.tools":
            yield from constant_part(each, value)
    if elsewhere:
        yield f"From the other modules: {', '.join(elsewhere)}."


def constant_part(name: str, value: Any) -> Iterator[str]:
    """Yield the part of a name that stands for texts."""
    words = getattr(value, "__args__", None)
    if words and all(isinstance(word, str) for word in words):
        yield f"### {name}"
        if len(words) > MOST_WORDS:
            yield "A stable word: one of [these](errors.md)."
            return
        yield "One of " + ", ".join(f'`"{word}"`' for word in words) + "."


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION.strip()]
    for name, line in MODULES.items():
        parts += module_parts(name, line)
    return "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
