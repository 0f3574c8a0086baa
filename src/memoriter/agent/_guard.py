"""Text out of a memory may be anybody's: it must not leave its quotes, nor tell the model what to do."""

from __future__ import annotations

import re

from memoriter.agent._orders import orders_model, turns_model

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_ORDERS = re.compile(
    r"""(?ix)
      ignore \s (?: all | any | previous | above | prior ) \s instructions
    | do \s not \s follow \s (?: the \s )? (?: system | developer )
    | system \s prompt
    | developer \s message
    | < \s* (?: system | assistant | developer | tool | function | relevant-memories ) \b
    """
)
"""Sentences that speak to a model rather than to a reader, in the words that the original looks for."""
_TOOLS = re.compile(r"(?is)\b(?:run|execute|call|invoke)\b.{0,40}\b(?:tool|command)\b")


def escape_for_prompt(text: str) -> str:
    """The text with nothing left in it that could close what it is quoted in."""
    return text.translate(_ESCAPES)


def looks_like_injection(text: str) -> bool:
    """Whether a text of unknown origin tries to tell a model what to do, also by speaking of tools and commands.

    A sentence can always be written that this does not see: it is a sieve, and the quotes are the wall.
    """
    plain = " ".join(text.split())
    return bool(_ORDERS.search(plain) or _TOOLS.search(plain))


def gives_orders(text: str, *, owned: bool = True) -> bool:
    """Return whether a text speaks to a model in order to turn it.

    Args:
        text: a note, or a part of one.
        owned: whether the owner wrote it. Their notes may well speak of commands, tools and prompts.
    """
    return turns_model(text) if owned else looks_like_injection(text) or orders_model(text)
