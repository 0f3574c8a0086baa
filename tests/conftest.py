"""Options and fixtures that every test may use."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator
    from ssl import SSLContext

# No test leaves a process behind unless it means to, and a hook may take its time on a busy core.
os.environ["MEMORITER_BACKGROUND"] = "off"
os.environ["MEMORITER_HOOK_SECONDS"] = "60"

VECTORS = Path(__file__).parent / "parity" / "vectors"

# Two shared cores: a slow example says nothing about the code. CI decides on a change, so it tries the same examples
# each time; new ones are tried where somebody is there to look at them.
settings.register_profile(
    "memoriter", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("memoriter")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--vectors", default=str(VECTORS), help="directory of recorded behaviour for the parity tests")


@pytest.fixture(scope="session", autouse=True)
def models_stay_loaded() -> Generator[None]:
    """Keep the models that all memories of a process share: otherwise each test with a memory loads them again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memoriter.embed._rerank._ENGINES", {})
        patch.setattr("memoriter.embed.bundled._bundled._ENGINES", {})
        yield


@pytest.fixture(scope="session", autouse=True)
def weights_are_hashed_once() -> Generator[None]:
    """Keep the hash of the released weights until the file changes: otherwise each new home computes it again."""
    from memoriter.embed.bundled import _native

    read = _native.sha256_of
    known: dict[tuple[int, ...], str] = {}

    def read_once(file: Path) -> str:
        state = file.stat()
        key = state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
        if key not in known:
            known[key] = read(file)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_native, "sha256_of", read_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates_stay_loaded() -> Generator[None]:
    """Read the certificates of the system once for all clients of a process, and others where a variable names them.

    Each memory with a service and each client of a server makes a client of its own, and would read them again.
    """
    try:
        import httpcore2
    except ImportError:  # where the adapters of frameworks are tested
        yield
        return
    read = httpcore2.default_ssl_context
    known: dict[tuple[object, ...], SSLContext] = {}

    def read_once(**options: Any) -> SSLContext:
        key = (*sorted(options.items()), os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        if key not in known:
            known[key] = read(**options)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", read_once)
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run one more process than there are cores, because many tests wait for files, processes and servers."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, object, object]:
    """Mark the cases of matrices before tests are selected and shuffled, and put long tests first after that."""
    mark_matrices(items)
    result = yield
    put_long_tests_first(items)
    return result


def mark_matrices(items: list[pytest.Item]) -> None:
    """Mark the cases of a matrix as slow, except the first `quick` ones, so that the quick run takes one of each."""
    cases: dict[str, list[tuple[int, pytest.Item]]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and (mark := item.get_closest_marker("matrix")) is not None:
            name = f"{item.path}::{item.originalname}"
            cases.setdefault(name, []).append((mark.kwargs.get("quick", 1), item))
    for matrix in cases.values():
        for place, (quick, item) in enumerate(matrix):
            if place >= quick:
                item.add_marker("slow")


def put_long_tests_first(items: list[pytest.Item]) -> None:
    """Begin with the files that have the longest time limit, so that no worker begins a long test when others end."""
    limits: dict[Path, float] = {}
    for item in items:
        mark = item.get_closest_marker("timeout")
        limit = mark.args[0] if mark is not None else 0.0
        limits[item.path] = max(limit, limits.get(item.path, 0.0))
    items.sort(key=lambda item: -limits[item.path])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage, and never look through what was collected: thousands of tests stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
