"""A key is nowhere but in the configuration and in the calls to the service that it is for."""

from __future__ import annotations

import base64
import json
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memoriter.cli import main
from memoriter.embed.remote import _remote
from memory_env import QUESTION, MemoryEnv
from servers import SERVERS, Answer, html_page, refused, reset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

COMMANDS = (
    ("index",),
    ("index", "--dry-run"),
    ("search", QUESTION),
    ("status",),
    ("status", "--deep"),
    ("doctor",),
    ("cost",),
    ("config", "show"),
    ("config", "check"),
    ("config", "path"),
    ("search",),
)
PLACES = ("config", "models", "environment", "reference", "header", "address")
VARIABLES = {name: f"{name.upper()}_API_KEY" for name in ("gemini", "mistral", "openai", "voyage")}


def received(exchange: Any) -> str:
    """All that a caller was known by, in every form that a service could repeat."""
    found = [exchange.headers.get(name, "") for name in ("authorization", "x-goog-api-key")]
    tokens = [text.partition(" ")[2] or text for text in found]
    opened = [base64.b64decode(text[6:]).decode() for text in found if text.startswith("Basic ")]
    return " ".join([*found, *tokens, *opened, *(text.partition(":")[2] for text in opened)])


def echoed(status: int) -> Callable[..., Any]:
    """A service that repeats the key, as some do."""

    def fault(exchange: Any, _: Answer) -> Answer:
        return Answer(status, {"error": {"message": f"you are {received(exchange)}", "code": status}})

    return fault


def cut_short(exchange: Any, _: Answer) -> Answer:
    return Answer(200, f'{{"you": "{received(exchange)}"'.encode())


FAULTS: dict[str, Callable[[Any], Any]] = {
    "none": lambda server: None,
    "page": lambda server: html_page(502),
    "quota": lambda server: refused(server.quota()),
    "reset": lambda server: reset,
    "half": lambda server: cut_short,
    **{f"echoed with {status}": partial(lambda status, server: echoed(status), status) for status in (400, 401, 503)},
}


def planted(place: str, secret: str, vendor: str, base_url: str) -> tuple[dict[str, Any], dict[str, str]]:
    """A configuration with the secret in one place, and the environment for it."""
    search: dict[str, Any] = {"provider": vendor, "remote": {"baseUrl": base_url}}
    models: dict[str, Any] = {}
    environ: dict[str, str] = {}
    match place:
        case "config":
            search["remote"]["apiKey"] = secret
        case "models":
            models = {vendor: {"apiKey": secret}}
        case "environment":
            environ[VARIABLES.get(vendor, "OPENAI_API_KEY")] = secret
            del search["remote"]["baseUrl"]
        case "reference":
            search["remote"]["apiKey"] = "${PLANTED}"
            environ["PLANTED"] = secret
        case "header":
            search["remote"]["headers"] = {"Authorization": f"Bearer {secret}", "x-goog-api-key": secret}
        case _:
            search["remote"]["baseUrl"] = base_url.replace("://", f"://me:{quote(secret, safe='')}@")
    return {"models": {"providers": models}, "agents": {"defaults": {"memorySearch": search}}}, environ


def forms(secret: str) -> list[bytes]:
    """The secret as it may be written: plain, in an address, in JSON, in basic authentication, its longer half."""
    whole = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], secret[: len(secret) // 2 + 4]}
    basic = base64.b64encode(f"me:{secret}".encode()).decode().rstrip("=")
    return [text.encode() for text in (*whole, basic)]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Any]]:
    opened = {name: kind() for name, kind in SERVERS.items()}
    for server in opened.values():
        server.__enter__()
    yield opened
    for server in opened.values():
        server.__exit__()


@dataclass
class Scene:
    folders: pytest.TempPathFactory
    servers: dict[str, Any]
    records: pytest.LogCaptureFixture


@pytest.fixture
def scene(tmp_path_factory: pytest.TempPathFactory, servers: dict[str, Any], caplog: pytest.LogCaptureFixture) -> Scene:
    return Scene(tmp_path_factory, servers, caplog)


LETTERS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/+.~!", min_size=20, max_size=40)
KEYS = st.tuples(st.sampled_from(["sk-", ""]), LETTERS).map("".join)


@settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(
    secret=KEYS,
    place=st.sampled_from(PLACES),
    vendor=st.sampled_from(sorted(SERVERS)),
    fault=st.sampled_from(sorted(FAULTS)),
)
def test_a_key_is_in_no_output_no_record_and_no_file(scene: Scene, secret: str, place: str, vendor: str, fault: str):
    env = MemoryEnv.at(scene.folders.mktemp("planted"))
    server = scene.servers[vendor]
    response, environ = planted(place, secret, vendor, server.base_url)
    env.config.write_text(json.dumps(response), "utf-8")
    server.always = FAULTS[fault](server)
    received: list[str] = []
    with pytest.MonkeyPatch.context() as patch, scene.records.at_level(logging.DEBUG):
        for name in (*VARIABLES.values(), "GOOGLE_API_KEY"):
            patch.delenv(name, raising=False)
        for name, value in {"MEMORITER_HOME": str(env.home), **environ}.items():
            patch.setenv(name, value)
        patch.setattr("memoriter.embedding_setup.time.sleep", lambda _: None)
        patch.setitem(_remote._VENDORS, vendor, replace(_remote.vendor_of(vendor), base_url=server.base_url))
        for words in COMMANDS:
            for form in ([], ["--json"]):
                done = CliRunner().invoke(main, ["-vv", "-w", str(env.notes), *form, *words])
                received += [done.stdout, done.stderr]
        received += [json.dumps(record.__dict__, default=repr) for record in scene.records.records]
        scene.records.clear()
    written = {
        file: file.read_bytes()
        for folder in (env.home, env.notes)
        for file in folder.rglob("*")
        if file.is_file() and file != env.config
    }
    for form in forms(secret):
        assert [text for text in received if form in text.encode()] == []
        assert [file for file, content in written.items() if form in content] == []


def test_a_secret_is_in_no_representation(tmp_path: Path) -> None:
    secret = "sk-planted-9876543210abcdef"
    for place in PLACES:
        env = MemoryEnv.at(tmp_path / place)
        received, environ = planted(place, secret, "openai", "http://127.0.0.1:9/v1")
        env.config.write_text(json.dumps(received), "utf-8")
        env.environ |= environ
        with env.open() as memory:
            embedding = memory._backend.embedding
            choice = embedding.slot().choice
            shown = [repr(each) for each in (memory.settings, memory.configuration, embedding, choice)]
            shown += [str(memory.status()), repr(memory.sync())]
        assert secret not in "".join(shown)
