"""What a change of settings does to questions about a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.types import Query
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from memoriter.memory import Memory
    from memoriter.questions._questions import EvalQuestion
    from memoriter.types import SearchResult


@dataclass(frozen=True, slots=True)
class SettingEffect:
    """How many questions are answered with the settings in force, and which ones a change gains or loses.

    A question with answers is answered if one of the hits has lines of an answer. A question without an answer is
    answered if the search calls no hit a match.
    """

    questions: int
    answered: int
    """Questions that are answered with the settings in force."""
    gained: tuple[EvalQuestion, ...]
    lost: tuple[EvalQuestion, ...]


def setting_effect(
    memory: Memory, changes: Mapping[str, Any], questions: Iterable[EvalQuestion], *, left_out: str | None = None
) -> SettingEffect:
    """Search for every question with the settings in force and with a change, and compare.

    Args:
        memory: the workspace.
        changes: values by the key of the setting, such as `query.minScore`.
        questions: the questions; answers that are headings have lines.
        left_out: path of a note whose hits do not count, because it contains the questions.
    """
    gained: list[EvalQuestion] = []
    lost: list[EvalQuestion] = []
    count = answered = 0
    with memory.backend.varied(changes) as changed:
        for question in questions:
            query = Query(question.text)
            before, after = (
                _is_answered(question, backend.search(query), left_out) for backend in (memory.backend, changed)
            )
            count += 1
            answered += before
            if before != after:
                (gained if after else lost).append(question)
    return SettingEffect(count, answered, tuple(gained), tuple(lost))


def _is_answered(question: EvalQuestion, result: SearchResult, left_out: str | None) -> bool:
    if not question.answers:
        return result.outcome != "match"
    hits = [hit for hit in result.hits if hit.path != left_out]
    return any(answer.overlaps(hit) for answer in question.answers for hit in hits)
