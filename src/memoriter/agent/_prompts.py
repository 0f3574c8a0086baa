"""Prompts that ask the model to write down lasting facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.agent._flush import NO_REPLY

if TYPE_CHECKING:
    from datetime import datetime

DAY = "YYYY-MM-DD"
"""Placeholder for today's date in a user's own prompt."""
CLOCK = "Current time:"

FLUSH = f"""\
This conversation will soon be replaced by a summary. Before that, write down what must not be lost: decisions and why \
they were made, preferences, facts about people and the work, what is still open.

Append it to memory/{DAY}.md (make the file if it is not there), each as a list item of one or two whole sentences \
that will be understood without this conversation. Use memory_append if you have that tool. Only append: change, move \
or overwrite nothing in the file, and write no other file. Leave out what it says already, and passwords and keys.

If nothing has to be kept, or when you are done, answer with exactly {NO_REPLY}."""
FLUSH_SYSTEM = (
    "This turn serves only to save memories before the conversation is compacted. The user does not see it. "
    f"Write what must last, then answer {NO_REPLY}."
)
HINT = f"If there is nothing to store, answer with exactly {NO_REPLY}."
LATE = (
    "This conversation was just replaced by a summary, and what was to be kept of it had not been written down yet. "
    "Before you go on with what the user wants: "
)


def flush_prompt(own: str | None, now: datetime) -> str:
    """Return the flush request, with the date and the time.

    Args:
        own: a prompt from the user's settings that replaces the default.
        now: the current time, in the user's time zone.
    """
    return _add_time(_add_hint(own or FLUSH).replace(DAY, now.date().isoformat()), now)


def flush_system_prompt(own: str | None, now: datetime) -> str:
    """Return the system prompt of the flush turn."""
    return _add_hint(own or FLUSH_SYSTEM).replace(DAY, now.date().isoformat())


def late_prompt(prompt: str) -> str:
    """Return the request for a conversation that was compacted before its flush."""
    return f"{LATE}{prompt}"


def _add_hint(text: str) -> str:
    return text if NO_REPLY in text else f"{text.rstrip()}\n\n{HINT}"


def _add_time(text: str, now: datetime) -> str:
    if CLOCK in text:
        return text
    offset = f"{now:%z}"
    return f"{text.rstrip()}\n\n{CLOCK} {now:%Y-%m-%d %H:%M} (UTC{offset[:3]}:{offset[3:5]})"
