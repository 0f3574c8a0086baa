"""One browser and one server for the tests of a file."""

from __future__ import annotations

import sys

from page_fixtures import browser, env, open_tab, server, session

__all__ = ["browser", "env", "open_tab", "server", "session"]

if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]  # the servers are ended by signals
