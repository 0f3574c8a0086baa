"""The requests of docs/reference/http.md get the answers that are shown there, and it has every operation.

`just docs` writes the list of operations.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from json_fields import linked, type_of_answer
from memoriter.web import all_operations
from memory_env import MemoryEnv
from web_client import api_of

if TYPE_CHECKING:
    import httpx2

    from memoriter.web import Request

FILE = Path(__file__).parents[2] / "docs" / "reference" / "http.md"
PAGE = FILE.read_text(encoding="utf-8")
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


def parameters(request: type[Request]) -> str:
    """Return the parameters of an operation, the optional ones with a question mark."""
    fields = request.model_fields.values()
    names = [f"`{field.alias}{'' if field.is_required() else '?'}`" for field in fields]
    return f" Takes {', '.join(names)}." if names else ""


def operations() -> str:
    """Return a line for each operation."""
    lines = [
        f"- `{each.method} {each.path}` ({each.scope}): {each.summary}{parameters(each.request)}"
        f" Returns {linked(type_of_answer(each.answer), 'json.md')}."
        for each in all_operations().values()
    ]
    return "\n".join([*lines, "- `GET /events` (read): Follow [events](#events)."])


def page() -> str:
    """Return the page with its list of operations."""
    return re.sub(
        r"(<!-- operations: [^\n]*-->\n).*?(<!-- /operations -->)",
        lambda found: f"{found[1]}\n{operations()}\n\n{found[2]}",
        PAGE,
        flags=re.DOTALL,
    )


def test_the_page_has_every_operation_with_its_scope_and_parameters() -> None:
    assert page() == PAGE, "Run `just docs`."


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
