"""When the driver updates and embeds, one process at a time, and what it exports."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from memoriter.config import QmdLimits, QmdSessions, QmdUpdate
from memoriter.errors import QmdBusy, QmdCrashed, QmdNoVectors
from memoriter.extensions.qmd._home import StoredState
from memoriter.extensions.qmd._updates import seconds_until_update
from memoriter.workspace import TranscriptFolder, Transcripts

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from memoriter.extensions.qmd import QmdDriver
    from qmd_programs import QmdMemory, ScriptedQmd

PATIENT = QmdLimits(timeout_ms=60_000)
TEN_YEARS = 3652 * 86_400.0


@contextmanager
def held(lock: Path) -> Generator[None]:
    """Hold a lock file as another process does."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock):
        yield


def until(condition: object, seconds: float = 60.0) -> None:
    """Wait for something that a thread does."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_an_update_is_not_repeated_within_the_debounce_interval(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(update=QmdUpdate(debounce_ms=10_000))
    first = driver.update()
    assert (first.ran, first.added) == (True, 2)
    assert not driver.update().ran
    assert driver.update(force=True).ran
    memory.wait(11)
    memory.write("MEMORY.md", "# Decisions\n\nNone.\n")
    assert (last := driver.update()).ran
    assert (last.added, last.changed, last.removed) == (0, 1, 0)
    assert qmd.commands.count("update") == 3


def test_unchanged_files_are_not_read_again_by_a_search(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(limits=PATIENT)
    driver.search("ledger")
    memory.wait(3_600)
    driver.search("ledger")
    assert qmd.commands == ["--version", "update", "search", "search"]


def test_only_one_process_updates(memory: QmdMemory) -> None:
    memory.driver().update()
    driver = memory.driver(update=QmdUpdate(update_timeout_ms=100), limits=PATIENT)
    memory.write("MEMORY.md", "# Decisions\n\nThe ledger is closed.\n")
    with held(memory.home / "update.lock"):
        answer = driver.search("ledger")
        assert [notice.code for notice in answer.notices] == ["stale"]
        with pytest.raises(QmdBusy, match="Another process is still updating"):
            driver.update(force=True)
    assert memory.driver(limits=PATIENT).search("ledger").notices == ()


def test_an_update_that_another_process_did_meanwhile_is_not_repeated(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    drivers = [memory.driver(limits=PATIENT) for _ in range(3)]
    drivers[0].probe()
    threads = [threading.Thread(target=driver.search, args=("ledger",)) for driver in drivers]
    with held(memory.home / "update.lock"):
        for thread in threads:
            thread.start()
        until(lambda: len(threading.enumerate()) > 3)
    for thread in threads:
        thread.join()
    assert qmd.commands.count("update") == 1
    assert qmd.commands.count("search") == 3


def test_the_state_reports_the_last_update(memory: QmdMemory) -> None:
    driver = memory.driver()
    assert (driver.status().last_update, driver.status().documents) == (None, None)
    assert not memory.home.exists()
    driver.update()
    state = memory.driver().status()
    assert (state.last_update, state.documents, state.version) == (memory.seconds, 2, "2.8.3")
    assert {each.name: each.files for each in state.collections} == {
        "memory-root-main": 1,
        "memory-alt-main": 0,
        "memory-dir-main": 1,
    }
    assert (state.transport, state.mode, state.binary, state.vectors) == ("spawn", "search", str(memory.program), None)


def test_words_alone_need_no_vectors(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver()
    driver.update()
    assert not driver.embed()
    assert "embed" not in qmd.commands


@pytest.mark.slow
def test_vectors_are_computed_at_their_interval(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(search_mode="vsearch", update=QmdUpdate(embed_interval="30m"))
    driver.update()
    assert driver.embed()
    state = driver.status()
    assert (state.vectors, state.pending, state.last_embed) == (2, 0, memory.seconds)
    memory.write("memory/zoo.md", "# Zoo\n\nThe zebra is striped.\n")
    driver.update(force=True)
    assert driver.status().pending == 1
    assert not driver.embed()
    memory.wait(31 * 60)
    assert driver.embed()
    memory.wait(31 * 60)
    assert not driver.embed(), "nothing is pending"
    assert qmd.commands.count("embed") == 2


def test_an_update_is_due_although_the_clock_was_ten_years_ahead(memory: QmdMemory) -> None:
    plan = memory.driver()._plan
    now = memory.seconds
    ahead = StoredState(last_update=now + TEN_YEARS, update_failed_at=now + TEN_YEARS, update_failures=1)
    assert seconds_until_update(ahead, plan, now) == 0
    assert seconds_until_update(StoredState(last_update=now), plan, now + 1) == plan.schedule.interval_ms / 1000 - 1


@pytest.mark.parametrize("faults", [{}, {"embed": "no model"}])
def test_vectors_are_computed_although_the_clock_was_ten_years_ahead(
    memory: QmdMemory, qmd: ScriptedQmd, faults: dict[str, str]
) -> None:
    driver = memory.driver(search_mode="vsearch", update=QmdUpdate(embed_interval="30m"))
    driver.update()
    memory.seconds += TEN_YEARS
    qmd.break_(**faults)
    with pytest.raises(QmdNoVectors) if faults else nullcontext():
        driver.embed()
    qmd.break_()
    memory.seconds -= TEN_YEARS
    memory.write("memory/zoo.md", "# Zoo\n\nThe zebra is striped.\n")
    driver.update(force=True)
    assert driver.embed()


def test_failed_vectors_are_tried_again_after_growing_pauses(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(search_mode="vsearch")
    driver.update()
    qmd.break_(embed="no model")
    tries = []
    for minute in range(16):
        try:
            driver.embed()
        except QmdNoVectors:
            tries.append(minute)
        memory.wait(60)
    assert tries == [0, 1, 3, 7, 15]
    assert (driver.status().last_error or QmdNoVectors("")).code == "qmd_no_vectors"


def test_only_one_process_of_the_user_embeds(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(search_mode="vsearch")
    driver.update()
    with held(memory.folder / "home" / "qmd-embed.lock"):
        assert not driver.embed(force=True)
    assert driver.embed(force=True)
    assert qmd.commands.count("embed") == 1


def test_a_file_that_is_no_model_is_kept_from_qmd_which_would_delete_it(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    model = memory.folder / "model.gguf"
    model.write_text("<html>", encoding="utf-8")
    memory.environ = {"QMD_EMBED_MODEL": str(model)}
    driver = memory.driver(search_mode="vsearch")
    driver.update()
    with pytest.raises(QmdNoVectors, match="is not a GGUF model; QMD would delete it"):
        driver.embed()
    model.unlink()
    with pytest.raises(QmdNoVectors, match=r"QMD's model '.*' cannot be read"):
        driver.embed(force=True)
    assert "embed" not in qmd.commands
    model.write_bytes(b"GGUF")
    assert driver.embed(force=True)
    config = json.loads((memory.home / "xdg-config" / "qmd" / "index.yml").read_text(encoding="utf-8"))
    assert config["models"] == {"embed": str(model)}


def test_the_first_update_runs_at_the_start_in_the_background(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    qmd.break_(update="wait 0.2")
    driver = memory.driver(real_time=True, search_mode="vsearch")
    driver.start()
    until(lambda: driver.status().vectors == 2)
    assert qmd.commands == ["--version", "update", "status", "embed", "status"]


def test_the_start_can_wait_for_the_first_update(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(real_time=True, update=QmdUpdate(wait_for_boot_sync=True))
    driver.start()
    assert driver.status().documents == 2
    broken = memory.driver(real_time=True, update=QmdUpdate(wait_for_boot_sync=True))
    qmd.break_(update="trace")
    with pytest.raises(QmdCrashed, match="`qmd update` failed"):
        broken.start()


def test_without_an_update_at_the_start_the_interval_counts(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(real_time=True, update=QmdUpdate(on_boot=False, interval="0"))
    driver.start()
    driver.notes_changed()
    driver.close()
    assert qmd.commands in (["--version"], ["--version", "update"])


@pytest.mark.slow
def test_the_background_updates_at_the_interval(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(real_time=True, update=QmdUpdate(interval="100ms", debounce_ms=0))
    driver.start()
    until(lambda: qmd.commands.count("update") > 2)


def test_written_notes_are_indexed_after_the_debounce_interval(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(real_time=True, update=QmdUpdate(interval="0", debounce_ms=50))
    driver.start()
    until(lambda: driver.status().documents == 2)
    memory.write("memory/zoo.md", "# Zoo\n\nThe zebra is striped.\n")
    driver.notes_changed()
    until(lambda: driver.status().documents == 3)


@pytest.mark.slow
def test_a_search_waits_for_the_update_in_the_background(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(real_time=True, limits=PATIENT, update=QmdUpdate(interval="0"))
    driver.start()
    until(lambda: driver.status().documents == 2)
    memory.write("memory/zoo.md", "# Zoo\n\nThe zebra is striped.\n")
    qmd.break_(update="wait 3")
    hurried = driver.search("zebra")
    assert (hurried.hits, [notice.code for notice in hurried.notices]) == ((), ["stale"])
    until(lambda: driver.status().documents == 3)
    assert [hit.path for hit in driver.search("zebra").hits] == ["memory/zoo.md"]


@pytest.mark.slow
def test_closing_ends_an_update(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    qmd.break_(update="hang")
    before = set(threading.enumerate())  # of other tests, too
    driver = memory.driver(real_time=True)
    driver.start()
    until(lambda: "update" in qmd.commands)
    driver.close()
    until(lambda: not [thread for thread in set(threading.enumerate()) - before if thread.name == "qmd"])


def transcripts(memory: QmdMemory, **texts: str) -> Path:
    folder = memory.folder / "sessions"
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        line = {"type": "message", "message": {"role": "user", "content": text}}
        (folder / f"{name}.jsonl").write_text(f"{json.dumps(line)}\n", encoding="utf-8")
        os.utime(folder / f"{name}.jsonl", (memory.seconds, memory.seconds))
    memory.transcripts = Transcripts([TranscriptFolder(folder)])
    return folder


def exported(memory: QmdMemory) -> dict[str, str]:
    folder = memory.home / "sessions"
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())}


def with_sessions(memory: QmdMemory, **settings: object) -> QmdDriver:
    return memory.driver(limits=PATIENT, sessions=QmdSessions(enabled=True, **settings))


def test_transcripts_are_exported_masked_and_searched(memory: QmdMemory) -> None:
    key = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    transcripts(memory, first=f"the anchor is rusty, and the key is {key}")
    (hit,) = with_sessions(memory).search("anchor").hits
    assert (hit.path, hit.source) == ("qmd/sessions-main/first.md", "sessions")
    assert exported(memory)["first.md"].startswith("# Session first\n\nUser: the anchor is rusty")
    assert key not in exported(memory)["first.md"]
    assert with_sessions(memory).read(hit.path, start=3, lines=1).text.startswith("User: the anchor")


def test_transcripts_that_grew_or_went_are_exported_again(memory: QmdMemory) -> None:
    folder = transcripts(memory, first="the anchor is rusty", second="the sail is torn")
    driver = with_sessions(memory)
    assert len(driver.search("anchor").hits) == 1
    memory.wait(60)
    transcripts(memory, first="the anchor is new")
    (folder / "second.jsonl").unlink()
    assert len(driver.search("anchor new").hits) == 1
    assert exported(memory) == {"first.md": "# Session first\n\nUser: the anchor is new\n"}


def test_old_transcripts_are_removed_and_files_of_others_are_not(memory: QmdMemory) -> None:
    folder = memory.folder / "exported"
    folder.mkdir()
    (folder / "mine.md").write_text("# Mine\n", encoding="utf-8")
    (folder / "second.md").write_text("# Mine, too\n", encoding="utf-8")
    transcripts(memory, first="the anchor is rusty", second="the sail is torn")
    driver = with_sessions(memory, export_dir=str(folder), retention_days=7)
    driver.update()
    assert sorted(file.name for file in folder.iterdir()) == ["first.md", "mine.md", "second.md"]
    memory.wait(8 * 24 * 3600)
    driver.update()
    assert {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()} == {
        "mine.md": "# Mine\n",
        "second.md": "# Mine, too\n",
    }


def test_transcripts_that_are_no_longer_wanted_are_removed(memory: QmdMemory) -> None:
    transcripts(memory, first="the anchor is rusty")
    with_sessions(memory).update()
    assert exported(memory)
    without = memory.driver(limits=PATIENT)
    without.update(force=True)
    assert exported(memory) == {}
    assert without.search("anchor").hits == ()
