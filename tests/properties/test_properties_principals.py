"""No caller gets more of a server than its token allows, whatever the tokens, the servers and the requests are."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import Response

from memoriter.access import AccessMiddleware, Authenticator, CallerLimits, Origins, ServedMemory
from memoriter.discovery import SCOPES, Limits, ScopedToken, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow
PLACES = ("", "/team/a", "/team/b")
PEOPLE = ("", "alice", "bob")
PATHS = ("/mcp", "/api/v1/search", "/health", "/", "/metrics", "/readyz", "/healthz", "/hook/stop", "/command/link")
NEEDED = {"/hook/stop": "admin", "/command/link": "admin", "/metrics": "metrics", "/healthz": "metrics"}
NEEDED |= {"/readyz": "metrics"}
PROBES = ("/healthz", "/readyz")

tokens = st.builds(
    ScopedToken,
    name=st.sampled_from(["one", "two", "three"]),
    scope=st.sampled_from(SCOPES),
    principal=st.sampled_from(PEOPLE),
    created=st.just(0.0),
    digest=st.just(""),
    workspace=st.sampled_from(PLACES),
)


@dataclass
class KnownTokens:
    """Tokens by their values, as `LiveTokens` finds them."""

    by_value: dict[str, ScopedToken]

    def with_digest(self, digest: str) -> ScopedToken | None:
        return next((each for value, each in self.by_value.items() if digest_of(value) == digest), None)


def ask(app: Any, method: str, path: str, token: str | None) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of the answer of an ASGI application."""
    headers = [(b"host", b"localhost"), *([(b"authorization", f"Bearer {token}".encode())] if token else [])]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app({**scope, "client": ("192.0.2.1", 1)}, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


async def notes(scope: Any, receive: Any, send: Any) -> None:
    await Response(b'{"secret": true}')(scope, receive, send)


@settings(deadline=None)
@given(
    served=st.builds(ServedMemory, st.sampled_from(PEOPLE), st.sampled_from(PLACES[1:])),
    known=st.dictionaries(st.sampled_from(["t1", "t2", "t3"]), tokens),
    requests=st.lists(
        st.tuples(st.sampled_from(["GET", "POST"]), st.sampled_from(PATHS), st.sampled_from([None, "t1", "t2", "t3"])),
        max_size=12,
    ),
)
def test_a_request_is_passed_on_only_if_its_token_is_of_this_memory_and_of_a_scope_that_is_enough(
    served: ServedMemory, known: dict[str, ScopedToken], requests: list[tuple[str, str, str | None]]
) -> None:
    authenticator = Authenticator(lambda: "the-owner's-token", tokens=KnownTokens(known))  # type: ignore[arg-type]
    app = AccessMiddleware(notes, authenticator, Origins(), served=served, probes=PROBES)
    for method, path, value in requests:
        status, answer = ask(app, method, path, value)
        token = known.get(value or "")
        if token is None:
            allowed = value is None and path in PROBES and method == "GET"
            assert status == (200 if allowed else 401)
            continue
        of_this_memory = token.workspace in {"", served.workspace} and token.principal in {"", served.principal}
        enough = SCOPES.index(token.scope) >= SCOPES.index(NEEDED.get(path, "read"))  # type: ignore[arg-type]
        assert (status, "secret" in answer) == ((200, True) if of_this_memory and enough else (403, False))
        assert served.workspace not in json.dumps(answer)


class Meter:
    """The limits of callers with a clock that a test moves."""

    def __init__(self, limits: dict[str, Limits]) -> None:
        self.now = 0.0
        self.limits = limits
        self.calls = CallerLimits(lambda: self.now)
        self.open = dict.fromkeys(limits, 0)
        self.passed = dict.fromkeys(limits, 0)
        self.bytes = dict.fromkeys(limits, 0)

    def begin(self, name: str) -> None:
        limits = self.limits[name]
        paid = self.bytes[name]
        assert limits.at_once is not None
        assert limits.bytes_per_minute is not None
        reached = self.calls.begin(name, limits)
        if reached is None:
            assert self.open[name] < limits.at_once
            assert paid <= limits.bytes_per_minute * (1 + self.now / 60) + 1e-6
            self.open[name] += 1
            self.passed[name] += 1
            assert self.passed[name] <= limits.burst + limits.per_second * self.now + 1e-6
            return
        assert reached.seconds > 0
        if reached.limit == "at_once":
            assert self.open[name] == limits.at_once
        else:  # after the time that it was told, it may try again
            self.now += reached.seconds + 1e-6
            later = self.calls.begin(name, limits)
            assert later is None or later.limit != reached.limit
            self.open[name] += later is None
            self.passed[name] += later is None

    def end(self, name: str, size: int) -> None:
        if self.open[name]:
            self.calls.count_bytes(name, size)
            self.bytes[name] += size
            self.calls.end(name)
            self.open[name] -= 1


limits = st.builds(
    Limits,
    per_second=st.sampled_from([0.1, 1.0, 20.0]),
    at_once=st.integers(1, 4),
    bytes_per_minute=st.sampled_from([100, 10_000]),
)
steps = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["begin", "end", "wait"]), st.integers(0, 5_000)),
    max_size=80,
)


@given(chosen=st.fixed_dictionaries({"a": limits, "b": limits}), acts=steps)
def test_no_caller_gets_over_its_limits_and_each_that_waits_as_it_was_told_goes_on(
    chosen: dict[str, Limits], acts: list[tuple[str, str, int]]
) -> None:
    meter = Meter(chosen)
    act: dict[str, Callable[[str, int], None]] = {
        "begin": lambda name, _: meter.begin(name),
        "end": meter.end,
        "wait": lambda _, size: setattr(meter, "now", meter.now + size / 100),
    }
    for name, what, size in acts:
        act[what](name, size)


@given(chosen=limits, number=st.integers(1, 200))
def test_one_caller_takes_nothing_from_another(chosen: Limits, number: int) -> None:
    calls = CallerLimits(lambda: 0.0)
    for _ in range(number):
        calls.begin("greedy", chosen)
    calls.count_bytes("greedy", 1 << 30)
    assert calls.begin("other", chosen) is None
    assert calls.begin("owner", None) is None
