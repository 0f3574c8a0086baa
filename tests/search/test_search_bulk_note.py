"""One note with many passages about something else leaves the answers of the other notes as they are."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from memoriter import Memory
from memoriter.embed import open_provider
from memoriter.errors import ProviderUnavailable
from memoriter.search import MATCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.slow

SECOND = Path(__file__).parents[1] / "e2e" / "second"
QUESTIONS = json.loads((SECOND / "questions.json").read_text(encoding="utf-8"))[::3]
WORDS = {
    "en": (
        ("crate", "drum", "sack", "barrel", "carton", "bundle"),
        ("olives", "gravel", "rivets", "lentils", "paraffin", "roof tiles", "resin", "felt"),
        ("weighed", "sealed", "counted", "stacked", "inspected"),
        ("bay", "dock", "ramp", "yard", "hangar"),
    ),
    "ko": (
        ("상자", "드럼통", "자루", "나무통", "종이갑", "묶음"),
        ("올리브", "자갈", "대갈못", "렌틸콩", "파라핀", "기와", "송진", "펠트"),
        ("계량함", "봉인함", "세어봄", "쌓음", "검수함"),
        ("적재구역", "부두", "경사로", "야적장", "격납고"),
    ),
}


EDGE = 0.02
"""Distance from the lowest score of a match, or from the next note, at which outcome or place may change."""
DRIFT = 0.05
"""By how much a score may change. The bulk note changed scores by up to .19 before passages of a note were limited."""


class Answer(NamedTuple):
    """The first hit of another note than the bulk note."""

    path: str
    score: float
    lead: float
    """By how much its score exceeds that of the next note."""


def entries(language: str, count: int) -> list[str]:
    """Return entries of a harbour's log; more entries begin with the same ones."""
    chance = random.Random(language)
    things, goods, actions, places = WORDS[language]

    def entry() -> str:
        thing = chance.choice(things)
        number = chance.randrange(1000, 9999)
        return f"{thing} {number}, {chance.choice(goods)}, {chance.choice(actions)}, {chance.choice(places)}"

    return [entry() for _ in range(count)]


def bulk(form: str, language: str, count: int) -> str:
    """Return a note with so many list items, headings or copies of a paragraph."""
    made = entries(language, count)
    if form == "items":
        return "# Harbour\n\n" + "".join(f"- {entry}\n" for entry in made)
    if form == "headings":
        return "# Harbour\n\n" + "".join(f"## {entry}\n\n{entry}\n\n" for entry in made)
    return "# Harbour\n\n" + f"{'. '.join(made[:8])}.\n\n" * count


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(SECOND / "workspace", tmp_path_factory.mktemp("bulk") / "workspace"))


@pytest.fixture(scope="module")
def memory(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    home = tmp_path_factory.mktemp("home")
    try:
        open_provider("bundled", cache_dir=home / "models").close()
    except ProviderUnavailable as error:
        pytest.skip(f"the bundled model cannot run here: {error.message}")
    config = home / "settings.json5"  # the judge reads three hits, also of the bulk note, and may order others by them
    config.write_text(json.dumps({"memorySearch": {"query": {"rerank": "off"}}}), encoding="utf-8")
    with Memory.open(workspace, home=home, config=config) as memory:
        yield memory


def answers(memory: Memory, questions: Sequence[str]) -> dict[str, Answer]:
    memory.sync()
    found = {}
    for question in questions:
        hits = memory.search(question, min_score=0.0, max_results=10).hits
        others = [hit for hit in hits if not hit.path.endswith("harbour.md")]
        second = next((hit.score for hit in others if hit.path != others[0].path), 0.0)
        found[question] = Answer(others[0].path, others[0].score, others[0].score - second)
    return found


@pytest.fixture(scope="module")
def before(memory: Memory) -> dict[str, Answer]:
    found = answers(memory, [row["question"] for row in QUESTIONS])
    right = {row["question"]: found[row["question"]] for row in QUESTIONS if found[row["question"]].path == row["path"]}
    right = {question: answer for question, answer in right.items() if answer.lead > EDGE}
    assert len(right) >= 8
    return right


@settings(
    max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
@example(("headings", "en", 60))
@given(
    st.tuples(
        st.sampled_from(["items", "headings", "copies"]), st.sampled_from(["en", "ko"]), st.sampled_from([60, 120, 240])
    )
)
def test_right_hits_keep_their_place_and_their_outcome_whatever_one_note_holds_about_something_else(
    memory: Memory, workspace: Path, before: dict[str, Answer], made: tuple[str, str, int]
) -> None:
    note = workspace / "memory" / "harbour.md"
    note.write_text(bulk(*made), encoding="utf-8")
    try:
        after = answers(memory, list(before))
    finally:
        note.unlink()
    assert {question: answer.path for question, answer in after.items()} == {
        question: answer.path for question, answer in before.items()
    }
    drift = {question: abs(after[question].score - answer.score) for question, answer in before.items()}
    assert max(drift.values()) < DRIFT, drift
    clear = [question for question, answer in before.items() if abs(answer.score - MATCH) > EDGE]
    assert [after[question].score >= MATCH for question in clear] == [
        before[question].score >= MATCH for question in clear
    ]
