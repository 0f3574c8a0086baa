"""Treat text from memory as untrusted: it must neither close its quotes nor give the model orders."""

from __future__ import annotations

import re

from memoriter.agent._orders import instructs_model, overrides_instructions

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_OVERRIDES = re.compile(
    r"""(?ix)
      ignore \s (?: all | any | previous | above | prior ) \s instructions
    | do \s not \s follow \s (?: the \s )? (?: system | developer )
    | system \s prompt
    | developer \s message
    | < \s* (?: system | assistant | developer | tool | function | relevant-memories ) \b
    """
)
"""Sentences that address a model rather than a reader, in the words that OpenClaw looks for."""
_TOOL_CALLS = re.compile(r"(?is)\b(?:run|execute|call|invoke)\b.{0,40}\b(?:tool|command)\b")


def escape_for_prompt(text: str) -> str:
    """Return the text with every character escaped that could close its quotes."""
    return text.translate(_ESCAPES)


def looks_like_injection(text: str) -> bool:
    """Return whether a text of unknown origin tries to give a model orders, including calls of tools and commands.

    Some orders always pass this filter. It is a sieve; the quotes are the actual protection.
    """
    plain = " ".join(text.split())
    return bool(_OVERRIDES.search(plain) or _TOOL_CALLS.search(plain))


def gives_orders(text: str, *, owned: bool = True) -> bool:
    """Return whether a text tries to give a model orders.

    Args:
        text: a note, or a part of one.
        owned: True if the owner wrote it. An owner's notes may mention commands, tools and prompts.
    """
    return overrides_instructions(text) if owned else looks_like_injection(text) or instructs_model(text)
