"""The wrapper around a search program: whatever the program does, each search is answered by the right engine."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memoriter.backends import ForgetRequest
from memoriter.errors import InvalidQuery, QmdTimeout
from memoriter.extensions.qmd.api import FallbackBackend
from memoriter.service_guard import ServiceGuard, doubling
from memoriter.types import Query
from memory_env import MemoryEnv
from search_programs import DEAD, QUERY, Parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.backends import MemoryBackend


def test_a_program_that_cannot_be_opened_leaves_the_search_to_the_engine() -> None:
    parts = Parts(cannot_open=OSError("no such folder"))
    result = parts.backend.search(QUERY)
    assert result.provider == "bundled"
    assert result.fallback is not None
    assert (result.fallback.code, result.fallback.message) == ("internal", "qmd failed: OSError: no such folder.")


def test_an_empty_question_is_refused_and_closes_nothing() -> None:
    parts = Parts()
    with pytest.raises(InvalidQuery):
        parts.backend.search(Query("  "))
    assert (parts.log, parts.backend.failure) == ([], None)


def test_a_program_that_is_late_only_for_a_hurried_question_is_asked_again() -> None:
    parts = Parts(hasty=True, failure=QmdTimeout("late."))
    assert parts.backend.search(QUERY).provider == "bundled"
    parts.fail(None)
    assert (parts.backend.search(QUERY).provider, parts.backend.failure) == ("qmd", None)


def test_memories_with_the_same_settings_share_a_program_until_the_last_one_is_closed() -> None:
    parts = Parts()
    other = FallbackBackend(
        lambda: parts.cache.lease("main", parts.create),
        parts.engine,
        ServiceGuard(doubling(30.0, 900.0), lambda: 0.0),
    )
    parts.backend.search(QUERY)
    other.search(QUERY)
    assert len(parts.cache) == 1
    parts.backend.close()
    assert "primary.close" not in parts.log
    other.close()
    assert (parts.log.count("primary.close"), len(parts.cache)) == (1, 0)


def test_each_failed_attempt_doubles_the_pause_up_to_the_longest_and_a_success_ends_it() -> None:
    parts = Parts(failure=DEAD)

    def is_asked() -> bool:
        before = parts.log.count("primary.search")
        parts.backend.search(QUERY)
        return parts.log.count("primary.search") > before

    assert is_asked()
    for pause in (30, 60, 120, 240, 480, 900, 900):
        parts.now += pause - 1
        assert not is_asked()
        parts.now += 1
        assert is_asked()
    parts.now += 900
    parts.fail(None)
    assert is_asked()
    parts.fail(DEAD)
    assert is_asked()
    parts.now += 30
    assert is_asked()


class Wrapped(RuleBasedStateMachine):
    """The program fails and recovers at any time; the model knows which engine must answer."""

    @initialize()
    def begin(self) -> None:
        self.parts = Parts()
        self.broken = False
        self.until: float | None = None
        self.pause = 30.0

    @rule()
    def breaks(self) -> None:
        self.broken = True
        self.parts.fail(DEAD)

    @rule()
    def recovers(self) -> None:
        self.broken = False
        self.parts.fail(None)

    @rule(seconds=st.sampled_from([1.0, 29.0, 31.0, 61.0, 1000.0]))
    def time_passes(self, seconds: float) -> None:
        self.parts.now += seconds

    @rule()
    def searches(self) -> None:
        is_asked = self.until is None or self.parts.now >= self.until
        calls = self.parts.log.count("primary.search")
        result = self.parts.backend.search(QUERY)
        assert (self.parts.log.count("primary.search") > calls) == is_asked
        if is_asked and not self.broken:
            assert (result.provider, result.fallback) == ("qmd", None)
            self.until = None
            self.pause = 30.0
        else:
            assert result.provider == "bundled"
            assert result.fallback is not None
            assert result.health.reasons[0] == result.fallback
            if is_asked:
                self.pause = min(self.pause * 2, 900.0) if self.until is not None else self.pause
                self.until = self.parts.now + self.pause

    @invariant()
    def keeps_at_most_one_program_and_none_that_failed(self) -> None:
        parts = self.parts
        opened = parts.log.count("primary.search") > 0
        assert len(parts.cache) == int(opened and self.until is None)
        assert (parts.backend.failure is None) == (self.until is None)


Wrapped.TestCase.settings = hypothesis_settings(max_examples=25, stateful_step_count=20, deadline=None)
TestWrapped = Wrapped.TestCase


CALLS: dict[str, Callable[[MemoryBackend], Any]] = {
    "sync": lambda backend: backend.sync(),
    "why_not": lambda backend: backend.why_not(QUERY, "MEMORY.md").place,
    "refresh": lambda backend: backend.refresh(),
    "notes_changed": lambda backend: backend.notes_changed(),
    "problems": lambda backend: backend.problems,
    "background_run": lambda backend: backend.background_run,
    "content_version": lambda backend: backend.content_version(),
    "changes": lambda backend: next(backend.changes(threading.Event())),
    "estimate": lambda backend: backend.estimate().files,
    "compact": lambda backend: backend.compact().vectors,
    "plan_forget": lambda backend: len(backend.plan_forget(ForgetRequest.of("MEMORY.md", None, None)).notes),
    "egress_notice": lambda backend: backend.egress_notice(),
    "status": lambda backend: backend.status().files,
    "stop": lambda backend: backend.stop(),
}
"""A call of each method that needs no program, with what must be the same."""


@pytest.mark.parametrize("name", [*CALLS])
def test_everything_but_a_search_works_as_with_the_engine_alone_while_the_program_fails(
    tmp_path: Path, name: str
) -> None:
    env = MemoryEnv.at(tmp_path / "env")
    env.configure(provider="none")
    engine = env.open().backend
    engine.sync()
    expected = CALLS[name](engine)
    parts = Parts(failure=DEAD, engine=engine)
    parts.backend.search(QUERY)
    given = CALLS[name](parts.backend)
    if name == "sync":
        assert [reason.code for reason in given.reasons] == ["qmd_crashed"]
    else:
        assert given == expected
