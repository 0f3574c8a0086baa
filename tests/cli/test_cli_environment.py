"""Variables of the environment: an odd value is an error that names its variable, or means nothing, but no bug."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import odd_environments
from hook_inputs import hook_input
from memoriter.environment import read_environment
from memoriter.errors import ConfigError
from memory_env import MemoryEnv
from odd_environments import variables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sets the time zone and forks")


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    return MemoryEnv.at(tmp_path)


@pytest.fixture(autouse=True)
def time_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("value", ["UTC-25", "UTC-24", "<+30>-30", "UTC+24:59", "UTC-167"])
def test_a_time_zone_of_more_than_a_day_is_an_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("TZ", value)
    time.tzset()
    with pytest.raises(ConfigError, match="TZ is '") as refused:
        read_environment()
    assert value in refused.value.message
    assert "Europe/Berlin" in refused.value.remedy


@pytest.mark.parametrize("value", ["", "UTC", "Asia/Seoul", ":Europe/Berlin", "EST5EDT,M3.2.0,M11.1.0", "<+14>-14"])
def test_every_time_zone_of_the_world_is_used(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TZ", value)
    time.tzset()
    assert read_environment().environ["TZ"] == value


@pytest.mark.parametrize("value", ["relative", "../relative", "~"])
def test_a_home_that_is_no_absolute_path_is_an_error_and_not_a_folder_somewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", value)
    with pytest.raises(ConfigError, match="HOME is '") as refused:
        read_environment()
    assert value in refused.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_user_without_a_home_is_an_error_that_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(ConfigError, match="HOME is not set"):
        read_environment()


def test_a_current_folder_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="current folder"):
        read_environment()


@pytest.mark.slow
@pytest.mark.parametrize(("variable", "value"), [("TZ", "UTC-25"), ("HOME", "~"), ("HOME", "relative")])
def test_the_program_the_hooks_and_the_server_name_the_variable(env: MemoryEnv, variable: str, value: str) -> None:
    env.environ[variable] = value
    for words in (("remember", "A fact."), ("search", "ledger"), ("serve", "--port", "0")):
        outcome = env.run(*words)
        assert outcome.exit_code in {1, 2}
        assert f"{variable} is {value!r}" in outcome.err
        assert "bug" not in outcome.err
    hook = env.run("hook", "session-start", typed=hook_input("claude-code", "session-start", cwd=env.notes))
    assert hook.exit_code == 0
    assert f"{variable} is {value!r}" in hook.err


def test_the_variables_that_memoriter_reads_are_known() -> None:
    assert {"MEMORITER_HOME", "MEMORITER_TOKEN", "MEMORITER_SERVER", "OPENAI_API_KEY", "XDG_CACHE_HOME"} < {
        *variables()
    }
    assert len(variables()) > 40


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("words", [("remember", "A fact."), ("hook", "session-start")], ids=lambda each: each[0])
def test_no_value_of_any_variable_is_a_bug(env: MemoryEnv, words: tuple[str, ...]) -> None:
    env.configure(provider="none")
    env.environ["MEMORITER_BACKGROUND"] = "off"
    given = hook_input("claude-code", "session-start", cwd=env.notes)
    place = () if words[0] == "hook" else ("-w", str(env.notes))
    command = [sys.executable, odd_environments.__file__, json.dumps([*place, *words]), given]
    done = subprocess.run(
        command, env=env.environment(), cwd=env.notes, capture_output=True, encoding="utf-8", check=True
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == len(variables()) * len(odd_environments.ODD)
    for name, value, code, printed in outcomes:
        case = (name, value[:40], code, printed[-600:])
        assert code in {0, 1, 2}, case
        assert "Traceback" not in printed, case
        assert "bug in memoriter" not in printed, case
        if code and words[0] != "hook":
            assert name in printed or value.strip() in printed, case
