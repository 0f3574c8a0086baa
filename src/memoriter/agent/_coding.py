"""The hooks of coding agents: parse the JSON that they write to stdin, and build the JSON that they read from stdout.

The context usage of a conversation is read from the end of its transcript.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never, cast

from memoriter.agent._bus import Message
from memoriter.agent._session_files import table_of
from memoriter.agent.capture import Conversation, read_conversation
from memoriter.agent.capture._capture import read_ends
from memoriter.agent.flush import DEFAULT_WINDOW
from memoriter.coding_hooks import GEMINI_HOOKS, HOOKS, HookEvent, parse_input
from memoriter.errors import PathRefused, UsageError, sentence
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memoriter.agent._bus import HookResult
    from memoriter.agent._session import Session

log = logging.getLogger(__name__)
_GEMINI_CONTEXT = re.compile(r"\A\s*(?:<hook_context>.*?</hook_context>\s*)+", re.DOTALL)
"""What Gemini CLI puts before the first message of `gemini -p`: the text of the hooks at its start."""
INPUT_REMEDY = "Let a coding agent call this command; it writes the input."
CONTEXT_CHARS = 8_000
"""Characters of the session's context. Claude Code accepts 10,000 characters from a hook, and a flush request may
follow the context."""


@dataclass(frozen=True, slots=True)
class HookInput:
    """An event that a coding agent reported."""

    event: HookEvent
    session: str
    cwd: str = ""
    transcript: str = ""
    source: str = ""
    """Reason for a session start: `startup`, `resume`, `clear`, `compact`."""
    prompt: str = ""
    again: bool = False
    """True if a hook made the agent continue after an earlier stop."""
    reply: str | None = None
    """The agent's last answer."""
    is_codex: bool = False
    """True if Codex reported the event; it refuses the fields of an answer that it does not know."""
    name: str = ""
    """The client's name of the event."""
    summary: str = ""
    """The summary that replaced the conversation. Claude Code reports it; Codex only writes it to its transcript."""


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The response to the coding agent, and diagnostics for people."""

    output: dict[str, Any] | None
    """JSON for stdout; None: print nothing, and the agent continues."""
    reasons: tuple[Diagnostic, ...] = ()
    kept: tuple[str, ...] = ()
    """What listeners kept of the turn, one line each, for the person."""
    recalled: HookResult | None = None
    """What the recall before a prompt found; None: nothing was recalled."""


def read_hook(event: str, payload: bytes) -> HookInput:
    """Parse and validate the input of a hook.

    Raises:
        UsageError: the event is unknown, or the text is not valid input for this hook.
    """
    if event not in HOOKS.values():
        raise UsageError(f"There is no hook {event!r}.", remedy=f"Name one of: {', '.join(HOOKS.values())}.")
    try:
        parsed = parse_input(payload)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The input is not JSON: {sentence(error)}", remedy=INPUT_REMEDY) from error
    if not isinstance(parsed, dict):
        raise UsageError("The input is not a JSON object.", remedy=INPUT_REMEDY)
    fields = cast("dict[str, Any]", parsed)
    reported = fields.get("hook_event_name")
    if reported is not None and (HOOKS | GEMINI_HOOKS).get(str(reported)) != event:
        raise UsageError(f"This is the hook for {event}, but {reported} happened.", remedy="Correct the agent's hooks.")
    session = _text(fields, "session_id").strip()
    if not session:
        raise UsageError("The input has no session_id.", remedy=INPUT_REMEDY)
    reply = fields.get("last_assistant_message", fields.get("prompt_response"))
    prompt = _text(fields, "prompt")
    return HookInput(
        event=cast("HookEvent", event),
        session=session,
        cwd=_text(fields, "cwd"),
        transcript=_text(fields, "transcript_path"),
        source=_text(fields, "source"),
        prompt=_GEMINI_CONTEXT.sub("", prompt) if reported in GEMINI_HOOKS else prompt,
        again=fields.get("stop_hook_active") is True,
        reply=reply if isinstance(reply, str) else None,
        name=str(reported or next(name for name, word in HOOKS.items() if word == event)),
        is_codex="turn_id" in fields or Path(_text(fields, "transcript_path")).name.startswith("rollout-"),
        summary=_text(fields, "compact_summary"),
    )


TROUBLE = frozenset(
    {
        *("config", "embedding", "index", "index_damaged", "index_foreign", "missing_package", "model", "not_sent"),
        *("out_of_quota", "over_budget", "plugin_failed", "provider_unavailable", "provider_unknown", "time_zone"),
        *("unauthorised", "workspace"),
    }
)
"""Codes of diagnostics that the person must see, because nothing else would show them and only a person can help."""


def answer_hook(
    hook_input: HookInput,
    session: Session,
    *,
    interactive: bool = True,
    seconds: float | None = None,
    problems: Sequence[Diagnostic] = (),
) -> HookAnswer:
    """Handle an event and return the response.

    Unless the conversation is `interactive`, its last answer is a program's result, so no turn of memoriter may follow
    it. A prompt waits for `seconds` at most; None: as in a program of one's own. `problems` are what is wrong with the
    memory, whatever the event.
    """
    started = session.monotonic()
    answer = _answer(hook_input, session, interactive=interactive, seconds=seconds)
    # Claude Code prints the output of the hook after a compaction as it is, with its braces.
    shows = hook_input.event == "session-start" or (hook_input.event == "post-compact" and hook_input.is_codex)
    news = session.capture_news() if interactive and shows else ""
    news = "\n".join(filter(None, (news, *(f"memoriter: {text}" for text in answer.kept))))
    answer = _with_message(replace(answer, reasons=(*problems, *answer.reasons)), session, news)
    outcome = "text for the agent" if answer.output else "no text"
    milliseconds = (session.monotonic() - started) * 1000
    log.info("hook %s: %s, %d diagnostics, %.1f ms", hook_input.event, outcome, len(answer.reasons), milliseconds)
    return answer


def _with_message(answer: HookAnswer, session: Session, news: str) -> HookAnswer:
    """Return the answer with a message to the person: news, and troubles that the conversation has not shown yet."""
    troubles = session.unseen([reason for reason in answer.reasons if reason.code in TROUBLE])
    message = "\n".join(filter(None, (system_message(troubles) if troubles else "", news)))
    if not message:
        return answer
    return replace(answer, output={**(answer.output or {}), "systemMessage": message})


def system_message(reasons: Iterable[Diagnostic]) -> str:
    """Return diagnostics in the form in which a coding agent shows them to the person."""
    return " ".join(["memoriter:", *(f"{reason.message} {reason.remedy}".strip() for reason in reasons)])


def _answer(hook_input: HookInput, session: Session, *, interactive: bool, seconds: float | None) -> HookAnswer:
    match hook_input.event:
        case "session-start":
            return _session_start(hook_input, session)
        case "user-prompt":
            session.begin_turn(hook_input.prompt)  # first, because the client may end a slow hook
            answer = session.recall(hook_input.prompt, seconds=seconds)
            output = _context_output(hook_input.name, answer.prepend_context)
            return HookAnswer(output, answer.reasons, recalled=answer)
        case "stop":
            return _stop(hook_input, session, interactive=interactive)
        case "pre-compact":
            return HookAnswer(None, session.compact())
        case "post-compact" | "session-end":
            return HookAnswer(None, _record(hook_input, session, interactive=interactive))
        case _:
            assert_never(hook_input.event)


def _session_start(hook_input: HookInput, session: Session) -> HookAnswer:
    compacted = hook_input.source == "compact"
    renew = compacted or hook_input.source == "clear"
    context = session.start(renew=renew, max_chars=CONTEXT_CHARS, index=False)
    flush = session.late_flush() if compacted else None
    texts = [context.text, flush.turn.prompt if flush and flush.turn else ""]
    reasons = (*context.reasons, *(flush.reasons if flush else ()))
    return HookAnswer(_context_output(hook_input.name, "\n\n".join(text for text in texts if text)), reasons)


def _stop(hook_input: HookInput, session: Session, *, interactive: bool) -> HookAnswer:
    """Capture the turn if a person has led it, and request a flush if a compaction is near."""
    if hook_input.again:
        result = session.flushed(hook_input.reply)
        return HookAnswer(None, result.reasons if result else ())
    answer_messages = [Message("assistant", hook_input.reply)] if hook_input.reply else []
    said = session.turn_messages()
    if not interactive:  # what a program passes to the client may be anybody's words
        return HookAnswer(None)
    capture = session.capture([*said, *answer_messages])
    try:
        usage = context_usage(hook_input.transcript)
    except PathRefused as error:
        reason = Diagnostic.of(error)
        return HookAnswer(None, (*capture.reasons, reason), capture.texts)
    if usage is None:
        return HookAnswer(None, capture.reasons, capture.texts)
    answer = session.flush(usage.tokens, window=usage.window, reserve=usage.reserve)
    prompt = answer.turn.prompt if answer.turn else ""
    reasons = (*capture.reasons, *answer.reasons)
    if hook_input.is_codex and prompt:
        return HookAnswer({"decision": "block", "reason": prompt}, reasons, capture.texts)
    # Claude Code shows "block" as a problem that a hook has reported.
    return HookAnswer(_context_output(hook_input.name, prompt), reasons, capture.texts)


def _record(hook_input: HookInput, session: Session, *, interactive: bool) -> tuple[Diagnostic, ...]:
    """Record a conversation that was compacted or ends, if the settings want that and a person has led it."""
    conversation: Conversation | None = None
    reasons = tuple[Diagnostic, ...]()
    if interactive and session.captures:
        client = "Codex" if hook_input.is_codex else "Claude Code"
        try:
            conversation = read_conversation(hook_input.transcript, client=client, cwd=hook_input.cwd)
        except PathRefused as error:
            reasons = (Diagnostic.of(error),)
    if hook_input.event == "session-end":
        return (*reasons, *session.end(conversation))
    return (*reasons, *(session.compacted(conversation, hook_input.summary) if conversation is not None else ()))


def _context_output(event: str, text: str) -> dict[str, Any] | None:
    """Return the JSON in which the programs accept text for the model."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else None


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


