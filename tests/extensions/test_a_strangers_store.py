"""A store of somebody else's package is used when a setting names it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from memory_env import QUESTION, MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

STORE = """
from memoriter.store_setup import SqliteDriver


class Driver(SqliteDriver):
    def __call__(self, *, inspect):
        print("The store of a stranger.", file=__import__("sys").stderr)
        return super().__call__(inspect=inspect)
"""


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    folder = tmp_path / "packages"
    package = folder / "stranger-1.dist-info"
    package.mkdir(parents=True)
    (folder / "stranger_store.py").write_text(STORE, encoding="utf-8")
    points = "[memoriter.stores]\nattic = stranger_store:Driver\n"
    (package / "entry_points.txt").write_text(points, encoding="utf-8")
    env = MemoryEnv.at(tmp_path)
    env.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return env


def name_store(env: MemoryEnv, name: str) -> None:
    settings = {"agents": {"defaults": {"memorySearch": {"store": {"driver": name}}}}}
    env.config.write_text(json.dumps(settings), encoding="utf-8")


def test_a_store_of_another_package_is_used_when_the_setting_names_it(env: MemoryEnv) -> None:
    name_store(env, "attic")
    done = env.run("search", QUESTION)
    assert "The store of a stranger." in done.err
    assert "MEMORY.md" in done.out
    assert env.run("config", "check").exit_code == 0


def test_a_misspelt_store_is_refused_where_it_is_written_with_the_name_that_was_meant(env: MemoryEnv) -> None:
    name_store(env, "atic")
    done = env.run("config", "check")
    assert done.exit_code == 1
    assert "memoriter.json5:1:53: The setting agents.defaults.memorySearch.store.driver names 'atic'" in done.out
    assert "Perhaps you mean 'attic'." in done.out
