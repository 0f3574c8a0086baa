"""Every command on the pages of docs exists, and takes the options and settings that it is shown with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from memoriter.cli import main
from memoriter.config import reference, setting_names

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r'(?ms)^```(?:sh|console)(?: title="[^"]*")?\n(.*?)^```$')
BETWEEN = re.compile(r" (?:&&|\|) ")
PROGRAM = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*(?:\S*/)?memoriter (.*?)(?: (?:>|2>|&$|#).*)?$")
INLINE = re.compile(r"`memoriter\s([^`]+)`")
KEYS = list(dict.fromkeys(row.key.partition("[]")[0] for row in reference()))


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page with its text."""
    yield from ((page.stem, page.read_text(encoding="utf-8")) for page in sorted(DOCS.glob("*.md")))


def in_blocks() -> Iterator[tuple[str, str]]:
    """Yield each command of a block with the name of its page."""
    for name, text in pages():
        for line in "\n".join(BLOCK.findall(text)).splitlines():
            for part in BETWEEN.split(line):
                if found := PROGRAM.match(part):
                    yield name, found[1]


def in_sentences() -> Iterator[tuple[str, str]]:
    """Yield each command of a sentence or a table with the name of its page."""
    for name, text in pages():
        yield from ((name, " ".join(command.split())) for command in INLINE.findall(text))


def called(words: list[str]) -> tuple[list[click.Command], list[str]]:
    """Return the command that words call, with the groups above it, and the words that are left for it."""
    chain: list[click.Command] = [main]
    left = list[str]()
    with click.Context(main, obj={}) as context:
        for word in words:
            found = chain[-1].get_command(context, word) if isinstance(chain[-1], click.Group) else None
            if found:
                chain.append(found)
            elif len(chain) > 1:
                left.append(word)
    return chain, left


@pytest.mark.parametrize(("page", "line"), sorted({*in_blocks()}))
def test_a_command_of_a_page_takes_what_it_is_given(page: str, line: str) -> None:
    chain, words = called(shlex.split(line))
    assert len(chain) > 1, page
    above = click.Context(main, obj={}, help_option_names=["-h", "--help"])
    context = chain[-1].make_context(str(chain[-1].name), words, above)
    key = context.params.get("key") if chain[1].name == "config" else None
    assert key is None or setting_names(str(key), KEYS), page


@pytest.mark.parametrize(("page", "line"), sorted({*in_sentences()}))
def test_a_command_in_a_sentence_exists_and_has_the_options_that_are_named(page: str, line: str) -> None:
    words = re.sub(r'"[^"]*"', " ", line).split()
    chain, _ = called(words)
    assert len(chain) > 1 or all(word[0] == "-" or word.isupper() for word in words), page
    known = {name for each in chain for param in each.params for name in (*param.opts, *param.secondary_opts)}
    assert {word for word in words if re.match(r"--?[a-zA-Z]", word)} <= known | {"--help"}, page


def test_the_pages_show_many_commands() -> None:
    assert len({*in_blocks()}) > 60
    assert len({*in_sentences()}) > 60
