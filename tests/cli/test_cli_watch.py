"""`memoriter watch` as a process of its own: what it prints, how it ends, and what it does where the system is mean."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from memoriter import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Program

LIMIT = 150.0
SETTINGS = '{agents: {defaults: {memorySearch: {provider: "fake", sync: {watchDebounceMs: 100, onSearch: false}}}}}'


class Watcher:
    """A running `memoriter watch --json`, read line by line."""

    def __init__(self, program: Program, *before: str, words: tuple[str, ...] = ("--json",)) -> None:
        command = [*before, sys.executable, "-m", "memoriter", "-w", str(program.workspace), "watch", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines: queue.Queue[str] = queue.Queue()
        self.seen: list[Any] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def until(self, kind: str) -> Any:
        """The next line of this kind."""
        while line := self.lines.get(timeout=LIMIT):
            self.seen.append(json.loads(line))
            if self.seen[-1]["kind"] == kind:
                return self.seen[-1]
        raise AssertionError(f"it ended without {kind}: {self.seen}, {self.process.communicate()[1]}")

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(LIMIT)


@pytest.fixture
def watch(program: Program) -> Iterator[Callable[..., Watcher]]:
    (program.home / "memoriter.json5").write_text(SETTINGS, encoding="utf-8")
    begun: list[Watcher] = []

    def begin(*before: str, **words: Any) -> Watcher:
        begun.append(Watcher(program, *before, **words))
        return begun[-1]

    yield begin
    for watcher in begun:
        if watcher.process.poll() is None:
            watcher.process.kill()
            watcher.process.wait(LIMIT)
        assert watcher.process.stderr
        watcher.process.stderr.close()
        assert watcher.process.stdout
        while watcher.lines.get(timeout=LIMIT):
            pass
        watcher.process.stdout.close()


def found(program: Program, word: str) -> set[str]:
    with Memory.open(program.workspace, home=program.home) as memory:
        return {hit.path for hit in memory.search(word).results if word in hit.snippet}


@pytest.mark.matrix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_indexes_what_changes_says_so_and_ends_well(program: Program, watch, number: int) -> None:
    watcher = watch()
    assert watcher.until("watching")["folders"] == 2
    (program.workspace / "memory" / "pets.md").write_text("The quokka sleeps.\n", encoding="utf-8")
    received = watcher.until("indexed")
    while received["report"]["files"] != 4:
        received = watcher.until("indexed")
    assert found(program, "quokka") == {"memory/pets.md"}
    assert watcher.end(number) == 0
    assert watcher.until("stopped")["time"].endswith("Z")


@pytest.mark.slow
def test_people_get_a_line_for_each_thing(program: Program, watch) -> None:
    watcher = watch(words=())
    received = ""
    while "Watching 2 folders" not in received:
        received += watcher.lines.get(timeout=LIMIT)
    (program.workspace / "memory" / "pets.md").write_text("The quokka sleeps.\n", encoding="utf-8")
    while "1 added, 0 changed, 0 removed; 1 vector computed" not in received:
        received += watcher.lines.get(timeout=LIMIT)
    assert watcher.end() == 0


@pytest.mark.slow
def test_a_second_one_waits_and_takes_over_when_the_first_is_killed(program: Program, watch) -> None:
    first = watch()
    first.until("watching")
    second = watch()
    assert "watching" in second.until("waiting")["reason"]["message"]
    first.end(signal.SIGKILL)
    second.until("watching")
    (program.workspace / "memory" / "pets.md").write_text("The quokka sleeps.\n", encoding="utf-8")
    second.until("indexed")
    assert second.end() == 0


def mean(limit: str, value: int) -> list[str]:
    """Words before a command, so that it runs where the system allows no more; skips where that is refused."""
    unshare = shutil.which("unshare")
    script = f'echo {value} > /proc/sys/user/{limit} && exec "$@"'
    before = [unshare or "", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    if unshare is None or subprocess.run([*before, "true"], capture_output=True).returncode:
        pytest.skip("no user namespace may be made here")
    return before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "value"), [("max_inotify_watches", 1), ("max_inotify_instances", 0)], ids=["watches", "instances"]
)
def test_where_there_is_nearly_no_inotify_it_looks_instead_and_says_so(
    program: Program, watch, limit: str, value: int
) -> None:
    watcher = watch(*mean(limit, value))
    assert "max_user_watches" in watcher.until("polling")["reason"]["remedy"]
    (program.workspace / "memory" / "deep").mkdir()
    (program.workspace / "memory" / "deep" / "pets.md").write_text("The quokka sleeps.\n", encoding="utf-8")
    while found(program, "quokka") != {"memory/deep/pets.md"}:
        watcher.until("indexed")
    (program.workspace / "memory" / "deep" / "pets.md").unlink()
    while found(program, "quokka"):
        watcher.until("indexed")
    assert watcher.end() == 0


@pytest.mark.slow
def test_while_another_process_indexes_it_waits_for_its_turn_and_says_so_once(program: Program, watch) -> None:
    holder = (
        "import sys; from pathlib import Path; from memoriter.index import Index\n"
        "index = Index.open(Path(sys.argv[1]), clock=lambda: 0.0)\n"
        "with index.lease(wait=20):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    watcher = watch()
    watcher.until("watching")
    (index,) = (program.home / "memory").glob("main*.sqlite")
    words = [sys.executable, "-c", holder, str(index)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ) as other:
        assert other.stdout
        assert other.stdout.readline() == "held\n"
        (program.workspace / "memory" / "pets.md").write_text("The quokka sleeps.\n", encoding="utf-8")
        assert watcher.until("trouble")["reason"]["code"] == "index_busy"
        assert other.stdin
        other.stdin.close()
    watcher.until("indexed")
    assert found(program, "quokka") == {"memory/pets.md"}
    assert [line["kind"] for line in watcher.seen].count("trouble") == 1
