"""The answers to the first requests of a client over stdio, exactly as the SDK answers them, but without its import.

The SDK takes a second of CPU time to import, and several seconds on a busy machine. Some clients send their first
request to the model before that, without the tools of a server that has not answered.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, cast

from memoriter.coding_hooks import HOOK_TOOL
from memoriter.errors import MemoriterError, UsageError, sentence
from memoriter.mcp_server._offered import Offered, is_builtin, prompts_json, resources_json, tool_json
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from memoriter.memory import Memory

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the protocol that begin with `initialize`, the latest last."""
MODERN_VERSION = "2026-07-28"
"""The revision of the protocol without a handshake: each request has an envelope in its `_meta`."""
ENVELOPE = "io.modelcontextprotocol/"
VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY = (
    f"{ENVELOPE}{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities")
)
ENVELOPE_KEYS = {VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY, "progressToken"}
MAX_DEPTH = 16
"""Deepest nesting of values that are accepted here."""
MAX_ID = 1 << 53
INITIALIZE_KEYS = {"protocolVersion", "capabilities", "clientInfo", "_meta"}
CLIENT_KEYS = {"name", "version", "title", "description", "websiteUrl"}
OPEN_CAPABILITIES = {"experimental", "extensions"}
"""Capabilities that hold an object for each name."""
CLIENT_CAPABILITIES = {"roots": {"listChanged"}, "sampling": {"context", "tools"}, "elicitation": {"form", "url"}}
"""The keys of the other capabilities."""


@dataclass(frozen=True, slots=True)
class Handover:
    """What the SDK needs to continue a connection."""

    received: bytes
    """The messages that it must receive before the next one of the client."""
    answered: int | str | None
    """The id of the first request among them, if the client has the answer to it."""


