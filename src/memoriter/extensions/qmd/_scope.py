"""Which conversations may be answered, by the key of their session and the rules of `memory.qmd.scope`.

A session key is `agent:<id>:<rest>`, or the rest alone. The rest is `<channel>:<chat type>:<peer>`, such as
`discord:group:7`, or any other name, such as `main`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.extensions.qmd.settings import QmdMatch, QmdScope

ChatType = Literal["direct", "group", "channel"]
AGENT = "agent"
SUBAGENT = "subagent:"
"""The beginning of the names of sessions that another session started; they belong to no conversation."""
CHAT_TYPES: dict[str, ChatType] = {"direct": "direct", "dm": "direct", "group": "group", "channel": "channel"}
SHARED = ("group", "channel")


@dataclass(frozen=True, slots=True)
class SessionScope:
    """The parts of a session key that rules match, in lower case."""

    key: str | None = None
    """Without `agent:<id>:`; None if the key is blank or names the session of a subagent."""
    channel: str | None = None
    chat_type: ChatType | None = None


def session_scope(session: str | None) -> SessionScope:
    """Return the parts of a session key.

    >>> session_scope("agent:main:discord:group:5").chat_type
    'group'
    """
    key = _without_agent((session or "").strip()).lower()
    if not key or key.startswith(SUBAGENT):
        return SessionScope()
    words = [word for word in key.split(":") if word]
    if len(words) > 1 and words[1] in CHAT_TYPES:
        shared = next((kind for kind in SHARED if kind in words), "direct")
        return SessionScope(key, words[0], CHAT_TYPES[shared])
    shared = next((kind for kind in SHARED if f":{kind}:" in key), "direct")
    return SessionScope(key, None, CHAT_TYPES[shared])


def _without_agent(key: str) -> str:
    """Return a session key without `agent:<id>:`, if anything follows it."""
    words = [word for word in key.split(":") if word]
    return ":".join(words[2:]) if len(words) > 2 and words[0] == AGENT else key


def scope_allows(scope: QmdScope | None, session: str | None) -> bool:
    """Return whether a session may be answered: the first rule that matches decides, else `default`.

    Args:
        scope: the rules; None, or rules without a `default` of which none matches, allow every session.
        session: the key of the session; None or blank: no session, which matches no rule about one.
    """
    if scope is None:
        return True
    parts = session_scope(session)
    raw = (session or "").strip().lower()
    for rule in scope.rules:
        if _matches(rule.match, parts, raw):
            return rule.action == "allow"
    return scope.default != "deny"


def _matches(match: QmdMatch, parts: SessionScope, raw: str) -> bool:
    """Return whether all conditions of a rule hold. A `keyPrefix` that begins with `agent:` means the raw key."""
    if match.channel and match.channel != parts.channel:
        return False
    if match.chat_type and match.chat_type != parts.chat_type:
        return False
    raw_prefix = _prefix(match.raw_key_prefix)
    prefix = _prefix(match.key_prefix)
    whole = raw if prefix.startswith(f"{AGENT}:") else parts.key or ""
    return raw.startswith(raw_prefix) and whole.startswith(prefix)


def _prefix(text: str | None) -> str:
    return (text or "").strip().lower()


def scope_denied(session: str) -> Diagnostic:
    """Return the diagnostic of a search that the rules do not allow; it names no part of the key but these two."""
    parts = session_scope(session)
    where = f"the channel is {parts.channel or 'unknown'}, the type of chat {parts.chat_type or 'unknown'}"
    message = f"The rules of memory.qmd.scope do not allow this conversation to search the memory: {where}."
    return Diagnostic("scope_denied", message, "Add a rule that allows it to memory.qmd.scope.rules, if it should.")
