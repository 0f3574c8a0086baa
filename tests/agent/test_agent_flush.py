"""Before a compaction, the agent writes down lasting facts, whatever the model makes of the request."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoriter import Memory
from memoriter.agent.flush._decision import (
    MAX_ATTEMPTS,
    Evidence,
    Flush,
    flush_json,
    is_no_reply,
    next_request,
    parse_flush,
    settle,
)
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Clock
    from memoriter.agent import FlushResult, FlushTurn

    Open = Callable[..., Memory]

FULL = 176_000
TODAY = "memory/2026-02-10.md"
KEY = "agent:main:main"


@pytest.fixture
def log(notes: Path) -> Path:
    file = notes / TODAY
    file.write_text("# 2026-02-10\n\n- Standup moved to ten.\n", encoding="utf-8")
    return file


def ask(at: Open, tokens: int | None = FULL, **options: Any) -> FlushTurn | None:
    return at().session(KEY).flush(tokens, **options).turn


def finish(at: Open, reply: str | None = None) -> FlushResult:
    result = at().session(KEY).flushed(reply)
    assert result is not None
    return result


def entry(home: Path, key: str = KEY) -> dict[str, Any]:
    return json.loads((home / "agents" / "main" / "sessions" / "sessions.json").read_text(encoding="utf-8"))[key]


def append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(text)


def test_the_request_names_todays_log_and_the_way_out_in_two_lines(at: Open, clock: Clock, notes: Path) -> None:
    clock.set("2026-02-10T15:30:00+00:00")
    turn = at(userTimezone='"Asia/Seoul"').session(KEY).flush(FULL).turn
    assert turn is not None
    assert turn.path == "memory/2026-02-11.md"
    assert all(word in turn.prompt for word in ("memory/2026-02-11.md", "NO_REPLY", "Append", "memory_append"))
    assert f" {notes}/memory/2026-02-11.md" in turn.prompt  # the agent may work in somebody else's folder
    assert turn.prompt.count("\n") == 1
    assert "NO_REPLY" in turn.system_prompt


def test_a_prompt_of_ones_own_gets_the_log_of_the_day_and_the_way_out(at: Open, notes: Path) -> None:
    own = '{memoryFlush: {prompt: "Save to memory/YYYY-MM-DD.md!", systemPrompt: "Now."}}'
    turn = at(compaction=own).session(KEY).flush(FULL).turn
    assert turn is not None
    assert turn.prompt.startswith(f"Save to {notes}/memory/2026-02-10.md!\n\nIf there is nothing to store")
    assert turn.prompt.endswith("Current time: 2026-02-10 12:00 (UTC+00:00)")
    assert turn.system_prompt.startswith("Now.\n\n")


def test_once_it_is_written_it_is_not_asked_for_until_the_next_compaction(at: Open, home: Path, log: Path) -> None:
    assert ask(at, FULL - 1) is None
    assert ask(at) is not None
    append(log, "- We ship on Friday.\n")
    result = finish(at, "NO_REPLY")
    assert (result.step, result.path, result.new, result.reasons) == ("written", TODAY, 1, ())
    assert entry(home)["memoryFlushCompactionCount"] == 0
    assert ask(at, 190_000) is None
    assert at().session(KEY).flushed() is None
    assert at().session(KEY).compact() == ()
    assert entry(home)["compactionCount"] == 1
    assert ask(at, FULL - 1) is None
    assert ask(at) is not None


@pytest.mark.parametrize("reply", ["NO_REPLY", " no_reply.\n", "`NO_REPLY`", "**NO_REPLY**"])
def test_nothing_to_store_is_an_answer(at: Open, log: Path, reply: str) -> None:
    before = log.read_bytes()
    assert ask(at) is not None
    assert finish(at, reply).step == "nothing_to_store"
    assert log.read_bytes() == before
    assert ask(at) is None


def test_the_threshold_follows_the_window_and_what_is_kept_free(at: Open) -> None:
    assert at(contextTokens="100000").session("a").flush(76_000).turn is not None
    assert at().session("b").flush(76_000, window=200_000).turn is None
    assert at().session("c").flush(176_000, window=200_000, reserve=33_000).turn is not None
    assert at().session("d").flush(162_999, window=200_000, reserve=33_000).turn is None
    assert at(compaction="{memoryFlush: {enabled: false}}").session("e").flush(199_000, force=True).turn is None


def test_an_overflow_and_a_new_session_ask_however_full_it_is(at: Open, log: Path) -> None:
    assert ask(at, None, force=True) is not None
    append(log, "- We ship on Friday.\n")
    assert finish(at).step == "written"
    assert ask(at, None, force=True) is None
    assert at().session("a new one").flush(10).turn is None
    assert at().session("a new one").flush(FULL).turn is not None


def test_a_log_that_is_not_there_yet_is_made_by_the_model(at: Open, notes: Path) -> None:
    assert ask(at) is not None
    append(notes / TODAY, "- We ship on Friday.\n")
    assert finish(at).step == "written"


def overwrite(log: Path) -> None:
    log.write_text("# 2026-02-10\n\n- We ship on Friday.\n", encoding="utf-8")


def replace_and_rename(log: Path) -> None:
    temporary = log.with_suffix(".tmp")
    temporary.write_text("- We ship on Friday.\n", encoding="utf-8")
    temporary.replace(log)


def delete(log: Path) -> None:
    log.unlink()


@pytest.mark.parametrize(
    ("misbehave", "step", "gone"),
    [(overwrite, "written", 1), (replace_and_rename, "written", 2), (delete, "failed", 2)],
)
def test_what_a_model_overwrites_is_told_with_a_copy_and_the_log_is_left_as_it_is(
    at: Open, log: Path, misbehave: Callable[[Path], None], step: str, gone: int
) -> None:
    before = log.read_bytes()
    assert ask(at) is not None
    misbehave(log)
    after = log.read_bytes() if log.exists() else None
    result = finish(at, "Done.")
    assert result.step == step
    assert (log.read_bytes() if log.exists() else None) == after
    reason = next(reason for reason in result.reasons if reason.code == "flush_changed")
    assert f"{gone} {'is' if gone == 1 else 'are'} missing or changed" in reason.message
    copy = copy_named_in(reason.remedy)
    assert copy.read_bytes() == before
    if os.name != "nt":
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def copy_named_in(remedy: str) -> Path:
    return Path(remedy.split("'")[1])


def test_a_model_that_says_no_reply_with_other_words_and_writes_nothing_has_failed(at: Open, log: Path) -> None:
    assert ask(at) is not None
    result = finish(at, "NO_REPLY\n- We ship on Friday.")
    assert (result.step, [reason.code for reason in result.reasons]) == ("failed", ["flush_failed"])
    assert ask(at) is None


def test_a_model_that_writes_elsewhere_has_failed_and_it_is_said_where(
    at: Open, notes: Path, clock: Clock, log: Path
) -> None:
    for file in (notes / "MEMORY.md", notes / "memory" / "travel.md", log):
        os.utime(file, (clock.seconds - 60, clock.seconds - 60))
    assert ask(at) is not None
    elsewhere = notes / "memory" / "elsewhere.md"
    elsewhere.write_text("- We ship on Friday.\n", encoding="utf-8")
    os.utime(elsewhere, (clock.seconds + 60, clock.seconds + 60))
    result = finish(at, "Saved!")
    assert result.step == "failed"
    assert "memory/elsewhere.md" in result.reasons[0].message


def test_a_model_that_repeats_itself_has_written_nothing_new_and_its_line_stays(at: Open, log: Path) -> None:
    assert ask(at) is not None
    append(log, "- Standup moved to ten.\n")
    after = log.read_bytes()
    assert finish(at, "NO_REPLY").step == "nothing_to_store"
    assert log.read_bytes() == after


def test_an_entry_that_stands_within_an_older_one_is_new(at: Open, log: Path) -> None:
    append(log, "- Do not ship release 2.4 before the audit.\n")
    assert ask(at) is not None
    append(log, "- ship release 2.4 before the audit.\n")
    after = log.read_bytes()
    result = finish(at, "NO_REPLY")
    assert (result.step, result.new, result.reasons) == ("written", 1, ())
    assert log.read_bytes() == after


def test_lines_that_remember_acknowledged_before_the_settling_stay(notes: Path, home: Path) -> None:
    with Memory.open(notes, home=home) as memory:
        memory.remember("Do not ship release 2.4 before the audit of the ledger is done.")
        session = memory.session(KEY)
        assert session.flush(FULL).turn is not None
        kept = ["ship release 2.4 before the audit of the ledger", "The audit is done.", "audit of the ledger is done"]
        for text in kept:
            memory.remember(text)
        result = session.flushed("NO_REPLY")
        assert result is not None
        assert (result.step, result.new, result.reasons) == (
            "written",
            3,
            (),
        )  # the log grew; it does not matter who wrote to it
        (log,) = (notes / "memory").glob("2*.md")
        assert all(f" {text}\n" in log.read_text(encoding="utf-8") for text in kept)


def test_what_the_owner_edits_meanwhile_stays_and_is_told(at: Open, log: Path, home: Path) -> None:
    append(log, "\n## Money\n\n- The rent is 900 euros.\n- The PIN is 4711.\n")
    assert ask(at) is not None
    text = log.read_text(encoding="utf-8")
    log.write_text(text.replace("## Money\n\n", "").replace("900", "950").replace("- The PIN is 4711.\n", ""), "utf-8")
    after = log.read_bytes()
    result = finish(at, "NO_REPLY")
    assert (result.step, [reason.code for reason in result.reasons]) == ("written", ["flush_changed"])
    assert "3 are missing or changed" in result.reasons[0].message
    assert log.read_bytes() == after


def test_a_copy_that_is_kept_survives_the_next_flush_and_goes_after_a_month(
    at: Open, log: Path, clock: Clock, home: Path
) -> None:
    assert ask(at) is not None
    overwrite(log)
    copy = copy_named_in(finish(at).reasons[0].remedy)
    at().session(KEY).compact()
    assert ask(at) is not None
    assert finish(at, "NO_REPLY").reasons == ()
    assert list((home / "agents" / "main" / "flushes").iterdir()) == [copy]
    os.utime(copy, (clock.seconds - 31 * 86_400, clock.seconds - 31 * 86_400))
    at().session("another").start()
    assert not copy.exists()


def test_a_copy_that_is_not_there_any_more_is_said_and_what_is_not_known_is_not_claimed(
    at: Open, log: Path, home: Path
) -> None:
    assert ask(at) is not None
    append(log, "- We ship on Friday.\n")
    for copy in (home / "agents" / "main" / "flushes").iterdir():
        copy.unlink()
    result = finish(at, "Done.")
    assert (result.step, [reason.code for reason in result.reasons]) == ("failed", ["flush_unknown"])


def test_a_model_that_never_answers_is_asked_once_more_and_then_not_again(at: Open, clock: Clock, home: Path) -> None:
    turns = 0
    for _ in range(10):
        clock.seconds += 60
        turns += ask(at) is not None
    assert turns == MAX_ATTEMPTS
    assert [reason.code for reason in at().session(KEY).compact()] == ["flush_failed"]
    assert entry(home)["memoriter"]["flush"]["step"] == "failed"
    clock.seconds += 60
    assert ask(at) is not None


def test_what_was_written_before_a_crash_counts(at: Open, log: Path, clock: Clock, home: Path) -> None:
    assert ask(at) is not None
    append(log, "- We ship on Friday.\n")
    clock.seconds += 60  # the process dies here; the next one repeats the request
    assert ask(at) is None
    assert entry(home)["memoriter"]["flush"]["step"] == "written"


def test_a_log_overwritten_before_a_crash_is_told_after_it(at: Open, log: Path, clock: Clock) -> None:
    before = log.read_bytes()
    assert ask(at) is not None
    log.write_text("", encoding="utf-8")
    clock.seconds += 60
    assert ask(at) is not None
    assert log.read_bytes() == b""
    log.write_text("- We ship on Friday.\n", encoding="utf-8")
    result = finish(at)
    assert (result.step, [reason.code for reason in result.reasons]) == ("written", ["flush_changed"])
    assert copy_named_in(result.reasons[0].remedy).read_bytes() == before
    assert log.read_text(encoding="utf-8") == "- We ship on Friday.\n"


def test_what_the_next_request_finds_overwritten_is_told_with_it(at: Open, log: Path, clock: Clock) -> None:
    assert ask(at) is not None
    overwrite(log)
    clock.seconds += 60  # the process dies here; the next one settles the flush
    answer = at().session(KEY).flush(FULL)
    assert (answer.turn, [reason.code for reason in answer.reasons]) == (None, ["flush_changed"])


def test_a_request_that_is_repeated_on_the_next_day_tells_of_the_log_of_the_first(
    at: Open, log: Path, clock: Clock, home: Path
) -> None:
    clock.set("2026-02-10T23:59:30+00:00")
    before = log.read_bytes()
    assert ask(at) is not None
    log.write_text("", encoding="utf-8")
    clock.seconds += 60
    answer = at().session(KEY).flush(FULL)
    assert answer.turn is not None
    assert answer.turn.path == "memory/2026-02-11.md"
    assert [reason.code for reason in answer.reasons] == ["flush_changed"]
    assert copy_named_in(answer.reasons[0].remedy).read_bytes() == before
    append(log.with_name("2026-02-11.md"), "- We ship on Friday.\n")
    assert finish(at).step == "written"
    assert list((home / "agents" / "main" / "flushes").iterdir()) == [copy_named_in(answer.reasons[0].remedy)]


def test_a_conversation_that_has_doubled_since_is_asked_again(at: Open, log: Path) -> None:
    assert ask(at, FULL) is not None
    append(log, "- We ship on Friday.\n")
    assert finish(at).step == "written"
    assert ask(at, 2 * FULL - 1, window=1_000_000) is None
    assert ask(at, 2 * FULL, window=1_000_000) is not None
    assert finish(at, "NO_REPLY").step == "nothing_to_store"
    assert ask(at, 4 * FULL - 1, window=1_000_000) is None
    at().session(KEY).compact()
    assert ask(at, 4 * FULL, window=1_000_000) is None


def test_two_processes_that_ask_at_the_same_moment_ask_once(at: Open) -> None:
    assert [ask(at) is not None, ask(at) is not None] == [True, False]


def test_a_compaction_that_came_first_is_made_up_for_once(at: Open, home: Path, log: Path) -> None:
    session = at().session(KEY)
    assert session.late_flush().turn is None
    session.compact()
    turn = session.late_flush().turn
    assert turn is not None
    assert turn.prompt.startswith("This conversation was just replaced by a summary")
    assert TODAY in turn.prompt
    assert turn.prompt.endswith("\nThen answer the user.")
    assert "NO_REPLY" not in turn.prompt
    assert at().session(KEY).late_flush().turn is None
    append(log, "- We ship on Friday.\n")
    assert finish(at).step == "written"
    assert ask(at) is not None  # the new cycle has a flush of its own


def test_a_request_after_the_compaction_needs_no_answer(at: Open, home: Path) -> None:
    session = at().session(KEY)
    session.compact()
    assert session.late_flush().turn is not None
    assert ask(at, 1_000) is None  # the end of the turn in which the model has answered the user
    assert entry(home)["memoriter"]["flush"]["step"] == "nothing_to_store"
    assert at().session(KEY).compact() == ()


def test_openclaws_keys_and_other_sessions_are_left_as_they_are(at: Open, home: Path, log: Path) -> None:
    folder = home / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    theirs = {
        KEY: {"sessionId": "abc", "totalTokens": FULL, "compactionCount": 3, "skillsSnapshot": {"prompt": "é \ud83d"}},
        "agent:main:other": {"sessionId": "def", "updatedAt": 1},
    }
    (folder / "sessions.json").write_text(json.dumps(theirs), encoding="utf-8")
    assert ask(at, None) is not None
    append(log, "- We ship on Friday.\n")
    assert finish(at).step == "written"
    stored = entry(home)
    assert stored["memoryFlushCompactionCount"] == stored["compactionCount"] == 3
    assert {name: stored[name] for name in ("sessionId", "totalTokens", "skillsSnapshot")} == {
        name: theirs[KEY][name] for name in ("sessionId", "totalTokens", "skillsSnapshot")
    }
    assert entry(home, "agent:main:other") == theirs["agent:main:other"]
    assert ask(at, None) is None


@pytest.mark.parametrize("damage", [b"{", b"[1]", b"\xff\xfe"])
def test_a_damaged_sessions_json_is_left_alone_and_told(at: Open, home: Path, damage: bytes) -> None:
    file = home / "agents" / "main" / "sessions" / "sessions.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(damage)
    answer = at().session(KEY).flush(FULL)
    assert (answer.turn, [reason.code for reason in answer.reasons]) == (None, ["write"])
    assert "sessions.json" in answer.reasons[0].message
    assert at().session(KEY).flushed().step == "failed"
    assert [reason.code for reason in at().session(KEY).compact()] == ["write"]
    assert file.read_bytes() == damage


def no_folder(notes: Path) -> None:
    shutil.rmtree(notes)


def a_file_for_a_folder(notes: Path) -> None:
    shutil.rmtree(notes / "memory")
    (notes / "memory").write_text("not a folder", encoding="utf-8")


def a_link_for_a_folder(notes: Path) -> None:
    (notes / "memory").rename(notes / "elsewhere")
    (notes / "memory").symlink_to(notes / "elsewhere")


@pytest.mark.parametrize("spoil", [no_folder, a_file_for_a_folder, a_link_for_a_folder])
def test_where_nothing_can_be_kept_the_model_is_not_asked(at: Open, notes: Path, spoil: Callable[[Path], None]) -> None:
    session = at().session(KEY)
    spoil(notes)
    answer = session.flush(FULL)
    assert (answer.turn, len(answer.reasons)) == (None, 1)


def test_a_link_where_a_file_is_expected_is_told_and_not_written_through(at: Open, home: Path, log: Path) -> None:
    store = home / "agents" / "main" / "sessions" / "sessions.json"
    store.parent.mkdir(parents=True)
    store.symlink_to(home / "nowhere")
    assert [reason.code for reason in at().session(KEY).flush(FULL).reasons] == ["write"]
    store.unlink()
    assert ask(at) is not None
    log.unlink()
    log.symlink_to(home / "nowhere")
    result = finish(at)
    assert (result.step, [reason.code for reason in result.reasons]) == ("failed", ["flush_unknown"])
    assert "Standup" in copy_named_in(result.reasons[0].remedy).read_text(encoding="utf-8")
    assert log.is_symlink()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_workspace_is_not_asked_for(at: Open, notes: Path) -> None:
    session = at().session(KEY)
    for folder in (notes / "memory", notes):
        folder.chmod(0o555)
    answer = session.flush(FULL)
    for folder in (notes, notes / "memory"):
        folder.chmod(0o755)
    assert (answer.turn, [reason.code for reason in answer.reasons]) == (None, ["flush_skipped"])


def test_the_host_may_say_that_the_workspace_is_not_to_be_written(at: Open) -> None:
    assert at().session(KEY, writable=False).flush(FULL).reasons[0].code == "flush_skipped"


PROCESS = """
import sys
from memoriter import Memory

