"""Batch jobs, over each vendor that has them, against servers on 127.0.0.1; time moves when somebody sleeps."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed.remote.batch import BatchJob, BatchRules, BatchRun, Collected, _run, batch_vendors
from memoriter.embed.remote.batch._apis import GEMINI, BatchProgress, BatchRow, sort_results
from memoriter.errors import BadVector, ConfigError, InputRejected, OutOfQuota
from servers import KEY, Answer, Watch, half_written, provider_of, refused, reset
from servers.batches import BATCHES, OpenAIBatches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from servers.batches import BatchServer

TEXTS = {"k-tea": "tea", "k-coffee": "coffee", "k-cocoa": "a cup of cocoa", "k-lemon": "lemonade in July"}


class Store:
    """Jobs as text, as an index keeps them."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def load(self) -> list[BatchJob]:
        return [job for text in self.kept.values() if (job := BatchJob.from_json(text))]

    def save(self, job: BatchJob) -> None:
        self.kept[job.name] = job.to_json()

    def drop(self, job: BatchJob) -> None:
        self.kept.pop(job.name, None)


@pytest.fixture(params=sorted(BATCHES))
def server(request: pytest.FixtureRequest) -> Iterator[BatchServer]:
    with BATCHES[request.param]() as running:
        yield running


@pytest.fixture
def openai() -> Iterator[OpenAIBatches]:
    with OpenAIBatches() as running:
        yield running


def started(server: BatchServer, store: Store, watch: Watch | None = None, **rules: Any) -> BatchRun:
    """As a process starts that uses batches."""
    watch = watch or Watch()
    size = {"openai": 1536}.get(server.vendor)
    provider = provider_of(server, watch, dimensions=size)
    return BatchRun(provider, server.clients[-1], store, wall=watch, sleep=watch.sleep, rules=BatchRules(**rules))


def gathered(results: Iterator[Collected]) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    vectors: dict[str, Any] = {}
    failures: dict[str, Any] = {}
    again: list[str] = []
    for result in results:
        vectors |= dict(zip(result.keys, result.vectors, strict=True))
        failures |= result.failures
        again += result.again
    return vectors, failures, again


def plain(server: BatchServer, texts: Mapping[str, str] = TEXTS) -> dict[str, Any]:
    provider = provider_of(server, dimensions={"openai": 1536}.get(server.vendor))
    return dict(zip(texts, provider.embed(list(texts.values()), role="document"), strict=True))


@pytest.mark.matrix
def test_a_batch_gives_the_vectors_that_plain_requests_give(server: BatchServer) -> None:
    server.runs_after = 3
    watch = Watch()
    store = Store()
    vectors, failures, again = gathered(started(server, store, watch).run(TEXTS))
    assert (failures, again) == ({}, [])
    expected = plain(server)
    assert all(np.allclose(vectors[key], expected[key], atol=1e-5) for key in TEXTS)
    assert watch.slept == [2.0, 2.0, 2.0]
    assert store.kept == {}


def test_the_service_is_told_to_delete_what_it_has_of_the_texts(server: BatchServer) -> None:
    gathered(started(server, Store()).run(TEXTS))
    assert server.files == {}
    assert [call.method for call in server.calls].count("DELETE") == (1 if server.vendor == "gemini" else 2)


@pytest.mark.matrix
def test_without_waiting_a_later_process_collects(server: BatchServer) -> None:
    store = Store()
    watch = Watch()
    server.runs_after = 3
    assert list(started(server, store, watch, wait=False).run(TEXTS)) == []
    assert watch.slept == []
    found: dict[str, Any] = {}
    for _ in range(4):
        watch.now += 3 * 3600  # far over the time that is waited: nobody waits here
        found |= gathered(started(server, store, watch, wait=False).run(TEXTS))[0]
        if found:
            break
    assert set(found) == set(TEXTS)
    assert len(server.sent_keys) <= 1


class Ended(BaseException):
    """A process ends: nothing of ours may catch it."""


class Dying:
    """A client whose process ends after so many answers, before it can make use of the last."""

    def __init__(self, http: Any, answers: int) -> None:
        self.http = http
        self.answers = answers

    def send(self, request: Any, **options: Any) -> Any:
        answer = self.http.send(request, **options)
        self.answers -= 1
        if self.answers < 0:
            raise Ended
        return answer


