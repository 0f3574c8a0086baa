"""Listeners receive events in order, and no listener can stop a turn."""

from __future__ import annotations

import threading
import time
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.agent import (
    Addition,
    AgentEnd,
    BeforeAgentStart,
    BeforeCompaction,
    HookBus,
    Listener,
    SessionEnd,
    SessionStart,
    event_name,
)

TURN = BeforeAgentStart("s1", "which database?")
DONE = AgentEnd("s1")


def bus(*listeners: Listener) -> HookBus:
    return HookBus(listeners, monotonic=time.monotonic)


def adding(text: str, priority: int = 0) -> Listener:
    return Listener(text, "before_agent_start", lambda _: Addition(text), priority)


@pytest.mark.slow
@given(st.lists(st.integers(-3, 3), max_size=8))
def test_what_is_added_comes_by_priority_and_then_in_the_order_of_registration(priorities: list[int]) -> None:
    listeners = [adding(f"{number}", priority) for number, priority in enumerate(priorities)]
    wanted = sorted(range(len(priorities)), key=lambda number: (-priorities[number], number))
    assert bus(*listeners).ask(TURN).prepend_context == "\n\n".join(str(number) for number in wanted)


def test_listeners_before_a_turn_run_one_after_the_other() -> None:
    running = threading.Semaphore(1)
    order = list[str]()

    def call(event: BeforeAgentStart) -> None:
        assert running.acquire(blocking=False)
        order.append(event.prompt)
        running.release()

    answer = bus(*(Listener(f"l{n}", "before_agent_start", call) for n in range(5))).ask(TURN)
    assert (answer.prepend_context, answer.reasons, order) == ("", (), [TURN.prompt] * 5)


def test_observers_run_at_the_same_time() -> None:
    meet = threading.Barrier(3, timeout=30)
    assert bus(*(Listener(f"l{n}", "agent_end", lambda _: meet.wait() and None) for n in range(3))).notify(DONE) == ()


def test_a_listener_hears_only_of_its_own_event() -> None:
    events = list[str]()
    names = ("session_start", "before_agent_start", "agent_end", "before_compaction", "session_end")
    listening = bus(*(Listener(name, name, lambda event: events.append(event_name(event))) for name in names))
    for event in (SessionStart("s"), TURN, DONE, BeforeCompaction("s"), SessionEnd("s")):
        listening.ask(event) if isinstance(event, BeforeAgentStart) else listening.notify(event)
    assert events == list(names)


def exit_now(_: object) -> None:
    raise SystemExit(3)


def fail(_: object) -> None:
    raise ValueError("boom")


@pytest.mark.parametrize("broken", [fail, exit_now])
def test_a_failing_listener_leaves_a_reason_and_the_turn_goes_on(broken: object) -> None:
    answer = bus(Listener("bad", "before_agent_start", broken, 9), adding("good")).ask(TURN)
    assert answer.prepend_context == "good"
    (reason,) = answer.reasons
    assert reason.code == "hook_failed"
    assert "'bad' in before_agent_start" in reason.message
    (reason,) = bus(Listener("bad", "agent_end", broken)).notify(DONE)
    assert reason.code == "hook_failed"


def test_a_slow_listener_is_left_behind_and_not_called_again_until_it_is_done() -> None:
    release = threading.Event()
    calls = list[int]()

    def slow(_: object) -> Addition:
        calls.append(1)
        release.wait(30)
        return Addition("late")

    listening = bus(Listener("slow", "before_agent_start", slow, timeout=0.01), adding("good"))
    first = listening.ask(TURN)
    second = listening.ask(TURN)
    assert [first.prepend_context, second.prepend_context] == ["good", "good"]
    assert [first.reasons[0].code, second.reasons[0].code, len(calls)] == ["hook_timeout", "hook_busy", 1]
    release.set()
    deadline = time.monotonic() + 30
    while listening.ask(TURN).prepend_context != "late\n\ngood":
        assert time.monotonic() < deadline


@pytest.mark.slow
def test_slow_observers_together_take_no_longer_than_the_slowest() -> None:
    release = threading.Event()
    listening = bus(*(Listener(f"l{n}", "agent_end", lambda _: release.wait(60) and None, 0, 0.3) for n in range(20)))
    before = time.monotonic()
    reasons = listening.notify(DONE)
    release.set()
    assert [reason.code for reason in reasons] == ["hook_timeout"] * 20
    assert time.monotonic() - before < 20 * 0.3


def test_a_listener_that_gives_something_else_is_told_apart() -> None:
    answer = bus(Listener("bad", "before_agent_start", lambda _: "text"), adding("good")).ask(TURN)
    assert [answer.prepend_context, answer.reasons[0].code] == ["good", "hook_result"]


def test_nobody_can_change_an_event() -> None:
    with pytest.raises(FrozenInstanceError):
        TURN.prompt = "other"
