"""One browser and one server for the tests of a file."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from browser import opened, running_browser
from memory_env import MemoryEnv
from serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

    from browser import Tab
    from serving import Serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for one file only: while it runs, other tests could run no event loop."""
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path_factory.mktemp("pages"))
    env.configure(provider="none")
    return env


@pytest.fixture(scope="module")
def server(env: MemoryEnv) -> Iterator[Serving]:
    with serving(env, "--no-watch") as server:
        yield server


@pytest.fixture(scope="module")
def session(browser: Browser, server: Serving) -> Any:
    """The cookie of a session, which the printed link opened."""
    with opened(browser, server, server.link.removeprefix(server.url)) as tab:
        return tab.page.context.storage_state()


@pytest.fixture
def open_tab(browser: Browser, server: Serving, session: Any) -> Iterator[Callable[..., Tab]]:
    """Opens a tab of its own in the session; options are those of a browser context."""
    with ExitStack() as tabs:
        yield lambda path="/", **options: tabs.enter_context(
            opened(browser, server, path, storage_state=session, **options)
        )
