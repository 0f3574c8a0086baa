"""Everything that is told to people when something is wrong: it has a code, it says what to do, and that exists."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter import errors
from memoriter.backends._endpoint import UNKNOWN
from memoriter.backends._status import CANARIES
from memoriter.cli import main
from memoriter.codes import CODES as DIAGNOSTIC_CODES
from memoriter.codes import SkipReason
from memoriter.config import reference
from memoriter.errors import MemoriterError
from source_texts import BLANK, SourceTexts, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "memoriter"
PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")

ERRORS = {name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, MemoriterError)}
CODES = {kind.code for kind in ERRORS.values()}


class MessageCall(NamedTuple):
    """A call that tells somebody something."""

    where: str
    call: ast.Call
    name: str

    def argument(self, place: int, name: str) -> ast.expr | None:
        named = {keyword.arg: keyword.value for keyword in self.call.keywords}
        return self.call.args[place] if len(self.call.args) > place else named.get(name)


@cache
def sources() -> list[tuple[Path, ast.Module]]:
    return [(file, parsed(file)) for file in sorted(PACKAGE.rglob("*.py"))]


@cache
def calls(*names: str) -> list[MessageCall]:
    return [
        MessageCall(f"{file.relative_to(PACKAGE)}:{node.lineno}", node, node.func.id)
        for file, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]


def text_of(node: ast.expr | None) -> str:
    """A text as far as it is written, with a blank for what comes from elsewhere."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return text_of(left) + text_of(right)
        case ast.IfExp(body=first, orelse=second):
            return f"{text_of(first)} {text_of(second)}"
        case ast.BoolOp(values=parts):
            return " ".join(text_of(part) for part in parts)
        case None:
            return ""
        case _:
            return BLANK


def documentation(tree: ast.Module) -> set[int]:
    """The docstrings, and what stands below a constant to explain it: for those who read the code."""
    return {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


@cache
def texts() -> list[tuple[str, str]]:
    """Every text of the program, with its place."""
    return list(each_text())


def each_text() -> Iterator[tuple[str, str]]:
    for file, tree in sources():
        silent = documentation(tree)
        inside: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                inside |= {id(part) for part in ast.walk(node)} - {id(node)}
            if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in silent | inside:
                text = text_of(node)
                if text != BLANK:
                    yield f"{file.relative_to(PACKAGE)}:{node.lineno}", text


# each says what to do


@pytest.mark.parametrize("kind", ERRORS.values(), ids=ERRORS)
def test_every_error_says_what_to_do_even_where_nobody_thought_of_it(kind: type[MemoriterError]) -> None:
    assert kind("It failed.").remedy == kind.default_remedy != ""
    assert kind("It failed.", remedy="Do this.").remedy == "Do this."


def test_every_reason_has_a_code_a_message_and_a_remedy() -> None:
    for text in calls("Diagnostic"):
        code, message, remedy = (
            text_of(text.argument(place, name)) for place, name in enumerate(("code", "message", "remedy"))
        )
        assert code, text.where
        assert message.strip(), text.where
        assert remedy.strip(), text.where
        assert code == BLANK or re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", code), text.where


def test_no_two_errors_have_the_same_code() -> None:
    assert len(CODES) == len(ERRORS)


# each is a sentence, or several


SHOWN = {
    **dict.fromkeys(ERRORS, (0, 99)),
    **dict.fromkeys(("ClickException", "BadParameter"), (0, 99)),
    "Problem": (1, 99),
    "RequestProblem": (2, 3),
    "MCPError": (1, 99),
    "Diagnostic": (1, 2),
    "CommandFailure": (1, 2),
    "Finding": (2, 3),
    "_error_response": (2, 3),
    "to_exception": (99, 99),
}
"""What is called with a message and a remedy, with the places of both; an error takes its remedy by name."""
OF_OPENCLAW = {"path required", "query required"}
"""Errors of tools that agents know from OpenClaw."""
SENTENCES = re.compile(r"""['"`]?[A-Z0-9].*[^.\s]\.""", re.DOTALL)


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)


def shown() -> Iterator[tuple[str, str]]:
    """Every message and every remedy of the program, with its place."""
    elsewhere = {"", BLANK, f"{BLANK}."}
    for file, tree in sources():
        source = SourceTexts(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) in SHOWN:
                message = MessageCall(f"{file.relative_to(PACKAGE)}:{node.lineno}", node, called(node))
                for place, name in zip(SHOWN[message.name], ("message", "remedy"), strict=True):
                    if argument := message.argument(place, name):
                        yield from ((message.where, text) for text in source.find(argument) if text not in elsewhere)


