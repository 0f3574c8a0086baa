"""`memoriter hook`."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, cast

import click

from memoriter.cli._options import STANDING, Command, GlobalOptions, ask_server, read_environment
from memoriter.cli._render import describe_failure
from memoriter.cli._trust import notice_of_untrusted
from memoriter.coding_hooks import (
    HOOKS,
    LEAST_SECONDS,
    LONGEST_INPUT,
    MOST_SECONDS,
    SECONDS_VARIABLE,
    parse_input,
    parse_seconds,
)
from memoriter.errors import ConfigError
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.cli._render import Screen
    from memoriter.config import Place
    from memoriter.discovery import Call
    from memoriter.environment import Environment

TAKEN_SHARE = 0.4
"""The share of this time within which a server must take the work."""
MORE_SECONDS = 0.25
"""After this much more time the process ends, whatever it is doing."""
LONGEST_SECONDS = 25.0
"""The same for other events, and less than the time limit in the configuration of a client."""
RECALLING = {"session-start", "user-prompt"}
"""Events for which a prompt waits. Another process may repeat them; the others capture and flush."""
UNANSWERED = "The server accepted this hook and did not answer. It is not repeated, so that nothing is done twice."
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
        memoriter hook post-compact     write the summary into today's note, if memory.capture is true
        memoriter hook session-end      write what was asked into today's note, if memory.capture is true

    Input and output have the format of hooks of Claude Code and Codex. If something fails, the command prints one line
    on stderr and exits with 0, so that the agent can continue. Next: memoriter install claude-code.
    """
    from memoriter.environment import own_stdout

    options = GlobalOptions.current()
    word = " ".join(event)
    try:
        seconds = _prompt_seconds(read_environment())
        if options.alone:
            _end_after(seconds + MORE_SECONDS if word in RECALLING else max(seconds, LONGEST_SECONDS), options)
        with own_stdout():  # a plugin may print
            answer = _answer(word, seconds, shared=shared)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a coding agent must continue without its memory
        answer = _failure(word, error)
    _show(options.screen, answer)
    with suppress(Exception), own_stdout():  # the answer is given; a late recall may still use the index
        answer.finish()


def _end_after(seconds: float, options: GlobalOptions) -> None:
    """End this process after so many seconds, whatever it does: the agent goes on without its memory."""

    def end() -> None:
        with suppress(Exception):  # the next hook finds what this one had to wait for
            from memoriter.cli._background import is_allowed, start

            env = read_environment()
            if is_allowed(env, setting=True):
                start(options, env)
        os._exit(0)

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _prompt_seconds(env: Environment) -> float:
    """Return how long a prompt waits for its memory. Raises ConfigError."""
    value = env.environ.get(SECONDS_VARIABLE, "").strip()
    if (seconds := parse_seconds(value)) is not None:
        return seconds
    message = f"{SECONDS_VARIABLE} is {value!r}. It can be a number from {LEAST_SECONDS:g} to {MOST_SECONDS:g}."
    raise ConfigError(message, remedy=f"Correct or unset {SECONDS_VARIABLE}.")


def _show(screen: Screen, answer: _Answer) -> None:
    """Print the answer at once, before anything else is done."""
    if answer.output is not None:
        screen.json(answer.output)
        sys.stdout.flush()
    if answer.lines:
        screen.note(((f"memoriter: {' '.join(' '.join(answer.lines).split())}", ""),))


def _failure(event: str, error: BaseException) -> _Answer:
    """Return the answer if the memory fails. The start of a session shows it to the person, too."""
    from memoriter.agent import system_message
    from memoriter.types import Diagnostic

    failure = describe_failure(error if isinstance(error, Exception) else RuntimeError(f"exit {error}"))
    reason = Diagnostic("error", failure.message, failure.remedy)
    output = {"systemMessage": system_message([reason])} if event == "session-start" else None
    return _Answer(output, (f"{failure.message} {failure.remedy}",))


@dataclass(frozen=True, slots=True)
class _Answer:
    output: Any
    """Output for the coding agent; None: no output."""
    lines: tuple[str, ...]
    """Diagnostics for a person."""
    finish: Callable[[], None] = lambda: None
    """What is done after the answer was printed."""


