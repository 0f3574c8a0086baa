"""Several people and two workspaces: each token reaches what its owner has given it, and no more."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from memoriter.web import all_operations
from memory_env import MemoryEnv
from web_client import ApiClient, api_of

if TYPE_CHECKING:
    from pathlib import Path

SECRETS = {"alpha": "The alpha door code is Brumsel.", "beta": "The beta door code is Drossel."}
pytestmark = pytest.mark.slow


def created(env: MemoryEnv, name: str, *words: str) -> str:
    """A new token, which the program makes without naming a workspace by itself."""
    import subprocess

    command = env.command("token", "create", name, *words)
    done = subprocess.run(command, env=env.environment(), capture_output=True, text=True, timeout=150, check=True)
    return done.stdout.strip()


def test_a_token_of_one_workspace_reads_and_writes_nothing_of_another(tmp_path: Path) -> None:
    alpha = MemoryEnv.at(tmp_path / "alpha", {"MEMORY.md": f"# Door\n\n- {SECRETS['alpha']}\n"})
    beta = MemoryEnv.at(tmp_path / "beta", {"MEMORY.md": f"# Door\n\n- {SECRETS['beta']}\n"})
    alpha.configure(provider="none")
    beta = MemoryEnv(beta.notes, alpha.home)  # one home, and so one file of tokens
    link = tmp_path / "link"
    link.symlink_to(alpha.notes)
    with ExitStack() as stack:
        servers = {"alpha": stack.enter_context(api_of(alpha, "--no-watch"))[0]}
        servers["beta"] = stack.enter_context(api_of(beta, "-w", str(beta.notes), "--no-watch"))[0]
        given = {
            "alpha": created(alpha, "in-alpha", "--scope", "admin", "-w", str(link)),
            "beta": created(alpha, "in-beta", "--scope", "admin", "-w", str(beta.notes)),
        }
        both = created(alpha, "in-both", "--scope", "read")
        for here, server in servers.items():
            for name, token in given.items():
                with ApiClient(server.url, token) as client:
                    for operation in all_operations().values():
                        ask = client.get if operation.method == "GET" else client.post
                        body = {"query": "door code"} if operation.name == "search" else {}
                        response = ask(operation.path, **body)
                        assert (response.status_code == 403) is (name != here), (operation.name, response.text)
                        if name != here:
                            assert response.json()["code"] == "workspace"
                            assert SECRETS[here] not in response.text
                            assert str(alpha.notes.parent.parent) not in response.text
            with ApiClient(server.url, both) as client:
                assert SECRETS[here] in client.post("/search", query="door code").text


def test_tokens_of_workspaces_are_listed_with_their_limits_and_a_missing_folder_is_refused(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    made = env.run("token", "create", "alice", "--per-second", "5", "--at-once", "2", "--mb-per-minute", "1")
    assert made.exit_code == 0
    (listed,) = env.run("token", "list", "--json").json
    del listed["createdAt"]
    limits = {"perSecond": 5.0, "atOnce": 2, "bytesPerMinute": 1 << 20}
    assert listed == {"name": "alice", "scope": "read", "workspace": str(env.notes), **limits}
    assert str(env.notes) in env.run("token", "list").out
    refused = env.run("token", "create", "bob", "-w", str(tmp_path / "nowhere"))
    assert (refused.exit_code, "There is no folder" in refused.err) == (2, True)
    assert env.run("token", "create", "bob", "--at-once", "0").exit_code == 2


def test_a_caller_over_a_limit_is_told_which_and_when_to_come_again_and_others_are_answered(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    with api_of(env, "--no-watch") as (server, owner), ExitStack() as stack:
        few = stack.enter_context(ApiClient(server.url, created(env, "few", "--per-second", "0.1")))
        single = stack.enter_context(ApiClient(server.url, created(env, "single", "--at-once", "1")))
        small = stack.enter_context(ApiClient(server.url, created(env, "small", "--mb-per-minute", "1")))
        assert few.get("/files").status_code == 200
        refused = few.get("/files")
        assert (refused.status_code, refused.json()["code"], refused.json()["limit"]) == (429, "rate", "requests")
        assert 1 <= int(refused.headers["Retry-After"]) <= 10
        with single.http.stream("GET", "/api/v1/events"):
            assert single.get("/files").json()["limit"] == "at_once"
        assert small.post("/search", query="x" * (2 << 20)).status_code == 400
        assert small.get("/files").json()["limit"] == "bytes"
        assert owner.get("/files").status_code == 200
        closed = threading.Event()
        for _ in range(300):  # the stream's end is noticed soon
            if single.get("/files").status_code == 200:
                break
            closed.wait(0.05)
        else:
            pytest.fail("the slot of the stream is never free again")