def is_form(text: str) -> bool:
    return bool(SENTENCES.fullmatch(text)) and ".." not in text.replace("...", "")


def test_every_message_and_remedy_is_a_sentence_with_a_capital_and_a_full_stop() -> None:
    written = {*shown()}
    assert {(where, text) for where, text in written if not is_form(text) and text not in OF_OPENCLAW} == set()
    assert len(written) > 500


@pytest.mark.parametrize("kind", ERRORS.values(), ids=ERRORS)
def test_the_usual_remedy_of_an_error_is_a_sentence(kind: type[MemoriterError]) -> None:
    assert is_form(kind.default_remedy)


@given(st.text())
def test_a_reason_from_elsewhere_ends_with_one_full_stop(reason: str) -> None:
    text = errors.sentence(reason)
    assert text[-1] in ".?!"
    assert not text.endswith("..")
    assert text.strip() != "."
    assert errors.sentence(text) == text
    assert text.rstrip(".").startswith(reason.rstrip().rstrip(".").rstrip())


# what it says to do can be done


NAMED = re.compile(r"memoriter ((?:config )?[a-z][a-z-]*)((?: +(?:--?[a-z][a-z-]*(?:=[a-z]+)?|[A-Z]+\b))*)")
"""A command with its options; arguments are in capitals."""
NO_COMMANDS = {"again", "does", "has", "is", "itself", "only", "says", "where"}
"""Words that follow the name in a sentence."""


def commands() -> Iterator[tuple[str, str, list[str]]]:
    for where, text in texts():
        for found in NAMED.finditer(text):
            if found[1] not in NO_COMMANDS:
                yield where, found[1], found[2].split()


def test_every_command_that_is_advised_exists_and_takes_what_it_is_given() -> None:
    for where, name, words in commands():
        context = main.make_context("memoriter", [*name.split(), *words], obj={})
        command: click.Command = main
        for part in name.split():
            assert isinstance(command, click.Group), where
            found = command.get_command(context, part)
            assert found, f"{where}: there is no command {name!r}"
            command = found
        named = [param for param in command.params if isinstance(param, click.Argument)]
        values = iter(param.type.choices[0] if isinstance(param.type, click.Choice) else "7" for param in named)
        filled = [word if word.startswith("-") else next(values, "7") for word in words]
        arguments = [param for param in named if param.required]
        needed = [param.type.choices[0] if isinstance(param.type, click.Choice) else "x" for param in arguments]
        takes_all = any(not word.startswith("-") for word in words)
        command.make_context(name, filled if takes_all else [*filled, *needed], context)


def options(command: click.Command) -> set[str]:
    own = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {"--help"}
    if isinstance(command, click.Group):
        with click.Context(command, obj={}) as context:
            inner = [command.get_command(context, name) for name in command.list_commands(context)]
        return own.union(*(options(each) for each in inner if each))
    return own


OTHERS = {
    "--no-ext-diff",
    "--no-textconv",
    "--all",
    "--batch",
    "--before",
    "--diff-filter",
    "--force-reinstall",
    "--format",
    "--merge",
    "--name-only",
    "--no-renames",
    "--no-rerank",
    "--porcelain",
    "--python",
    "--relative",
    "--task",
    "--user",
}
"""Of git, pip, uv, llama.cpp, QMD, optimum and curl."""


