"""docs/trouble.md: every message on it is one that the program has, and has an answer."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from source_texts import parsed

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "memoriter").rglob("*.py"))
PAGE = (ROOT / "docs" / "trouble.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (.+) \|$", PAGE, re.MULTILINE)
ANSWERS = [row for row in ROWS if row[0] not in {"message", "---"}]
MESSAGES = sorted({message for row in ANSWERS for message in re.findall(r"^`([^`]+)`$", row[0])})


@cache
def texts() -> str:
    """Return every text of the program without backticks, a line each; `…` stands for what it fills in."""
    found = list[str]()
    for file in SOURCES:
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.append("".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values))
    return "\n".join(text.replace("\n", " ") for text in found).replace("`", "")


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_on_the_page_is_one_that_the_program_has(message: str) -> None:
    words = message.removesuffix("…").strip()
    assert len(re.sub(r"\W", "", words)) >= 5
    assert words in texts()


def test_each_message_has_an_answer() -> None:
    assert len(MESSAGES) > 40
    assert [row for row in ANSWERS if len(row[1]) < len("nothing")] == []
