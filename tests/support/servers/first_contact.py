"""What can go wrong when a service is asked for the first time: one entry for each fault."""

from __future__ import annotations

import gzip
import json
import socket
import struct
from typing import TYPE_CHECKING, Any

from servers.base import Answer, Exchange, altered, half_written, html_page, refused, reset

if TYPE_CHECKING:
    from collections.abc import Callable

    Fault = Callable[[Exchange, Answer], Answer | None]


def status(code: int, value: Any = None, **headers: str) -> Fault:
    settings = {"error": {"message": f"refused with {code}"}} if value is None else value
    return refused(Answer(code, settings, {name.replace("_", "-"): text for name, text in headers.items()}))


def body(value: Any, **headers: str) -> Fault:
    return status(200, value, **headers)


def every_vector(change: Callable[[list[float]], Any]) -> Fault:
    """Replace each vector of the usual answer."""

    def changed(answer: Any) -> None:
        for row in answer["data"]:
            row["embedding"] = change(row["embedding"])

    return altered(changed)


def rows(change: Callable[[list[Any]], Any]) -> Fault:
    """Replace the list of vectors of the usual answer."""

    def changed(answer: Any) -> None:
        answer["data"] = change(answer["data"])

    return altered(changed)


def raw(content: bytes) -> Fault:
    """Write these bytes in place of an HTTP answer, then close."""

    def fault(exchange: Exchange, _: Answer) -> None:
        exchange.wfile.write(content)
        exchange.wfile.flush()
        exchange.close_connection = True
        exchange.connection.shutdown(socket.SHUT_RDWR)

    return fault


def _numbered_wrongly(entries: list[Any]) -> list[Any]:
    return [{**entry, "index": 0} for entry in entries]


def _ragged(entries: list[Any]) -> list[Any]:
    return [{**entry, "embedding": entry["embedding"][: 8 + place % 2]} for place, entry in enumerate(entries)]


def _packed_wrongly(_: list[float]) -> str:
    return struct.pack("<3f", 1.0, 2.0, float("nan")).hex()


QUOTA = {"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota"}}
PLAIN = (400, 402, 403, 404, 405, 408, 409, 410, 413, 422, 425, 451, 500, 501, 502, 503, 504, 505, 529)

FAULTS: dict[str, Fault] = {
    **{f"status {code}": status(code) for code in PLAIN},
    "401 wrong key": status(401),
    "429 throttled": status(429, retry_after="3600"),
    "429 quota": status(429, QUOTA),
    "status 204": status(204, b""),
    "status 302 elsewhere": status(302, b"", location="https://elsewhere.example/v1"),
    "redirect in a circle": status(307, b"", location="/v1/embeddings"),
    "malformed Location": status(307, b"", location="http://[half"),
    "Location without a host": status(308, b"", location="http://:99999/"),
    "Location of another kind": status(307, b"", location="file:///etc/passwd"),
    "a page": html_page(200),
    "a page of a gateway": html_page(502),
    "nothing": body(b""),
    "not JSON": body(b"vectors, later"),
    "half of the JSON": body(b'{"data": [{"index": 0, "embedding": [0.1, '),
    "not UTF-8": body(b'{"data": "\xff\xfe"}'),
    "null": body(b"null"),
    "a number": body(b"1"),
    "a list": body([]),
    "an empty object": body({}),
    "an error with status 200": body({"error": {"message": "overloaded", "code": 503}}),
    "data is null": body({"data": None}),
    "data is an object": body({"data": {}}),
    "too few vectors": rows(lambda entries: entries[:-1]),
    "too many vectors": rows(lambda entries: [*entries, entries[0]]),
    "no vectors": rows(lambda _: []),
    "vectors without an object": rows(lambda entries: [entry["embedding"] for entry in entries]),
    "one index for all": rows(_numbered_wrongly),
    "different dimensions": rows(_ragged),
    "vectors are null": every_vector(lambda _: None),
    "vectors are empty": every_vector(lambda _: []),
    "vectors are zero": every_vector(lambda row: [0.0] * len(row)),
    "vectors are NaN": every_vector(lambda row: [float("nan")] * len(row)),
    "vectors are infinite": every_vector(lambda row: [float("inf")] * len(row)),
    "numbers are strings": every_vector(lambda row: [str(x) for x in row]),
    "numbers are booleans": every_vector(lambda row: [True] * len(row)),
    "numbers are huge": every_vector(lambda row: [10**400] * len(row)),
    "nested lists": every_vector(lambda row: [row]),
    "vectors are objects": every_vector(lambda row: {"values": row}),
    "base64 that is none": every_vector(_packed_wrongly),
    "strings with surrogates": every_vector(lambda row: ["\ud800"] * len(row)),
    "nested without end": body(b'{"data":' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
    "half written": half_written,
    "reset": reset,
    "closed": raw(b""),
    "no HTTP": raw(b"220 mail.example ESMTP\r\n"),
    "half a header": raw(b"HTTP/1.1 200 OK\r\ncontent-le"),
    "an endless header": raw(b"HTTP/1.1 200 OK\r\nx: " + b"a" * 300_000 + b"\r\n\r\n{}"),
    "a negative length": raw(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}"),
    "two lengths": raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\n{}xxx"),
    "broken gzip": body(b"not gzip", content_encoding="gzip"),
    "gzip of garbage": body(gzip.compress(b"garbage"), content_encoding="gzip"),
    "an unknown encoding": body(json.dumps({"data": []}).encode(), content_encoding="br, zstd, gzip"),
}
