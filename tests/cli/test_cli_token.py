"""The token of the servers over HTTP: kept for its owner alone, and the same for all servers of a home."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from memoriter.discovery import renewed_token, token_for
from memoriter.errors import ConfigError
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 150.0
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}\n")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files have no owner and permissions there")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a file to another user")


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    return MemoryEnv.at(tmp_path)


@pytest.mark.slow
def test_the_token_is_made_once_and_only_its_owner_can_read_it(env: MemoryEnv) -> None:
    env.home.rmdir()
    first = env.run("token")
    assert (first.exit_code, first.err) == (0, "")
    assert TOKEN.fullmatch(first.out)
    assert env.run("token") == first
    assert env.run("token", "--json").json == {"token": first.out.strip(), "file": str(env.home / "token")}
    assert stat.S_IMODE((env.home / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE(env.home.stat().st_mode) == 0o700
    assert [file.name for file in env.home.iterdir()] == ["token"]


@pytest.mark.slow
def test_a_new_token_takes_the_place_of_the_old_one(env: MemoryEnv) -> None:
    old = env.run("token").out
    new = env.run("token", "--renew").out
    assert TOKEN.fullmatch(new)
    assert old != new == env.run("token").out


@pytest.mark.slow
def test_servers_that_start_at_once_agree_on_one_token(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from memoriter.discovery import token_for; sys.stdin.readline();"
        "print(token_for(pathlib.Path(sys.argv[1]), {}).value)"
    )
    env = MemoryEnv.at(tmp_path)
    for loose in (False, True):
        home = tmp_path / f"loose {loose}"
        if loose:
            home.mkdir()
            (home / "token").write_text("x" * 43, encoding="ascii")
            (home / "token").chmod(0o644)
        running = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(home)],
                env=env.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(6)
        ]
        for process in running:
            assert process.stdin
            process.stdin.write("now\n")
            process.stdin.flush()
        output = {process.communicate(timeout=LIMIT)[0] for process in running}
        assert len(output) == 1
        assert "x" * 43 not in output.pop()


@pytest.mark.matrix
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o602])
def test_a_token_that_others_may_have_read_is_replaced_and_told(env: MemoryEnv, mode: int) -> None:
    file = env.home / "token"
    file.write_text("this-one-was-public\n", encoding="ascii")
    file.chmod(mode)
    outcome = env.run("token")
    assert TOKEN.fullmatch(outcome.out)
    assert "Other users could read or change" in outcome.err
    assert outcome.out.strip() not in outcome.err
    assert "this-one-was-public" not in outcome.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert env.run("token").err == ""


@pytest.mark.slow
@root
def test_a_token_of_somebody_else_is_refused(env: MemoryEnv) -> None:
    file = env.home / "token"
    file.write_text("planted-by-somebody-else\n", encoding="ascii")
    file.chmod(0o600)
    os.chown(file, 65_534, 65_534)
    for words in (("token",), ("serve", "--port", "0"), ("mcp", "--http", "--port", "0")):
        outcome = env.run(*words)
        assert (outcome.exit_code, outcome.out) == (2, "")
        assert "belongs to another user" in outcome.err
        assert "planted" not in outcome.err


@pytest.mark.slow
def test_a_link_or_a_pipe_in_its_place_is_refused(env: MemoryEnv, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("a-token-that-lies-elsewhere", encoding="ascii")
    elsewhere.chmod(0o600)
    file = env.home / "token"
    file.symlink_to(elsewhere)
    assert "not a regular file" in env.run("token").err
    file.unlink()
    os.mkfifo(file, 0o600)
    assert "not a regular file" in env.run("token").err


@pytest.mark.parametrize(
    "content", [b"", b"short", b"two words of a token", "열쇠열쇠열쇠열쇠".encode(), b"\xff" * 30, b"x" * 9_000]
)
def test_what_is_no_token_is_refused_without_being_repeated(env: MemoryEnv, content: bytes) -> None:
    file = env.home / "token"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(ConfigError) as raised:
        token_for(env.home, {})
    assert "16 to 512 characters" in raised.value.message
    assert "--renew" in raised.value.remedy
    assert not content or content.decode("latin-1") not in str(raised.value)
    assert renewed_token(env.home).value == token_for(env.home, {}).value


def test_a_container_can_bring_its_token(env: MemoryEnv, tmp_path: Path) -> None:
    named = tmp_path / "run" / "secret"
    named.parent.mkdir()
    (tmp_path / "data").write_text("the-token-of-the-container\n", encoding="ascii")
    (tmp_path / "data").chmod(0o400)
    named.symlink_to(tmp_path / "data")
    environ = {"MEMORITER_TOKEN": "the-token-of-the-environment"}
    assert token_for(env.home, environ, named).value == "the-token-of-the-container"
    assert token_for(env.home, environ).value == "the-token-of-the-environment"
    assert "the-token" not in repr(token_for(env.home, environ))
    assert not (env.home / "token").exists()
    assert token_for(env.home, {"MEMORITER_TOKEN": " "}).file == env.home / "token"
    with pytest.raises(ConfigError, match="MEMORITER_TOKEN does not hold a token"):
        token_for(env.home, {"MEMORITER_TOKEN": "short"})
    (tmp_path / "data").chmod(0o444)
    with pytest.raises(ConfigError, match="can be read or changed by other users"):
        token_for(env.home, {}, named)
    with pytest.raises(ConfigError, match="cannot be read"):
        token_for(env.home, {}, tmp_path / "nowhere")


@root
def test_a_file_that_only_the_administrator_and_our_group_can_read_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("the-token-of-the-container\n", encoding="ascii")
    file.chmod(0o440)
    assert token_for(tmp_path, {}, file).value == "the-token-of-the-container"
    os.chown(file, 65_534, 65_534)
    with pytest.raises(ConfigError, match="belongs to another user"):
        token_for(tmp_path, {}, file)


@pytest.mark.slow
def test_the_environment_s_token_is_not_renewed(env: MemoryEnv) -> None:
    env.environ["MEMORITER_TOKEN"] = "the-token-of-the-environment"
    assert env.run("token").out == "the-token-of-the-environment\n"
    outcome = env.run("token", "--renew")
    assert (outcome.exit_code, outcome.out) == (2, "")
    assert "MEMORITER_TOKEN" in outcome.err


def test_a_home_that_cannot_be_written_is_told_with_what_helps(env: MemoryEnv) -> None:
    env.home.rmdir()
    env.home.write_text("a file", encoding="ascii")
    with pytest.raises(ConfigError) as raised:
        token_for(env.home, {})
    assert "--token-file" in raised.value.remedy
