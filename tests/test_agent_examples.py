"""The examples of agent frameworks are short, and say what they need."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples" / "agents").glob("*.py"))
PAGE = ROOT / "docs" / "python.md"
LONGEST = 25
CONVERSATION = ROOT / "examples" / "chat.py"
LONGEST_CONVERSATION = 150


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_fits_a_screen_and_says_what_it_needs(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert "Needs the extra `" in text.split('"""')[1]


def test_the_conversation_is_short_too_and_says_what_it_needs() -> None:
    text = CONVERSATION.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_CONVERSATION
    needed = "eeds the extra `pydantic-ai`", "the packages `openai` and `anthropic`"
    page = PAGE.read_text(encoding="utf-8")
    assert [words for words in needed if words not in text.split('"""')[1] or words not in page] == []
