"""The batch interfaces behind `Memory`: nothing is sent twice, whoever collects what was sent."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.embed.remote import _remote
from memoriter.embed.remote._vendor import PROBE
from memoriter.embed.remote.batch import _run
from memory_env import MemoryEnv, codes, paths
from servers import KEY
from servers.batches import BATCHES
from servers.compatible import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from servers.batches import BatchServer

NOTES = 70
"""Enough to be worth a batch."""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, {})
    env.many(NOTES)
    yield env
    env.close()


@pytest.fixture(params=sorted(BATCHES))
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    """A vendor that is paid: what it is sent counts."""
    with BATCHES[request.param]() as server:
        vendor = replace(_remote.vendor_of(server.vendor), base_url=server.base_url)
        monkeypatch.setitem(_remote._VENDORS, server.vendor, vendor)
        monkeypatch.setattr("memoriter.embed.remote.is_local_network", lambda _: False)
        yield server


def settings(server: BatchServer, **batch: Any) -> dict[str, Any]:
    batch_settings = {"enabled": True, "pollIntervalMs": 0, **batch}
    remote = {"apiKey": KEY, "baseUrl": server.base_url, "batch": batch_settings}
    return {"provider": server.vendor, "model": server.model, "remote": remote}


def at_once(server: BatchServer) -> list[str]:
    """The notes that were sent in the plain way."""
    if server.vendor == "gemini":
        calls = [call for call in server.calls if call.path.endswith(":batchEmbedContents")]
        texts = [part["content"]["parts"][0]["text"] for call in calls for part in call.json["requests"]]
    else:
        texts = [text for call in server.calls for text in texts_of(call)]
    return [text for text in texts if "lies beside" in text and text not in PROBE]


def in_batches(server: BatchServer) -> Counter[str]:
    """How often each text was sent in a batch, by its key; of jobs that were deleted too."""
    if server.vendor != "gemini":
        return Counter(key for keys in server.sent_keys for key in keys)
    made = [call.json["batch"] for call in server.calls if call.path.endswith(":asyncBatchEmbedContent")]
    return Counter(server.key_of(item) for batch in made for item in batch["inputConfig"]["requests"]["requests"])


def sent(server: BatchServer) -> int:
    """How many notes were paid for."""
    return len(at_once(server)) + sum(in_batches(server).values())


@pytest.mark.slow
@pytest.mark.matrix
def test_many_notes_go_into_a_batch_that_is_waited_for(env: MemoryEnv, server: BatchServer) -> None:
    env.configure(**settings(server))
    server.runs_after = 3
    memory = env.open()
    report = memory.sync()
    assert (report.embedded, report.pending, codes(report)) == (NOTES, 0, [])
    assert (len(in_batches(server)), at_once(server), sent(server)) == (NOTES, [], NOTES)
    result = memory.search("manyword7 beside manything7")
    assert (result.mode, paths(result)[0]) == ("hybrid", "memory/many/007.md")
    spent = memory._backend.embedding.ledger.rows(days=1)[0]
    assert (spent.tokens > NOTES, spent.unpriced) == (True, 0)


@pytest.mark.slow
@pytest.mark.matrix
def test_without_waiting_words_answer_and_a_later_process_collects(env: MemoryEnv, server: BatchServer) -> None:
    env.configure(**settings(server, wait=False))
    server.runs_after = 4
    with env.open() as memory:
        report = memory.sync()
        assert (report.embedded, report.pending) == (0, NOTES)
        result = memory.search("manyword7")
        assert (result.mode, paths(result)[0], codes(result)) == ("keyword", "memory/many/007.md", ["vectors_pending"])
        assert "waiting at the service" in result.health.reasons[0].message
        before = memory._backend.embedding.ledger.today()
    embedded = 0
    for _ in range(6):
        with env.open() as memory:
            embedded += memory.sync().embedded
    assert (embedded, sent(server)) == (NOTES, NOTES)
    with env.open() as memory:
        result = memory.search("manyword7")
        assert (result.mode, codes(result)) == ("hybrid", [])
        assert 0 < before.tokens <= memory._backend.embedding.ledger.today().tokens
        assert memory._backend.index.metas("batch:") == {}


@pytest.mark.slow
def test_a_budget_counts_what_is_under_way_and_what_is_under_way_is_collected_all_the_same(
    env: MemoryEnv, server: BatchServer
) -> None:
    env.configure(**settings(server, wait=False))
    server.runs_after = 2
    with env.open() as memory:
        memory.sync()
        spent = memory._backend.embedding.ledger.today().tokens
    assert spent > NOTES
    env.many(NOTES, "more")
    tight = settings(server, wait=False)
    tight["remote"]["budget"] = {"tokensPerDay": spent + 10}
    env.configure(**tight)
    embedded = 0
    reported = list[str]()
    for _ in range(5):
        with env.open() as memory:
            report = memory.sync()
            embedded += report.embedded
            reported = codes(report)
    assert (embedded, reported, sent(server)) == (NOTES, ["over_budget"], NOTES)
    env.wait(86_400)
    env.configure(**settings(server))
    assert (env.open().sync().pending, sent(server)) == (0, 2 * NOTES)


class Killed(BaseException):
    """Ends a process in the middle."""


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize(("polls", "jobs"), [(0, 1), (2, 1), (2, 2)])
def test_a_process_that_ends_in_the_middle_costs_nothing(
    env: MemoryEnv, server: BatchServer, monkeypatch: pytest.MonkeyPatch, polls: int, jobs: int
) -> None:
    """By default, two jobs are under way at a time."""
    api = replace(_run._APIS[server.vendor], most_inputs=NOTES // jobs)
    monkeypatch.setitem(_run._APIS, server.vendor, api)
    env.configure(**settings(server))
    server.runs_after = 5
    left = [polls]

    def sleep(_: float) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("memoriter.embedding_setup.time.sleep", sleep)
        with pytest.raises(Killed):
            env.open().sync()
    for memory in env.opened:
        memory.close()
    assert len(server.jobs) == jobs
    assert env.open().sync().embedded == NOTES
    assert sent(server) == NOTES


@pytest.mark.slow
def test_texts_that_a_batch_refuses_or_loses_do_not_stop_the_others(env: MemoryEnv, server: BatchServer) -> None:
    env.configure(**settings(server, wait=False))
    server.runs_after = 2
    with env.open() as memory:
        memory.sync()
    keys = sorted(in_batches(server))
    server.refuses = {keys[0]}
    server.loses = {keys[1]}
    reports = []
    for _ in range(6):
        with env.open() as memory:
            reports.append(memory.sync())
    assert sum(report.embedded for report in reports) == NOTES - 1
    assert (sum(report.failed for report in reports), reports[-1].pending) == (1, 0)
    assert max(in_batches(server).values()) == 2
    assert sent(server) == NOTES + 2


@pytest.mark.matrix
def test_a_few_new_notes_are_embedded_at_once_while_a_batch_is_under_way(env: MemoryEnv, server: BatchServer) -> None:
    env.configure(**settings(server, wait=False))
    server.runs_after = 1_000
    env.open().sync()
    env.many(5, "fresh")
    env.wait()
    memory = env.open()
    report = memory.sync()
    assert (report.embedded, report.pending) == (5, NOTES)
    assert (len(at_once(server)), sent(server)) == (5, NOTES + 5)
    result = memory.search("freshword3")
    assert (result.mode, paths(result)[0]) == ("hybrid", "memory/fresh/003.md")


@pytest.mark.slow
def test_a_rebuild_while_a_batch_is_under_way_sends_nothing_again(env: MemoryEnv, server: BatchServer) -> None:
    env.configure(**settings(server, wait=False))
    server.runs_after = 3
    with env.open() as memory:
        memory.sync()
        for _ in range(4):
            memory.sync(force=True)
        assert (memory.status().pending, sent(server)) == (0, NOTES)


@pytest.mark.matrix
def test_searches_collect_what_a_batch_has_brought(env: MemoryEnv, server: BatchServer) -> None:
    env.configure(**settings(server))
    server.runs_after = 3
    memory = env.open()
    modes = []
    for _ in range(5):
        modes.append(memory.search("manyword7").mode)
        env.wait()
    assert (modes[0], modes[-1], sent(server)) == ("keyword", "hybrid", NOTES)


@pytest.mark.slow
@pytest.mark.matrix
def test_notes_that_change_while_a_batch_is_under_way_get_vectors_of_what_they_say_now(
    env: MemoryEnv, server: BatchServer
) -> None:
    env.configure(**settings(server, wait=False))
    server.runs_after = 3
    env.open().sync()
    env.write("memory/many/000.md", "# many 0\n\nEntirely other words, lies beside nothing.\n")
    (env.notes / "memory/many/001.md").unlink()
    env.wait()
    for _ in range(5):
        with env.open() as memory:
            memory.sync()
    status = env.open().status()
    assert (status.pending, status.vectors, sent(server)) == (0, NOTES - 1, NOTES + 1)


@pytest.mark.slow
@pytest.mark.matrix
def test_a_batch_service_that_is_gone_when_it_should_be_collected_leaves_the_words(
    env: MemoryEnv, server: BatchServer
) -> None:
    env.configure(**settings(server, wait=False))
    server.runs_after = 1
    env.open().sync()
    from servers import refused

    server.always = refused(server.quota())
    result = env.open().search("manyword7")
    assert (result.mode, paths(result)[0], "out_of_quota" in codes(result)) == ("keyword", "memory/many/007.md", True)
    server.always = None
    env.wait(3_600)
    assert (env.open().sync().embedded, sent(server)) == (NOTES, NOTES)
