"""The breaker by itself: a rule over times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed.remote._breaker import HOUR, BreakerState
from memoriter.errors import OutOfQuota, Throttled, TransientFailure, Unauthorised

SPENT = OutOfQuota("nothing left", remedy="pay")


def test_it_is_closed_until_a_quota_ends_and_again_after_a_success() -> None:
    breaker = BreakerState("me")
    assert breaker.allows(0)
    opened = breaker.after(SPENT, 0)
    assert not opened.allows(1)
    assert opened.after(None, 2) == breaker


@pytest.mark.parametrize("error", [Throttled("slow"), TransientFailure("broken")])
def test_other_errors_change_nothing(error: Exception) -> None:
    assert BreakerState("me").after(error, 0) == BreakerState("me")
    opened = BreakerState("me").after(SPENT, 0)
    assert opened.after(error, 5) == opened


def test_what_stands_for_a_call_that_was_not_made_says_why_and_until_when() -> None:
    refusal = BreakerState().after(Unauthorised("The key is wrong.", remedy="another"), 0).refusal(0)
    assert isinstance(refusal, Unauthorised)
    assert refusal.message == "The service is not contacted again for 20 min. The key is wrong."
    assert refusal.remedy == "another"


@pytest.mark.slow
@given(st.lists(st.floats(0, 4000), min_size=1, max_size=60), st.booleans())
def test_no_hour_has_more_than_three_calls_whenever_they_are_tried(gaps: list[float], restarts: bool) -> None:
    breaker = BreakerState("me")
    now = 1e9
    called = []
    for gap in gaps:
        now += gap
        if breaker.allows(now):
            trial = breaker.is_open
            called.append(now)
            breaker = breaker.after_probe_start(now).after(SPENT, now, probe=trial)
        if restarts:
            breaker = BreakerState.from_json(breaker.to_json())
    assert all(sum(start <= time <= start + HOUR for time in called) <= 3 for start in called)


@given(st.floats(0, 3 * HOUR), st.floats(-3 * HOUR, 3 * HOUR))
def test_a_clock_that_was_set_never_closes_the_way_for_longer_than_two_hours(later: float, jump: float) -> None:
    breaker = BreakerState("me").after(SPENT, 1e9).after(SPENT, 1e9 + later)
    assert breaker.seconds_until_allowed(1e9 + later + jump) <= 2 * HOUR + 2


def test_a_process_that_ends_in_the_middle_of_a_trial_has_used_it_up() -> None:
    opened = BreakerState("me").after(SPENT, 0)
    assert opened.allows(1300)
    assert not BreakerState.from_json(opened.after_probe_start(1300).to_json()).allows(1301)


@given(
    st.builds(
        BreakerState,
        st.text(),
        st.sampled_from(["", "out_of_quota", "unauthorised"]),
        st.text(),
        st.text(),
        st.lists(st.floats(0, 2e9)).map(lambda calls: tuple(sorted(calls))),
    )
)
def test_what_is_kept_comes_back(breaker: BreakerState) -> None:
    assert BreakerState.from_json(breaker.to_json()) == breaker


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"calls": 3}', '{"calls": ["x"], "reason": ""}', "\0"])
def test_what_cannot_be_read_is_a_closed_breaker(text: str) -> None:
    assert BreakerState.from_json(text) == BreakerState()


def test_another_key_starts_anew() -> None:
    opened = BreakerState("me").after(SPENT, 0)
    assert opened.for_owner("me") is opened
    assert opened.for_owner("you") == BreakerState("you")
