"""A watcher says that all is well again only after the provider has answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter.service_guard import doubling
from servers import KEY
from servers.compatible import CompatibleServer
from servers.first_contact import FAULTS
from watched_workspace import until

if TYPE_CHECKING:
    from watched_workspace import WatchedWorkspace

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("fault", ["status 404", "status 503", "too few vectors", "half written", "401 wrong key"])
def test_a_watcher_reports_a_provider_as_mended_only_after_an_answer(
    watched: WatchedWorkspace, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr("memoriter.embed.remote._http.FIRST_WAIT", 0.01)
    monkeypatch.setattr("memoriter.backends._embedding.PATIENCE", doubling(0.0, 0.0))  # however slow the machine is
    with CompatibleServer() as server:
        server.always = FAULTS[fault]
        watched.write("MEMORY.md", "The anchor is in the shed.\n")
        service = {"provider": "openai-compatible", "model": server.model}
        remote = {"baseUrl": server.base_url, "apiKey": KEY}
        memory = watched.open(**service, remote=remote)
        watched.watches.append(memory.watching(watched.events.append))
        until(lambda: "trouble" in watched.kinds())
        for name in ("a", "b"):  # runs that have nothing to do with the provider
            indexed = watched.kinds().count("indexed")
            watched.write(f"memory/{name}.md", f"The note {name} is new.\n")
            until(lambda name=name: bool(memory._backend.index.files_at([f"memory/{name}.md"])))
            until(lambda indexed=indexed: watched.kinds().count("indexed") > indexed)
        assert "recovered" not in watched.kinds()
        assert watched.kinds().count("trouble") == 1
        assert not memory.status().health.ok
        server.always = None
        if fault == "401 wrong key":
            return  # it is asked again in some minutes
        monkeypatch.setattr("memoriter.backends._embedding.FALLBACK_SECONDS", 0.0)  # it may be asked at once
        watched.write("memory/c.md", "One more note.\n")
        until(lambda: "recovered" in watched.kinds())
        until(lambda: memory.status().health.ok)