notes, home, number = sys.argv[1:]
with Memory.open(notes, home=home) as memory:
    session = memory.session("s" + number)
    turn = session.flush(176_000).turn
    memory.remember(f"Entry of process {number} for {turn.path}.")
    session.flushed("NO_REPLY")
    session.compact()
"""


@pytest.mark.slow
def test_many_sessions_flush_at_the_same_time_and_none_loses_an_entry(notes: Path, home: Path) -> None:
    command = [sys.executable, "-c", PROCESS, str(notes), str(home)]
    workers = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    assert [worker.wait(100) for worker in workers] == [0] * 4
    (log,) = (file for file in (notes / "memory").glob("2*.md"))
    text = log.read_text(encoding="utf-8")
    assert all(f"Entry of process {number} for" in text for number in range(4))
    store = json.loads((home / "agents" / "main" / "sessions" / "sessions.json").read_text(encoding="utf-8"))
    assert {key: entry["compactionCount"] for key, entry in store.items()} == {f"s{number}": 1 for number in range(4)}
    assert {entry["memoriter"]["flush"]["step"] for entry in store.values()} == {"written"}


deeds = st.lists(
    st.tuples(
        st.sampled_from(
            ["append", "remember", "overwrite", "empty", "delete", "insert", "repeat", "correct", "forget"]
        ),
        st.sampled_from(
            ["- a", "- A longer entry of this log", "of this log", "## Head", "- a\n  more", "text \u00e9"]
        ),
    ),
    max_size=5,
)
cycles = st.lists(st.tuples(deeds, st.sampled_from([None, "NO_REPLY", "Done."])), min_size=1, max_size=4)


def act_on(log: Path, memory: Memory, deed: str, text: str) -> None:
    """Change a log like a model, the owner or another program."""
    there = log.read_text(encoding="utf-8") if log.exists() else ""
    match deed:
        case "append":
            append(log, f"{text}\n")
        case "remember":
            memory.remember(text)
        case "overwrite":
            log.write_text(f"{text}\n", encoding="utf-8")
        case "empty":
            log.write_text("", encoding="utf-8")
        case "delete":
            log.unlink(missing_ok=True)
        case "insert":
            log.write_text(f"{text}\n{there}", encoding="utf-8")
        case "repeat":
            append(log, there)
        case "correct":
            log.write_text(there.replace("a", "o"), encoding="utf-8")
        case "forget":
            log.write_text("".join(line for line in there.splitlines(keepends=True) if text not in line), "utf-8")


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cycles)
def test_settling_never_changes_a_byte_of_the_log_whatever_was_done_to_it(
    at: Open, notes: Path, clock: Clock, rounds: list[tuple[list[tuple[str, str]], str | None]]
) -> None:
    log = notes / TODAY
    log.unlink(missing_ok=True)
    clock.seconds += 1
    memory = at()
    session = memory.session(f"many {clock.seconds}")
    other = memory.session(f"others {clock.seconds}")
    for done, reply in rounds:
        assert session.flush(FULL).turn is not None
        before = log.read_bytes() if log.exists() else b""
        other.flush(FULL)
        for deed, text in done:
            act_on(log, memory, deed, text)
        after = log.read_bytes() if log.exists() else None
        result = session.flushed(reply)
        assert result is not None
        assert (log.read_bytes() if log.exists() else None) == after
        changed = [reason for reason in result.reasons if reason.code == "flush_changed"]
        rows = set((after or b"").split(b"\n"))
        if any(row.strip() and row not in rows for row in before.split(b"\n")):
            assert changed
        if changed:
            assert copy_named_in(changed[0].remedy).read_bytes() == before
        other.flushed(reply)
        session.compact()
        other.compact()
        assert (log.read_bytes() if log.exists() else None) == after


steps = st.lists(st.sampled_from(["ask", "written", "silent", "no reply", "compact", "wait"]), max_size=30)


@given(steps)
def test_no_cycle_is_asked_for_more_often_than_it_may(actions: list[str]) -> None:
    last: Flush | None = None
    cycle = 0
    now = 0.0
    asks = dict[int, int]()
    for action in actions:
        now += 1
        if action == "ask" and (request := next_request(last, cycle, TODAY, now)) is not None:
            last = request
            asks[cycle] = asks.get(cycle, 0) + 1
            assert (request.step, request.cycle, request.attempts) == ("requested", cycle, asks[cycle])
        elif action == "wait":
            now += 60
        elif action == "compact":
            cycle += 1
        elif action in {"written", "silent", "no reply"} and last is not None and last.step == "requested":
            reply = {"no reply": "NO_REPLY", "silent": "I did."}.get(action)
            last = settle(last, Evidence(action == "written", reply), now)
            assert last.step == {"written": "written", "silent": "failed", "no reply": "nothing_to_store"}[action]
        assert last is None or parse_flush(json.loads(json.dumps(flush_json(last)))) == last
    assert all(count <= MAX_ATTEMPTS for count in asks.values())


def test_what_was_not_asked_for_cannot_be_settled() -> None:
    with pytest.raises(UsageError, match="written, not requested"):
        settle(Flush(0, "written", TODAY, 0.0), Evidence(grew=True), 1.0)


@pytest.mark.parametrize("kept", [None, [], {}, {"cycle": "0"}, {"cycle": 0, "step": "odd", "path": "x", "at": 1}])
def test_a_flush_of_another_shape_is_no_flush(kept: object) -> None:
    assert parse_flush(kept) is None


@pytest.mark.parametrize("text", ["", "NO_REPLY and more", "no", "I wrote it. NO_REPLY"])
def test_other_words_are_a_reply(text: str) -> None:
    assert not is_no_reply(text)
