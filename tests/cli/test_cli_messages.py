"""Each error and each reason that the program shows is a sentence, also when its parts come from elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Program

SENTENCE = re.compile(r"""(?:[A-Z0-9'"`]|/\S+:).*[^.\s]\.""")
"""A line of a message. It may begin with a quoted value, or with the place in a file."""
DOUBLED = re.compile(r"(?<!\.)\.\.(?![./])")
CONFIGURATIONS = {
    "no-json": "{a: 1",
    "no-object": "[]",
    "wrong": '{agents: {defaults: {memorySearch: {provider: "opnai", quary: {}, query: {maxResults: 0}}}}}',
    "nothing-there": """{agents: {defaults: {memorySearch: {
        provider: "openai", remote: {baseUrl: "http://127.0.0.1:9/v1", apiKey: "x"}}}}}""",
    "no-key": '{agents: {defaults: {memorySearch: {provider: "voyage"}}}}',
    "no-address": '{agents: {defaults: {memorySearch: {provider: "openai-compatible", model: "m"}}}}',
    "no-model": '{agents: {defaults: {memorySearch: {provider: "local", local: {modelPath: "/no/such.gguf"}}}}}',
    "no-file": '{agents: {defaults: {memorySearch: {provider: "local", local: {modelPath: "/none/m.gguf"}}}}}',
    "offline": '{agents: {defaults: {memorySearch: {provider: "openai", offline: true}}}}',
    "off": '{agents: {defaults: {memorySearch: {provider: "fake", enabled: false}}}}',
    "no-variable": '{agents: {defaults: {memorySearch: {provider: "openai", remote: {apiKey: "${NEVER_SET}"}}}}}',
}


def texts_in(value: Any) -> Iterator[str]:
    """Yield each message and remedy of errors, reasons and findings."""
    if isinstance(value, dict):
        found = [value[key] for key in ("message", "remedy", "error", "action") if isinstance(value.get(key), str)]
        yield from (text for text in found if text)
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def check(answer: Any) -> None:
    lines = [line for text in texts_in(answer) for line in text.splitlines()]
    assert lines
    assert [line for line in lines if not SENTENCE.fullmatch(line) or DOUBLED.search(line)] == []


@pytest.mark.parametrize(
    "words",
    [
        ["search", ""],
        ["search"],
        ["search", "x", "--since", "soon"],
        ["search", "x", "--on", "today", "--since", "7d"],
        ["search", "x", "-n", "0"],
        ["search", "x", "-w", "/none"],
        ["get", "../x"],
        ["get", "memory/none.md"],
        ["get", "MEMORY.md", "--from", "99"],
        ["remember", ""],
        ["forget"],
        ["forget", "memory/none.md", "--yes"],
        ["forget", "--session", "a/b", "--yes"],
        ["serach", "x"],
    ],
)
def test_a_wrong_request_is_answered_with_sentences(program: Program, words: list[str]) -> None:
    check(program(*words, "--json").json)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_wrong_configuration_is_answered_with_sentences(program: Program, tmp_path: Path, name: str) -> None:
    file = tmp_path / "other.json5"
    file.write_text(CONFIGURATIONS[name], encoding="utf-8")
    check(program("--config", str(file), "search", "coffee", "--json").json)
    if name in {"wrong", "no-key"}:
        check(program("--config", str(file), "doctor", "--json").json)


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(13, "Permission denied", "/x/y"),
        OSError(28, "No space left on device."),
        OSError("something"),
        EOFError(),
        RuntimeError("It broke."),
    ],
)
def test_a_failure_from_elsewhere_is_told_in_sentences(
    program: Program, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def read(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(Memory, "read", read)
    check(program("get", "x", "--json").json)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["search", "x", "-n", "many"], "Invalid value for '-n' / '--max-results': 'many' is not a whole number."),
        (["search", "x", "--min-score", "7"], "Invalid value for '--min-score': 7.0 is not from 0 to 1."),
        (["get", "MEMORY.md", "--from", "0"], "Invalid value for '--from': 0 is less than 1."),
        (["forget"], "Give exactly one of PATH, --match and --session."),
        (["rollback"], "Give exactly one of --session, --token and --since."),
        (["why-not", "ledger"], "Give the question, and after it the PATH of the passage."),
    ],
)
def test_a_wrong_value_is_answered_in_plain_words(program: Program, words: list[str], message: str) -> None:
    assert program(*words).err.startswith(f"Error: {message}\n")


def test_a_word_that_is_nearly_a_choice_is_answered_with_that_choice(program: Program) -> None:
    said = program("install", "claude").err
    assert said.startswith("Error: Invalid value for CLIENT: 'claude' is not one of 'claude-code', ")
    assert "Perhaps you mean claude-code." in said


def test_a_message_and_its_remedy_are_on_lines_of_their_own(program: Program) -> None:
    outcome = program("get", "../x")
    assert outcome.err == (
        "Error: The path '../x' is refused: it is not one of the memory files.\n"
        "Name a note as search results name it, such as memory/2026-02-10.md.\n"
    )
