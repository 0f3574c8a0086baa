"""Which lines of a passage get a vector of their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.types import Chunk
from memoriter.workspace import chunk_markdown, items_of


def texts(text: str) -> list[str]:
    return [item.text(text.split("\n")) for item in items_of(Chunk(1, 1 + text.count("\n"), text))]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (
            "- paid the dentist\n- [x] called the bank\n2. ordered a lamp",
            ["paid the dentist", "called the bank", "ordered a lamp"],
        ),
        (
            "- paid the dentist\n  in cash\n\n  for the crown\n- called the bank",
            ["paid the dentist in cash for the crown", "called the bank"],
        ),
        (
            "- a list of the calls:\n  - called the bank\n  - called the vet",
            ["a list of the calls:", "called the bank", "called the vet"],
        ),
        ("The first paragraph\ngoes on.\n\nThe second one.", ["The first paragraph goes on.", "The second one."]),
        (
            "| day | what happened |\n|-----|------|\n| Monday | rain all day |",
            ["day | what happened", "Monday | rain all day"],
        ),
        ("> Nobody was there.\n> The door was open.", ["Nobody was there.", "The door was open."]),
        ("# Garden\n\n- sowed the beans\n- mended the fence", ["sowed the beans", "mended the fence"]),
        ("Mina: is it raining?\nJoon: since this morning", ["Mina: is it raining?", "Joon: since this morning"]),
        ("치과에 갔다 왔다.\n\n은행에 전화했다.", ["치과에 갔다 왔다.", "은행에 전화했다."]),
        (
            "- [How to insulate an attic](https://example.org/attic)\n- [[House/Attic]]\n- paid the roofer",
            ["[How to insulate an attic](https://example.org/attic)", "paid the roofer"],
        ),
        (
            "- the roof, see [[House/Roof|the roof]]\n- [[House/Boiler contract]]\n- called [the bank](bank.md)",
            ["the roof, see [[House/Roof|the roof]]", "called [the bank](bank.md)"],
        ),
    ],
    ids=[
        "list",
        "continuation",
        "nested",
        "paragraphs",
        "table",
        "quote",
        "heading",
        "conversation",
        "korean",
        "bookmarks",
        "links",
    ],
)
def test_each_list_item_paragraph_row_and_quoted_line_is_an_item(text: str, items: list[str]) -> None:
    assert texts(text) == items


@pytest.mark.parametrize(
    "text",
    [
        "One paragraph\nof two lines.",
        "- only one item here",
        "# Heading\n\nOne paragraph.",
        "- yes\n- no",
        "---\n\n***",
        "- [[Heating contract]]\n- [[House/Attic insulation|the attic]]\n- [the roof](roof.md)",
    ],
)
def test_a_passage_of_one_item_has_none(text: str) -> None:
    assert texts(text) == []


def test_a_fence_is_one_item_whatever_it_contains() -> None:
    assert texts("Run this in the morning:\n\n```sh\n# clean\n- not a list\n\nmake all\n```") == [
        "Run this in the morning:",
        "```sh # clean - not a list make all ```",
    ]


def test_an_item_is_embedded_below_its_headings_and_without_marks_of_origin() -> None:
    (chunk,) = chunk_markdown("# Log\n\n- paid the rent <!-- from: mail -->\n- fed the neighbour's cat\n")
    assert [chunk.contextual_item(item) for item in items_of(chunk)] == [
        "Log\npaid the rent",
        "Log\nfed the neighbour's cat",
    ]


_LINES = st.lists(
    st.sampled_from(
        [
            "- pay the rent",
            "  and the deposit",
            "",
            "1. call the bank",
            "> quoted words here",
            "| a row | of cells |",
            "plain words of a text",
            "```",
            "# Heading",
            "---",
            "  - inner item of it",
            "Mina: hello there",
            "\t- tabbed item text",
        ]
    ),
    max_size=20,
)


@given(_LINES)
def test_items_are_in_order_do_not_overlap_and_lie_in_the_passage(lines: list[str]) -> None:
    items = items_of(Chunk(1, max(len(lines), 1), "\n".join(lines)))
    assert len(items) != 1
    ends = [-1, *(item.last for item in items)]
    assert all(end < item.first <= item.last for end, item in zip(ends, items, strict=False))
    assert not items or items[-1].last < len(lines)
    assert all(len(item.text(lines).encode()) >= 12 for item in items)
