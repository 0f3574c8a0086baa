"""The examples of agent frameworks are short, and say what they need."""

from __future__ import annotations

import re
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
    assert 'pip install "memoriter[' in text.split('"""')[1]


def test_the_conversation_is_short_too_and_says_what_it_needs() -> None:
    text = CONVERSATION.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_CONVERSATION
    needed = re.findall(r"pip install (.+)", text.split('"""')[1])
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"pip install -e '\.(\[pydantic-ai\])' (.+)", page) == [("[pydantic-ai]", "openai anthropic")]
    assert needed == ['"memoriter[pydantic-ai]" openai anthropic']
