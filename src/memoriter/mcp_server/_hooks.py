"""The hooks of coding agents, answered by a server: over HTTP for `memoriter hook`, and as a call of a tool.

Claude Code calls a tool of an MCP server before a prompt (a hook of the type `mcp_tool`). The server runs already, so
no program has to start and to open the index for each prompt. Nothing here needs the SDK, because the first prompt may
come before it is imported.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from memoriter.agent import HookAnswer, answer_hook, read_hook
from memoriter.coding_hooks import PROMPT_SECONDS, SECONDS_VARIABLE, parse_seconds
from memoriter.environment import variables
from memoriter.errors import MemoriterError, UsageError, sentence
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoriter.agent import HookInput
    from memoriter.memory import Memory

PROMPT = "user-prompt"
"""The only hook that a tool answers. At the end of a turn, memoriter must know whether a person follows the
conversation, and only the environment of a program shows this."""
MORE_SECONDS = 0.25
"""After this much more time the prompt goes on without an answer."""
log = logging.getLogger(__name__)


def hook_work(
    given: HookInput, *, shared: bool = False, interactive: bool = True, project: bool = False, seconds: float
) -> Callable[[Memory], HookAnswer]:
    """Return what answers a hook with a memory; it raises nothing, so that the agent continues without its memory.

    `shared`: other people read the conversation. `interactive`: a person follows it. `project`: the notes are those of
    a project, although the owner named the folder to the server. A prompt waits for `seconds` at most.
    """

    def work(memory: Memory) -> HookAnswer:
        try:
            session = memory.session(given.session, audience="shared" if shared else "private", project=project)
            return answer_hook(given, session, interactive=interactive, seconds=seconds)
        except MemoriterError as error:
            return HookAnswer(None, (Diagnostic.of(error),))
        except Exception as error:  # noqa: BLE001 - a coding agent must continue without its memory
            message = f"{type(error).__name__}: {sentence(error)}"
            return HookAnswer(None, (Diagnostic("internal", message, "Please report it."),))

    return work


def prompt_seconds() -> float:
    """Return how long a prompt waits for its memory."""
    return parse_seconds(variables().get(SECONDS_VARIABLE, "").strip()) or PROMPT_SECONDS


def read_prompt(arguments: Mapping[str, Any]) -> HookInput:
    """Return the event that a call of the tool reports, with what Claude Code writes to the stdin of a program.

    Raises:
        UsageError: it is another event, or a field is missing or malformed.
    """
    event = arguments.get("event")
    if event != PROMPT:
        message = f"This tool answers the hook {PROMPT!r}, not {event!r}."
        raise UsageError(message, remedy="Install memoriter again.")
    fields = {name: value for name, value in arguments.items() if name != "event"}
    return read_hook(PROMPT, json.dumps(fields).encode())


def prompt_text(answer: HookAnswer) -> str:
    """Return the JSON that a program would print, and log what went wrong. An empty object adds nothing."""
    for reason in answer.reasons:
        log.info("hook %s: %s", PROMPT, reason.message)
    return json.dumps(answer.output or {})  # ASCII, as over HTTP