class FirstAnswers:
    """The answers to the first requests of a client, as long as no request needs the SDK."""

    def __init__(
        self, memory: Memory, *, before: Callable[[], None] = lambda: None, after: Callable[[], None] = lambda: None
    ) -> None:
        """Prepare answers."""
        self._memory = memory
        self._offered = Offered.by(memory)
        self._tools = memory.tools
        self._before = before
        self._after = after
        self._first: int | str | None = None
        """The id of the first request."""
        self._modern = False
        """Whether the first request had an envelope."""

    def serve(self, reading: BinaryIO, writing: BinaryIO) -> Handover | None:
        """Answer requests until the SDK must take over.

        Args:
            reading: the client's messages, one on each line.
            writing: where the answers go.

        Returns:
            What the SDK needs; None: the client has closed the connection.
        """
        received = bytearray()
        while line := reading.readline():
            message = _parse(line)
            opening = self._first is None
            result = self._result(message) if message is not None else None
            if message is None or result is None:
                return Handover(bytes(received + line), None if opening else self._first)
            method = message["method"]
            if opening or method == "notifications/initialized":
                received += line
            if "id" in message:
                response = {"jsonrpc": "2.0", "id": message["id"], "result": result}
                writing.write(json.dumps(response, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
                writing.flush()
            if method in {"tools/list", "tools/call"}:
                self._after()
        return None

    def _result(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of a message; empty for a notification, and None if only the SDK knows it.

        A client with a handshake sends `initialize`, `notifications/initialized`, and then requests for lists, `ping`
        and calls of the hook. A client without one begins with `server/discover` or with a request for a list.
        """
        method = message["method"]
        params = message.get("params", {})
        if "id" not in message:
            return self._notified(method, params)
        if self._first is None:
            return self._open(message["id"], method, params)
        if method == "tools/call":
            return self._call(params)
        if not self._is_plain(params):
            return None
        if method == "ping":
            return None if self._modern else {}
        return self._listed(method)

    def _notified(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        ends_handshake = method == "notifications/initialized" and self._first is not None and not self._modern
        return {} if ends_handshake and _is_meta_only(params) else None

    def _call(self, params: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of a call of the hook, which checks its arguments itself."""
        arguments = params.get("arguments")
        if params.get("name") != HOOK_TOOL or not self._tools or not isinstance(arguments, dict):
            return None
        rest = {key: value for key, value in params.items() if key not in {"name", "arguments"}}
        return self._stamped(self._prompt(cast("dict[str, Any]", arguments))) if self._is_plain(rest) else None

    def _open(self, number: int | str, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of the first request, which decides between a handshake and envelopes."""
        if method == "initialize":
            if not _is_handshake(params):
                return None
            self._first = number
            requested = params["protocolVersion"]
            return self._offered.initialize_json(
                requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
            )
        if not _is_enveloped(params):
            return None
        self._modern = True
        listed = self._listed(method)
        if listed is not None:
            self._first = number
        return listed

    def _is_plain(self, params: dict[str, Any]) -> bool:
        """Return whether parameters hold nothing but what each request of the connection has."""
        return _is_enveloped(params) if self._modern else _is_meta_only(params)

    def _listed(self, method: str) -> dict[str, Any] | None:
        """Return the result of a request for what the server offers, or None if only the SDK knows it."""
        result = self._list(method)
        return self._stamped(result, cached=True) if result is not None else None

    def _list(self, method: str) -> dict[str, Any] | None:
        if method == "server/discover":
            return self._offered.discover_json([MODERN_VERSION]) if self._modern else None
        if method == "tools/list":
            known = all(is_builtin(tool) for tool in self._tools) and not self._offered.connector
            return {"tools": [tool_json(tool, modern=self._modern) for tool in self._tools]} if known else None
        if method == "prompts/list":
            return prompts_json(self._offered)
        if method != "resources/list":
            return None
        if self._offered.reason:
            return {"resources": []}
        try:
            return resources_json(self._memory.sources())
        except MemoriterError:
            return None

    def _stamped(self, result: dict[str, Any], *, cached: bool = False) -> dict[str, Any]:
        """Return a result with what the revision without a handshake adds; `cached`: whether clients may keep it."""
        if not self._modern:
            return result
        caching = {"cacheScope": "private", "ttlMs": 0} if cached else {}
        return dict(sorted({**result, **caching, "resultType": "complete"}.items())) | {
            "_meta": {f"{ENVELOPE}serverInfo": self._offered.server_json}
        }

    def _prompt(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer the hook before a prompt, within its time whatever happens."""
        from memoriter.agent import HookAnswer
        from memoriter.mcp_server._hooks import MORE_SECONDS, hook_work, prompt_seconds, prompt_text, read_prompt

        self._before()
        try:
            given = read_prompt(arguments)
            seconds = prompt_seconds()
        except UsageError as error:
            return _text_result(f"{sentence(error.message)} {error.remedy}", is_error=True)
        work = hook_work(given, seconds=seconds)
        answers = list[HookAnswer]()
        thread = threading.Thread(target=lambda: answers.append(work(self._memory)), daemon=True)
        thread.start()
        thread.join(seconds + MORE_SECONDS)
        return _text_result(prompt_text(answers[0] if answers else HookAnswer(None)))


def _text_result(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"text": text, "type": "text"}], "isError": is_error}


def _parse(line: bytes) -> dict[str, Any] | None:
    r"""Return a message of plain values, or None if the SDK must read it, such as for its `\u` escapes."""
    if b"\\u" in line:
        return None
    try:
        value: Any = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not _is_plain(value):
        return None
    message = cast("dict[str, Any]", value)
    keys = message.keys() - {"id", "params"}
    valid_id = "id" not in message or isinstance(message["id"], str) or _is_small_number(message["id"])
    named = keys == {"jsonrpc", "method"} and message["jsonrpc"] == "2.0" and isinstance(message["method"], str)
    return message if named and valid_id and isinstance(message.get("params", {}), dict) else None


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether a value holds nothing that readers of JSON may take differently, such as a number with a dot."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return all(_is_plain(each, depth + 1) for each in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return all(_is_plain(each, depth + 1) for each in cast("list[Any]", value))
    return value is None or isinstance(value, (str, bool)) or _is_small_number(value)


def _is_small_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -MAX_ID < value < MAX_ID


def _is_handshake(params: dict[str, Any]) -> bool:
    """Return whether the parameters of `initialize` are valid and well known."""
    return (
        params.keys() <= INITIALIZE_KEYS
        and _is_meta_only({key: value for key, value in params.items() if key == "_meta"})
        and isinstance(params.get("protocolVersion"), str)
        and _is_client(params.get("clientInfo"))
        and _are_capabilities(params.get("capabilities"))
    )


def _is_enveloped(params: dict[str, Any]) -> bool:
    """Return whether parameters hold only the valid and well known envelope of a request without a handshake."""
    meta = params.get("_meta")
    if params.keys() - {"_meta"} or not isinstance(meta, dict):
        return False
    fields = cast("dict[str, Any]", meta)
    return (
        {VERSION_KEY, CAPABILITIES_KEY} <= fields.keys() <= ENVELOPE_KEYS
        and fields[VERSION_KEY] == MODERN_VERSION
        and _are_capabilities(fields[CAPABILITIES_KEY])
        and (CLIENT_KEY not in fields or _is_client(fields[CLIENT_KEY]))
        and _is_token(fields.get("progressToken", ""))
    )


def _is_client(value: Any) -> bool:
    """Return whether a value describes a client with nothing but well known texts."""
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, Any]", value)
    return {"name", "version"} <= fields.keys() <= CLIENT_KEYS and all(
        isinstance(field, str) for field in fields.values()
    )


def _are_capabilities(value: Any) -> bool:
    """Return whether a value lists nothing but well known capabilities of a client."""
    return isinstance(value, dict) and all(
        _is_capability(name, each) for name, each in cast("dict[str, Any]", value).items()
    )


def _is_capability(name: str, value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    settings = cast("dict[str, Any]", value)
    if name in OPEN_CAPABILITIES:
        return all(isinstance(each, dict) for each in settings.values())
    expected = bool if name == "roots" else dict
    return settings.keys() <= CLIENT_CAPABILITIES.get(name, set()) and (
        name in CLIENT_CAPABILITIES and all(isinstance(each, expected) for each in settings.values())
    )


def _is_meta_only(params: dict[str, Any]) -> bool:
    """Return whether parameters hold at most a token for progress."""
    meta = params.get("_meta", {})
    if params.keys() - {"_meta"} or not isinstance(meta, dict):
        return False
    fields = cast("dict[str, Any]", meta)
    return fields.keys() <= {"progressToken"} and _is_token(fields.get("progressToken", ""))


def _is_token(value: Any) -> bool:
    return isinstance(value, str) or _is_small_number(value)
