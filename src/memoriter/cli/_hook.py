"""`memoriter hook`."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from memoriter.cli._options import STANDING, Command, GlobalOptions, ask_server
from memoriter.cli._render import describe_failure
from memoriter.coding_hooks import HOOKS, LONGEST_INPUT
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.environment import Environment

REPEATABLE = {"session-start", "user-prompt"}
"""Events that may be repeated if a server died in the middle; the others capture and flush."""
UNANSWERED = "The server took this hook and did not answer; it is not repeated, so that nothing is done twice."
UNATTENDED = "sdk"
"""Start of `CLAUDE_CODE_ENTRYPOINT` if a program, not a person, started Claude Code."""


@click.command(cls=Command, name="hook", context_settings={"ignore_unknown_options": True})
@click.argument("event", nargs=-1, type=click.UNPROCESSED, metavar="EVENT")
@click.option("--shared", is_flag=True, help="Other people read the conversation: omit MEMORY.md.")
def hook_command(event: tuple[str, ...], *, shared: bool) -> None:
    """Give a coding agent its memory. The agent calls this, with JSON on stdin.

        memoriter hook session-start    today's and yesterday's log, and MEMORY.md
        memoriter hook user-prompt      passages that match the message
        memoriter hook stop             ask the agent to write notes before the conversation is compacted
        memoriter hook pre-compact      record that the conversation is being compacted

    Input and output have the format of hooks of Claude Code and Codex. If something fails, the command prints one line
    on stderr and exits with 0, so that the agent can continue. Next: memoriter install claude-code.
    """
    screen = GlobalOptions.current().screen
    try:
        answer = _answer(" ".join(event), shared=shared)
    except Exception as error:  # noqa: BLE001 - a coding agent must continue without its memory
        failure = describe_failure(error)
        screen.note(((_line([f"{failure.message} {failure.remedy}"]), ""),))
        return
    if answer.output is not None:
        screen.json(answer.output)
    if answer.lines:
        screen.note(((_line(answer.lines), ""),))


@dataclass(frozen=True, slots=True)
class _Answer:
    output: Any
    """Output for the coding agent; None: no output."""
    lines: tuple[str, ...]
    """Diagnostics for a person."""


def _answer(event: str, *, shared: bool) -> _Answer:
    """Answer by a server of this memory if there is one, else in this process, unless the server may have acted."""
    from memoriter.environment import read_environment

    options, payload = GlobalOptions.current(), sys.stdin.buffer.read(LONGEST_INPUT)
    if options.workspace is None and (folder := _working_folder(payload)):
        os.chdir(folder)  # the agent may run its hooks in another folder than its own
    env = read_environment()
    attended = not env.environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith(UNATTENDED)
    return _delegate(options, env, event, payload, shared=shared, attended=attended) or _answer_here(
        options, event, payload, shared=shared, attended=attended
    )


def _delegate(
    options: GlobalOptions, env: Environment, event: str, payload: bytes, *, shared: bool, attended: bool
) -> _Answer | None:
    from memoriter.discovery import Call, Unanswered

    if event not in HOOKS.values():
        return None
    call = Call(f"/hook/{event}?shared={int(shared)}&attended={int(attended)}", payload)
    try:
        reply = ask_server(options, env, call, exact=False)
    except Unanswered:
        return None if event in REPEATABLE else _Answer(None, (UNANSWERED,))
    if reply is None:
        return None
    return _Answer(json.loads(reply.body) if reply.body else None, reply.reasons)


def _answer_here(options: GlobalOptions, event: str, payload: bytes, *, shared: bool, attended: bool) -> _Answer:
    from memoriter.agent import answer_hook, read_hook

    hook = read_hook(event, payload.decode("utf-8", "replace"))
    memory = options.open_silently()
    try:
        session = memory.session(hook.session, audience="shared" if shared else "private")
        if hook.event == "user-prompt":
            options.show_egress_notice(memory)
        answer = answer_hook(hook, session, interactive=attended)
        if hook.event == "session-start":
            memory.session_started(hook.session)
        reasons = (*(notice for notice in memory.notices if notice.code not in STANDING), *answer.reasons)
        return _Answer(answer.output, tuple(f"{reason.message} {reason.remedy}" for reason in reasons))
    finally:
        with suppress(Exception):  # a late recall may still use the index; that must not lose the answer
            memory.close()


def _working_folder(payload: bytes) -> str | None:
    """Return the working folder of the agent if the input names an existing one, else None."""
    try:
        document: Any = json.loads(payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    folder = cast("dict[str, Any]", document).get("cwd") if isinstance(document, dict) else None
    try:
        return folder if isinstance(folder, str) and folder and Path(folder).is_dir() else None
    except ValueError:
        return None


def _line(texts: Sequence[str]) -> str:
    return f"memoriter: {' '.join(' '.join(texts).split())}"
