"""Server-sent events over real connections: what a client gets that connects again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from memory_env import MemoryEnv
from web_client import ApiClient, api_of
from web_stream import connected, names_until

if TYPE_CHECKING:
    from serving import Serving

UNKNOWN = ("00000000-1", "no id of this server", "00000000-999999999999999999")


def test_a_client_that_connects_again_gets_the_events_since_then_once(env: MemoryEnv, owner: ApiClient) -> None:
    env.many(3, "first")
    with connected(owner) as stream:
        owner.post("/index")
        assert "indexed" in names_until(stream, "idle")
    env.many(3, "second")
    report = owner.post("/index").json()
    with connected(owner, stream.last_id) as again:
        events = [again.event()]
        while events[-1][0] != "idle":
            events.append(again.event())
    assert [data for name, data in events if name == "indexed"] == [report]
    with connected(owner, again.last_id) as nothing:
        owner.post("/index")
        assert nothing.event()[0] in {"progress", "indexed"}


def test_a_new_client_gets_no_old_events(env: MemoryEnv, owner: ApiClient) -> None:
    owner.post("/index")
    with connected(owner) as stream:
        env.many(1, "later")
        report = owner.post("/index").json()
        assert report["files"] > 0
        while (event := stream.event())[0] != "indexed":
            pass
    assert event == ("indexed", report)


@pytest.mark.parametrize("last_id", UNKNOWN)
def test_an_id_of_another_run_of_the_server_gets_a_reset(owner: ApiClient, last_id: str) -> None:
    with connected(owner, last_id) as stream:
        assert stream.event() == ("reset", {"cause": "restarted"})


def test_a_client_that_was_away_for_too_long_learns_how_many_events_it_missed() -> None:
    import asyncio

    from memoriter.web import Events

    async def follow() -> list[str]:
        events = Events()
        stream = events.stream(lambda: True)
        ready = await anext(stream)
        await stream.aclose()
        for number in range(1_500):
            events.publish("indexed", {"files": number})
        last_id = next(line for line in ready.splitlines() if line.startswith("id: ")).removeprefix("id: ")
        stream = events.stream(lambda: True, last_id=last_id)
        texts = [await anext(stream) for _ in range(3)]
        await stream.aclose()
        return texts

    _, reset, first = asyncio.run(follow())
    assert reset.startswith("event: reset\n")
    assert reset.endswith('data: {"cause": "missed", "events": 500}\n\n')
    assert first.endswith('data: {"files": 500}\n\n')


@pytest.mark.slow
def test_a_page_that_is_opened_again_and_again_leaves_no_stream_behind(server: Serving) -> None:
    for _ in range(40):
        with ApiClient(server.url, server.token) as client, connected(client):
            pass


@pytest.mark.slow
def test_a_run_that_fails_ends_with_idle(tmp_path: Any) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="local", local={"modelPath": str(tmp_path / "no-such-model.onnx")})
    env.write("MEMORY.md", "# Tea\n\nGreen.\n")
    with api_of(env, "--no-watch") as (_, owner), connected(owner) as stream:
        owner.post("/index")
        assert names_until(stream, "idle")[-1] == "idle"