def _answer(event: str, seconds: float, *, shared: bool) -> _Answer:
    """Answer by a server of this memory if there is one, else in this process, unless the server may have acted."""
    from memoriter.config import find_workspace
    from memoriter.discovery import Call, uses_openclaw

    began = read_environment().monotonic()
    options = GlobalOptions.current()
    payload = sys.stdin.buffer.read(LONGEST_INPUT)
    if options.workspace is None and (folder := _working_folder(payload)):
        os.chdir(folder)  # the agent may run its hooks in another folder than its own
    env = read_environment()
    attended = not env.environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith(UNATTENDED)
    place = find_workspace(
        Path(options.workspace) if options.workspace else None,
        environ=env.environ,
        cwd=env.cwd,
        configured=None,
        home=env.home,
    )
    # A server may have the same folder open because its owner named it, and would take the notes for the owner's.
    project = place.trust == "trusted" and not uses_openclaw(options.config, env)
    query = f"shared={int(shared)}&attended={int(attended)}&project={int(project)}&seconds={seconds:g}"
    call = Call(f"/hook/{event}?{query}", payload)
    if event in RECALLING:
        call = replace(call, answer_seconds=seconds, taken_seconds=TAKEN_SHARE * seconds)
    ends = began + seconds
    answer = _delegate(options, env, event, call, place) or _answer_here(
        options, env, event, payload, ends=ends, shared=shared, attended=attended
    )
    notices = [notice_of_untrusted(place, options, env) if event in RECALLING else ""]
    if event == "session-start":
        from memoriter.cli._installed import outdated_notice

        notices.append(outdated_notice(options))
    notice = "\n".join(filter(None, notices))
    return _add_message(answer, notice) if notice else answer


def _add_message(answer: _Answer, message: str) -> _Answer:
    """Return the answer with one more message to the person; a trouble that it reports already stays."""
    output: dict[str, Any] = answer.output or {}
    messages = filter(None, (output.get("systemMessage"), message))
    return replace(answer, output={**output, "systemMessage": "\n".join(messages)})


def _delegate(options: GlobalOptions, env: Environment, event: str, call: Call, place: Place) -> _Answer | None:
    from memoriter.discovery import Unanswered

    if event not in HOOKS.values():
        return None
    try:
        reply = ask_server(options, env, call, exact=False, place=place)
    except Unanswered:
        return None if event in RECALLING else _Answer(None, (UNANSWERED,))
    if reply is None:
        return None
    return _Answer(json.loads(reply.body) if reply.body else None, reply.reasons)


def _answer_here(
    options: GlobalOptions,
    env: Environment,
    event: str,
    payload: bytes,
    *,
    ends: float,
    shared: bool,
    attended: bool,
) -> _Answer:
    from memoriter.agent import answer_hook, read_hook

    hook = read_hook(event, payload)
    memory = options.open_silently(attended=False)

    def finish() -> None:
        from memoriter.cli._background import start_if_allowed

        try:
            if hook.event != "session-start" or memory.settings.sync.on_session_start:
                start_if_allowed(options, env, memory)
        finally:
            memory.close()

    session = memory.session(hook.session, audience="shared" if shared else "private")
    seconds = max(LEAST_SECONDS, ends - env.monotonic())
    problems = memory.backend.problems if hook.event == "session-start" else ()
    answer = answer_hook(hook, session, interactive=attended, seconds=seconds, problems=problems)
    reasons = (*(notice for notice in memory.notices if notice.code not in STANDING), *answer.reasons)
    return _Answer(answer.output, tuple(f"{reason.message} {reason.remedy}" for reason in reasons), finish)


def _working_folder(payload: bytes) -> str | None:
    """Return the working folder of the agent if the input names an existing one, else None."""
    try:
        document: Any = parse_input(payload)
    except (ValueError, RecursionError):
        return None
    folder = cast("dict[str, Any]", document).get("cwd") if isinstance(document, dict) else None
    try:
        return folder if isinstance(folder, str) and folder and Path(folder).is_dir() else None
    except ValueError:
        return None
