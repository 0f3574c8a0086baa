"""Watching, through `Memory`: real files, a real watcher, and whatever may come between them."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from memoriter.embed._fake import FakeProvider
from memoriter.errors import IndexUnavailable, TransientFailure
from memoriter.index import Index
from memoriter.sync import IndexJob
from memoriter.workspace import Workspace
from transcript_lines import openclaw
from watched_workspace import indexed_files, until

SOAK = float(os.environ.get("MEMORITER_SOAK", "1"))
LONG_AGO = 1_700_000_000


def aged(file):
    os.utime(file, (LONG_AGO, LONG_AGO))
    return file


def finds(memory, word):
    return {hit.path for hit in memory.search(word).results if word in hit.snippet}


# what a watched memory answers


@pytest.mark.slow
def test_a_change_is_found_without_a_search_looking_for_it(watched):
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"watchDebounceMs": 100, "onSearch": False})
    watched.watch(memory)
    watched.write("memory/a.md", "The quokka sleeps.\n")
    until(lambda: finds(memory, "quokka") == {"memory/a.md"})
    (watched.notes / "memory/a.md").unlink()
    until(lambda: finds(memory, "quokka") == set())


@pytest.mark.slow
def test_a_change_of_a_note_with_another_suffix_is_found(watched):
    watched.write(".memoriter.json5", "{memory: {extraSuffixes: ['.txt']}}")
    watched.write("memory/a.txt", "The anchor is in the shed.\n")
    memory = watched.open(sync={"watchDebounceMs": 100, "onSearch": False})
    watched.watch(memory)
    until(lambda: finds(memory, "anchor") == {"memory/a.txt"})
    for number in range(3):
        watched.write("memory/a.txt", f"The quokka {number} sleeps.\n")
        until(lambda number=number: finds(memory, f"quokka {number}") == {"memory/a.txt"})


@pytest.mark.slow
@pytest.mark.parametrize("is_watched", [True, False])
def test_each_search_finds_what_was_written_before_it_began(watched, is_watched):
    memory = watched.open(sync={"watchDebounceMs": 20_000})
    if is_watched:
        watched.watch(memory)
    memory.search("quokka")
    for number in range(25):
        watched.write("memory/a.md", f"The quokka sleeps in bed {number:03}.\n")
        watched.write(f"memory/new/{number}.md", f"The numbat digs in hole {number:03}.\n")
        slept = memory.search(f"quokka sleeps in bed {number:03}")
        dug = memory.search(f"numbat digs in hole {number:03}")
        codes = {reason.code for reason in (*slept.health.reasons, *dug.health.reasons)}
        if "stale" not in codes:
            assert f"bed {number:03}" in slept.results[0].snippet
            assert f"hole {number:03}" in dug.results[0].snippet
        assert is_watched or "stale" not in codes


@pytest.mark.slow
def test_an_edit_that_leaves_size_and_times_alone_is_found(watched):
    memory = watched.open()
    file = watched.write("memory/a.md", "The quokka sleeps in bed 000.\n")
    for number in range(1, 60):
        assert f"bed {number - 1:03}" in memory.search("quokka").results[0].snippet
        times = file.stat().st_atime_ns, file.stat().st_mtime_ns
        if number % 3 == 1:
            other = watched.write("memory/a.part", f"The quokka sleeps in bed {number:03}.\n")
            os.utime(other, ns=times)
            other.replace(file)
        else:
            file.write_text(f"The quokka sleeps in bed {number:03}.\n", encoding="utf-8")
            if number % 3:
                os.utime(file, ns=times)


@pytest.mark.matrix
@pytest.mark.parametrize("on_search", [True, False])
def test_what_is_remembered_while_watching_is_found_by_the_next_search(watched, on_search):
    aged(watched.write("MEMORY.md", "The anchor is in the shed.\n"))
    memory = watched.open(sync={"watchDebounceMs": 20_000, "onSearch": on_search})
    watched.watch(memory)
    for word in ("quokka", "wombat", "numbat"):
        memory.remember(f"A {word} was seen.")
        assert len(finds(memory, word)) == 1


@pytest.mark.slow
def test_what_is_said_in_a_session_is_found_while_it_is_written(watched, monkeypatch):
    monkeypatch.setattr("memoriter.watch._watch.DEBOUNCE_SECONDS", 0.05)
    transcript = watched.root / "home/agents/main/sessions/s1.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text(openclaw("user", "The parrot is called Zazu."), encoding="utf-8")
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(
        sources=["memory", "sessions"],
        experimental={"sessionMemory": True},
        sync={"watchDebounceMs": 50, "onSearch": False, "sessions": {"deltaBytes": 0}},
    )
    watched.watch(memory)
    assert finds(memory, "Zazu") == {"sessions/s1.jsonl"}
    with transcript.open("a", encoding="utf-8") as out:
        out.write(openclaw("assistant", "The quokka sleeps."))
    until(lambda: finds(memory, "quokka") == {"sessions/s1.jsonl"})
    (transcript.parent / "s2.jsonl").write_text(openclaw("user", "A wombat was seen."), encoding="utf-8")
    until(lambda: finds(memory, "wombat") == {"sessions/s2.jsonl"})
    transcript.unlink()
    until(lambda: finds(memory, "Zazu") == set())


def test_a_session_that_starts_takes_up_what_changed_once(watched):
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"onSearch": False})
    assert memory.session_started("first") == ()
    watched.write("memory/a.md", "The quokka sleeps.\n")
    assert finds(memory, "quokka") == set()
    memory.session_started("first")
    assert finds(memory, "quokka") == set()
    memory.session_started("second")
    assert finds(memory, "quokka") == {"memory/a.md"}


def test_a_conversation_that_starts_takes_up_what_changed(watched):
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"onSearch": False})
    memory.session("first").start()
    watched.write("memory/a.md", "The quokka sleeps.\n")
    memory.session("first").start()
    memory.session("second").start(index=False)
    assert finds(memory, "quokka") == set()
    memory.session("second").start()
    assert finds(memory, "quokka") == {"memory/a.md"}


def test_a_session_that_starts_does_nothing_where_that_is_switched_off(watched):
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"onSessionStart": False})
    memory.session_started("first")
    assert indexed_files(memory) == {}


# a delete, and a file that is being written, are not believed at first sight


def follow(memory, job):
    return memory._backend.follow(job, time.monotonic)


def test_a_note_that_is_missing_at_first_sight_stays_until_a_second_look(watched):
    aged(watched.write("memory/a.md", "The quokka sleeps.\n"))
    memory = watched.open(sync={"onSearch": False})
    follow(memory, IndexJob(whole=True))
    (watched.notes / "memory/a.md").unlink()
    seen = follow(memory, IndexJob(whole=True))
    assert (seen.recheck, seen.report) == ({"memory/a.md"}, None)
    assert set(indexed_files(memory)) == {"memory/a.md"}
    follow(memory, IndexJob(seen.recheck, seen.recheck))
    assert indexed_files(memory) == {}


def test_a_note_that_is_back_at_the_second_look_was_never_gone(watched):
    file = aged(watched.write("memory/a.md", "The quokka sleeps.\n"))
    memory = watched.open()
    follow(memory, IndexJob(whole=True))
    file.rename(file.with_suffix(".old"))
    again = follow(memory, IndexJob(whole=True)).recheck
    file.with_suffix(".old").rename(file)
    watched.embedded.clear()
    report = follow(memory, IndexJob(again, again)).report
    assert report is None or (report.added, report.changed, report.removed) == (0, 0, 0)
    assert (set(indexed_files(memory)), watched.embedded) == ({"memory/a.md"}, [])


def test_a_look_at_everything_leaves_a_half_written_note_for_later(watched):
    memory = watched.open(sync={"watchDebounceMs": 60_000})
    aged(watched.write("memory/a.md", "The quokka sleeps.\n"))
    watched.write("memory/b.md", "The wom")
    seen = follow(memory, IndexJob(whole=True))
    assert seen.recheck == {"memory/b.md"}
    assert set(indexed_files(memory)) == {"memory/a.md"}
    watched.write("memory/b.md", "The wombat digs.\n")
    follow(memory, IndexJob(seen.recheck, seen.recheck))
    assert finds(memory, "wombat") == {"memory/b.md"}


def test_a_note_that_vanishes_between_the_look_and_the_reading_stays_for_the_next_look(watched, monkeypatch):
    file = aged(watched.write("memory/a.md", "The quokka sleeps.\n"))
    memory = watched.open(sync={"onSearch": False})
    follow(memory, IndexJob(whole=True))
    file.write_text("The quokka is awake.\n", encoding="utf-8")
    load = Workspace.load

    def late(self, source, *gone):
        file.unlink()
        return load(self, source, *gone)

    monkeypatch.setattr(Workspace, "load", late)
    follow(memory, IndexJob(frozenset({str(file)})))
    assert set(indexed_files(memory)) == {"memory/a.md"}


# what another machine wrote


def test_two_versions_of_a_day_are_joined_by_the_watcher_once_the_copy_is_written(watched):
    memory = watched.open(sync={"watchDebounceMs": 100, "onSearch": False})
    memory.remember("The quokka sleeps.")
    day = watched.notes / memory.daily_path
    before = day.read_text(encoding="utf-8")
    memory.remember("The wombat digs.")
    aged(watched.write(f"memory/{day.stem} (Bob's conflicted copy 2026-03-10).md", before + "- The emu runs.\n"))
    watched.watch(memory)
    until(lambda: finds(memory, "emu") == {memory.daily_path})
    assert day.read_text(encoding="utf-8").endswith("The wombat digs.\n- The emu runs.\n")
    copy = watched.write(f"memory/{day.stem}.sync-conflict-20260310-120000-ABCDEFG.md", before + "- The numbat eats.\n")
    until(lambda: finds(memory, "numbat") == {memory.daily_path})
    assert not copy.exists()
    assert watched.kinds().count("joined") == 2
    memory.undo(memory.history(memory.daily_path).changes[0].id)
    assert "numbat" not in day.read_text(encoding="utf-8")


def test_two_versions_of_a_day_are_joined_when_a_session_starts_but_by_no_search(watched):
    memory = watched.open()
    memory.remember("The quokka sleeps.")
    day = watched.notes / memory.daily_path
    other = day.read_text(encoding="utf-8") + "- The emu runs.\n"
    memory.remember("The wombat digs.")
    copy = aged(watched.write(f"memory/{day.stem}.sync-conflict-20260310-120000-ABCDEFG.md", other))
    assert finds(memory, "emu") == set()
    assert copy.exists()
    memory.session_started("first")
    assert finds(memory, "emu") == {memory.daily_path}
    assert not copy.exists()


def test_a_copy_that_may_still_be_written_is_left_for_later(watched):
    memory = watched.open(sync={"watchDebounceMs": 60_000})
    memory.remember("The quokka sleeps.")
    day = watched.notes / memory.daily_path
    written = day.read_text(encoding="utf-8") + "- The em"
    copy = watched.write(f"memory/{day.stem}.sync-conflict-20260310-120000-ABCDEFG.md", written)
    assert follow(memory, IndexJob(whole=True)).joined == ()
    aged(copy)
    (receipt,) = follow(memory, IndexJob(whole=True)).joined
    assert (receipt.code, copy.name in receipt.message, copy.exists()) == ("versions_joined", True, False)


# folders that come and go


@pytest.mark.slow
def test_a_workspace_that_goes_away_keeps_its_index_and_is_watched_again_when_it_is_back(watched):
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"watchDebounceMs": 100, "onSearch": False})
    watched.watch(memory)
    away = watched.notes.with_name("away")
    watched.notes.rename(away)
    until(lambda: "missing" in watched.kinds())
    assert finds(memory, "anchor") == {"MEMORY.md"}
    (away / "MEMORY.md").write_text("The anchor is in the quarry.\n", encoding="utf-8")
    away.rename(watched.notes)
    until(lambda: finds(memory, "quarry") == {"MEMORY.md"})
    watched.write("memory/new.md", "A narwhal.\n")
    until(lambda: finds(memory, "narwhal") == {"memory/new.md"})


@pytest.mark.slow
def test_a_folder_that_is_removed_and_made_again_is_still_watched(watched):
    aged(watched.write("memory/sub/a.md", "The quokka sleeps.\n"))
    memory = watched.open(sync={"watchDebounceMs": 50, "onSearch": False})
    watched.watch(memory)
    for word in ("wombat", "numbat", "bilby"):
        shutil.rmtree(watched.notes / "memory")
        watched.write("memory/sub/a.md", f"The {word} digs.\n")
        until(lambda word=word: finds(memory, word) == {"memory/sub/a.md"})
        watched.write("memory/sub/a.md", f"The {word} is at rest now.\n")
        until(lambda word=word: finds(memory, word) and "rest" in memory.search(word).results[0].snippet)


@pytest.mark.slow
def test_an_index_that_is_deleted_while_it_is_watched_is_made_again_whole(watched):
    for name in ("a", "b", "c"):
        aged(watched.write(f"memory/{name}.md", f"Note {name} is about sails.\n"))
    memory = watched.open(sync={"watchDebounceMs": 50, "onSearch": False})
    watched.watch(memory)
    memory.close()
    for file in (watched.root / "home" / "memory").glob("main*.sqlite*"):
        if file.suffix not in {".watch", ".lease", ".lock"}:
            file.unlink()
    watched.write("memory/d.md", "Note d is about sails.\n")
    until(lambda: set(indexed_files(memory)) == {f"memory/{name}.md" for name in "abcd"})


# what is not told, and what goes wrong


@pytest.mark.slow
def test_a_change_that_no_event_tells_of_is_found_by_a_look_at_everything(watched, monkeypatch):
    from memoriter.watch import _watch

    aged(watched.write("MEMORY.md", "The anchor is in the shed.\n"))
    began = time.monotonic()
    memory = watched.open(clock=lambda: began + (time.monotonic() - began) * 200, sync={"onSearch": False})

    def deaf(self, seconds):
        self._stop.wait(0.01)
        return set()

    monkeypatch.setattr(_watch.Events, "wait", deaf)
    watched.watch(memory)
    aged(watched.write("memory/a.md", "The quokka sleeps.\n"))
    until(lambda: finds(memory, "quokka") == {"memory/a.md"})


@pytest.mark.slow
def test_on_a_network_file_system_the_watcher_looks_and_says_so(watched, monkeypatch):
    monkeypatch.setattr("memoriter.app.network_of", lambda folder, mounts: "nfs4")
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"watchDebounceMs": 50, "onSearch": False})
    watching = watched.watch(memory)
    watched.write("memory/a.md", "The quokka sleeps.\n")
    until(lambda: finds(memory, "quokka") == {"memory/a.md"})
    (event,) = [event for event in watched.events if event.kind == "polling"]
    assert "network" in event.reason.message
    assert not watching.settled


@pytest.mark.slow
def test_where_the_system_refuses_to_tell_of_changes_the_watcher_looks_and_says_what_to_raise(watched, monkeypatch):
    import watchfiles

    def refused(*folders, **settings):
        raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr(watchfiles, "watch", refused)
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"watchDebounceMs": 50, "onSearch": False})
    watched.watch(memory)
    watched.write("memory/a.md", "The quokka sleeps.\n")
    until(lambda: finds(memory, "quokka") == {"memory/a.md"})
    (event,) = [event for event in watched.events if event.kind == "polling"]
    assert "max_user_watches" in event.reason.remedy


@pytest.mark.slow
def test_a_provider_that_fails_is_told_once_and_its_vectors_come_when_it_is_back(watched, monkeypatch):
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"watchDebounceMs": 50, "onSearch": False})
    watched.watch(memory)
    embed = FakeProvider.embed
    down = threading.Event()

    def failing(self, texts, *, role):
        if down.is_set() and role == "document":
            raise TransientFailure("It is down.", remedy="Wait.")
        return embed(self, texts, role=role)

    monkeypatch.setattr(FakeProvider, "embed", failing)
    down.set()
    watched.write("memory/a.md", "The quokka sleeps.\n")
    until(lambda: watched.kinds().count("trouble") >= 1)
    assert memory._backend.index.files_at(["memory/a.md"])
    watched.write("memory/b.md", "The wombat digs.\n")
    until(lambda: bool(memory._backend.index.files_at(["memory/b.md"])))
    assert watched.kinds().count("trouble") == 1
    down.clear()
    until(lambda: memory._backend.index.pending() == 0)
    until(lambda: "recovered" in watched.kinds())


@pytest.mark.slow
def test_an_index_that_cannot_be_written_is_told_once_and_everything_is_indexed_when_it_can(watched, monkeypatch):
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"watchDebounceMs": 50, "onSearch": False})
    watched.watch(memory)
    put = Index.put_file
    full = threading.Event()

    def failing(self, *words, **options):
        if full.is_set():
            raise IndexUnavailable("The disk is full.", remedy="Free some space.")
        return put(self, *words, **options)

    monkeypatch.setattr(Index, "put_file", failing)
    full.set()
    watched.write("memory/a.md", "The quokka sleeps.\n")
    until(lambda: "trouble" in watched.kinds())
    watched.write("memory/b.md", "The wombat digs.\n")
    full.clear()
    until(lambda: {"memory/a.md", "memory/b.md"} <= set(indexed_files(memory)))
    until(lambda: "recovered" in watched.kinds())
    assert watched.kinds().count("trouble") == 1


@pytest.mark.slow
def test_a_second_watcher_waits_and_takes_over(watched):
    watched.write("MEMORY.md", "The anchor is in the shed.\n")
    memory = watched.open(sync={"watchDebounceMs": 50, "onSearch": False})
    first = watched.watch(memory)
    events = []
    second = memory.watching(events.append)
    watched.watches.append(second)
    until(lambda: [event.kind for event in events] == ["waiting"])
    assert not second.settled
    first.close()
    until(lambda: second.settled)
    watched.write("memory/a.md", "The quokka sleeps.\n")
    until(lambda: finds(memory, "quokka") == {"memory/a.md"})


# many files


@pytest.mark.slow
def test_many_files_take_few_descriptors(watched):
    for folder in range(int(30 * SOAK)):
        place = watched.notes / "memory" / f"{folder}"
        place.mkdir(parents=True)
        for number in range(50):
            (place / f"{number}.md").write_text(f"Note {folder} {number}.\n", encoding="utf-8")
    for number in range(int(300 * SOAK)):
        (watched.notes / "memory" / "node_modules" / f"{number}").mkdir(parents=True)
    open_ones = Path("/proc/self/fd")
    before = len(list(open_ones.iterdir())) if open_ones.is_dir() else 0
    memory = watched.open("home", provider="none", sync={"watchDebounceMs": 50, "onSearch": False})
    watched.watch(memory)
    (event,) = [event for event in watched.events if event.kind == "watching"]
    assert event.folders == 2 + int(30 * SOAK)
    if before:
        assert len(list(open_ones.iterdir())) - before < 30
    watched.write("memory/7/3.md", "The quokka sleeps.\n")
    until(lambda: finds(memory, "quokka") == {"memory/7/3.md"})
