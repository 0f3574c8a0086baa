"""The environment of the adapters has the frameworks that it must have, and every adapter has its tests."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from memoriter.extras import FRAMEWORKS, missing_packages

ROOT = Path(__file__).parents[2]
ADAPTERS = ROOT / "src" / "memoriter" / "integrations"
CREWAI = "integrations-crewai"


def test_the_environment_holds_the_frameworks_in_the_pinned_versions(environment: str) -> None:
    if not environment:
        pytest.skip("NO ADAPTER IS TESTED HERE: `just integrations` tests them, with the real agent frameworks")
    missing = {extra for extra in FRAMEWORKS if missing_packages(extra)}
    alone = {"crewai"}
    assert not missing & alone if environment == CREWAI else missing == alone
    text = (ROOT / "requirements" / f"{environment}.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)==([^\s;]+) \\$", text, re.MULTILINE))
    installed = {package: version(package) for package in pinned if find_spec(package.replace("-", "_"))}
    assert installed == {package: pinned[package] for package in installed}
    assert sys.prefix == str(ROOT / "build" / f"{environment}-env")


def test_every_adapter_has_its_own_tests() -> None:
    adapters = {file.stem for file in ADAPTERS.glob("*.py") if not file.name.startswith("_")}
    tests = {file.stem.removeprefix("test_integrations_") for file in Path(__file__).parent.glob("test_*.py")}
    assert adapters - tests == set()
    assert adapters <= {extra.replace("-", "_") for extra in FRAMEWORKS}
