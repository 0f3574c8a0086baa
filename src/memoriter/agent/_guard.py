"""Text out of a memory may be anybody's: it must not leave its quotes, nor tell the model what to do."""

from __future__ import annotations

import re

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
_MORE_ORDERS = re.compile(
    r"""(?ix)
      \b (?: ignore | disregard | forget | override ) \s (?: \w+ \s ){0,3}? (?: instructions | rules | prompts? ) \b
    | \b (?: you \s are \s now | new \s instructions \s? : )
    | \b (?: ignoriere | vergiss ) \s (?: \w+ \s ){0,3}? (?: anweisungen | regeln )
    | \b (?: ignora | olvida ) \s (?: \w+ \s ){0,3}? (?: instrucciones | reglas )
    | \b (?: ignore | oublie ) [zs]? \s (?: \w+ \s ){0,3}? (?: instructions | consignes )
    | (?: 이전 | 모든 | 위의 ) .{0,8} (?: 지시 | 명령 | 지침 ) .{0,6} (?: 무시 | 잊 )
    | (?: 忽略 | 无视 | 無視 ) .{0,8} (?: 指令 | 指示 | 规则 | 規則 )
    | (?: 指示 | 命令 ) .{0,4} (?: 無視 | 忘れ )
    """
)
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


def gives_orders(text: str) -> bool:
    """Whether a note speaks to a model in order to turn it; notes of the owner's may well speak of commands."""
    plain = " ".join(text.split())
    return bool(_ORDERS.search(plain) or _MORE_ORDERS.search(plain))
