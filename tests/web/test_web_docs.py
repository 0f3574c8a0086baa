"""The requests of docs/http-api.md get the answers that are shown there, and the page names every operation."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.web import all_operations
from memory_env import MemoryEnv
from web_client import api_of

if TYPE_CHECKING:
    import httpx2

PAGE = (Path(__file__).parents[2] / "docs" / "http-api.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\$ (curl .*)\n(\{.*\})$", PAGE, re.MULTILINE)


def sent(client: httpx2.Client, command: str, token: str) -> httpx2.Response:
    """The answer to a command of the page."""
    words = iter(shlex.split(command.replace("$TOKEN", token))[1:])
    headers = dict[str, str]()
    body = None
    url = ""
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(words)
        else:
            url = word
    path = url.removeprefix("http://127.0.0.1:8377")
    return client.request("GET" if body is None else "POST", path, headers=headers, content=body)


def agrees(shown: Any, real: Any) -> bool:
    """Whether an answer is what the page shows of it; `…` stands for anything."""
    if shown == "…":
        return True
    if isinstance(shown, dict):
        return all(key in real and agrees(shown[key], real[key]) for key in shown)
    if isinstance(shown, list):
        return len(shown) == len(real) and all(map(agrees, shown, real))
    return shown == real


@pytest.mark.slow
def test_the_page_shows_what_is_answered(tmp_path: Path) -> None:
    note = re.search(r"printf '(.*?)' > notes/MEMORY.md", PAGE)
    assert note is not None
    env = MemoryEnv.at(tmp_path, {"MEMORY.md": note[1].replace("\\n", "\n")})
    env.configure(provider="none")
    assert len(STEPS) == 5
    with api_of(env, "--no-watch") as (server, owner):
        for command, shown in STEPS:
            real = sent(owner.http, command, server.token).json()
            assert agrees(json.loads(shown), real), (command, real)


def test_the_page_names_every_operation_with_its_scope() -> None:
    rows = {
        (method, path): scope
        for operations, scope in re.findall(r"^\| (`(?:GET|POST) .*?) \| (read|write|admin) \|", PAGE, re.MULTILINE)
        for method, path in re.findall(r"`(GET|POST) ([\w/-]+)`", operations)
    }
    assert rows.pop(("GET", "/events")) == "read"
    assert rows == {(each.method, each.path): each.scope for each in all_operations().values()}
