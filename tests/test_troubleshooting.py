"""docs/troubleshooting.md: every message on it is one that the program has, and every code is on it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from memoriter.codes import CODES
from memoriter.types import Stage
from source_texts import parsed

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "memoriter").rglob("*.py"))
ROWS = re.findall(
    r"^\| (.+?) \| (.+?) \| (.+) \|$", (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE
)
ANSWERS = [row for row in ROWS if row[0] not in {"message", "---"}]
MESSAGES = sorted({message for row in ANSWERS for message in re.findall(r"`([^`]+)`", row[0])} - CODES)

STAGES = frozenset(get_args(Stage))
CHECKS = frozenset({"home", "search"})
"""What stands in the second column of the parts on `why-not` and `doctor`."""


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


def test_the_page_has_every_code_and_no_other() -> None:
    named = {code for row in ANSWERS for code in re.findall(r"`(\w+)`", row[1])}
    assert named - STAGES - CHECKS == CODES


def test_each_message_has_an_answer() -> None:
    assert len(ANSWERS) > 100
    assert [row for row in ANSWERS if len(row[2]) < len("Nothing")] == []
