"""Processes killed at random moments of everything that writes: nothing finished is lost, nothing is paid for twice.

The vectors come from a service on 127.0.0.1 that counts, as the killed process cannot.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest

from faults import answered, contents, follow, found
from memoriter.embed.remote._vendor import PROBE
from memoriter.sync import BATCH_TOKENS
from memory_env import MemoryEnv, compatible
from servers.compatible import CompatibleServer
from soak import factor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

KILLS = min(int(8 * factor()), 100)
NOTES = 60
CHANGED = 12
"""Notes that change before each run."""
KINDS = (
    ("index",),
    ("index", "--force"),
    ("compact",),
    ("compact", "--unused"),
    ("remember", "--again", "This entry may be killed, or may be whole."),
    ("search", "what did we note about numbers"),
)
ENTRY = b"- 00:00 This entry may be killed, or may be whole.\n"
ENTRIES = (ENTRY, b"# 0000-00-00\n\n" + ENTRY)
"""An entry, and the first one of a note, with 0 for every digit."""


@dataclass
class Runs:
    """What became of the runs, one after the other."""

    killed: Counter[str] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)
    in_flight: list[str] = field(default_factory=list)
    """Texts that a killed process was waiting for, or had got and not yet kept."""
    spoilt: list[str] = field(default_factory=list)
    """Notes whose bytes changed although nobody meant to."""
    reasons: set[str] = field(default_factory=set)
    sent: Counter[str] = field(default_factory=Counter)


def killed_after(env: MemoryEnv, seconds: float | None, words: tuple[str, ...]) -> bool:
    """Run the program and kill it so long after it began its work; whether it came to that."""
    command = env.command("-w", str(env.notes), "--json", *words, before="print('ready', flush=True)")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env.environment(), cwd=env.notes
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.returncode != 0


def only_grew_by_entries(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Paths of which that is not true; the last entry may be cut, since the system may keep a part of a write."""
    grown = {path: text.removeprefix(before.get(path, b"")) for path, text in after.items()}
    spoilt = [path for path in before if not after.get(path, b"").startswith(before[path])]
    added = {path: re.sub(rb"\d", b"0", new.removeprefix(b"\n")) for path, new in grown.items()}
    return spoilt + [path for path, new in added.items() if not any(entry.startswith(new) for entry in ENTRIES)]


def last_batch(requests: list[list[str]]) -> list[str]:
    """The texts of the last requests, of which one batch may consist that was answered to nobody."""
    texts = list[str]()
    tokens = 0
    for request in reversed(requests):
        if tokens > BATCH_TOKENS:
            break
        texts += request
        tokens += sum(len(text) // 3 for text in request)
    return texts


def settle(server: CompatibleServer) -> None:
    """Wait for what a killed process has sent and the server has not read yet."""
    seen = -1
    while server.busy or seen != len(server.calls):
        seen = len(server.calls)
        time.sleep(0.1)


def change(env: MemoryEnv, draw: Random, round_: int) -> None:
    for number in draw.sample(range(NOTES), CHANGED):
        paragraphs = "\n\n".join(
            f"Round {round_} of note {number} says {draw.random()} about numbers." for _ in range(3)
        )
        env.write(f"memory/many/{number:03}.md", f"# Note {number}\n\n{paragraphs}\n")


def time_of(folder: Path, words: tuple[str, ...]) -> float:
    """How many seconds such a run takes here and now if nobody kills it, on notes that changed since the last index."""
    with CompatibleServer() as server:
        env = MemoryEnv.at(folder)
        env.many(NOTES)
        env.configure(**compatible(server))
        assert not killed_after(env, None, ("index",))
        change(env, Random(5), 0)
        started = time.monotonic()
        assert not killed_after(env, None, words)
        return time.monotonic() - started


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemoryEnv, CompatibleServer]]:
    with CompatibleServer() as server:
        env = MemoryEnv.at(tmp_path_factory.mktemp("kills"))
        env.many(NOTES)
        env.configure(**compatible(server))
        yield env, server
        env.close()


@pytest.fixture(scope="module")
def runs(env: tuple[MemoryEnv, CompatibleServer], tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Every kind of run in turn, killed at random moments of the time that it takes."""
    place, server = env
    draw = Random(11)
    runs = Runs()
    seconds = dict[tuple[str, ...], float]()
    for round_ in range(KILLS):
        change(place, draw, round_)
        words = KINDS[round_ % len(KINDS)]
        if words not in seconds:
            seconds[words] = time_of(tmp_path_factory.mktemp("whole") / "env", words)
        before = contents(place.notes)
        response = len(server.calls)
        dead = killed_after(place, draw.uniform(0.1, 1) * seconds[words], words)
        (runs.killed if dead else runs.finished)[" ".join(words[:1])] += 1
        if dead:
            settle(server)
            runs.in_flight += last_batch([call.json["input"] for call in server.calls[response:]])
        runs.spoilt += only_grew_by_entries(before, contents(place.notes))
        with place.open() as memory:
            runs.reasons |= {reason.code for reason in memory.status().health.reasons}
    for call in server.calls:
        runs.sent.update(call.json["input"])
    return runs


@pytest.mark.soak
def test_no_kill_changes_a_note_but_by_the_entry_that_was_to_be_added(runs: Runs) -> None:
    print(runs.killed, runs.finished, f"{sum(runs.sent.values())} texts sent, {len(runs.sent)} different")  # noqa: T201
    assert runs.spoilt == []
    assert sum(runs.killed.values()) >= KILLS // 4
    assert sum(runs.sent.values()) > 1


@pytest.mark.soak
def test_no_text_is_sent_twice_but_those_in_flight_at_a_kill(runs: Runs) -> None:
    known = {f"passage: {text}" for text in PROBE}  # each --force asks for these anew
    passages = {text: count for text, count in runs.sent.items() if text.startswith("passage: ") and text not in known}
    allowed = Counter(runs.in_flight)
    assert {text: count for text, count in passages.items() if count > 1 + allowed[text]} == {}


@pytest.mark.soak
def test_after_all_kills_only_vectors_are_missing_and_the_remedy_brings_them(
    runs: Runs, env: tuple[MemoryEnv, CompatibleServer]
) -> None:
    place, _ = env
    assert runs.reasons <= {"vectors_pending", "not_indexed"}
    with place.open() as memory:
        for reason in memory.status().health.reasons:
            follow(place, reason.remedy)
    answered(place, "index")
    with place.open() as memory:
        status = memory.status(deep=True)
        assert status.health.ok
        assert (status.pending, status.vectors) == (0, status.chunks)
        assert all(canary.found for canary in status.canaries)
    assert found(place, "about numbers")
    left = [file.name for file in (place.home / "memory").iterdir() if ".sqlite" in file.name]
    assert not [name for name in left if "damaged" in name]
    assert len([name for name in left if name.endswith(".sqlite") and name.startswith("main")]) == 1, left
    assert not [name for name in left if ".new" in name], left