TAIL_BYTES = 1 << 20
"""Bytes read from the end of a transcript; the last answer holds the total."""
CLAUDE_RESERVE = 33_000
"""Tokens. Claude Code compacts at its window less 20,000 tokens for the answer and 13,000 as a margin."""
LARGE_WINDOW = 1_000_000
OLDER_MODELS = ("haiku", "claude-2", "claude-3", "claude-opus-4", "claude-sonnet-4")
"""Parts of the names of the Claude models that have the default window; the others have the large one."""
USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """Context usage of a conversation, in tokens."""

    tokens: int
    window: int | None = None
    """Tokens that the model can hold; None: unknown."""
    reserve: int = 0
    """Distance below the window at which the agent compacts."""


def context_usage(transcript: str) -> ContextUsage | None:
    """Return the context usage of a conversation, or None if it is unknown.

    It is also None if the conversation holds nothing since its last compaction, or if its last answer is the result of
    a program (`codex exec`).

    Raises:
        PathRefused: the path is not a plain file owned by this user, or it cannot be read.
    """
    ends = read_ends(transcript, TAIL_BYTES)
    if ends is None:
        return None
    first = next(_parse_entries([ends[0]]), dict[str, Any]())
    if first.get("type") == "session_meta" and table_of(first.get("payload")).get("source") == "exec":
        return None
    for entry in _parse_entries(reversed(ends[1])):
        kind = entry.get("type")
        if kind == "compacted" or entry.get("subtype") == "compact_boundary":
            return None
        usage = None
        if kind == "assistant":
            usage = _claude_usage(entry)
        elif kind == "event_msg":
            usage = _codex_usage(entry)
        if usage is not None:
            return usage
    return None


def _parse_entries(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue  # an empty or incomplete line, or not a transcript
        if isinstance(entry, dict):
            yield cast("dict[str, Any]", entry)


def _claude_usage(entry: dict[str, Any]) -> ContextUsage | None:
    usage = table_of(table_of(entry.get("message")).get("usage"))
    tokens = sum(_count(usage.get(name)) for name in USAGE)
    if entry.get("isSidechain") or not tokens:
        return None
    model = str(table_of(entry.get("message")).get("model"))
    is_large = "claude-" in model and not any(part in model for part in OLDER_MODELS)
    return ContextUsage(tokens, LARGE_WINDOW if is_large or tokens > DEFAULT_WINDOW else None, CLAUDE_RESERVE)


def _codex_usage(entry: dict[str, Any]) -> ContextUsage | None:
    info = table_of(table_of(entry.get("payload")).get("info"))
    tokens = _count(table_of(info.get("last_token_usage")).get("total_tokens"))
    return ContextUsage(tokens, _count(info.get("model_context_window")) or None) if tokens else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
