"""The server-sent events of a server, over a real connection."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from json_fields import check_event
from web_client import BASE, ApiClient

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Stream:
    """The events of one connection."""

    lines: Iterator[str]
    last_id: str = ""
    comments: list[str] = field(default_factory=list)

    def event(self) -> tuple[str, Any]:
        """The next event with its data; its id is remembered as a browser does."""
        name = ""
        data = ""
        for line in self.lines:
            key, _, value = line.partition(": ")
            match key:
                case "event":
                    name = value
                case "id":
                    self.last_id = value
                case "data":
                    data = value
                case "" if name:
                    check_event(name, json.loads(data))
                    return name, json.loads(data)
                case _:
                    self.comments += [line] if line.startswith(":") else []
        raise EOFError


@contextmanager
def connected(client: ApiClient, last_id: str = "") -> Iterator[Stream]:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    with client.http.stream("GET", f"{BASE}/events", headers=headers) as response:
        assert response.status_code == 200
        stream = Stream(response.iter_lines())
        assert stream.event() == ("ready", {})
        yield stream


def names_until(stream: Stream, last: str) -> list[str]:
    names = [stream.event()[0]]
    while names[-1] != last:
        names.append(stream.event()[0])
    return names
