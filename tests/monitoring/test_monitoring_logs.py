"""What the logs in JSON show of other packages."""

from __future__ import annotations

import json
import logging

from memoriter.cli._logging import JsonLines


def line(message: str, *values: object) -> str:
    record = logging.LogRecord("psycopg.pool", logging.WARNING, "/lib/pool.py", 680, message, values, None)
    return json.loads(JsonLines().format(record))["message"]


def test_the_message_of_another_package_is_shown_without_its_values() -> None:
    shown = line("discarding closed connection: %s", "host=db.example.com password=planted")

    assert shown == "discarding closed connection: %s (pool.py, line 680)"


def test_a_message_that_may_contain_values_is_only_named_by_its_place() -> None:
    assert line("cannot reach db.example.com with password planted") == "See pool.py, line 680."
