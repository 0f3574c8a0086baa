"""The command line with a reranker: the order, the explanation, the notice, and what is said when it fails."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import json5
import pytest

from memoriter.config import load
from memoriter.embed.remote import rerank_vendor_of
from memoriter.embedding_setup import embedding_of, reranking_of
from memoriter.environment import Environment
from memoriter.providers import RERANKERS
from memory_env import MemoryEnv
from servers import KEY, CohereServer, refused
from serving import hook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory_env import Outcome

NOTE = "Note text will be sent to "
FAR = "import memoriter.embed.remote as remote; remote.is_loopback = lambda _: False"
QUESTION = "which database for the ledger"
NOTES = {
    "memory/one.md": "# One\n\nThe ledger has a database of its own, and it is not this one.\n",
    "memory/two.md": "# Two\n\nWe chose a database for the ledger: PostgreSQL.\n",
    "memory/three.md": "# Three\n\nWhich ledger? The database of the ledger.\n",
}


@pytest.fixture
def server() -> Iterator[CohereServer]:
    with CohereServer() as running:
        running.judge = lambda _, passage: float("PostgreSQL" in passage)
        yield running


@pytest.fixture
def env(tmp_path: Path, server: CohereServer) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path, NOTES)
    remote = {"baseUrl": server.base_url, "apiKey": KEY}
    env.configure(provider="fake", query={"rerank": {"provider": "cohere", "remote": remote}})
    return env


def found(outcome: Outcome) -> list[str]:
    return [hit["path"] for hit in outcome.json["results"]]


@pytest.mark.slow
def test_a_search_shows_the_order_of_the_reranker_and_explain_shows_both_places(
    env: MemoryEnv, server: CohereServer
) -> None:
    outcome = env.run("search", "--explain", "--json", QUESTION)
    assert (found(outcome)[0], len(server.calls)) == ("memory/two.md", 1)
    first = outcome.json["results"][0]["explain"]
    assert (first["reranked"], first["relevance"]) == (1, 1.0)
    assert first["rank"] > 1
    shown = env.run("search", "--explain", QUESTION)
    assert f"reranked from place {first['rank']} to place 1 (relevance 1.000)" in shown.out
    assert "rerank " in shown.out.splitlines()[-1]
    assert not shown.err


@pytest.mark.slow
def test_when_the_service_fails_the_search_answers_in_the_engines_order_and_says_so(
    env: MemoryEnv, server: CohereServer
) -> None:
    server.always = refused(server.wrong_key())
    outcome = env.run("search", "--json", "--explain", QUESTION)
    assert outcome.exit_code == 0
    scores = [hit["score"] for hit in outcome.json["results"]]
    assert scores == sorted(scores, reverse=True)
    assert "reranked" not in outcome.json["results"][0]["explain"]
    (reason,) = outcome.json["health"]["reasons"]
    assert reason["code"] == "not_reranked"
    assert "401" in reason["message"]
    assert KEY not in outcome.out + outcome.err
    again = env.run("search", QUESTION)
    assert (again.exit_code, len(server.calls)) == (0, 1)
    assert "The reranker 'cohere' does not order the hits" in " ".join(again.err.split())


@pytest.mark.slow
def test_the_notice_is_shown_once_and_names_the_setting_that_ends_it(env: MemoryEnv, server: CohereServer) -> None:
    first = env.run("search", QUESTION, before=FAR)
    (line,) = [line for line in first.err.splitlines() if NOTE in line]
    assert f"cohere at {server.base_url} (query.rerank.remote.apiKey) to rerank hits." in line
    assert 'set memorySearch.query.rerank to "off"' in line
    assert "memorySearch.provider" not in line
    assert NOTE not in env.run("search", QUESTION, before=FAR).err


@pytest.mark.slow
def test_a_hook_sends_nothing_before_a_person_saw_the_notice(env: MemoryEnv, server: CohereServer) -> None:
    env.trust()
    prompt = "Which database did we choose for the ledger?"
    assert hook(env, "user-prompt", before=FAR, prompt=prompt).exit_code == 0
    assert server.calls == []
    env.run("index", before=FAR)
    assert hook(env, "user-prompt", before=FAR, prompt=prompt).exit_code == 0
    assert len(server.calls) == 1


@pytest.mark.slow
def test_the_name_alone_is_enough_and_config_shows_no_key(env: MemoryEnv) -> None:
    env.configure(provider="fake", query={"rerank": {"provider": "voyage", "remote": {"apiKey": KEY}}})
    assert KEY not in env.run("config", "show").out
    env.configure(provider="fake", query={"rerank": "voyage"})
    shown = env.run("config", "show", "--json").json
    assert "voyage" in json.dumps(shown)
    assert env.run("config", "check").exit_code == 0


@pytest.mark.slow
def test_config_set_takes_the_name_alone_and_leaves_the_provider_of_vectors_as_it_is(env: MemoryEnv) -> None:
    env.configure(provider="fake")
    for name in ("rerank", "query.rerank", "query.rerank.provider"):
        assert env.run("config", "set", name, "jina").exit_code == 0
        assert '"jina"' in env.config.read_text(encoding="utf-8")
        assert env.run("config", "set", name, "off").exit_code == 0
    env.configure(provider="fake", query={"rerank": "cohere"})
    assert env.run("config", "set", "query.rerank", "voyage").exit_code == 0
    assert json5.loads(env.config.read_text(encoding="utf-8"))["agents"]["defaults"]["memorySearch"] == {
        "provider": "fake",
        "query": {"rerank": "voyage"},
    }
    assert env.run("config", "set", "provider", "none").exit_code == 0
    assert (
        json5.loads(env.config.read_text(encoding="utf-8"))["agents"]["defaults"]["memorySearch"]["provider"] == "none"
    )
    assert env.run("config", "unset", "query.rerank").exit_code == 0
    assert "rerank" not in env.config.read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_a_hook_puts_before_a_turn_is_in_the_order_of_the_reranker(env: MemoryEnv, server: CohereServer) -> None:
    env.write("memory/one.md", "# One\n\nThe ledger has a database of its own, which we did not choose.\n")
    env.write("memory/two.md", "# Two\n\nWhich database did we choose for the ledger: PostgreSQL.\n")
    remote = {"baseUrl": server.base_url, "apiKey": KEY}
    env.configure(provider="none", query={"rerank": {"provider": "cohere", "remote": remote}})
    env.trust()
    for best, order in (("PostgreSQL", ["two", "one"]), ("of its own", ["one", "two"])):
        server.judge = lambda _, passage, best=best: float(best in passage)
        outcome = hook(env, "user-prompt", prompt="Which database did we choose for the ledger?", session_id=order[0])
        context = outcome.json["hookSpecificOutput"]["additionalContext"]
        assert [name for name in re.findall(r"\[memory/(\w+)\.md", context) if name != "three"] == order
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    ("rerank", "said"),
    [
        ("nobody", "which is not a reranker"),
        ("coheer", "Perhaps you mean 'cohere'"),
        ({"provider": "cohere", "candidates": 1}, "from 2 to 50"),
        ({"provider": "cohere", "key": "k"}, "is not a setting"),
        (7, "must be a section in braces"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_is_allowed(env: MemoryEnv, rerank: Any, said: str) -> None:
    env.configure(provider="fake", query={"rerank": rerank})
    outcome = env.run("config", "check")
    assert outcome.exit_code == 1
    assert said in " ".join(outcome.out.split())


@pytest.mark.slow
def test_a_file_that_comes_with_a_folder_chooses_no_reranker(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(provider="fake")
    for rerank in ("cohere", {"remote": {"baseUrl": server.base_url}}, {"candidates": 5}):
        settings = {"agents": {"defaults": {"memorySearch": {"query": {"rerank": rerank}}}}}
        env.write(".memoriter.json5", json.dumps(settings))
        outcome = env.run("search", QUESTION)
        assert outcome.exit_code == 2
        assert "may not be set by" in outcome.err
    assert server.calls == []


# the page about it

SERVICES = (Path(__file__).parents[2] / "docs" / "reference" / "services.md").read_text(encoding="utf-8")
PAGE = SERVICES.partition("\n## Rerankers\n")[2]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def words(text: str) -> str:
    """The text without its line breaks, which depend on the width of the terminal."""
    return " ".join(text.split())


@pytest.mark.slow
def test_the_page_shows_what_the_program_prints(env: MemoryEnv, server: CohereServer) -> None:
    explained, notice, status, failure = blocks("text")
    official = "https://api.cohere.com/v2"
    server.judge = lambda _, passage: 0.8 * ("PostgreSQL" in passage)

    def run(*command: str) -> str:
        outcome = env.run(*command, before=FAR)
        return words((outcome.out + outcome.err).replace(server.base_url, official))

    searched = run("search", "--explain", QUESTION)
    assert words(notice) in searched
    assert words(explained) in searched
    assert words(status) in run("status")
    server.always = refused(server.wrong_key())
    failed = run("search", "Which ledger database?")
    host = server.base_url.removeprefix("http://").removesuffix("/v2")
    assert words(failure) in failed.replace(host, "Cohere")


def test_each_configuration_of_the_page_chooses_the_reranker_of_its_name(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {}
    environ = {"COHERE_API_KEY": "c", "ATTIC_KEY": "a"}
    for content in blocks("json5"):
        file = tmp_path / "memoriter.json5"
        file.write_text(content, encoding="utf-8")
        around = Environment(environ, tmp_path, tmp_path, time.time, time.monotonic)
        configuration = load(file, home=tmp_path, environ=environ)
        search = configuration.search_for("main")
        embedding = embedding_of(configuration, search, around)
        reranking = reranking_of(configuration, search, around, embedding, brief=True)
        assert reranking is not None
        state = reranking.state
        chosen[state.provider] = (state.model, state.endpoint, state.key_source, state.leaves_machine)
    assert chosen == {
        "judge": ("memoriter-judge-q4", "", "", False),
        "cohere": ("rerank-v5.0-fast", "https://api.cohere.com/v2", "query.rerank.remote.apiKey", True),
        "compatible": ("", "http://127.0.0.1:8080/v1", "", False),
        "attic": ("Qwen3-Reranker-0.6B", "http://192.168.1.20:8080/v1", "models.providers.attic.apiKey", True),
        "onnx": ("bge-reranker-v2-m3", "", "", False),
        "local": ("bge-reranker-v2-m3-Q8_0.gguf", "", "", False),
    }


def test_the_page_has_every_reranker_with_its_model_and_key_and_every_price() -> None:
    for name, row in RERANKERS.items():
        (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| [`{name}`]")]
        assert all(f"`{word}`" in line for word in (*row.key_variables, row.default_model) if word)
    prices = [
        f"| {name} `{model}` | {price.plain or ''} | {price.request or ''} | {price.seen} |".replace("|  |", "| |")
        for name in ("cohere", "voyage", "jina", "compatible")
        for model, price in rerank_vendor_of(name).prices.items()
    ]
    table = PAGE.partition("| model |")[2].partition("\n\n")[0].splitlines()[2:]
    assert table == prices
