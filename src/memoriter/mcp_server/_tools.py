"""The tools, as MCP lists and calls them.

Two more, `search` and `fetch`, have the documented form that ChatGPT connectors expect.
"""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp.types import Tool as McpTool

from memoriter.access import TOOL, caller_of, known_caller
from memoriter.agent import HookAnswer
from memoriter.api_json import with_footer
from memoriter.coding_hooks import HOOK_TOOL
from memoriter.errors import MemoriterError, UsageError, sentence
from memoriter.mcp_server._hooks import MORE_SECONDS, hook_work, prompt_seconds, prompt_text, read_prompt
from memoriter.mcp_server._offered import note_uri, tool_json, wire_text
from memoriter.mcp_server._shared import Cancelled
from memoriter.tools import APPEND, SEARCH, Tool, origin_json
from memoriter.workspace import neutral, neutral_data, neutral_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp.server.context import ServerRequestContext

    from memoriter.access import Caller
    from memoriter.discovery import Scope
    from memoriter.mcp_server._shared import SharedMemory
    from memoriter.memory import Memory
    from memoriter.memory_like import MemoryLike
    from memoriter.types import Hit

QUICK = frozenset({"memory_get", "memory_append", "fetch"})
"""Tools that only read or write notes and never search."""
CHATGPT = "openai-mcp"
"""The beginning of the name with which ChatGPT's connectors introduce themselves."""
SESSION_KEY = "memoriter/sessionKey"
"""The key in `_meta` of a call with the conversation's key, such as `agent:main:slack:group:7`."""
SEPARATORS = (",", ":")
NOT_FOR_MODELS = {"health", "timings", "disabled", "code"}
"""Parts of a search result that only programs of this machine use; `health` is shown if something is wrong."""
NOT_CITED = "Do not name the paths or lines of the notes to the user."
OUTCOMES = {
    "match": "These passages answer the query, best first.",
    "weak": "These passages are related, and may not answer the query.",
    "none": "Nothing was found.",
}
_HEADER = re.compile(r"(?m)^([ \t]*)\[(\d+)\]")
"""What a line of a passage would need, to pass for the beginning of another passage."""
log = logging.getLogger(__name__)


