"""How logs look: a line of text, or one JSON object a line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from memoriter.access import FIELDS

OWN = "memoriter"
"""The logger of memoriter, and the name of its handlers."""


class JsonLines(logging.Formatter):
    """One JSON object a line: `time`, `level`, `logger` and `message`, and the fields of a request."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON in ASCII, without line breaks."""
        own = record.name.partition(".")[0] == OWN
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        message = record.getMessage() if own else _without_values(record)
        shown: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            shown["error"] = record.exc_info[0].__name__
            if own:
                shown["trace"] = self.formatException(record.exc_info)
        return json.dumps(shown)


def _without_values(record: logging.LogRecord) -> str:
    """Return what another package logged without its values, which may be queries or addresses, and where it did so."""
    place = f"{record.module}.py, line {record.lineno}"
    if not record.args or not isinstance(record.msg, str):  # the text may contain values
        return f"See {place}."
    return f"{record.msg} ({place})"


def is_request_or_problem(record: logging.LogRecord) -> bool:
    """Return whether a record is about a request that was answered, or at least a warning."""
    return hasattr(record, FIELDS) or record.levelno >= logging.WARNING


def use_format(style: str, verbosity: int, text: logging.Formatter) -> None:
    """Log requests and problems to stderr; with a verbosity of 1 all operations, and with 2 each step.

    The style is `json`, or `text`, of which `text` is the format.
    """
    own = logging.getLogger(OWN)
    root = logging.getLogger()
    for logger in (own, root):
        for handler in [each for each in logger.handlers if each.name == OWN]:
            logger.removeHandler(handler)
    handler = logging.StreamHandler()
    handler.name = OWN
    handler.setFormatter(JsonLines() if style == "json" else text)
    if not verbosity:
        handler.addFilter(is_request_or_problem)
    own.addHandler(handler)
    own.setLevel(logging.DEBUG if verbosity > 1 else logging.INFO)
    if style == "json":  # all of stderr is JSON then
        others = logging.StreamHandler()
        others.name = OWN
        others.setLevel(logging.WARNING)
        others.setFormatter(JsonLines())
        others.addFilter(lambda record: record.name.partition(".")[0] != OWN)
        root.addHandler(others)