def creates(call: Any) -> bool:
    return call.method == "POST" and call.path.endswith((":asyncBatchEmbedContent", "/v1/batches"))


@pytest.mark.matrix
@pytest.mark.parametrize("answers", range(7))
def test_a_process_that_ends_anywhere_loses_nothing_and_pays_nothing_twice(server: BatchServer, answers: int) -> None:
    store = Store()
    watch = Watch()
    found: set[str] = set()
    run = started(server, store, watch)
    run._http = Dying(run._http, answers)
    with contextlib.suppress(Ended):
        for result in run.run(TEXTS):
            found |= set(result.keys)
    watch.now += 5
    left = {key: text for key, text in TEXTS.items() if key not in found}
    for result in started(server, store, watch).run(left):
        found |= set(result.keys)
    assert found == set(TEXTS)
    assert store.kept == {}
    assert len([call for call in server.calls if creates(call)]) == 1


def test_a_job_that_was_created_unheard_is_found_by_its_name(server: BatchServer) -> None:
    def unheard(exchange: Any, answer: Answer) -> Answer | None:
        if creates(server.calls[-1]):
            reset(exchange, answer)
            return None
        return answer

    server.always = unheard
    vectors, failures, again = gathered(started(server, Store()).run(TEXTS))
    assert (set(vectors), failures, again) == (set(TEXTS), {}, [])
    assert len([call for call in server.calls if creates(call)]) == 1


def test_what_is_lost_goes_into_another_job_and_then_back_to_the_caller(server: BatchServer) -> None:
    server.loses = {"k-cocoa"}
    jobs: list[list[str]] = []
    vectors = {}
    again = []
    for result in started(server, Store()).run(TEXTS):
        jobs += server.sent_keys[-1:]
        vectors |= dict.fromkeys(result.keys)
        again += result.again
    assert set(vectors) == set(TEXTS) - {"k-cocoa"}
    assert again == ["k-cocoa"]
    assert jobs[-1] == ["k-cocoa"]


def test_a_refused_text_is_a_failure_and_not_sent_again(server: BatchServer) -> None:
    server.refuses = {"k-cocoa"}
    vectors, failures, again = gathered(started(server, Store()).run(TEXTS))
    assert set(vectors) == set(TEXTS) - {"k-cocoa"}
    assert isinstance(failures["k-cocoa"], InputRejected)
    assert again == []


@pytest.mark.matrix
@pytest.mark.parametrize("end", ["failed", "expired", "cancelled"])
def test_a_job_that_ends_badly_gives_its_texts_back(server: BatchServer, end: str) -> None:
    server.ends = end
    server.loses = set(TEXTS)
    vectors, failures, again = gathered(started(server, Store()).run(TEXTS))
    assert (vectors, failures) == ({}, {})
    assert again == list(TEXTS)


def test_a_job_that_takes_too_long_is_cancelled_and_what_it_has_is_taken(server: BatchServer) -> None:
    server.runs_after = 10**9
    watch = Watch()
    vectors, failures, again = gathered(started(server, Store(), watch, timeout_minutes=1, most_tries=1).run(TEXTS))
    assert failures == {}
    assert set(vectors) == (set() if server.vendor == "gemini" else set(TEXTS))
    assert set(again) == set(TEXTS) - set(vectors)
    assert watch.now - 1000 < 70
    assert any(call.path.endswith("cancel") for call in server.calls)


def test_a_job_that_cannot_even_be_cancelled_is_left_alone(openai: OpenAIBatches) -> None:
    openai.runs_after = 10**9
    openai.deaf = True
    watch = Watch()
    _, _, again = gathered(started(openai, Store(), watch, timeout_minutes=1, most_tries=1, poll_seconds=30).run(TEXTS))
    assert again == list(TEXTS)
    assert 600 < watch.now - 1000 < 800


@pytest.mark.matrix
def test_a_job_that_the_service_has_forgotten_is_done_again(server: BatchServer) -> None:
    store = Store()
    watch = Watch()
    list(started(server, store, watch, wait=False).run(TEXTS))
    server.jobs.clear()
    watch.now += 10
    assert set(gathered(started(server, store, watch).run(TEXTS))[0]) == set(TEXTS)


