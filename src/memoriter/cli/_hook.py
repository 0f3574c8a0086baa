"""`memoriter hook`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoriter.cli._asked import Asked, Command
from memoriter.cli._failure import failure_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.agent import HookAnswer

UNATTENDED = "sdk"
"""How Claude Code's `CLAUDE_CODE_ENTRYPOINT` begins where a program has called it, not a person."""


@click.command(cls=Command, name="hook", context_settings={"ignore_unknown_options": True})
@click.argument("event", nargs=-1, type=click.UNPROCESSED, metavar="EVENT")
@click.option("--shared", is_flag=True, help="Others read along: give nothing out of MEMORY.md.")
def command(event: tuple[str, ...], *, shared: bool) -> None:
    """Give a coding agent its memory. The agent calls this, with JSON on stdin.

        memoriter hook session-start    today's and yesterday's log, and MEMORY.md
        memoriter hook user-prompt      what is remembered and bears on the message
        memoriter hook stop             has notes written before the conversation is compacted
        memoriter hook pre-compact      notes that it is being compacted

    It speaks as Claude Code's and Codex's hooks do. Whatever goes wrong is one line on stderr and never stops the
    agent: the exit code is 0, so that no prompt is refused. Next: memoriter install claude-code.
    """
    screen = Asked.now().screen
    try:
        answer = _answer(event, shared=shared)
    except Exception as error:  # noqa: BLE001 - a coding agent must go on without its memory
        failure = failure_of(error)
        screen.note(((_line([f"{failure.message} {failure.remedy}"]), ""),))
        return
    if answer.output is not None:
        screen.json(answer.output)
    if answer.reasons:
        screen.note(((_line([f"{reason.message} {reason.remedy}" for reason in answer.reasons]), ""),))


def _answer(event: Sequence[str], *, shared: bool) -> HookAnswer:
    from memoriter.agent import LONGEST_INPUT, answer_hook, read_hook
    from memoriter.app import surroundings

    asked = Asked.now()
    given = read_hook(" ".join(event), sys.stdin.buffer.read(LONGEST_INPUT).decode("utf-8", "replace"))
    if asked.workspace is None and given.cwd and Path(given.cwd).is_dir():
        os.chdir(given.cwd)  # where the agent works, wherever it runs its hooks
    unattended = surroundings().environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith(UNATTENDED)
    memory = asked.memory()
    try:
        session = memory.session(given.session, audience="shared" if shared else "private")
        if given.event == "user-prompt":
            asked.told(memory)
        answer = answer_hook(given, session, interactive=not unattended)
        if given.event == "session-start":
            memory.session_started(given.session)
        return answer
    finally:
        with suppress(Exception):  # a recall that is late may still be at the index; the answer is not lost for it
            memory.close()


def _line(texts: Sequence[str]) -> str:
    return f"memoriter: {' '.join(' '.join(texts).split())}"
