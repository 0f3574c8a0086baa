"""The routes beside MCP: hooks of coding agents, commands of other processes, and health."""

from __future__ import annotations

import json
from logging import getLogger
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from mcp.server.transport_security import TransportSecurityMiddleware
from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.routing import Route

from memoriter.access import caller_of
from memoriter.agent import read_hook
from memoriter.api_json import health_json
from memoriter.coding_hooks import HOOKS, LONGEST_INPUT, PROMPT_SECONDS, parse_seconds
from memoriter.discovery import REASONS, TICKET, redeem_ticket
from memoriter.errors import MemoriterError, UsageError, system_error_text
from memoriter.mcp_server._hooks import hook_work
from memoriter.mcp_server._offered import wire_text
from memoriter.mcp_server._shared import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.requests import Request

    from memoriter.access import Caller
    from memoriter.agent import HookAnswer
    from memoriter.mcp_server._shared import SharedMemory
    from memoriter.memory import Memory

    CommandWork = Callable[[Memory, bytes], bytes]
    """Does the work of a command, and returns the body of the reply. Raises Declined."""

log = getLogger(__name__)
_T = TypeVar("_T")

HEALTH_SECONDS = 5.0
"""Seconds after which a health request is answered with 503."""
MOST_REASONS = 8_000
"""Maximum characters of diagnostics in a header; the first diagnostics matter most, so the last are dropped."""
NO_STORE = {"Cache-Control": "no-store"}


class AlreadyTaken(Exception):
    """The client did not wait and does the work itself."""


class Declined(BaseException):
    """The command must do its work itself.

    This is not a failure and not an `Exception`, so that no handler in between catches it.
    """


class Delegated:
    """Routes `POST /hook/{event}`, `POST /command/{name}` and `GET /health`, for requests that name this machine."""

    def __init__(
        self,
        shared: SharedMemory,
        security: TransportSecuritySettings,
        tickets: Path,
        commands: Mapping[str, CommandWork],
        *,
        sessions: Callable[[], int],
    ) -> None:
        """Serve one memory."""
        self._sessions = sessions
        self._shared = shared
        self._security = TransportSecurityMiddleware(security)
        self._tickets = tickets
        self._commands = commands

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/hook/{event}", self.hook, methods=["POST"]),
            Route("/command/{name}", self.command, methods=["POST"]),
            Route("/health", self.health, methods=["GET"]),
        ]

    @property
    def paths(self) -> list[str]:
        """The paths of all routes, with the hooks and commands that are served."""
        hooks = [f"/hook/{event}" for event in HOOKS.values()]
        return [*hooks, *(f"/command/{name}" for name in self._commands), "/health"]

    async def hook(self, request: Request) -> Response:
        """Answer a hook exactly as `memoriter hook` does; diagnostics are in a header."""
        if refused := await self._security.validate_request(request, is_post=True):
            return refused
        try:
            body = await _read_body(request)
            hook_input = read_hook(request.path_params["event"], body)
        except UsageError as error:
            return _error_response(400, error.code, error.message, error.remedy)
        query = request.query_params
        work = hook_work(
            hook_input,
            shared=query.get("shared") == "1",
            interactive=query.get("attended") != "0",
            project=query.get("project") == "1",
            seconds=parse_seconds(query.get("seconds", "")) or PROMPT_SECONDS,
        )
        answer = await self._run(work, request, session=hook_input.session)
        if isinstance(answer, Response):
            return answer
        later = None
        if hook_input.event == "session-start":  # the answer does not wait until changed notes are indexed
            later = BackgroundTask(self._index_changes, caller_of(request.scope), hook_input.session)
        return _hook_response(answer, later)

    async def command(self, request: Request) -> Response:
        """Answer a command exactly as the command itself does, or with 409 if it must do the work itself."""
        if refused := await self._security.validate_request(request, is_post=True):
            return refused
        work = self._commands.get(request.path_params["name"])
        if work is None:
            return _error_response(404, "command", "The server does not know this command.", "Run it by itself.")
        try:
            body = await _read_body(request)
        except UsageError as error:
            return _error_response(400, error.code, error.message, error.remedy)

        def answer(memory: Memory) -> bytes:
            try:
                return work(memory, body)
            except Exception as error:
                log.info("a command does its work itself: %s", type(error).__name__)
                raise Declined from error

        # No two commands share a session, so that none waits for another.
        reply = await self._run(answer, request, session=f"command {uuid4()}")
        return reply if isinstance(reply, Response) else Response(reply, 200, NO_STORE, media_type="application/json")

    async def health(self, request: Request) -> Response:
        """Return the health of the memory, with its problems and the number of MCP sessions."""
        if refused := await self._security.validate_request(request):
            return refused
        try:
            status = await self._shared.run(
                lambda memory: memory.status(), caller=caller_of(request.scope), seconds=HEALTH_SECONDS
            )
        except Cancelled:
            return _error_response(503, "busy", "The memory is busy.", "Search again in a moment.")
        except (MemoriterError, OSError) as error:
            message = system_error_text(error) if isinstance(error, OSError) else error.message
            return _error_response(503, "health", wire_text(message), "Run `memoriter doctor`.")
        return _json_response(200, {**health_json(status.health), "sessions": self._sessions()})

    async def _run(self, work: Callable[[Memory], _T], request: Request, *, session: str) -> _T | Response:
        """Return the result of the work, or a response that explains why it was not done."""
        ticket = request.headers.get(TICKET)

        def taken(memory: Memory) -> _T:
            if ticket is not None and not redeem_ticket(self._tickets, ticket):
                raise AlreadyTaken
            return work(memory)

        try:
            return await self._shared.run(taken, caller=caller_of(request.scope), session=session)
        except AlreadyTaken:
            return _error_response(409, "taken", "Another process already does this.", "Nothing is lost.")
        except Declined:
            return _error_response(409, "declined", "The command must do this itself.", "Run it by itself.")
        except Cancelled:
            return _error_response(503, "closing", "The server is ending.", "Run the command by itself.")

    async def _index_changes(self, caller: Caller, session: str) -> None:
        begun = f"{session} begun"
        try:
            await self._shared.run(lambda memory: memory.session_started(session), caller=caller, session=begun)
        except (Cancelled, MemoriterError, OSError):
            return  # the next search indexes the changes and reports what is wrong


async def _read_body(request: Request) -> bytes:
    """Return the body. Raises UsageError if it is too long."""
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > LONGEST_INPUT:
            raise UsageError(f"The input is longer than {LONGEST_INPUT:,} bytes.", remedy="Send less.")
    return bytes(received)


def _hook_response(answer: HookAnswer, later: BackgroundTask | None) -> Response:
    reasons = [wire_text(f"{reason.message} {reason.remedy}") for reason in answer.reasons]
    encoded = json.dumps(reasons)
    while len(encoded) > MOST_REASONS:
        reasons = reasons[:-1]
        encoded = json.dumps(reasons)
    headers = NO_STORE | ({REASONS: encoded} if reasons else {})
    if answer.output is None:
        return Response(status_code=204, headers=headers, background=later)
    # ASCII, so that the printed text is the same as without a server, including lone surrogates.
    text = json.dumps(answer.output)
    return Response(text, 200, headers, media_type="application/json", background=later)


def _error_response(status: int, code: str, message: str, remedy: str) -> Response:
    return _json_response(status, {"error": {"code": code, "message": message, "remedy": remedy}})


def _json_response(status: int, value: dict[str, Any]) -> Response:
    return Response(wire_text(json.dumps(value, ensure_ascii=False)), status, NO_STORE, media_type="application/json")
