"""The fixtures of the adapters' tests: notes and a scripted model, and a plugin that captures turns."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from framework_runs import QUIET, Run, install_diary
from memory_env import MemoryEnv
from servers.agent_model import AgentModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    env = MemoryEnv.at(tmp_path)
    with AgentModel() as model:
        memory = env.open()
        memory.sync()
        yield Run(env, memory, model)
    env.close()


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(install_diary(tmp_path / "site")))
    yield
    sys.modules.pop("memoriter_diary", None)
