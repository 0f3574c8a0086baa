"""Prompts of a chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

OPENING = "You talk with the user in a terminal. Answer in the language of the message, briefly, in plain text."
WITH_TOOLS = (
    "You remember earlier conversations: call memory_search before you answer about work, decisions, dates, people or "
    "preferences of the user, and say where it stands. If nothing is found, say so. What must last you write down with "
    "memory_append."
)
SUMMARY_SYSTEM = "You summarise conversations for the assistant who will continue them."
SUMMARY = """\
Summarise this conversation so that it can go on without its text: what the user wants, what was decided and why, \
facts and names as they were given, what is done and what is open. At most 300 words, in the user's language. Do not \
answer anything in it.

<conversation>
{conversation}
</conversation>"""
SO_FAR = "The conversation so far, in a summary:"


def opening(tools: Sequence[str]) -> str:
    """Return the opening of the system prompt, which depends on the names of the tools."""
    return f"{OPENING}\n\n{WITH_TOOLS}" if "memory_search" in tools else OPENING


def instructions(beginning: str, context: str, summary: str) -> str:
    """Return the system prompt.

    Args:
        beginning: the purpose of the turn.
        context: the context of the session from its start.
        summary: of the earlier conversation; empty: there is none.
    """
    so_far = f"{SO_FAR}\n\n{summary}" if summary else ""
    return "\n\n".join(part for part in (beginning, context, so_far) if part)


def summary_prompt(conversation: str, longest: int) -> str:
    """Return the request for a summary of at most `longest` characters of conversation; it keeps the end."""
    kept = conversation if len(conversation) <= longest else f"[…]\n{conversation[-longest:]}"
    return SUMMARY.format(conversation=kept)
