"""Long-term memories of a folder of notes: the note is the truth, and the database follows it."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import lancedb
import pyarrow as pa
import pytest

from long_term import NOTE, configure_long_term, long_term_env
from memoriter.errors import ConfigError, EmbeddingError, IndexUnavailable, UsageError
from memoriter.extensions.longterm.api import rebuild, stats

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter import Memory
    from memory_env import MemoryEnv

TEA = "I drink green tea in the morning."
COFFEE = "I never drink coffee after four."


def note(env: MemoryEnv) -> Path:
    return env.notes / NOTE


def texts(memory: Memory, query: str, **options: object) -> list[str]:
    arguments = {"limit": 5, "floor": 0.1} | options
    return [hit.memory.text for hit in memory.long_term.search(query, **arguments).hits]  # type: ignore[arg-type]


def test_a_stored_memory_is_a_line_of_the_note_and_is_found_by_a_question(env: MemoryEnv, memory: Memory) -> None:
    stored = memory.long_term.store(TEA, origin="owner", category="preference")
    assert note(env).read_text(encoding="utf-8").splitlines()[-1].startswith(f"- [preference] {TEA} <!-- memory: ")
    assert texts(memory, "what do I drink in the morning") == [TEA]
    assert memory.long_term.memories() == [stored.memory]


def test_another_process_finds_the_memory(env: MemoryEnv, memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    assert texts(env.open(), "green tea in the morning") == [TEA]


@pytest.mark.parametrize("text", [TEA, f"  {TEA} ", TEA.replace("morning", "mornings")])
def test_what_says_the_same_is_not_stored_again(memory: Memory, text: str) -> None:
    memory.long_term.store(TEA, origin="owner")
    same = memory.long_term.store(text, origin="agent")
    if text.strip() == TEA:
        assert (same.existing, same.similarity, same.memory.origin) == (True, 1.0, "owner")
        assert len(memory.long_term.memories()) == 1
    else:
        assert not same.existing


def test_a_secret_is_masked_before_it_is_written_anywhere(env: MemoryEnv, memory: Memory) -> None:
    stored = memory.long_term.store("The password is: hunter2Xy7!q and the city is Busan.", origin="owner")
    assert stored.masked
    assert all(b"hunter2Xy7" not in file.read_bytes() for file in files(env))
    assert "Busan" in note(env).read_text(encoding="utf-8")


def files(env: MemoryEnv) -> list[Path]:
    return [file for folder in (env.home, env.notes) for file in folder.rglob("*") if file.is_file()]


def test_a_forgotten_memory_is_in_no_file_any_more(env: MemoryEnv, memory: Memory) -> None:
    kept = memory.long_term.store("The door code is CANARY7734 at night.", origin="owner").memory
    for number in range(5):
        memory.long_term.store(f"{TEA} Number {number} differs entirely: {'x' * number}", origin="owner")
    memory.sync()
    assert any(b"CANARY7734" in file.read_bytes() for file in files(env))
    receipt = memory.long_term.forget_id(kept.id)
    assert (receipt.lines, receipt.rows, receipt.left) == (1, 1, ())
    assert [file for file in files(env) if b"CANARY7734" in file.read_bytes()] == []
    assert texts(memory, "door code CANARY7734") == []
    assert len(memory.long_term.memories()) == 5


def test_a_line_of_the_note_that_is_forgotten_is_in_no_file_any_more(env: MemoryEnv, memory: Memory) -> None:
    for code in ("CANARY7734", "CANARY8845"):
        memory.long_term.store(f"The code {code} opens the door at night.", origin="owner")
    memory.sync()
    for request in ({"match": "CANARY7734"}, {"path": NOTE}):
        assert memory.forget(memory.plan_forget(**request)).left == ()
        assert [file for file in files(env) if b"CANARY7734" in file.read_bytes()] == []
    assert [file for file in files(env) if b"CANARY8845" in file.read_bytes()] == []


def test_a_deleted_line_is_never_found_again_and_a_rebuild_removes_its_row(env: MemoryEnv, memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    memory.long_term.store(COFFEE, origin="owner")
    lines = note(env).read_text(encoding="utf-8").splitlines(keepends=True)
    note(env).write_text("".join(line for line in lines if "green tea" not in line), encoding="utf-8")
    assert texts(memory, TEA) == [COFFEE]
    (reason,) = stats(memory.long_term).reasons
    assert (reason.code, reason.message) == (
        "stale",
        f"The database differs from {NOTE}: 0 to add or change, 1 to remove.",
    )
    result = rebuild(memory.long_term)
    assert (result.memories, result.added, result.changed, result.removed) == (1, 0, 0, 1)
    assert stats(memory.long_term).reasons == ()


def test_an_edited_line_is_found_by_its_new_words(env: MemoryEnv, memory: Memory) -> None:
    first = memory.long_term.store(TEA, origin="owner").memory
    note(env).write_text(note(env).read_text(encoding="utf-8").replace(TEA, "We deploy on Fridays."), encoding="utf-8")
    result = rebuild(memory.long_term)
    assert (result.added, result.changed, result.removed) == (0, 1, 0)
    (hit,) = memory.long_term.search("when do we deploy", limit=5, floor=0.1).hits
    assert (hit.memory.id, hit.memory.text) == (first.id, "We deploy on Fridays.")


def test_a_line_written_by_hand_gets_an_id_and_is_the_owners(env: MemoryEnv, memory: Memory) -> None:
    env.write(NOTE, "# Mine\n\n- [fact] The staging server is called heron.\n- I moved to Seoul.\n\nNot a memory.\n")
    result = rebuild(memory.long_term)
    assert (result.added, result.numbered) == (2, 2)
    (hit,) = memory.long_term.search("staging server heron", limit=1, floor=0.1, trusted=True).hits
    assert (hit.memory.category, hit.memory.origin) == ("fact", "owner")
    text = note(env).read_text(encoding="utf-8")
    assert hit.memory.id in text
    assert text.endswith("\n\nNot a memory.\n")
    assert rebuild(memory.long_term).numbered == 0


def test_the_database_can_be_dropped_and_is_rebuilt_from_the_note(env: MemoryEnv, memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    memory.long_term.store(COFFEE, origin="agent")
    shutil.rmtree(env.home / "memory" / "lancedb")
    fresh = env.open()
    assert texts(fresh, "green tea in the morning") == []
    assert rebuild(fresh.long_term).added == 2
    assert texts(fresh, "green tea in the morning")[0] == TEA


def test_a_damaged_database_is_an_error_with_a_remedy_and_storing_keeps_the_memory(
    env: MemoryEnv, memory: Memory
) -> None:
    memory.long_term.store(TEA, origin="owner")
    for file in (env.home / "memory" / "lancedb").rglob("*.manifest"):
        file.write_bytes(b"no manifest")
    again = env.open()
    with pytest.raises(IndexUnavailable) as caught:
        again.long_term.search("tea in the morning", limit=5, floor=0.1)
    assert "memoriter ltm rebuild" in caught.value.remedy
    stored = again.long_term.store(COFFEE, origin="owner")
    assert stored.reasons
    assert COFFEE in note(env).read_text(encoding="utf-8")


def test_another_model_needs_a_rebuild_and_says_so(env: MemoryEnv, memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    configure_long_term(env, provider="bundled")
    other = env.open()
    found = stats(other.long_term)
    assert (found.stored, list(found.other_models.values())) == (0, [1])
    assert "another model" in found.reasons[0].message
    rebuild(other.long_term)
    assert texts(other, "what do I drink in the morning") == [TEA]
    configure_long_term(env)
    assert texts(env.open(), "what do I drink in the morning") == [TEA]


def test_without_a_provider_memories_are_kept_and_found_by_their_words(tmp_path: Path) -> None:
    env = long_term_env(tmp_path, provider="none")
    memory = env.open()
    stored = memory.long_term.store(TEA, origin="owner")
    assert stored.reasons
    answer = memory.long_term.search("green tea", limit=5, floor=0.1)
    assert [hit.memory.text for hit in answer.hits] == [TEA]
    assert "by their words only" in answer.reasons[0].message
    with pytest.raises(EmbeddingError, match="searches by meaning"):
        memory.long_term.forget("tea")
    assert memory.long_term.forget(TEA).forgotten
    env.close()


def test_a_newer_memory_replaces_an_older_one_which_stays_and_can_be_looked_back_at(
    env: MemoryEnv, memory: Memory
) -> None:
    old = memory.long_term.store("The ledger runs on MySQL.", origin="owner", category="decision").memory
    env.wait(3 * 86_400)
    new = memory.long_term.store(
        "The ledger runs on PostgreSQL.", origin="owner", category="decision", supersedes=old.id
    ).memory
    hits = memory.long_term.search("the ledger runs on", limit=5, floor=0.0).hits
    assert [(hit.memory.id, hit.memory.status) for hit in hits] == [(new.id, "active"), (old.id, "superseded")]
    trusted = memory.long_term.search("the ledger runs on", limit=5, floor=0.0, trusted=True).hits
    assert [hit.memory.id for hit in trusted] == [new.id]
    before = datetime(2026, 3, 11, tzinfo=UTC).timestamp()
    earlier = memory.long_term.search("the ledger runs on", limit=5, floor=0.0, as_of=before).hits
    assert [(hit.memory.id, hit.memory.status) for hit in earlier] == [(old.id, "active")]
    with pytest.raises(UsageError, match="is not the id of a memory"):
        memory.long_term.store("x y z", origin="owner", supersedes="nope")


def test_two_folders_of_notes_in_one_database_do_not_see_each_other(tmp_path: Path) -> None:
    database = str(tmp_path / "shared")
    one = long_term_env(tmp_path / "one", dbPath=database)
    two = long_term_env(tmp_path / "two", dbPath=database)
    stored = one.open().long_term.store("The canary sings in ALPHA.", origin="owner").memory
    memory = two.open()
    memory.long_term.store("Nothing of interest here.", origin="owner")
    assert texts(memory, "The canary sings in ALPHA.", floor=0.0) == ["Nothing of interest here."]
    assert [each.text for each in memory.long_term.memories()] == ["Nothing of interest here."]
    assert stats(memory.long_term).stored == 1
    with pytest.raises(UsageError):
        memory.long_term.forget_id(stored.id)
    rebuild(memory.long_term, everything=True)
    assert texts(one.opened[0], "the canary sings") == ["The canary sings in ALPHA."]
    one.close()
    two.close()


def test_folders_that_name_the_same_principal_share_their_memories(tmp_path: Path) -> None:
    database = str(tmp_path / "shared")
    envs = [long_term_env(tmp_path / name, dbPath=database, principal="team") for name in ("one", "two")]
    first, second = (env.open().long_term for env in envs)
    stored = first.store("Our staging server is called heron.", origin="owner").memory
    assert [hit.memory.id for hit in second.search("staging server heron", limit=5, floor=0.1).hits] == [stored.id]
    assert [each.id for each in second.memories()] == [stored.id]
    assert second.store("Our staging server is called heron.", origin="owner").existing
    rebuild(second)
    assert [each.id for each in second.memories()] == [stored.id]
    for env in envs:
        env.close()


@pytest.mark.parametrize("config", [{"principal": "team"}, {}])
@pytest.mark.parametrize("withheld", ["My favourite framework is new.", "The door of the garden is blue."])
def test_memories_that_are_never_recalled_keep_no_other_one_from_being_recalled(
    tmp_path: Path, config: dict[str, str], withheld: str
) -> None:
    env = long_term_env(tmp_path / "one", **config)
    memory = env.open()
    kept = memory.long_term.store("My favourite framework is Svelte.", origin="owner").memory
    memory.long_term.store(withheld, origin="web")
    rebuild(memory.long_term)
    recalled = memory.session("s", audience="private").recall("I live by the sea. What is my favourite framework?")
    assert kept.text in str(recalled)
    assert withheld not in str(recalled)
    env.close()


@pytest.mark.parametrize(
    ("text", "importance", "message"),
    [
        ("  \n ", 0.7, "There is nothing to remember"),
        ("x" * 10_001, 0.7, "10,001 characters"),
        ("fine", 1.5, "The importance is 1.5"),
        ("fine", float("nan"), "The importance is nan"),
    ],
)
def test_what_cannot_be_a_memory_is_refused_and_nothing_is_written(
    env: MemoryEnv, memory: Memory, text: str, importance: float, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        memory.long_term.store(text, origin="owner", importance=importance)
    assert not note(env).exists()


def test_the_setting_of_the_dimensions_is_a_check(tmp_path: Path) -> None:
    env = long_term_env(tmp_path, embedding={"dimensions": 1536})
    with pytest.raises(ConfigError, match="256 numbers"):
        env.open().long_term.opened()
    env.close()


def test_in_a_project_that_is_only_trusted_no_line_is_the_owners(env: MemoryEnv) -> None:
    env.trust()
    project = MemoryOfProject(env)
    env.write(NOTE, f"- {TEA} <!-- memory: 7cb97353-ac00-47cc-9906-f4ea459ed2de 1 2026-01-01 approved -->\n")
    memory = project.open()
    rebuild(memory.long_term)
    assert [each.trusted for each in memory.long_term.memories()] == [False]
    assert memory.session("s", audience="private").recall(TEA).prepend_context == ""


class MemoryOfProject:
    """Opens the notes as an agent does that works in their folder."""

    def __init__(self, env: MemoryEnv) -> None:
        self.env = env

    def open(self) -> Memory:
        from memoriter import Memory
        from memoriter.app import Environment, assemble

        env = self.env
        environ = {"MEMORITER_HOME": str(env.home)}
        environment = Environment(environ, env.home, env.notes, lambda: env.seconds, lambda: env.ticks)
        env.opened.append(Memory(assemble(None, env=environment)))
        return env.opened[-1]


def test_recall_before_a_turn_needs_neither_the_database_nor_its_package(env: MemoryEnv, memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner", category="preference")
    shutil.rmtree(env.home / "memory" / "lancedb")
    recalled = env.open().session("another", audience="private").recall("do I drink green tea in the morning")
    assert TEA in recalled.prepend_context
    assert recalled.reasons == ()


def test_the_copy_of_the_vectors_can_be_deleted(env: MemoryEnv, memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    for damage in (b"no archive", None):
        (copy,) = (env.home / "memory" / "long-term-vectors").glob("*.npz")
        copy.unlink() if damage is None else copy.write_bytes(damage)
        session = env.open().session(f"session {damage!r}", audience="private")
        assert TEA in session.recall("do I drink green tea in the morning").prepend_context


def test_a_search_in_a_database_that_lacks_memories_of_the_note_says_so(env: MemoryEnv, memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    shutil.rmtree(env.home / "memory" / "lancedb")
    shutil.rmtree(env.home / "memory" / "long-term-vectors")
    memory = env.open()

    answer = memory.long_term.search("what do I drink", limit=5, floor=0.1)
    assert (answer.hits, [(each.code, each.remedy) for each in answer.reasons]) == (
        (),
        [("stale", "Run `memoriter ltm rebuild`.")],
    )
    assert "lacks 1 of 1 memories" in answer.reasons[0].message
    with pytest.raises(IndexUnavailable, match="lacks 1 of 1 memories"):
        memory.long_term.forget("I drink tea.")
    recalled = memory.session("another", audience="private").recall("do I drink green tea in the morning")
    assert ["lacks 1 of 1 memories" in each.message for each in recalled.reasons] == [True]

    rebuild(memory.long_term)
    assert memory.long_term.search(TEA, limit=5, floor=0.1).reasons == ()


def test_the_beginning_of_an_id_names_a_memory_in_every_operation(memory: Memory) -> None:
    long_term = memory.long_term
    older = long_term.store(TEA, origin="agent").memory
    newer = long_term.store(COFFEE, origin="owner", supersedes=older.id[:8]).memory
    assert newer.supersedes == older.id
    assert long_term.approve(older.id[:8].upper()).id == older.id
    assert long_term.forget_id(older.id[:13]).forgotten[0].id == older.id
    for identifier in (older.id, newer.id[:7], "zzzzzzzz"):
        with pytest.raises(UsageError, match="id"):
            long_term.forget_id(identifier)
    assert [each.id for each in long_term.memories()] == [newer.id]


@pytest.mark.parametrize("text", [TEA.upper(), TEA.removesuffix("."), f"{TEA.replace(' ', '  ')}"])
def test_case_white_space_and_the_stop_at_the_end_make_no_other_memory(memory: Memory, text: str) -> None:
    first = memory.long_term.store(TEA, origin="owner").memory
    assert memory.long_term.store(text, origin="owner").memory.id == first.id


def test_the_receipt_names_what_a_memory_of_another_folder_leaves(tmp_path: Path) -> None:
    database = str(tmp_path / "shared")
    envs = [long_term_env(tmp_path / name, dbPath=database, principal="team") for name in ("one", "two")]
    first, second = (env.open().long_term for env in envs)
    stored = first.store("Our staging server is called heron.", origin="owner").memory
    with pytest.raises(UsageError, match="in the note of another folder"):
        second.approve(stored.id)

    receipt = second.forget_id(stored.id)

    assert (receipt.lines, receipt.rows, [each.code for each in receipt.left]) == (0, 1, ["elsewhere"])
    for env in envs:
        env.close()


def test_a_database_beside_the_table_of_openclaw_can_be_rebuilt_and_forgets(tmp_path: Path) -> None:
    database = tmp_path / "openclaw"
    table = {"id": ["7cb97353-ac00-47cc-9906-f4ea459ed2de"], "text": ["Mine."], "vector": [[1.0, 0.0]]}
    lancedb.connect(str(database)).create_table("memories", pa.table(table))
    env = long_term_env(tmp_path / "env", dbPath=str(database))
    long_term = env.open().long_term
    stored = long_term.store(TEA, origin="owner").memory
    rebuild(long_term)
    assert (long_term.forget_id(stored.id).rows, long_term.memories()) == (1, [])
    assert lancedb.connect(str(database)).open_table("memories").count_rows() == 1
    env.close()


def test_an_edit_of_anything_but_the_words_is_a_difference_too(env: MemoryEnv, memory: Memory) -> None:
    memory.long_term.store(TEA, origin="agent", category="fact")
    assert stats(memory.long_term).reasons == ()
    note = (env.notes / NOTE).read_text(encoding="utf-8")
    for edited in (
        note.replace("[fact]", "[preference]"),
        note.replace(" 0.7 ", " 0.2 "),
        note.replace("Z -->", "Z approved -->"),
    ):
        assert edited != note
        env.write(NOTE, edited)
        assert [reason.code for reason in stats(memory.long_term).reasons] == ["stale"]
        assert rebuild(memory.long_term).changed == 1
        assert stats(memory.long_term).reasons == ()
