"""What a provider does when a service fails, over every service and every fault, against servers on 127.0.0.1."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from memoriter.embed import embed_in_batches
from memoriter.embed.remote._remote import RemoteSettings
from memoriter.errors import (
    BadVector,
    EmbeddingError,
    InputRejected,
    InputTooLarge,
    OutOfQuota,
    ProviderUnavailable,
    Throttled,
    TransientFailure,
    Unauthorised,
)
from servers import (
    KEY,
    SERVERS,
    Answer,
    Watch,
    altered,
    dripping,
    half_written,
    html_page,
    provider_of,
    refused,
    reset,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.embed.remote._remote import RemoteProvider
    from servers import ScriptedServer

BREAKS = [
    pytest.param(half_written, id="half written"),
    pytest.param(reset, id="reset"),
    pytest.param(html_page(200), id="page"),
    pytest.param(html_page(502), id="bad gateway"),
]
TEXTS = ["tea", "coffee", "a cup of cocoa", "lemonade in July"]


@pytest.fixture(params=sorted(SERVERS))
def server(request: pytest.FixtureRequest) -> Iterator[ScriptedServer]:
    with SERVERS[request.param]() as running:
        yield running


@pytest.fixture
def openai() -> Iterator[ScriptedServer]:
    with SERVERS["openai"]() as running:
        yield running


def known(server: ScriptedServer, watch: Watch | None = None, **settings: Any) -> RemoteProvider:
    """A provider that need not ask for the dimensions."""
    sizes = {"openai": 1536, "ollama": 768}
    return provider_of(server, watch, **{"dimensions": sizes.get(server.vendor), **settings})


def test_a_throttled_call_waits_as_long_as_the_service_says_and_succeeds(server: ScriptedServer) -> None:
    server.faults.append(refused(server.throttled()))
    watch = Watch()
    assert known(server, watch).embed(TEXTS, role="document").shape[0] == len(TEXTS)
    assert watch.slept == [2.0]


def test_a_service_that_throttles_on_and_on_is_asked_four_times(server: ScriptedServer) -> None:
    server.always = refused(server.throttled())
    with pytest.raises(Throttled) as throttled:
        known(server).embed(TEXTS, role="document")
    assert len(server.calls) == 4
    assert throttled.value.retry_after == 2


def test_a_question_does_not_wait_for_a_service_that_asks_for_an_hour(server: ScriptedServer) -> None:
    server.always = refused(Answer(429, {"error": {"message": "slow down"}}, {"retry-after": "3600"}))
    watch = Watch()
    with pytest.raises(Throttled):
        known(server, watch).embed(["tea"], role="query")
    assert watch.slept == []


@pytest.mark.matrix
@pytest.mark.parametrize("fault", BREAKS)
def test_what_breaks_on_the_way_is_tried_again(server: ScriptedServer, fault: Any) -> None:
    server.faults.append(fault)
    provider = known(server)
    assert np.array_equal(provider.embed(TEXTS, role="document"), provider.embed(TEXTS, role="document"))
    assert len(server.calls) == 3


@pytest.mark.matrix
@pytest.mark.parametrize("fault", BREAKS)
def test_what_stays_broken_is_a_transient_failure_after_four_calls(server: ScriptedServer, fault: Any) -> None:
    server.always = fault
    watch = Watch()
    with pytest.raises(TransientFailure) as failure:
        known(server, watch).embed(TEXTS, role="document")
    assert len(server.calls) == 4
    assert watch.slept == [0.5, 1.0, 2.0]
    assert "<" not in failure.value.message


@pytest.mark.matrix
def test_an_answer_that_drips_is_given_up_when_the_time_is_over(server: ScriptedServer) -> None:
    server.always = dripping
    provider = known(server, real_time=True, query_seconds=0.25)
    started = time.monotonic()
    with pytest.raises(TransientFailure, match=r"did not answer within 0\.25 s"):
        provider.embed(["tea"], role="query")
    assert time.monotonic() - started < 2.5


def test_a_wrong_key_is_named_as_such_and_never_repeated(server: ScriptedServer) -> None:
    server.always = refused(server.wrong_key())
    with pytest.raises(Unauthorised) as refusal:
        known(server).embed(TEXTS, role="document")
    assert len(server.calls) == 1
    assert KEY not in repr(refusal.value) + refusal.value.remedy
    assert KEY[:12] not in refusal.value.message


@pytest.mark.matrix
def test_out_of_quota_at_most_three_calls_are_made_in_any_hour(server: ScriptedServer) -> None:
    server.always = refused(server.quota())
    watch = Watch()
    provider = known(server, watch)
    called: list[float] = []
    for _ in range(24 * 60):
        before = len(server.calls)
        with pytest.raises(OutOfQuota):
            provider.embed(TEXTS, role="query")
        called += [watch.now] * (len(server.calls) - before)
        watch.now += 60
    assert max(sum(start <= time <= start + 3600 for time in called) for start in called) == 3
    assert len(called) > 24  # and yet it is asked again now and then


def test_many_requests_at_once_lose_no_more_than_two_calls_when_the_quota_ends(openai: ScriptedServer) -> None:
    openai.always = refused(openai.quota())
    with pytest.raises(OutOfQuota):
        known(openai).embed(["tea"] * 500, role="document")
    assert len(openai.calls) <= 2


def test_a_service_that_can_be_paid_again_is_used_again(openai: ScriptedServer) -> None:
    openai.faults.append(refused(openai.quota()))
    watch = Watch()
    provider = known(openai, watch)
    for _ in range(3):
        with pytest.raises(OutOfQuota):
            provider.embed(["tea"], role="query")
    assert len(openai.calls) == 1
    watch.now += 1300
    provider.embed(["tea"], role="query")
    provider.embed(["tea"], role="query")
    assert len(openai.calls) == 3


class Kept:
    """What processes share, as the ledger keeps it."""

    def __init__(self) -> None:
        self.values = dict[str, str]()

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def set(self, name: str, value: str) -> None:
        self.values[name] = value

    def swap(self, name: str, old: str, new: str) -> bool:
        if self.values.get(name) != old:
            return False
        self.values[name] = new
        return True


@pytest.mark.matrix
def test_a_new_process_has_no_more_calls_and_a_new_key_has(server: ScriptedServer) -> None:
    server.always = refused(server.quota())
    watch = Watch()
    kept = Kept()
    for _ in range(5):
        with pytest.raises(OutOfQuota):
            known(server, watch, store=kept).embed(["tea"], role="query")
    assert len(server.calls) == 1
    assert KEY not in str(kept.values)
    with pytest.raises(EmbeddingError):
        known(server, watch, store=kept, api_key="sk-another-key-00000000").embed(["tea"], role="query")
    assert len(server.calls) == 2


class Overtaken(Kept):
    """Another process is always faster."""

    def swap(self, name: str, old: str, new: str) -> bool:
        return False


def test_of_processes_that_would_try_again_at_once_one_does(server: ScriptedServer) -> None:
    server.always = refused(server.quota())
    watch = Watch()
    kept = Overtaken()
    provider = known(server, watch, store=kept)
    with pytest.raises(OutOfQuota):
        provider.embed(["tea"], role="query")
    watch.now += 2_000
    with pytest.raises(OutOfQuota, match="not contacted again"):
        provider.embed(["tea"], role="query")
    assert len(server.calls) == 1


def test_a_text_over_the_limit_is_too_large(server: ScriptedServer) -> None:
    server.always = refused(server.too_long())
    with pytest.raises(InputTooLarge):
        known(server).embed(TEXTS, role="document")
    assert len(server.calls) == 1


@pytest.mark.matrix
@pytest.mark.parametrize("change", ["fewer", "more", "none"])
def test_a_wrong_number_of_vectors_is_refused_with_both_numbers(server: ScriptedServer, change: str) -> None:
    def changed(answer: Any) -> None:
        rows = server.rows(answer)
        rows[:] = {"fewer": rows[:-1], "more": [*rows, rows[0]], "none": []}[change]

    server.always = altered(changed)
    with pytest.raises(BadVector) as bad:
        known(server).embed(TEXTS, role="document")
    assert str(len(TEXTS)) in bad.value.message
    assert len(server.calls) == 1


@pytest.mark.parametrize("vendor", ["mistral", "openai", "voyage"])
def test_vectors_in_another_order_are_brought_into_that_of_the_texts(vendor: str) -> None:
    with SERVERS[vendor]() as server:
        provider = known(server)
        straight = provider.embed(TEXTS, role="document")
        server.always = altered(lambda answer: server.rows(answer).reverse())
        assert np.array_equal(provider.embed(TEXTS, role="document"), straight)


@pytest.mark.parametrize("vendor", ["mistral", "openai", "voyage"])
def test_an_index_that_is_there_twice_is_refused(vendor: str) -> None:
    with SERVERS[vendor]() as server:
        server.always = altered(lambda answer: server.rows(answer)[1].update(index=0))
        with pytest.raises(BadVector, match="missing or there twice"):
            known(server).embed(TEXTS, role="document")


def poisoned(server: ScriptedServer, vector: Any) -> Any:
    """The vector of every text that speaks of cocoa is this one."""

    def fault(exchange: Any, answer: Answer) -> Answer | None:
        texts = server.calls[-1].body.decode()
        if "cocoa" not in texts or "embed" not in exchange.path:
            return answer
        names = [name for name in TEXTS if name in texts]
        return altered(lambda value: server.with_vector(value, names.index("a cup of cocoa"), vector))(exchange, answer)

    return fault


@pytest.mark.matrix(quick=5)
@pytest.mark.parametrize(
    "vector", [[float("nan")], [None], None, [], [0.0]], ids=["nan", "nulls", "null", "empty", "zero"]
)
def test_one_text_without_a_usable_vector_never_stops_the_others(server: ScriptedServer, vector: Any) -> None:
    provider = known(server)
    size = provider.spec.dimensions
    server.always = poisoned(server, vector * size if vector else vector)
    (batch,) = embed_in_batches(provider, TEXTS, role="document")
    assert batch.positions == (0, 1, 3)
    assert [failure.position for failure in batch.failures] == [2]
    assert isinstance(batch.failures[0].error, InputRejected | BadVector)


def test_a_service_without_one_usable_vector_is_not_asked_for_each_text(server: ScriptedServer) -> None:
    def changed(answer: Any) -> None:
        for place in range(len(server.rows(answer))):
            server.with_vector(answer, place, [float("nan")] * 4)

    server.always = altered(changed)
    provider = known(server, dimensions=None) if server.vendor != "openai" else provider_of(server)
    with pytest.raises(BadVector):
        provider.embed(TEXTS, role="document")
    assert len(server.calls) == 1


def test_a_changed_dimension_names_both_numbers(server: ScriptedServer) -> None:
    provider = known(server)
    provider.embed(TEXTS, role="document")

    def changed(answer: Any) -> None:
        for place in range(len(server.rows(answer))):
            server.with_vector(answer, place, [1.0] * 7)

    server.always = altered(changed)
    with pytest.raises(BadVector, match=rf"\b7 dimensions instead of {provider.spec.dimensions}\b"):
        provider.embed(TEXTS, role="document")


def test_a_request_that_is_wrong_in_itself_is_not_blamed_on_a_text(server: ScriptedServer) -> None:
    server.always = refused(Answer(400, {"error": {"message": "that is not how to ask"}}))
    with pytest.raises(ProviderUnavailable, match="that is not how to ask"):
        list(embed_in_batches(known(server), TEXTS, role="document"))
    assert len(server.calls) == 2  # the batch, and one plain sentence to be sure


def test_a_service_that_takes_no_more_text_in_the_middle_is_not_asked_for_each(server: ScriptedServer) -> None:
    provider = known(server)
    provider.embed(TEXTS, role="document")
    server.always = refused(Answer(400, {"error": {"message": "that is not how to ask"}}))
    with pytest.raises(ProviderUnavailable):
        list(embed_in_batches(provider, TEXTS * 5, role="document"))
    assert len(server.calls) <= 4


def test_a_text_that_a_service_refuses_is_found_by_halving(server: ScriptedServer) -> None:
    def fault(_: Any, answer: Answer) -> Answer:
        bad = "cocoa" in server.calls[-1].body.decode()
        return Answer(400, {"error": {"message": "this text is not for us"}}) if bad else answer

    server.always = fault
    (batch,) = embed_in_batches(known(server), TEXTS, role="document")
    assert batch.positions == (0, 1, 3)
    assert isinstance(batch.failures[0].error, InputRejected)


def test_who_refuses_is_the_host_where_it_is_not_the_vendor_itself(server: ScriptedServer) -> None:
    provider = known(server)
    host = provider.spec.endpoint.split("/")[2]
    for fault in (Answer(200, {"nothing": []}), Answer(401, {"error": {"message": "no"}})):
        server.always = refused(fault)
        with pytest.raises(EmbeddingError, match=rf"^{host} answered") as refusal:
            provider.embed(TEXTS, role="document")
        assert SERVERS[server.vendor].__name__.removesuffix("Server") not in str(refusal.value)


def test_a_model_that_is_not_there_stops_everything_with_a_remedy(server: ScriptedServer) -> None:
    provider = provider_of(server, model="nothing-1", dimensions=4)
    with pytest.raises(ProviderUnavailable) as refusal:
        list(embed_in_batches(provider, TEXTS, role="document"))
    assert refusal.value.remedy
    assert len(server.calls) == 1


@pytest.mark.matrix
def test_nothing_that_is_said_or_logged_has_the_key(server: ScriptedServer, caplog: pytest.LogCaptureFixture) -> None:
    faults = [
        server.wrong_key(),
        server.quota(),
        server.throttled(),
        Answer(400, {"error": f"no {KEY}"}),
        Answer(500, KEY),
    ]
    texts: list[str] = []
    with caplog.at_level(logging.DEBUG):
        for answer in faults:
            server.always = refused(answer)
            with pytest.raises(EmbeddingError) as failed:
                known(server, headers={"x-extra": "planted-header-secret"}).embed(TEXTS, role="document")
            error: BaseException | None = failed.value
            while error is not None:
                texts += [str(error), repr(error), str(vars(error))]
                error = error.__cause__ or error.__context__
        provider = known(server)
    texts += [caplog.text, repr(provider), repr(provider.spec), repr(RemoteSettings("openai", api_key=KEY))]
    assert server.calls[0].headers["x-extra"] == "planted-header-secret"
    assert not [text for text in texts if KEY in text or "planted" in text]
