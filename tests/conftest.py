"""Options and fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import pytest

VECTORS = Path(__file__).parent / "parity" / "vectors"

# Two shared cores: a slow example says nothing about the code.
settings.register_profile("memoriter", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("memoriter")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--vectors", default=str(VECTORS), help="directory of recorded behaviour for the parity tests")
