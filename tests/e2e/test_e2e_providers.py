"""Providers from outside: which one `auto` takes, what opens connections, who may ask again, what a reader sees."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hub_server import Hub, serving
from memoriter import Memory
from memoriter.errors import ProviderUnavailable
from memory_env import NOTES, QUESTION, MemoryEnv, codes, compatible, paths
from repacked import gguf_model
from repacked_onnx import onnx_model
from servers.compatible import WIDTH, CompatibleServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "workspace"
WALL = """
import socket, sys

def watch(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1"):
            raise OSError(f"blocked: connect {address}")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        if "127.0.0.1" not in str(arguments):
            raise OSError(f"blocked: {event} {arguments}")

sys.addaudithook(watch)
"""
"""Lets a process reach nothing but this machine, and says when it tries."""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    yield env
    env.close()


# what `auto` is


EVERY = {name: {"apiKey": f"sk-{name}-0123456789"} for name in ("openai", "gemini", "voyage", "mistral")}
VARIABLES = {
    "OPENAI_API_KEY": "openai",
    "GEMINI_API_KEY": "gemini",
    "GOOGLE_API_KEY": "gemini",
    "VOYAGE_API_KEY": "voyage",
    "MISTRAL_API_KEY": "mistral",
}


def served(env: MemoryEnv, models: dict[str, Any] | None = None, **search: Any) -> tuple[str, str]:
    env.configure(models, **search)
    with env.open() as memory:
        status = memory.status()
        return status.provider, status.key_source


def test_auto_sends_notes_away_only_with_a_key_for_them(env: MemoryEnv) -> None:
    env.environ |= dict.fromkeys(VARIABLES, "sk-env-0123456789")
    assert served(env, EVERY) == ("bundled", "")
    assert served(env, EVERY, remote={"apiKey": "sk-mine-0123456789"}) == ("openai", "remote.apiKey")


@pytest.mark.parametrize(("variable", "name"), VARIABLES.items())
def test_a_service_that_is_named_uses_the_key_in_the_environment(env: MemoryEnv, variable: str, name: str) -> None:
    env.environ[variable] = "sk-env-0123456789"
    assert served(env, provider=name) == (name, f"environment {variable}")
    assert served(env) == ("bundled", "")


def test_auto_takes_a_model_file_that_is_there_before_any_service(env: MemoryEnv, tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    key = {"apiKey": "sk-mine-0123456789"}
    assert served(env, EVERY, local={"modelPath": str(file)}, remote=key)[0] == "openai"
    file.write_bytes(b"GGUF")
    assert served(env, EVERY, local={"modelPath": str(file)}, remote=key)[0] == "local"


def test_a_variable_of_a_vendor_is_no_key_for_another_address(env: MemoryEnv) -> None:
    env.environ["OPENAI_API_KEY"] = "sk-env-0123456789"
    elsewhere = {"openai": {"baseUrl": "http://127.0.0.1:9/v1"}}
    assert served(env, elsewhere) == ("bundled", "")
    assert served(env, elsewhere, provider="openai") == ("openai", "")


def test_the_key_of_the_first_provider_is_not_sent_to_the_fallback(env: MemoryEnv) -> None:
    with CompatibleServer() as first, CompatibleServer(key="") as spare:
        first.down = first.quota()
        rows = {"spare": {"baseUrl": spare.base_url}, "openai": {"baseUrl": first.base_url}}
        env.configure(rows, provider="auto", fallback="spare", remote={"apiKey": "sk-first-0123456789"})
        memory = env.open()
        assert memory.sync().embedded == len(NOTES)
        assert memory.status().provider == "spare"
        assert len(first.calls) == 1
        assert all("authorization" not in call.headers for call in spare.calls)


# offline


@pytest.mark.parametrize("provider", ["auto", "openai", "far", "local"])
def test_offline_opens_no_connection_but_to_this_machine(env: MemoryEnv, provider: str) -> None:
    env.environ |= dict.fromkeys(VARIABLES, "sk-env-0123456789") | {"HTTPS_PROXY": "http://127.0.0.1:9"}
    far = {"far": {"baseUrl": "https://vectors.example.org/v1", "apiKey": "k"}}
    search = {"provider": provider, "fallback": "openai", "offline": True}
    env.configure(far, **search, local={"modelPath": "hf:ada/notes-GGUF/model.gguf"} if provider == "local" else {})
    for words in (("index",), ("search", QUESTION), ("status", "--deep"), ("doctor",)):
        done = env.run("-v", "--json", *words, before=WALL)
        assert "blocked" not in done.out + done.err
        if words[0] == "search":
            assert done.json["results"][0]["path"] == "MEMORY.md"
            assert done.json["mode"] == ("hybrid" if provider == "auto" else "keyword")
            assert "offline" in done.out or provider == "auto"


def test_offline_still_asks_a_service_on_this_machine(env: MemoryEnv) -> None:
    with CompatibleServer() as server:
        env.configure(**compatible(server), offline=True)
        assert env.run("--json", "index", before=WALL).json["embedded"] == len(NOTES)


def test_without_offline_the_wall_is_hit_and_words_answer(env: MemoryEnv) -> None:
    env.configure(provider="openai", remote={"apiKey": "sk-none-0123456789"})
    done = env.run("--json", "search", QUESTION, before=WALL + "\nimport time\ntime.sleep = lambda _: None")
    assert (done.json["mode"], done.json["results"][0]["path"]) == ("keyword", "MEMORY.md")
    assert "transient" in {reason["code"] for reason in done.json["health"]["reasons"]}


# nobody asks a spent account again and again


def later(minutes: int) -> str:
    """The program, so many minutes from now."""
    return f"import time\nwall = time.time\ntime.time = lambda: wall() + {minutes * 60}"


def test_many_runs_of_the_program_in_an_hour_ask_a_spent_account_three_times(env: MemoryEnv) -> None:
    with CompatibleServer() as server:
        env.configure(**compatible(server))
        server.down = server.quota()
        for minutes in (0, 1, 19, 21, 23, 41, 43, 59):
            words = ("search", QUESTION) if minutes % 2 else ("index",)
            done = env.run("--json", *words, before=later(minutes))
            health = done.json.get("health", done.json)
            (reason,) = [reason for reason in health["reasons"] if reason["code"] == "out_of_quota"]
            assert reason["remedy"]
            assert words[0] == "index" or done.json["results"][0]["path"] == "MEMORY.md"
        assert len(server.calls) == 3


def test_of_programs_that_run_at_once_one_asks_a_spent_account_again(env: MemoryEnv) -> None:
    with CompatibleServer() as server:
        env.configure(**compatible(server))
        env.run("index")
        server.down = server.quota()
        env.run("search", QUESTION)
        response = len(server.calls)
        command = env.command("-w", str(env.notes), "search", QUESTION, before=later(30))
        running = [
            subprocess.Popen(command, env=env.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(4)
        ]
        assert [process.wait(60) for process in running] == [0] * 4
        assert len(server.calls) == response + 1


# a reader while the provider changes

READER = """
import json, select, sys
from memoriter import Memory

def told(memory, question):
    found = memory.search(question, min_score=0.0, explain=True)
    return {
        "question": question, "mode": found.mode, "model": found.model,
        "cosines": {hit.citation: hit.explanation.cosine for hit in found.results},
        "reasons": [reason.code for reason in found.health.reasons],
    }

kept = Memory.open(sys.argv[1])
questions = json.loads(sys.argv[2])
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for question in questions:
        with Memory.open(sys.argv[1]) as fresh:
            for name, memory in (("kept", kept), ("fresh", fresh)):
                print(json.dumps({"memory": name, **told(memory, question)}), flush=True)
"""
QUESTIONS = ("Which database does the ledger use and why?", "When do I have to replace the RBC-17 again?")


@contextmanager
def reading(env: MemoryEnv) -> Iterator[list[dict[str, Any]]]:
    """A process that searches all the time; what it saw is there at the end."""
    seen: list[dict[str, Any]] = []
    log = env.home.parent / "seen.jsonl"
    command = [*env.command()[:2], READER, str(env.notes), json.dumps(QUESTIONS)]
    with (
        log.open("w") as out,
        subprocess.Popen(command, env=env.environment(), stdin=subprocess.PIPE, stdout=out) as process,
    ):
        try:
            deadline = time.monotonic() + 60
            while log.read_bytes().count(b"\n") < 10:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield seen
            process.communicate(b"stop\n", timeout=150)
        finally:
            process.kill()
    assert process.returncode == 0
    seen.extend(json.loads(line) for line in log.read_text("utf-8").splitlines()[1:])


def index(env: MemoryEnv, *words: str) -> None:
    """Index, as soon as nobody else does."""
    while "index_busy" in (done := env.run("--json", "index", *words)).out:
        time.sleep(0.05)
    assert done.exit_code == 0


def test_a_reader_sees_no_mixed_and_no_unexplained_answer_while_the_provider_changes(tmp_path: Path) -> None:
    texts = {file.relative_to(EXAMPLES).as_posix(): file.read_text("utf-8") for file in EXAMPLES.rglob("*.md")}
    env = MemoryEnv.at(tmp_path, texts)
    with CompatibleServer() as first, CompatibleServer(place=WIDTH) as second:
        settings = {
            "first": compatible(first, model="first-e5-model"),
            "second": compatible(second, model="second-e5-model"),
        }
        right: dict[tuple[str, str], dict[str, float]] = {}
        for name in ("second", "first"):
            env.configure(**settings[name])
            alone = MemoryEnv(env.notes, tmp_path / f"home-{name}", seconds=env.seconds)
            alone.home.mkdir(mode=0o700)
            alone.config.write_text(env.config.read_text("utf-8"), "utf-8")
            with Memory.open(alone.notes, home=alone.home) as memory:
                memory.sync()
                for question in QUESTIONS:
                    found = memory.search(question, min_score=0.0, max_results=1_000, explain=True).results
                    right[settings[name]["model"], question] = {hit.citation: hit.explanation.cosine for hit in found}
        with Memory.open(env.notes, home=env.home) as memory:
            memory.sync()
        with reading(env) as seen:
            for name in ("second", "first", "second"):
                env.configure(**settings[name])
                index(env)
            index(env, "--force")
        with Memory.open(env.notes, home=env.home) as memory:
            for question in QUESTIONS:
                hits = [hit.citation for hit in memory.search(question, min_score=0.0).results]
                assert hits == list(right[memory.status().model, question])[: len(hits)]
    assert {answer["model"] for answer in seen if answer["memory"] == "fresh"} == {"first-e5-model", "second-e5-model"}
    assert {answer["model"] for answer in seen if answer["memory"] == "kept"} == {"first-e5-model"}
    for answer in seen:
        assert answer["cosines"], answer
        assert answer["mode"] == "hybrid" or answer["reasons"], answer
        for citation, cosine in answer["cosines"].items():
            if cosine is None:
                assert answer["mode"] == "keyword" or "vectors_pending" in answer["reasons"], answer
            else:
                assert cosine == pytest.approx(right[answer["model"], answer["question"]][citation], abs=1e-3)
    for server, other in ((first, "second"), (second, "first")):
        models = {call.json["model"] for call in server.calls}
        assert not any(model.startswith(other) for model in models)
    assert len(set(first.documents)) * 2 == len(first.documents)
    assert len(set(second.documents)) * 2 == len(second.documents)


# models of the user's own


@pytest.fixture(scope="session")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("xllamacpp")
    return made(gguf_model, tmp_path_factory)


@pytest.fixture(scope="session")
def onnx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(onnx_model, tmp_path_factory)


def made(make: Any, factory: pytest.TempPathFactory) -> Path:
    try:
        return make(factory)
    except ProviderUnavailable as error:
        pytest.skip(error.message)


PARAPHRASE = "When does my train to Japan depart?"


def test_a_gguf_model_of_the_users_is_named_and_searched_with(env: MemoryEnv, gguf: Path) -> None:
    env.configure(provider="auto", local={"modelPath": str(gguf)})
    with env.open() as memory:
        assert memory.sync().embedded == len(NOTES)
        status = memory.status()
        assert (status.provider, status.vectors, status.dimensions, status.leaves_machine) == ("local", 4, 384, False)
        result = memory.search(PARAPHRASE)
        assert (result.mode, paths(result)[0], codes(result)) == ("hybrid", "memory/2026-03-05.md", [])


def test_an_exported_model_of_the_users_is_named_and_searched_with(env: MemoryEnv, onnx: Path) -> None:
    env.configure(provider="onnx", local={"modelPath": str(onnx)})
    with env.open() as memory:
        assert memory.sync().embedded == len(NOTES)
    env.configure(provider="onnx", local={"modelPath": str(onnx)}, sync={"onSearch": False})
    with env.open() as memory:
        status = memory.status()
        assert (status.provider, status.vectors, status.dimensions) == ("onnx", len(NOTES), 384)
        result = memory.search(PARAPHRASE)
        assert (result.mode, paths(result)[0], codes(result)) == ("hybrid", "memory/2026-03-05.md", [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memoriter.embed.local._onnx._NEEDED", ("no_such_package",))
        result = env.open().search(QUESTION)
        assert (result.mode, paths(result)[0], codes(result)) == ("keyword", "MEMORY.md", ["provider_unavailable"])


def test_a_model_of_a_hub_is_downloaded_once(env: MemoryEnv, gguf: Path) -> None:
    with serving(Hub({"model-Q8_0.gguf": gguf.read_bytes()})) as hub:
        env.environ["HF_ENDPOINT"] = hub.url
        env.configure(provider="local", local={"modelPath": "hf:ada/notes-GGUF/model-Q8_0.gguf"})
        done = env.run("--json", "index", before=WALL)
        assert done.json["embedded"] == len(NOTES)
        response = len(hub.requests)
        assert response > 0
        with env.open() as memory:
            assert memory.status().vectors == len(NOTES)
            assert memory.sync().embedded == 0
        assert len(hub.requests) == response
    env.configure(provider="local", local={"modelPath": "hf:ada/notes-GGUF/model-Q8_0.gguf"}, offline=True)
    assert env.open().search(PARAPHRASE).mode == "hybrid"


def test_a_hub_that_does_not_have_the_model_leaves_the_words(env: MemoryEnv) -> None:
    pytest.importorskip("xllamacpp")
    with serving(Hub({})) as hub:
        env.environ["HF_ENDPOINT"] = hub.url
        env.configure(provider="local", local={"modelPath": "hf:ada/notes-GGUF/model-Q8_0.gguf"})
        result = env.open().search(QUESTION)
    assert (result.mode, paths(result)[0], codes(result)) == ("keyword", "MEMORY.md", ["provider_unavailable"])
