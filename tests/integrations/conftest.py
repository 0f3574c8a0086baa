"""Tests of the adapters run where the real frameworks are: `just integrations`. Elsewhere, one skipped test says so."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoriter import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ENVIRONMENT = os.environ.get("MEMORITER_INTEGRATIONS", "")
"""The environment of this run, as in `environments.py`; empty: that of developers, without the frameworks."""
EVERYWHERE = "test_integrations_environment.py"


def environments() -> ModuleType:
    spec = importlib.util.spec_from_file_location("environments", Path(__file__).with_name("environments.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out a test whose framework is in another environment; None: pytest decides."""
    name = collection_path.name
    if not name.startswith("test_") or name == EVERYWHERE:
        return None
    known = environments()
    adapter = name.removeprefix("test_integrations_").removesuffix(".py").split("__")[0]
    return True if known.ALONE.get(adapter, known.ENVIRONMENTS[0]) != ENVIRONMENT else None


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("- The ledger database is PostgreSQL.\n", encoding="utf-8")
    with Memory.open(tmp_path / "notes", home=tmp_path / "home") as memory:
        yield memory


@pytest.fixture
def environment() -> str:
    return ENVIRONMENT


def pytest_configure(config: pytest.Config) -> None:
    """Frameworks use deprecated parts of each other; that is no failure of an adapter."""
    if ENVIRONMENT:
        config.addinivalue_line("filterwarnings", "ignore::DeprecationWarning")
