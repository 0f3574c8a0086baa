"""An index that can only be read is searched with every filter."""

from __future__ import annotations

import subprocess
import sys
import time

import apsw
import pytest

from memoriter.errors import IndexUnavailable
from memoriter.index import InspectedIndex, _open_file
from memoriter.types import Filters
from odd_files import posix_only


def test_an_index_that_cannot_be_written_is_searched_with_a_filter_by_path(opened, make, monkeypatch):
    index = opened()
    make.put(index, "a.md", "alpha one", "beta")
    make.put(index, "b.txt", "alpha two")
    index.close()

    def refuse(*_, **__):
        raise apsw.CantOpenError("unable to open database file")

    monkeypatch.setattr(_open_file, "connect", refuse)
    index = opened()
    assert index.read_only
    assert index.count(Filters(path="*.md")) == 2


HOLDING = """
import sys, time
from pathlib import Path
from memoriter.index import Index
index = Index.open(Path(sys.argv[1]), clock=time.time)
index.files()
print("open", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@posix_only
def test_an_index_that_was_inspected_while_it_was_opened_can_be_written_after_a_refresh(opened, make, path):
    """SQLite shares the index of the log among the connections of a process, and the first one only reads it."""
    first = opened()
    make.put(first, "a.md", "alpha one")
    first.close()
    command = [sys.executable, "-c", HOLDING, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "open\n"
        with InspectedIndex.inspect(path, clock=time.time) as inspected:
            inspected.files()
            index = opened()
            with pytest.raises(IndexUnavailable):
                make.put(index, "b.md", "beta")
        assert index.refresh()
        make.put(index, "b.md", "beta")
        assert set(index.files()) == {"a.md", "b.md"}
        other.communicate("")
