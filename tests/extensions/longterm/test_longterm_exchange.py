"""Memories that are exported and imported again are the same; an export of somebody else proves nothing."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from long_term import NOTE, long_term_env
from memoriter import UsageError
from memoriter.extensions.longterm._note import clean_text
from memoriter.extensions.longterm.api import LongTermMemory, Span, export_markdown, export_rows, import_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memory_env import MemoryEnv

IDS = [str(uuid.UUID(int=number)) for number in range(1, 5)]
TEXTS = st.text(min_size=1, max_size=40).map(clean_text).filter(bool)
STRANGE = st.sampled_from(["<!-- memory: x principal=y -->", "- [fact] c\n\n  d", "[fact] x", "# h\n- i", '{"a": 1}'])


@st.composite
def memories(draw: st.DrawFn) -> list[LongTermMemory]:
    texts = draw(st.lists(TEXTS | STRANGE, min_size=1, max_size=len(IDS), unique=True))
    return [
        LongTermMemory(
            id=identifier,
            text=text,
            principal="team",
            note="elsewhere",
            importance=draw(st.sampled_from([0.0, 0.25, 0.7, 1.0])),
            category=draw(st.sampled_from(["preference", "fact", "decision", "entity", "other"])),
            created_at=draw(st.integers(0, 4_000_000_000_000)) / 1000,
            origin=draw(st.sampled_from(["owner", "agent", "tool", "web", "import"])),
            session=draw(st.text(max_size=10)),
            span=draw(st.none() | st.builds(Span, st.sampled_from(["user", "tool"]), *[st.integers(0, 9)] * 3)),
            status=draw(st.sampled_from(["active", "superseded"])),
            supersedes=draw(st.sampled_from(["", IDS[3]])),
            approved=draw(st.booleans()),
        )
        for identifier, text in zip(IDS, texts, strict=False)
    ]


def written(rows: Sequence[LongTermMemory], form: str) -> str:
    if form == "markdown":
        return export_markdown(rows)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in export_rows(rows))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "markdown"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=memories())
def test_a_round_trip_loses_nothing(tmp_path_factory: pytest.TempPathFactory, form: str, rows: Any) -> None:
    env = long_term_env(tmp_path_factory.mktemp("round"), principal="team")
    long_term = env.open().long_term
    import_text(long_term, written(rows, form), own=True)
    expected = [
        replace(
            row,
            note=long_term.parts.note,
            approved=row.approved and form == "jsonl",  # what a note says of approvals proves nothing
            author_trusted=row.origin == "agent",
        )
        for row in sorted(rows, key=lambda row: (row.created_at, row.id))
    ]
    assert long_term.memories() == expected
    assert sorted(long_term.opened().memories(principal="team"), key=lambda row: row.id) == sorted(
        expected, key=lambda row: row.id
    )
    assert written(long_term.memories(), form) == written(expected, form)
    again = import_text(long_term, written(rows, form), own=True)
    assert (again.added, again.present) == (0, len(rows))
    env.close()


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_a_correction_and_its_views_survive_the_move_to_another_folder(tmp_path: Path, form: str) -> None:
    one = long_term_env(tmp_path / "one")
    two = long_term_env(tmp_path / "two")
    first = one.open().long_term
    old = first.store("The ledger runs on MySQL.", origin="owner", category="decision").memory
    one.wait(2 * 86_400)
    first.store("The ledger runs on PostgreSQL.", origin="owner", category="decision", supersedes=old.id)
    second = two.open().long_term
    import_text(second, written(first.memories(), form), own=True)
    for day in (None, "2026-03-10", "2026-03-12"):
        views = [[(row.id, row.status) for row in part.memories(as_of=day)] for part in (first, second)]
        assert views[0] == views[1]
    assert (
        second.search("the ledger runs on", limit=1, floor=0.3).hits[0].memory.text == "The ledger runs on PostgreSQL."
    )
    one.close()
    two.close()


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_an_export_of_somebody_else_does_not_prove_who_wrote_a_memory(env: MemoryEnv, form: str) -> None:
    row = LongTermMemory(
        id=IDS[0], text="I like tea.", created_at=1.0, origin="owner", principal="notes:x", approved=True
    )
    memory = env.open().long_term
    import_text(memory, written([row], form), own=False)
    (kept,) = memory.memories()
    assert (kept.id, kept.origin, kept.trusted) == (IDS[0], "import", False)


GOOD = '{"text": "I like tea."}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "There is nothing to import"),
        ("Only words.", "The text holds no memory"),
        (f'{GOOD}\n{{"text": 7}}', "Line 2 is no memory, so nothing was imported: text: "),
        (f"{GOOD}\n[1]", "Line 2 is no memory"),
        (f"{GOOD}\n{{broken", "Line 2 is no memory"),
        ('{"text": "a", "category": "wish"}', "Line 1 is no memory, so nothing was imported: category: "),
        ('{"text": "a", "importance": 2}', "importance: "),
        ('{"text": "a", "id": "7"}', "id: "),
        ('{"text": "a", "createdAt": "soon"}', "createdAt: "),
        ('{"text": "a", "principal": "bob"}', "These are memories of the principal 'bob'"),
        (f"- a <!-- memory: {IDS[0]} 0.7 2026-01-01T00:00:00.000Z principal=bob -->", "of the principal 'bob'"),
        (json.dumps({"text": "x" * 10_001}), "has 10,001 characters"),
    ],
)
def test_a_wrong_export_is_refused_as_a_whole(env: MemoryEnv, text: str, problem: str) -> None:
    memory = env.open().long_term
    with pytest.raises(UsageError) as refused:
        import_text(memory, text, own=True)
    assert problem in refused.value.message
    assert refused.value.remedy
    assert not (env.notes / NOTE).exists()


def test_secrets_in_an_export_are_masked_and_rows_without_a_text_are_counted(env: MemoryEnv) -> None:
    key = "ghp_" + "a1B2" * 9
    memory = env.open().long_term
    result = import_text(memory, f'{{"text": "The token is {key}."}}\n{{"text": "  "}}\n', own=True)
    assert (result.added, result.present, result.skipped) == (1, 0, 1)
    assert key not in (env.notes / NOTE).read_text(encoding="utf-8")
