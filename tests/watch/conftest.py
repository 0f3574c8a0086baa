"""A folder of notes that is watched."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.embed._fake import FakeProvider
from watched_workspace import WatchedWorkspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchedWorkspace]:
    watched = WatchedWorkspace(tmp_path)
    watched.notes.mkdir()
    embed = FakeProvider.embed
    turn = threading.Lock()

    def noted(self: FakeProvider, texts: list[str], *, role: str) -> Any:
        if role == "document":
            with turn:
                watched.embedded.extend(texts)
        return embed(self, texts, role=role)

    monkeypatch.setattr(FakeProvider, "embed", noted)
    yield watched
    watched.close()
