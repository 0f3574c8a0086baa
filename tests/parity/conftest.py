"""Parity tests run over recorded cases: mark a test that takes `case` with `@pytest.mark.vectors("name")`.

Another directory of the same files can be given with `--vectors DIR`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "vectors(name): run once for each case of the recorded file")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("vectors")
    if marker is None or "case" not in metafunc.fixturenames:
        return
    recorded = load(Path(metafunc.config.getoption("--vectors")), marker.args[0])
    metafunc.parametrize("case", recorded, ids=[f"{marker.args[0]}-{i}" for i in range(len(recorded))])


def load(directory: Path, name: str) -> list[dict[str, Any]]:
    file = directory / f"{name}.json"
    return list(decode(json.loads(file.read_text(encoding="utf-8")))["cases"]) if file.exists() else []


def decode(value: Any) -> Any:
    """Turn `{"$float": "nan"}` into the number it stands for, everywhere inside."""
    if isinstance(value, dict):
        return (
            float(value["$float"]) if set(value) == {"$float"} else {key: decode(item) for key, item in value.items()}
        )
    return [decode(item) for item in value] if isinstance(value, list) else value


def same(left: Any, right: Any) -> bool:
    """Equal, with numbers agreeing to 1e-5."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, int | float) and isinstance(right, int | float) and not isinstance(left, bool):
        return math.isclose(left, right, rel_tol=1e-5, abs_tol=1e-5) or (math.isnan(left) and math.isnan(right))
    return left == right


@pytest.fixture
def agree() -> Any:
    return same


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Any:
    """Read a recorded file that is data rather than cases."""
    directory = Path(request.config.getoption("--vectors"))
    return lambda name: decode(json.loads((directory / f"{name}.json").read_text(encoding="utf-8")))