@pytest.mark.matrix
@pytest.mark.parametrize("fault", [half_written, reset, refused(Answer(502, b"<html>"))], ids=["half", "reset", "502"])
def test_questions_that_come_to_nothing_are_asked_again(server: BatchServer, fault: Any) -> None:
    def sometimes(exchange: Any, answer: Answer) -> Answer | None:
        polls = exchange.command == "GET" and "batches/" in exchange.path
        return fault(exchange, answer) if polls and len(server.calls) % 5 else answer

    server.always = sometimes
    server.runs_after = 3
    vectors, _, again = gathered(started(server, Store()).run(TEXTS))
    assert (set(vectors), again) == (set(TEXTS), [])


def test_no_more_jobs_are_under_way_than_allowed(openai: OpenAIBatches, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    small = replace(_run._APIS["openai"], most_inputs=1)
    monkeypatch.setitem(_run._APIS, "openai", small)
    openai.runs_after = 2
    store = Store()
    most = 0
    run = started(openai, store, concurrency=2)
    found: set[str] = set()
    for result in run.run(TEXTS):
        most = max(most, len(store.kept))
        found |= set(result.keys)
    assert found == set(TEXTS)
    assert most == 2
    assert [len(keys) for keys in openai.sent_keys] == [1, 1, 1, 1]


def test_a_spent_quota_stops_at_once_and_counts_with_the_plain_calls(server: BatchServer) -> None:
    server.always = refused(server.quota())
    store = Store()
    watch = Watch()
    run = started(server, store, watch)
    for _ in range(5):
        with pytest.raises(OutOfQuota):
            list(run.run(TEXTS))
    assert len(server.calls) == 1
    assert store.kept == {}


def test_a_text_that_is_too_long_for_one_vector_is_given_back_at_once(server: BatchServer) -> None:
    texts = {**TEXTS, "k-long": "word " * 40_000}
    vectors, _, again = gathered(started(server, Store()).run(texts))
    assert again == ["k-long"]
    assert set(vectors) == set(TEXTS)


def test_vectors_of_another_dimension_stop_the_work_and_leave_no_job(openai: OpenAIBatches) -> None:
    store = Store()
    run = started(openai, store)
    openai.one = lambda job, item: Answer(200, {"data": [{"index": 0, "embedding": [1.0] * 7}]})
    with pytest.raises(BadVector, match="7 dimensions instead of 1536"):
        list(run.run(TEXTS))
    assert store.kept == {}


def test_one_vector_that_is_not_one_never_stops_the_others(openai: OpenAIBatches) -> None:
    usual = openai.one

    def one(job: Any, item: Any) -> Answer:
        return (
            Answer(200, {"data": [{"index": 0, "embedding": [0.0] * 1536}]})
            if item["custom_id"] == "k-tea"
            else usual(job, item)
        )

    openai.one = one
    vectors, failures, _ = gathered(started(openai, Store()).run(TEXTS))
    assert set(vectors) == set(TEXTS) - {"k-tea"}
    assert isinstance(failures["k-tea"], InputRejected)


def test_results_in_a_file_are_read_line_by_line_by_their_keys() -> None:
    job = BatchJob("n", ("a", "b", "c", "d"), 0.0, job_id="batches/b0")
    body = b'{"done": true, "metadata": {"state": "BATCH_STATE_SUCCEEDED"}, "response": {"responsesFile": "files/out"}}'
    assert GEMINI.progress(body, "Gemini") == BatchProgress(ended=True, outputs=("files/out",))
    with BATCHES["gemini"]() as server:
        request = GEMINI.results(provider_of(server).settings, job, "files/out")
        assert request.url == server.root + "/download/v1beta/files/out:download?alt=media"
    lines = (
        b'{"key": "b", "response": {"embedding": {"values": [1]}}}\n{broken\n'
        b'{"response": {"embedding": {"values": [2]}}}\n{"key": "d", "error": {"code": 3}}\n'
    )
    assert [(row.key, row.embedding, row.status) for row in GEMINI.rows(lines)] == [
        ("b", [1], 200),
        ("d", None, 400),
    ]


def test_a_result_without_a_key_is_no_vector_of_the_text_at_its_place() -> None:
    with BATCHES["gemini"]() as server:
        usual = server.inlined

        def keyless(item: dict[str, Any]) -> dict[str, Any]:
            result = usual(item)
            return {"response": result["response"]} if server.key_of(item) in {"k-tea", "k-cocoa"} else result

        server.inlined = keyless
        vectors, failures, again = gathered(started(server, Store()).run(TEXTS))
        assert (set(vectors), failures, set(again)) == ({"k-coffee", "k-lemon"}, {}, {"k-tea", "k-cocoa"})


def test_a_vendor_without_batches_says_who_has_them() -> None:
    from servers import OllamaServer

    assert batch_vendors() == ("gemini", "openai", "voyage")
    with OllamaServer() as server:
        provider = provider_of(server, dimensions=768)
        with pytest.raises(ConfigError) as refusal:
            BatchRun(provider, server.clients[-1], Store(), wall=Watch(), sleep=Watch().sleep)
    assert "openai" in refusal.value.remedy


def test_keys_that_no_service_takes_are_refused_before_anything_is_sent(openai: OpenAIBatches) -> None:
    with pytest.raises(ValueError, match="64"):
        list(started(openai, Store()).run({"k" * 65: "tea"}))
    assert openai.calls == []


def test_nothing_that_is_kept_has_the_key_or_the_texts(server: BatchServer) -> None:
    store = Store()
    list(started(server, store, wait=False).run(TEXTS))
    kept = "".join(store.kept.values())
    assert "k-tea" in kept
    assert KEY not in kept
    assert "cup of" not in kept


NAMES = st.lists(st.text(max_size=5), max_size=4).map(tuple)


@pytest.mark.slow
@given(
    st.builds(
        BatchJob,
        st.text(),
        NAMES,
        st.floats(0, 1e10),
        st.sampled_from(["creating", "running", "cancelling", "ended"]),
        st.text(),
        NAMES,
        NAMES,
        st.text(),
        st.none() | st.floats(0, 1e10),
        st.floats(0, 1e10),
        st.integers(1, 5),
    )
)
def test_a_job_that_is_kept_comes_back(job: BatchJob) -> None:
    assert BatchJob.from_json(job.to_json()) == job


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"name": 1}', '{"name": "n", "keys": 3}'])
def test_a_job_that_cannot_be_read_is_none(text: str) -> None:
    assert BatchJob.from_json(text) is None


