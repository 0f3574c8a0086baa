"""What goes before a turn: the right note for many questions, and hardly ever anything for what is no question."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indexed_examples import indexed_examples
from memoriter import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "workspace"
QUESTIONS = json.loads((HERE / "questions.json").read_text(encoding="utf-8"))
SMALL_TALK = json.loads((HERE / "small_talk.json").read_text(encoding="utf-8"))
"""What people tell a coding agent; it has nothing to do with the notes."""


@pytest.fixture(scope="module", params=["bundled", "none"])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    if request.param == "bundled":
        examples = indexed_examples(tmp_path_factory)
        workspace = examples.workspace
        home = examples.home(tmp_path_factory.mktemp("bundled") / "home")
    else:
        workspace = Path(shutil.copytree(EXAMPLES, tmp_path_factory.mktemp("examples") / "workspace"))
        home = tmp_path_factory.mktemp("home")
    settings = f'{{agents: {{defaults: {{memorySearch: {{provider: "{request.param}"}}}}}}}}'
    (home / "memoriter.json5").write_text(settings, encoding="utf-8")
    with Memory.open(workspace, home=home) as opened:
        opened.sync()
        yield opened


def recalled(memory: Memory, messages: list[str]) -> list[str]:
    """What each message gets, each in a conversation of its own."""
    return [memory.session(message, audience="private").recall(message).prepend_context for message in messages]


def test_what_is_no_question_to_the_notes_gets_nothing(memory: Memory) -> None:
    texts = recalled(memory, SMALL_TALK)
    assert [message for message, text in zip(SMALL_TALK, texts, strict=True) if text][5:] == []


def test_questions_get_the_note_that_answers_them(memory: Memory) -> None:
    texts = recalled(memory, [row["question"] for row in QUESTIONS])
    right = sum(f"[{row['path']}#" in text for row, text in zip(QUESTIONS, texts, strict=True))
    by_meaning = memory.settings.provider == "bundled"
    assert right >= (27 if by_meaning else 17), right
    assert max(len(text) for text in texts) <= 4_000