class Tools:
    """Handlers of `tools/list` and `tools/call`."""

    def __init__(
        self, shared: SharedMemory, tools: Sequence[Tool], connector: Sequence[Tool] = (), *, http: bool = False
    ) -> None:
        """Offer tools."""
        self._http = http
        self._shared = shared
        self.offer(tools, connector)

    def offer(self, tools: Sequence[Tool], connector: Sequence[Tool] = ()) -> None:
        """Offer these tools from now on, instead of the earlier ones."""
        self._listed = tools
        self._connector = connector
        self._tools = {tool.name: tool for tool in (*tools, *connector)}

    async def list(self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        del params
        client = context.session.client_params
        for_chatgpt = client is not None and client.client_info.name.startswith(CHATGPT)
        tools = {tool.name: tool for tool in (*self._listed, *(self._connector if for_chatgpt else ()))}.values()
        listed = [tool for tool in tools if self._may_call(context, tool)]
        return ListToolsResult(tools=[McpTool.model_validate(tool_json(tool)) for tool in listed])

    async def call(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        caller = client_of(context)
        if params.name == HOOK_TOOL and self._tools and self._allows(context, "admin"):
            return await _answer_prompt(self._shared, params.arguments or {}, caller)
        tool = self._tools.get(params.name)
        if tool is None:
            names = ", ".join(self._tools) or "none"
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}. There are: {names}.")
        if not self._may_call(context, tool):
            text = f"The tool {tool.name} needs a token with the scope 'write', and this client's has 'read'."
            return CallToolResult(content=[TextContent(text=text)], is_error=True)
        if self._http and context.request is not None:
            context.request.scope[TOOL] = tool.name
        arguments = params.arguments or {}
        started = anyio.current_time()
        session_key = session_of(params.meta)
        try:
            answer = await self._shared.run_request(
                context.session,
                lambda memory: _run(tool, memory, arguments, session_key),
                caller=caller,
                exclusive=tool.writes is None,  # a tool of a plugin may not be thread-safe
                quick=tool.name in QUICK,
            )
            result = to_result(answer, tool.name)
        except Exception as error:  # a tool of a plugin may raise anything
            log.warning("%s failed", tool.name, exc_info=True)
            text = neutral(wire_text(f"The tool {tool.name} failed: {type(error).__name__}: {sentence(error)}"))
            result = CallToolResult(content=[TextContent(text=text)], is_error=True)
        outcome = "an error" if result.is_error else "done"
        log.info("tool %s: %s, %.1f ms", tool.name, outcome, (anyio.current_time() - started) * 1000)
        return result

    def _allows(self, context: ServerRequestContext[Any], scope: Scope) -> bool:
        """Return whether a client has a scope; over stdio, every client is an agent of the owner and has all."""
        if not self._http:
            return True
        return context.request is not None and caller_of(context.request.scope).allows(scope)

    def _may_call(self, context: ServerRequestContext[Any], tool: Tool) -> bool:
        """Return whether a client may call a tool; one that does not say whether it writes counts as writing."""
        return tool.writes is False or self._allows(context, "write")


def _run(tool: Tool, memory: Memory, arguments: Mapping[str, Any], session_key: str | None) -> dict[str, Any]:
    """Return the answer of a tool. Raises RuntimeError for what a plugin raises to end the whole process."""
    try:
        answer = cast("object", tool.run(memory, arguments, session_key=session_key))
    except (Exception, Cancelled):
        raise
    except BaseException as error:
        raise RuntimeError(f"It raised {error!r}") from error
    if not isinstance(answer, dict):
        raise TypeError(f"It gave {type(answer).__name__}, not an object.")
    return cast("dict[str, Any]", answer)


def session_of(meta: Mapping[str, Any] | None) -> str | None:
    """Return the key of the conversation that a request names; None: the client asks for its owner.

    A value that is no text is a conversation without a known name, not the owner.
    """
    key = (meta or {}).get(SESSION_KEY)
    return key if isinstance(key, str) or key is None else ""


def client_of(context: ServerRequestContext[Any]) -> Caller | None:
    """Return the caller of a request over HTTP, or None over stdio, where the client is a program of the owner."""
    return None if context.request is None else known_caller(context.request.scope)


async def _answer_prompt(shared: SharedMemory, arguments: Mapping[str, Any], caller: Caller | None) -> CallToolResult:
    """Answer the hook before a prompt. The text of the result is the JSON that a program would print."""
    try:
        given = read_prompt(arguments)
        seconds = prompt_seconds()
    except UsageError as error:
        return CallToolResult(content=[TextContent(text=error_text(error))], is_error=True)
    try:
        work = hook_work(given, seconds=seconds)
        answer = await shared.run(work, caller=caller, session=given.session, seconds=seconds + MORE_SECONDS)
    except Cancelled:
        answer = HookAnswer(None)
    return CallToolResult(content=[TextContent(text=prompt_text(answer))])


def to_result(answer: dict[str, Any], name: str = "") -> CallToolResult:
    """Return an answer as text and as structured content.

    It is an error if the agent must change its call, if nothing was written, or if the memory could not be searched.
    Clients give their model either form, and both are neutral. The fields have OpenClaw's names. The answers of some
    tools have a shorter form here.
    """
    lean = LEAN[name](answer) if name in LEAN else answer
    text = wire_text(json.dumps(lean, ensure_ascii=False, allow_nan=False, separators=SEPARATORS))
    structure = neutral_data(json.loads(text))
    if name == SEARCH.name:
        shown = _search_text(structure)
    elif name in LEAN:
        shown = json.dumps(structure, ensure_ascii=False, separators=SEPARATORS)
    else:
        shown = neutral_json(text)
    content = TextContent(text=shown)
    return CallToolResult(content=[content], structured_content=structure, is_error="error" in answer)


def _lean_search(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a search without what repeats itself, and with the health only if something is wrong."""
    lean = {key: value for key, value in answer.items() if key not in NOT_FOR_MODELS}
    lean["results"] = [_lean_hit(hit) for hit in answer["results"]]
    health = answer.get("health", {"ok": True})
    return lean | ({} if health["ok"] else {"health": {key: health[key] for key in ("ok", "pending", "reasons")}})


def _lean_hit(hit: dict[str, Any]) -> dict[str, Any]:
    """Return a hit, without what it says twice.

    The date is left out if the path has it, the heading if the passage begins with it, and the lines that answer if
    they are all of the passage.
    """
    start = hit["startLine"]
    end = hit["endLine"]
    citation = hit.get("citation", "")
    snippet = hit["snippet"].removesuffix(with_footer("", citation)).strip() if citation else hit["snippet"].strip()
    heading = hit.get("heading", [])
    date = hit.get("date", "")
    shown = {"citation": citation} if citation else {}
    shown |= {key: hit[key] for key in ("path", "startLine", "endLine", "source")}
    shown["score"] = round(hit["score"], 2)
    if "author" in hit:
        shown["author"] = hit["author"]
    if date and date not in hit["path"]:
        shown["date"] = date
    shown |= {key: hit[key] for key in ("changed", "outsideTime") if key in hit}
    if (answer := hit.get("answerLines", [start, end])) != [start, end]:
        shown["answerLines"] = answer
    if heading and heading[-1] not in snippet.partition("\n")[0]:
        shown["heading"] = " > ".join(heading)
    return shown | {"snippet": snippet}


def _lean_append(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a write with one form of the place; `reason` says what `health` would."""
    return {key: value for key, value in answer.items() if key not in {"path", "startLine", "endLine", "health"}}


def _search_text(lean: dict[str, Any]) -> str:
    """Return a search result as text: each passage below a line with its number, place and score."""
    if "error" in lean:
        return " ".join(sentence(lean[key]) for key in ("error", "warning", "action") if lean.get(key))
    cited = lean.get("citations") != "off"
    lines = [" ".join(filter(None, (OUTCOMES.get(lean.get("outcome", ""), ""), "" if cited else NOT_CITED)))]
    for number, hit in enumerate(lean["results"], 1):
        place = hit["citation"] if cited else f"{hit['path']}, lines {hit['startLine']}-{hit['endLine']}"
        details = [f"{hit['score']:.2f}", *([hit["source"]] if hit["source"] != "memory" else [])]
        details += [hit[key] for key in ("date", "heading") if key in hit]
        details += [f"changed {hit['changed']}"] if "changed" in hit else []
        details += ["of another time"] if "outsideTime" in hit else []
        details += [f"written by {hit['author']}"] if "author" in hit else []
        details += [f"most likely line {hit['answerLines'][0]}"] if "answerLines" in hit else []
        lines += ["", f"[{number}] {place} ({', '.join(details)})", _HEADER.sub(r"\1(\2)", hit["snippet"])]
    reasons = [*lean.get("reasons", []), *lean.get("health", {}).get("reasons", [])]
    notes = [f"{reason['message']} {reason['remedy']}".strip() for reason in reasons]
    if "understood" in lean:
        notes.append(f"Understood: {json.dumps(lean['understood'], ensure_ascii=False)}")
    if "truncatedBy" in lean:
        notes.append(f"There was more than is shown: {lean['truncatedBy']}.")
    return "\n".join([*lines, *(["", *notes] if notes else [])]).strip()


LEAN = {SEARCH.name: _lean_search, APPEND.name: _lean_append}
"""The shorter form of the answers of some tools."""


def error_text(error: MemoriterError) -> str:
    """Return the message of an error and its remedy as one text."""
    return f"{sentence(error.message)} {error.remedy}"


LINES = re.compile(r"\A(?P<path>.+?)#L(?P<start>\d+)(?:-L(?P<end>\d+))?\Z", re.DOTALL)

DOCUMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "url": {"type": "string"},
        "text": {"type": "string"},
    },
    "required": ["id", "title", "url"],
}
ERROR = {"error": {"type": "string"}}


