"""The hooks of coding agents: what Claude Code and Codex tell on stdin, and what they are answered on stdout."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, assert_never, cast

from memoriter.agent._context_usage import context_usage
from memoriter.agent._events import Message
from memoriter.errors import PathRefused, UsageError
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from memoriter.agent._session import Session

HookEvent = Literal["session-start", "user-prompt", "stop", "pre-compact"]
EVENTS: dict[str, HookEvent] = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "Stop": "stop",
    "PreCompact": "pre-compact",
}
"""Their names for the events, and ours."""
WORDS: dict[str, HookEvent] = {word: word for word in EVENTS.values()}
CONTEXT_CHARS = 8_000
"""Of the session's context: Claude Code takes 10,000 characters from a hook, and there may be a request behind it."""
LONGEST_INPUT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HookInput:
    """What a coding agent says that happened."""

    event: HookEvent
    session: str
    cwd: str = ""
    transcript: str = ""
    source: str = ""
    """Why a session starts: `startup`, `resume`, `clear`, `compact`."""
    prompt: str = ""
    again: bool = False
    """Whether the agent stops after having been sent on by a hook."""
    reply: str | None = None
    """What the agent said last."""


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What to say to the coding agent, and to a person."""

    output: dict[str, Any] | None
    """JSON for stdout; None: nothing, and the agent goes on."""
    reasons: tuple[Diagnostic, ...] = ()


def read_hook(event: str, text: str) -> HookInput:
    """What came on stdin, checked.

    Args:
        event: as on the command line.
        text: a JSON object, with keys of which we need few.

    Raises:
        UsageError: the event is unknown, or the text is not what such a hook is given.
    """
    known = WORDS.get(event)
    if known is None:
        raise UsageError(f"There is no hook {event!r}.", remedy=f"Name one of: {', '.join(EVENTS.values())}.")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"stdin is not JSON: {error}.", remedy="A coding agent calls this command.") from error
    if not isinstance(found, dict):
        raise UsageError("stdin is not a JSON object.", remedy="A coding agent calls this command.")
    told = cast("dict[str, Any]", found)
    named = told.get("hook_event_name")
    if named is not None and EVENTS.get(str(named)) != known:
        raise UsageError(f"This is the hook for {known}, but {named} happened.", remedy="Correct the agent's hooks.")
    session = _text(told, "session_id").strip()
    if not session:
        raise UsageError("stdin has no session_id.", remedy="A coding agent calls this command.")
    reply = told.get("last_assistant_message")
    return HookInput(
        event=known,
        session=session,
        cwd=_text(told, "cwd"),
        transcript=_text(told, "transcript_path"),
        source=_text(told, "source"),
        prompt=_text(told, "prompt"),
        again=told.get("stop_hook_active") is True,
        reply=reply if isinstance(reply, str) else None,
    )


def answer_hook(given: HookInput, session: Session, *, interactive: bool = True) -> HookAnswer:
    """Do what the event calls for.

    Args:
        given: what happened.
        session: the conversation it happened in.
        interactive: whether a person looks on. Otherwise the last answer is a program's result, so that no turn of
            ours may come after it.
    """
    match given.event:
        case "session-start":
            return _session_start(given, session)
        case "user-prompt":
            answer = session.recall(given.prompt)
            session.begin_turn(given.prompt)
            return HookAnswer(_context("UserPromptSubmit", answer.prepend_context), answer.reasons)
        case "stop":
            return _stop(given, session, interactive=interactive)
        case "pre-compact":
            return HookAnswer(None, session.compact())
        case _:
            assert_never(given.event)


def _session_start(given: HookInput, session: Session) -> HookAnswer:
    compacted = given.source == "compact"
    forgotten = compacted or given.source == "clear"
    context = session.start(renew=forgotten, max_chars=CONTEXT_CHARS)
    late = session.late_flush() if compacted else None
    texts = [context.text, late.turn.prompt if late and late.turn else ""]
    reasons = (*context.reasons, *(late.reasons if late else ()))
    return HookAnswer(_context("SessionStart", "\n\n".join(text for text in texts if text)), reasons)


def _stop(given: HookInput, session: Session, *, interactive: bool) -> HookAnswer:
    """The agent has answered: capture, and see to it that what must last is written down before a compaction."""
    if given.again:
        result = session.flushed(given.reply)
        return HookAnswer(None, result.reasons if result else ())
    replied = [Message("assistant", given.reply)] if given.reply else []
    reasons = session.end_turn([*session.turn_messages(), *replied])
    try:
        full = context_usage(given.transcript) if interactive else None
    except PathRefused as error:
        return HookAnswer(None, (*reasons, Diagnostic(error.code, f"{error.message}.", error.remedy)))
    if full is None:
        return HookAnswer(None, reasons)
    answer = session.flush(full.tokens, window=full.window, reserve=full.reserve)
    output = {"decision": "block", "reason": answer.turn.prompt} if answer.turn else None
    return HookAnswer(output, (*reasons, *answer.reasons))


def _context(event: str, text: str) -> dict[str, Any] | None:
    """The form in which both programs take text for the model."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else None


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""
