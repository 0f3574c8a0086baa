"""When a service that failed is called again: a rule over times."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed.remote._remote import CircuitBreaker
from memoriter.errors import EmbeddingError, OutOfQuota, ProviderUnavailable, Throttled, TransientFailure, Unauthorised
from memoriter.service_guard import FEW_AN_HOUR, HOUR, Failures, Rule, ServiceGuard, doubling
from memoriter.types import Diagnostic

SPENT = Diagnostic("out_of_quota", "nothing left", "pay")
PATIENCE = doubling(30.0, 600.0)


class Watch:
    """A clock, and what the processes of a test share."""

    def __init__(self) -> None:
        self.now = 1e9
        self.values = dict[str, str]()

    def __call__(self) -> float:
        return self.now

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def set(self, name: str, value: str) -> None:
        self.values[name] = value

    def swap(self, name: str, old: str, new: str) -> bool:
        if self.values.get(name) != old:
            return False
        self.values[name] = new
        return True

    def guard(self, rule: Rule = FEW_AN_HOUR, owner: str = "me") -> ServiceGuard:
        """The guard of a new process."""
        return ServiceGuard(rule, self, store=self, name="service", owner=owner)


@pytest.fixture
def watch() -> Watch:
    return Watch()


def raising(error: EmbeddingError) -> Any:
    def call() -> None:
        raise error

    return call


def test_everyone_may_call_until_a_failure_and_again_after_a_success(watch: Watch) -> None:
    guard = watch.guard()
    assert (guard.admit(), guard.reason, guard.pause()) == (True, None, None)
    guard.failed(SPENT)
    assert (guard.admit(), guard.reason) == (False, SPENT)
    guard.succeeded()
    assert (guard.admit(), guard.reason, guard.seconds_left) == (True, None, 0.0)


@pytest.mark.parametrize("error", [Throttled("slow"), TransientFailure("broken")])
def test_other_errors_open_no_circuit_and_close_none(watch: Watch, error: EmbeddingError) -> None:
    breaker = CircuitBreaker(("service",), (), wall=watch, store=watch)
    with pytest.raises(type(error)):
        breaker.call(raising(error))
    assert (breaker.refusal(), watch.values) == (None, {})
    with pytest.raises(OutOfQuota):
        breaker.call(raising(OutOfQuota("nothing left", remedy="pay")))
    watch.now += 1300
    with pytest.raises(type(error)):
        breaker.call(raising(error))
    assert isinstance(breaker.refusal(), OutOfQuota)


def test_what_stands_for_a_call_that_was_not_made_says_why_and_until_when(watch: Watch) -> None:
    breaker = CircuitBreaker(("service",), (), wall=watch)
    with pytest.raises(Unauthorised):
        breaker.call(raising(Unauthorised("The key is wrong.", remedy="another")))
    refusal = breaker.refusal()
    assert isinstance(refusal, Unauthorised)
    assert refusal.message == "The service is not contacted again for 20 min. The key is wrong."
    assert (refusal.remedy, refusal.attempted) == ("another", False)


@pytest.mark.slow
@given(st.lists(st.floats(0, 4000), min_size=1, max_size=60), st.booleans())
def test_no_hour_has_more_than_three_calls_whenever_they_are_tried(gaps: list[float], restarts: bool) -> None:
    watch = Watch()
    guard = watch.guard()
    called = []
    for gap in gaps:
        watch.now += gap
        if guard.admit():
            called.append(watch.now)
            guard.failed(SPENT)
        if restarts:
            guard = watch.guard()
    assert all(sum(start <= time <= start + HOUR for time in called) <= 3 for start in called)


@pytest.mark.parametrize(("at_once", "minutes"), [(1, 20), (2, 20), (3, 60), (8, 60)])
def test_calls_that_fail_at_once_all_count_where_they_cost_money(watch: Watch, at_once: int, minutes: int) -> None:
    guard = watch.guard()
    for _ in range(at_once):
        guard.failed(SPENT)
    watch.now += minutes * 60
    assert not guard.admit()
    watch.now += 2
    assert guard.admit()


@given(st.floats(0, 3 * HOUR), st.floats(-3 * HOUR, 3 * HOUR))
def test_a_clock_that_was_set_never_closes_the_way_for_longer_than_two_hours(later: float, jump: float) -> None:
    watch = Watch()
    guard = watch.guard()
    guard.failed(SPENT)
    watch.now += later
    guard.failed(SPENT)
    watch.now += jump
    assert guard.seconds_left <= 2 * HOUR + 2


def test_a_process_that_ends_in_the_middle_of_a_trial_has_used_it_up(watch: Watch) -> None:
    watch.guard().failed(SPENT)
    watch.now += 1300
    assert watch.guard().admit()
    watch.now += 1
    assert not watch.guard().admit()


def test_a_trial_that_was_given_up_is_free_for_the_next_caller(watch: Watch) -> None:
    guard = watch.guard(PATIENCE)
    guard.failed(SPENT)
    watch.now += 30
    assert (guard.admit(), guard.admit()) == (True, False)
    guard.abandoned()
    assert guard.admit()


def test_each_failed_attempt_doubles_the_pause_up_to_the_longest(watch: Watch) -> None:
    guard = watch.guard(PATIENCE)
    guard.failed(SPENT)
    for seconds in (30, 60, 120, 240, 480, 600, 600):
        guard.failed(SPENT)  # of calls that began before the pause
        watch.now += seconds - 1
        assert guard.pause() == (SPENT, 1.0)
        watch.now += 1
        assert guard.pause() is None
        guard.failed(SPENT)


def test_a_trial_that_fails_counts_once(watch: Watch) -> None:
    guard = watch.guard(PATIENCE)
    guard.failed(SPENT)
    for pause in (30, 60, 120):
        assert guard.pause() == (SPENT, pause)
        watch.now += pause
        assert guard.admit()
        guard.failed(SPENT)


def test_one_failure_of_a_caller_in_a_hurry_begins_no_pause_and_the_second_does(watch: Watch) -> None:
    guard = watch.guard(PATIENCE)
    guard.failed(SPENT, hasty=True)
    assert (guard.pause(), guard.was_hasty) == (None, True)
    guard.failed(SPENT, hasty=True)
    assert (guard.pause(), guard.was_hasty) == ((SPENT, 30.0), False)
    guard.succeeded()
    guard.failed(SPENT, hasty=True)
    guard.succeeded()
    guard.failed(SPENT, hasty=True)
    assert guard.pause() is None


def test_only_one_of_several_threads_and_processes_tries(watch: Watch) -> None:
    watch.guard().failed(SPENT)
    watch.now += 1300
    shared = watch.guard()
    admitted: list[bool] = []
    threads = [Thread(target=lambda: admitted.append(shared.admit())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    admitted += [watch.guard().admit()]
    assert sorted(admitted) == [False] * 8 + [True]


def test_without_a_store_that_can_be_used_a_process_knows_its_own_failures(watch: Watch) -> None:
    class Broken(Watch):
        def get(self, name: str) -> str | None:
            raise ProviderUnavailable(name, remedy="")

        def set(self, name: str, value: str) -> None:
            raise ProviderUnavailable(name, remedy="")

    guard = ServiceGuard(PATIENCE, watch, store=Broken(), name="service")
    guard.failed(SPENT)
    assert guard.pause() == (SPENT, 30.0)
    guard.succeeded()
    assert guard.pause() is None


@given(
    st.builds(
        Failures,
        st.text(),
        st.sampled_from(["out_of_quota", "unauthorised"]),
        st.text(),
        st.text(),
        st.lists(st.floats(0, 2e9), min_size=1).map(lambda times: tuple(sorted(times))),
        st.integers(0, 2),
    )
)
def test_what_is_kept_comes_back(failures: Failures) -> None:
    assert Failures.from_json(failures.to_json()) == failures


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"times": 3}', '{"times": ["x"], "code": ""}', "\0"])
def test_what_cannot_be_read_is_no_failure(watch: Watch, text: str) -> None:
    watch.values["service"] = text
    assert Failures.from_json(text) == Failures()
    assert watch.guard().admit()


def test_what_another_version_kept_is_no_failure(watch: Watch) -> None:
    watch.values["service"] = '{"owner": "me", "reason": "out_of_quota", "message": "", "remedy": "", "calls": [1e9]}'
    assert watch.guard().admit()
    watch.values["service"] = '{"until": 2e9, "times": 3, "code": "timeout", "message": "", "hasty": 0}'
    assert watch.guard().admit()


def test_another_key_starts_anew(watch: Watch) -> None:
    watch.guard(owner="me").failed(SPENT)
    assert not watch.guard(owner="me").admit()
    assert watch.guard(owner="you").admit()
