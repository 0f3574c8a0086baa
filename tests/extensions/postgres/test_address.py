"""The address of the server in the configuration, and what the status shows of it."""

from __future__ import annotations

import json
from os import getpid
from typing import TYPE_CHECKING, Any

import pytest

from memoriter import Memory
from memoriter.errors import ConfigError
from postgres_server import postgres_dsn

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = f"address_{getpid()}"


def configuration(folder: Path, **postgres: Any) -> Path:
    store = {"driver": "postgres", "postgres": {"schema": SCHEMA, **postgres}}
    file = folder / "settings.json5"
    file.write_text(json.dumps({"memorySearch": {"provider": "none", "store": store}}), encoding="utf-8")
    (folder / "notes").mkdir()
    (folder / "notes" / "MEMORY.md").write_text("# Ports\n\n- The ledger listens on 7431.\n", encoding="utf-8")
    return file


@pytest.mark.slow
def test_the_address_is_read_from_the_environment_and_the_status_names_the_place_on_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_DATABASE", postgres_dsn())
    settings = configuration(tmp_path, dsn="${TEAM_DATABASE}", workspace="team")
    with Memory.open(tmp_path / "notes", home=tmp_path / "home", config=settings) as memory:
        assert [hit.path for hit in memory.search("which port does the ledger use?").hits] == ["MEMORY.md"]
        status = memory.status()
    assert status.index.endswith(f":{SCHEMA}/team/main")
    assert status.index_bytes > 0


def test_a_variable_that_is_not_set_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEAM_DATABASE", raising=False)
    settings = configuration(tmp_path, dsn="${TEAM_DATABASE}")
    with (
        Memory.open(tmp_path / "notes", home=tmp_path / "home", config=settings) as memory,
        pytest.raises(ConfigError, match="TEAM_DATABASE is not set"),
    ):
        memory.status()
