"""When a watcher acts: rules that hold whatever happens and however long a run takes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.sync import IndexJob
from memoriter.watch import EVERYTHING, Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

DEBOUNCE = 1.5
LONGEST = 5.0
PATHS = ["a.md", "b.md", "c.md", EVERYTHING]

events = st.lists(st.tuples(st.floats(0, 3), st.sampled_from(PATHS)), max_size=30)
ends = st.sampled_from(["done", "done", "done", "waiting", "failed", "unfinished", "again"])
runs = st.lists(st.tuples(st.floats(0, 4), ends), max_size=30)


@dataclass
class Run:
    """One run, as it happened."""

    job: IndexJob
    began: float
    ended: float = inf
    how: str = ""


@dataclass
class Simulation:
    """Plays events against runs of given lengths and ends, and lets time pass until nothing is left to do."""

    events: Sequence[tuple[float, str]]
    """Each with the seconds since the one before."""
    plan: list[tuple[float, str]]
    """How long each run takes and how it ends; later ones take no time and succeed."""
    schedule: Schedule = field(default_factory=lambda: Schedule(0.0, debounce=DEBOUNCE))
    delivered: list[tuple[float, str]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    def play(self) -> list[Run]:
        now = 0.0
        waiting = []
        at = 0.0
        for gap, path in self.events:
            at += gap
            waiting.append((at, path))
        running: Run | None = None
        steps = 0
        while running or waiting or not self.schedule.idle:
            steps += 1
            assert steps < 2_000, "it never comes to rest"
            times = [running.ended if running else now + self.schedule.due_in(now)]
            times += [waiting[0][0]] if waiting else []
            now = max(now, min(times))
            while waiting and waiting[0][0] <= now:
                self.delivered.append(waiting[0])
                self.schedule.changed([waiting.pop(0)[1]], now)
            if running and running.ended <= now:
                self._end(running, now)
                running = None
            job = self.schedule.next(now)
            if job is not None:
                assert running is None
                seconds, how = self.plan.pop(0) if self.plan else (0.0, "done")
                running = Run(job, now, now + seconds, how)
                self.runs.append(running)
        return self.runs

    def _end(self, run: Run, now: float) -> None:
        match run.how:
            case "failed":
                self.schedule.failed(now)
            case "unfinished":
                self.schedule.unfinished(now)
            case _:
                again = ["a.md"] if run.how == "again" else []
                self.schedule.done(now, again=again, waiting=run.how == "waiting")


@pytest.mark.slow
@given(events, runs)
def test_every_event_is_followed_by_a_run_that_begins_after_it_and_succeeds(events, runs):
    simulation = Simulation(events, list(runs))
    done = [run for run in simulation.play() if run.how not in {"failed", "unfinished"}]
    for at, path in simulation.delivered:
        later = [run for run in done if run.began >= at]
        assert any(run.job.whole or path in run.job.paths for run in later), (at, path)


@pytest.mark.slow
@given(events, runs)
def test_there_are_never_two_runs_at_once(events, runs):
    played = Simulation(events, list(runs)).play()
    assert all(before.ended <= after.began for before, after in itertools.pairwise(played))


@given(events)
def test_a_storm_of_events_puts_a_run_off_no_longer_than_the_longest_wait(events):
    simulation = Simulation(events, [])
    played = simulation.play()
    for at, path in simulation.delivered:
        after = (run.began for run in played if run.began >= at and (run.job.whole or path in run.job.paths))
        assert next(after) - at <= LONGEST + 1e-6


@given(events)
def test_a_path_counts_as_settled_only_after_its_quiet(events):
    simulation = Simulation(events, [])
    for run in simulation.play():
        for path in run.job.settled:
            last = max(at for at, each in simulation.delivered if each == path and at <= run.began)
            assert run.began - last >= DEBOUNCE - 1e-6


@given(events, runs)
def test_paths_that_are_to_be_looked_at_again_are_settled_then(events, runs):
    played = Simulation(events, list(runs)).play()
    for run in played:
        if run.how == "again":
            later = [other for other in played if other.began >= run.ended and "a.md" in other.job.paths]
            assert later


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12), st.floats(0, 20), st.booleans())
def test_looks_at_everything_go_on_for_ever_and_take_a_small_share_of_the_time(pauses, cost, polled):
    schedule = Schedule(0.0, debounce=DEBOUNCE)
    now = 0.0
    for _ in pauses:
        now += schedule.due_in(now)
        job = schedule.next(now)
        assert job is not None
        assert job.whole
        began = now
        now += cost
        schedule.done(now, seconds=cost, polled=polled)
        wait = schedule.due_in(now)
        assert wait < inf
        assert cost <= (0.05 if polled else 0.01) * (now + wait - began) + 1e-6
        assert wait >= (2.0 if polled else 60.0) - 1e-6


def test_an_interval_shortens_the_time_between_looks():
    schedule = Schedule(0.0, interval=30.0)
    schedule.next(0.0)
    schedule.done(0.0, seconds=1.0)
    assert schedule.due_in(0.0) == 30.0


def test_failures_are_tried_again_later_each_time_and_never_given_up():
    schedule = Schedule(0.0)
    now = 0.0
    waits = []
    for _ in range(2_000):
        assert schedule.next(now) is not None
        schedule.failed(now)
        waits.append(schedule.due_in(now))
        now += waits[-1] + 1e-6
    assert waits[:4] == [1.0, 2.0, 4.0, 8.0] or [round(wait, 3) for wait in waits[:4]] == [1.0, 2.0, 4.0, 8.0]
    assert round(max(waits), 3) == 60.0


def test_while_vectors_wait_for_a_provider_new_changes_are_indexed_as_soon_as_ever():
    schedule = Schedule(0.0, debounce=DEBOUNCE)
    now = 0.0
    for _ in range(8):
        schedule.next(now)
        schedule.done(now, waiting=True)
        now += schedule.due_in(now)
    schedule.next(now)
    schedule.done(now, waiting=True)
    schedule.changed(["a.md"], now)
    assert schedule.due_in(now) == DEBOUNCE


def test_transcripts_wait_for_a_quiet_of_their_own():
    schedule = Schedule(0.0, debounce=DEBOUNCE)
    schedule.next(0.0)
    schedule.done(0.0)
    schedule.changed(["s.jsonl"], 1.0, debounce=5.0)
    schedule.changed(["a.md"], 1.0)
    first = schedule.next(2.5)
    assert first == IndexJob(frozenset({"a.md"}), frozenset({"a.md"}))
    schedule.done(2.6)
    assert schedule.next(5.9) is None
    assert schedule.next(6.0) == IndexJob(frozenset({"s.jsonl"}), frozenset({"s.jsonl"}))