def search_documents(
    memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None
) -> dict[str, Any]:
    """Run `search`; an error becomes part of the answer."""
    try:
        result = memory.search(_text_param(params, "query"), operators=True, session=session_key)
    except MemoriterError as error:
        return {"results": [], "error": error_text(error)}
    except Exception as error:  # the agent's turn must continue without its memory
        log.warning("search failed", exc_info=True)
        return {"results": [], "error": sentence(f"{type(error).__name__}: {error}")}
    notes = [*origin_json(memory).values(), *(reason.message for reason in result.health.reasons)]
    answer: dict[str, Any] = {"results": [_to_document(hit) for hit in result.hits], "outcome": result.outcome}
    return answer | ({"notes": notes} if notes else {})


def fetch_document(memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None) -> dict[str, Any]:
    """Run `fetch`; an error becomes part of the answer."""
    del session_key
    citation = _text_param(params, "id")
    match = LINES.match(citation)
    path = match["path"] if match else citation
    answer: dict[str, Any] = {"id": citation, "title": path, "text": "", "url": note_uri(path)}
    try:
        excerpt = memory.read(path)
    except MemoriterError as error:
        return answer | {"error": error_text(error)}
    except Exception as error:  # the agent's turn must continue without this note
        log.warning("fetch failed", exc_info=True)
        return answer | {"error": sentence(f"{type(error).__name__}: {error}")}
    if not excerpt.text:
        return answer | {"error": f"There is no text in {path!r}."}
    lines = {"startLine": match["start"], "endLine": match["end"] or match["start"]} if match else {}
    metadata = {"path": excerpt.path, **lines, **({"truncated": "true"} if excerpt.truncated else {})} | origin_json(
        memory
    )
    return answer | {"title": excerpt.path, "text": excerpt.text, "metadata": metadata}


