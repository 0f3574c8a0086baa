"""What no search should find: drawings, encoded files, and rows of links. It stays in the notes."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING

import pytest

from memoriter import Memory
from memoriter.workspace import read_note

if TYPE_CHECKING:
    from conftest import Program

BYTES = base64.b64encode(random.Random(3).randbytes(9_000)).decode("ascii")
ROWS = "\n".join(BYTES[at : at + 76] for at in range(0, len(BYTES), 76))


def passages(text: str) -> list[tuple[int, int, str]]:
    return [(chunk.start_line, chunk.end_line, chunk.text) for chunk in read_note("MEMORY.md", text).chunks]


@pytest.mark.parametrize(
    "noise",
    [
        f"```compressed-json\n{ROWS}\n```",
        f"```base64\n{BYTES}\n```",
        f"~~~\n{ROWS}\n~~~",
        f"![a photo](data:image/png;base64,{BYTES})",
        BYTES,
        f'{{"blob":"{BYTES}"}}',
        "[[Home]] | [[Inbox]] · [Archive](archive.md)",
        "← [[Monday]] / Up: [[Week 7]] / Next: [[Wednesday]] →",
        "![[photo.png]]",
        "- [Food](#food)\n- [Trains](#trains)",
    ],
    ids=["drawing", "base64", "unnamed", "data", "long", "json", "links", "days", "embed", "contents"],
)
def test_noise_is_in_no_passage_and_the_text_around_it_is(noise: str) -> None:
    before = "The shed has a green door."
    after = "Its hinge is brass."
    text = f"# Shed\n\n{before}\n\n{noise}\n\n{after}\n"
    end = 4 + noise.count("\n")
    assert passages(text) == [(1, 3, f"# Shed\n\n{before}"), (end + 3, end + 3, after)]


def test_what_another_entry_leaves_open_hides_nothing() -> None:
    mark = "<!-- from: agent, 2026-03-10 -->"
    end = "<!-- end: agent -->"
    for opened in (
        f"{mark}\n```base64\nx\n{end}",
        f"- x\n  ```compressed-json\n  {ROWS[:76]}",
        f"- x {mark}\n  ~~~base64",
    ):
        last = passages(f"{opened}\n- The shed has a green door.\n")[-1]
        assert "The shed has a green door." in last[2]


def test_text_in_the_same_line_as_noise_is_found() -> None:
    line = f"The shed is drawn here ![](data:image/png;base64,{BYTES}) and its door is green."
    assert passages(f"First.\n{line}\nLast.") == [
        (1, 1, "First."),
        (2, 2, "The shed is drawn here"),
        (2, 2, "and its door is green."),
        (3, 3, "Last."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "- [[Anna]]\n- [[Ben]]",
        "| [[Anna]] | [[Berlin]] |",
        "See [[Anna]] about the shed.",
        "[A page about sheds](https://example.com/sheds)",
        "![A shed with a green door](shed.png)",
        "庭の小屋の扉は緑色です。" * 200,
        "```sh\nsha256sum shed.iso\n" + "\n".join(["9f86d081884c7d659a2feaa0c55ad015" * 2] * 4) + "\n```",
        "The sum is data: 12, 13 and 14.",
    ],
    ids=["people", "table", "sentence", "bookmark", "description", "japanese", "checksums", "data"],
)
def test_what_has_words_of_its_own_is_no_noise(text: str) -> None:
    assert passages(text)[0][2][:400] == text[:400]
    assert passages(text)[-1][2][-20:] == text[-20:]


def test_a_drawing_is_found_by_its_name_and_text_and_is_one_passage(program: Program) -> None:
    path = "memory/Drawings/Shed door.md"
    file = program.workspace / path
    file.parent.mkdir(parents=True)
    front = "---\nexcalidraw-plugin: parsed\n---\n\n"
    file.write_text(f"{front}# Text Elements\nHinge sketch ^abc\n\n```compressed-json\n{ROWS}\n```\n", encoding="utf-8")
    hits = program("search", "hinge sketch", "--path", path, "--min-score", "0", "-n", "50", "--json").json["results"]
    assert [(hit["path"], hit["startLine"], hit["endLine"]) for hit in hits] == [(path, 5, 6)]
    assert "compressed-json" in program("get", path).out
    with Memory.open(program.workspace, home=program.home) as memory:
        assert memory.status(deep=True).health.ok
