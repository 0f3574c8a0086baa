"""One server for the tests of a file that do not change what the others see."""

from __future__ import annotations

import sys

from web_fixtures import client, env, owner, served, server

__all__ = ["client", "env", "owner", "served", "server"]

if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]  # the servers are ended by signals