def _to_document(hit: Hit) -> dict[str, Any]:
    title = " > ".join((hit.path, *hit.heading))
    return {"id": hit.citation, "title": title, "url": note_uri(hit.path), "text": hit.snippet.strip()}


def _text_param(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    return value.strip() if isinstance(value, str) else ""


def _schema(name: str, description: str) -> dict[str, Any]:
    field = {"type": "string", "description": description}
    return {"type": "object", "properties": {name: field}, "required": [name]}


SEARCH_TOOL = Tool(
    "search",
    "Search the notes about this user and their work. Returns passages, best first; fetch gives the whole note.",
    _schema("query", "The question, or the words to look for, in any language."),
    search_documents,
    "Search notes",
    {
        "type": "object",
        "properties": {
            "results": {"type": "array", "items": DOCUMENT_SCHEMA},
            "outcome": {"type": "string"},
            "notes": {"type": "array", "items": {"type": "string"}},
            **ERROR,
        },
        "required": ["results"],
    },
    writes=False,
)
FETCH_TOOL = Tool(
    "fetch",
    "Read the whole note that a result of search is from.",
    _schema("id", "As search gives it, or the path of a note."),
    fetch_document,
    "Fetch a note",
    {
        "type": "object",
        "properties": {**DOCUMENT_SCHEMA["properties"], "metadata": {"type": "object"}, **ERROR},
        "required": ["id", "title", "text", "url"],
    },
    writes=False,
)
CONNECTOR: tuple[Tool, ...] = (SEARCH_TOOL, FETCH_TOOL)
