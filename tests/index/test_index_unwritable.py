"""An index that can only be read is searched with every filter."""

from __future__ import annotations

import apsw

from memoriter.index import _opening
from memoriter.types import Filters


def test_an_index_that_cannot_be_written_is_searched_with_a_filter_by_path(opened, make, monkeypatch):
    index = opened()
    make.put(index, "a.md", "alpha one", "beta")
    make.put(index, "b.txt", "alpha two")
    index.close()

    def refuse(*_, **__):
        raise apsw.CantOpenError("unable to open database file")

    monkeypatch.setattr(_opening, "connect", refuse)
    index = opened()
    assert index.read_only
    assert index.count(Filters(path="*.md")) == 2
