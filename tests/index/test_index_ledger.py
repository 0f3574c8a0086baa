"""What was spent, and what must be remembered between processes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest

from memoriter.errors import ProviderUnavailable
from memoriter.index import Ledger

DAY = 86_400.0


@pytest.fixture
def now():
    return [1_795_000_000.0]


@pytest.fixture
def ledger(tmp_path, now):
    opened = Ledger(tmp_path / "memory" / "ledger.sqlite", wall=lambda: now[0])
    yield opened
    opened.close()


def test_nothing_is_written_before_something_is_spent(ledger, tmp_path):
    assert ledger.today() == (0, 0.0)
    assert ledger.rows(days=30) == ()
    assert ledger.get("breaker") is None
    assert list(tmp_path.iterdir()) == []


def test_answers_of_a_day_add_up_by_model(ledger):
    ledger.add("openai", "small", 1_000, 0.02)
    ledger.add("openai", "small", 500, 0.01)
    ledger.add("voyage", "large", 10, None)
    (small, large) = ledger.rows(days=1)
    assert (small.calls, small.tokens, small.unpriced, small.dollars) == (2, 1_500, 0, pytest.approx(0.03))
    assert (large.calls, large.tokens, large.unpriced, large.dollars) == (1, 10, 10, 0.0)
    assert ledger.today() == (1_510, pytest.approx(0.03))


def test_a_new_day_begins_at_nothing_and_older_days_are_listed_while_they_are_asked_for(ledger, now):
    ledger.add("openai", "small", 1, 0.5)
    now[0] += DAY
    assert ledger.today() == (0, 0.0)
    ledger.add("openai", "small", 2, 0.1)
    assert [row.tokens for row in ledger.rows(days=2)] == [2, 1]
    assert [row.day for row in ledger.rows(days=1)] == [date(2026, 11, 19)]


def test_values_are_remembered_for_the_next_process(ledger, tmp_path, now):
    ledger.set("breaker", "open")
    ledger.set("breaker", "closed")
    other = Ledger(tmp_path / "memory" / "ledger.sqlite", wall=lambda: now[0])
    assert other.get("breaker") == "closed"
    other.close()


def test_many_threads_lose_nothing(ledger):
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: ledger.add("openai", "small", 1, 0.001), range(200)))
    assert ledger.today() == (200, pytest.approx(0.2))


def test_a_damaged_file_is_an_error_that_names_it(tmp_path):
    file = tmp_path / "ledger.sqlite"
    file.write_bytes(b"not a database" * 500)
    ledger = Ledger(file, wall=lambda: 0.0)
    with pytest.raises(ProviderUnavailable, match="ledger") as caught:
        ledger.add("openai", "small", 1, None)
    assert str(file) in caught.value.remedy


def test_of_two_who_replace_a_value_the_first_wins(tmp_path, ledger, now):
    other = Ledger(tmp_path / "memory" / "ledger.sqlite", wall=lambda: now[0])
    ledger.set("breaker", "open")
    assert (ledger.swap("breaker", "open", "mine"), other.swap("breaker", "open", "theirs")) == (True, False)
    assert (other.get("breaker"), ledger.swap("unknown", "", "x")) == ("mine", False)
    other.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_writes_through_a_connection_of_its_own(ledger):
    ledger.add("openai", "small", 1, 0.1)
    parents = ledger._connection
    child = os.fork()
    if child == 0:
        ledger.add("openai", "small", 2, 0.1)
        os._exit(0 if ledger._connection is not parents else 1)
    assert os.waitpid(child, 0)[1] == 0
    ledger.add("openai", "small", 4, 0.1)
    assert ledger.today().tokens == 7