def test_every_option_that_is_advised_exists() -> None:
    outside = [(where, text) for where, text in texts() if not where.startswith("cli/")]
    spoken_of = {(where, name) for where, text in outside for name in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    known = options(main) | OTHERS
    assert {(where, name) for where, name in spoken_of if name not in known} == set()


SETTING = re.compile(
    r"(?<![\w./])(?:memorySearch|agents|memory\.(?=qmd|citations|backend)|models|remote|local|store|chunking|sync|query|cache)"
    r"\.[A-Za-z][\w.]*\w"
)


@cache
def settings() -> set[str]:
    """Every setting and every section, whole and from any dot on."""
    keys = {entry.key.replace("<id>", BLANK) for entry in reference()}
    whole = {key.rsplit(".", count)[0] for key in keys for count in range(key.count(".") + 1)}
    return {key.split(".", count)[-1] for key in whole for count in range(key.count(".") + 1)}


def test_every_setting_that_is_advised_exists() -> None:
    remedies = [(message.where, text_of(message.argument(99, "remedy"))) for message in calls(*ERRORS)]
    remedies += [(message.where, text_of(message.argument(2, "remedy"))) for message in calls("Diagnostic")]
    everything = remedies + [(where, text) for where, text in texts() if " " in text and "memorySearch." in text]
    named = {(where, key) for where, text in everything for key in SETTING.findall(text)}
    assert {(where, key) for where, key in named if key not in settings()} == set()
    assert len({key for _, key in named}) > 8


EXTRA = re.compile(r"(?:memoriter\[|\.whl\[|'\.\[|\bextra `|needs? the extra |http the extra )([a-z-]+(?:,[a-z-]+)*)")


def test_every_extra_that_is_named_can_be_installed() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    pages += (ROOT / "examples").rglob("*.*")
    everything = [*texts(), *((str(page), page.read_text(encoding="utf-8")) for page in pages if page.is_file())]
    named = {
        (where, extra) for where, text in everything for names in EXTRA.findall(text) for extra in names.split(",")
    }
    assert {(where, extra) for where, extra in named if extra not in extras.keys() | {BLANK}} == set()
    assert len({extra for _, extra in named}) > 8
    listed = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("install.md", "python.md"))
    assert [extra for extra in extras if f"`{extra}`" not in listed] == []


# docs/reference/errors.md


OF_THE_SCREEN = {"internal", "interrupted", "system", "failed"}
"""What the command line says of failures that are no errors of ours."""


def codes_in_the_program() -> set[str]:
    written = {text_of(message.argument(0, "code")) for message in calls("Diagnostic")} - {BLANK}
    return CODES | OF_THE_SCREEN | written | {UNKNOWN}


def test_a_code_that_is_not_written_where_it_is_told_is_that_of_an_error() -> None:
    codes = [code for message in calls("Diagnostic") if (code := message.argument(0, "code"))]
    named = {ast.unparse(code) for code in codes if text_of(code) == BLANK}
    assert named <= {
        "error.code",
        "SearchDisabled.code",
        "code",
        "self.code",
        "self.error.code",
        "stored_code(code)",
        "stored_code(self.code)",
        "stored_code(failures.code)",
        "reason.code",
    }  # `code` is that of an error, or UNKNOWN


def rows(heading: str) -> dict[str, tuple[str, str]]:
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    return {code: (meaning, remedy) for code, meaning, remedy in found}


def test_the_page_explains_every_code_once_and_no_other() -> None:
    headings = (
        "Health of the memory in each answer",
        "Why nothing was found",
        "Single notes",
        "Settings, and other users of the machine",
        "Where forgotten text may still be",
        "Around an agent's turns",
        "Errors",
    )
    parts = [rows(heading) for heading in headings]
    assert all(parts)
    assert sorted(code for part in parts for code in part) == sorted(DIAGNOSTIC_CODES)
    assert codes_in_the_program() <= DIAGNOSTIC_CODES


def test_the_page_has_the_errors_of_the_tree_and_the_reasons_of_an_empty_answer_where_they_belong() -> None:
    empty = [message for message in calls("Diagnostic") if "search/_empty_result" in message.where]
    of_empty = {text_of(message.argument(0, "code")) for message in empty}
    assert rows("Why nothing was found").keys() == of_empty
    assert rows("Errors").keys() == CODES | OF_THE_SCREEN


def test_the_page_lists_every_reason_for_a_path_that_is_left_out() -> None:
    assert set(rows("Paths that are left out")) == set(get_args(SkipReason))


def test_every_command_option_and_setting_of_the_page_exists() -> None:
    with click.Context(main, obj={}) as context:
        known = set(main.list_commands(context))
    code = " ".join(re.findall(r"`[^`\n]+`", PAGE))
    named = {found[1].split()[0] for found in NAMED.finditer(code)}
    assert named <= known
    assert set(re.findall(r"`(--[a-z-]+)", PAGE)) <= options(main)
    assert set(SETTING.findall(PAGE)) <= settings()


def test_the_page_gives_the_figures_of_the_program() -> None:
    assert CANARIES == 8
    page = (ROOT / "docs" / "trouble.md").read_text(encoding="utf-8")
    assert re.search(r"searches for eight\s+passages at random", page)