@pytest.mark.slow
@given(
    st.lists(st.sampled_from("abcdef"), unique=True).map(tuple),
    st.lists(
        st.builds(BatchRow, st.sampled_from("abcdefxyz"), st.none() | st.just([1.0]), st.sampled_from([200, 400, 500]))
    ),
)
def test_every_text_of_a_job_comes_out_exactly_once(keys: tuple[str, ...], rows: list[BatchRow]) -> None:
    outcome = sort_results(BatchJob("n", keys, 0.0), rows)
    out = [*(row.key for row in outcome.rows), *(row.key for row in outcome.failed), *outcome.again]
    assert sorted(out) == sorted(keys)
    assert all(row.embedding is not None for row in outcome.rows)


@given(st.floats(0, 10_000), st.floats(0, 10_000), st.booleans())
def test_a_job_is_asked_about_before_it_is_given_up(created: float, now: float, wait: bool) -> None:
    job = BatchJob("n", ("a",), created, stage="running", job_id="j")
    assert job.step(created + now, BatchRules(wait=wait)) == "poll"
    polled = job.after_failed_poll(created + now)
    late = now >= 3600
    assert polled.step(created + now, BatchRules(wait=wait)) == ("cancel" if late and wait else "wait")


def test_lines_that_are_not_of_the_job_change_nothing(server: BatchServer) -> None:
    if server.vendor == "gemini":
        pytest.skip("its answers are in the order of the requests")
    extra = (
        b'{"custom_id": "k-other", "response": {"status_code": 200, "body": {"data": [{"embedding": [1]}]}}}\n[]\n7\n'
    )
    server.always = lambda exchange, answer: (
        Answer(200, extra + answer.body) if exchange.path.endswith("/content") else answer
    )
    assert set(gathered(started(server, Store()).run(TEXTS))[0]) == set(TEXTS)
