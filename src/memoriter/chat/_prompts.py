"""What the model is told in a chat."""

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
    """What the model is told of itself, by the names of its tools."""
    return f"{OPENING}\n\n{WITH_TOOLS}" if "memory_search" in tools else OPENING


def instructions(beginning: str, context: str, summary: str) -> str:
    """The system prompt.

    Args:
        beginning: what the turn is for.
        context: what the session was given when it began.
        summary: of what was said before; empty: nothing was.
    """
    so_far = f"{SO_FAR}\n\n{summary}" if summary else ""
    return "\n\n".join(part for part in (beginning, context, so_far) if part)


def summary_prompt(conversation: str, longest: int) -> str:
    """The request for a summary of at most so many characters of conversation: its end counts most."""
    kept = conversation if len(conversation) <= longest else f"[…]\n{conversation[-longest:]}"
    return SUMMARY.format(conversation=kept)
