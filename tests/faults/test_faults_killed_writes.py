"""Forgetting, saving, importing and flushing that is killed at any step, while another program writes the same note."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import killed_operations
from soak import factor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open"),
]


@pytest.mark.soak
@pytest.mark.parametrize("writer", killed_operations.WRITERS)
@pytest.mark.parametrize("operation", killed_operations.OPERATIONS)
def test_no_line_of_others_is_lost_and_no_forgotten_text_is_left(operation: str, writer: str) -> None:
    every = 5 if factor() == 1 else 1
    command = [sys.executable, killed_operations.__file__, operation, writer, "0", str(every)]
    paths = [str(Path(killed_operations.__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()
    report = json.loads(done.stdout)
    assert report["faults"] == []
    assert report["kills"] >= 2
