"""Disarm tags, roles and special tokens in quoted text: replace their brackets with parentheses, which stay readable.

A parser or a model treats `</memoriter-recall>`, `<|im_start|>`, `[INST]` or a line `Human:` as structure. It may do so
with look-alikes too: other brackets, letters of other scripts, entities, blanks in between. `(system)` is no structure.
HTML for the look of text, addresses in angle brackets and comparisons stay unchanged.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from memoriter.workspace.untrusted._characters import folded, skeleton, without_digits

if TYPE_CHECKING:
    from collections.abc import Iterator

_AMP = "&(?:amp;){0,8}"
_MARKER = r"\[U\+[0-9A-F]{4,6}\]|\[\d[\d,]{0,12} hidden characters\]"
_FILLER = rf"(?:{_MARKER}|[\s*`~\\\"'])*+"
_OPEN = re.compile(
    rf"""(?ix)
      (?P<plain> < | {_AMP} (?: lt (?: ; | (?= [/|!?\s] ) ) | \#0{{0,8}}60;? | \#x0{{0,8}}3c;? )
               | %3c | \\u003c | \\x3c )
    | (?P<like> [＜﹤ᐸ‹⟨〈〈❮❰⟪˂⧼⦑≺⋖ᑉ] | {_AMP} (?: lsaquo | lang | langle ) ; )
    | (?P<weak> [«《] )
    """
)
_CLOSE = re.compile(
    rf"(?i)>|{_AMP}(?:gt;?|#0{{0,8}}62;?|#x0{{0,8}}3e;?|rsaquo;|rang;|rangle;)|%3e|\\u003e|\\x3e|[＞﹥ᐳ›⟩〉〉❯❱⟫˃⧽⦒≻⋗»》]"
)
_INSIDE = re.compile(
    rf"(?P<filler>{_FILLER})(?P<sigil>(?:[/⁄∕╱／|｜¦∣│ǀ!！?？]|{_FILLER}(?=[/|｜]))*+)(?:{_FILLER})"
    rf"(?P<name>[^\W\d_](?:(?![ᐸᐳ˂˃])[\w.:·▁-]|{_MARKER}){{0,79}})?"
)
_ADDRESS = re.compile(
    r"(?i)(?:https?|ftp|file|mailto|tel|ssh|git|obsidian|memoriter):[^\s<>]{1,2000}>|[^\s<>@]{1,200}@[^\s<>@]{1,200}>"
)
_PRESENTATION_WORDS = """
a abbr b big blockquote br caption center cite code col dd del details dfn div dl dt em figcaption figure font
footer h1 h2 h3 h4 h5 h6 header hr html i img ins kbd label legend li main mark nav ol p picture pre q rp rt
ruby samp section small span strike strong sub summary sup svg table tbody td tfoot th thead time title tr tt u
ul var video wbr
"""
_PRESENTATION_NAMES = frozenset(_PRESENTATION_WORDS.split())
"""HTML names that only affect how text looks."""
_STRUCTURAL_WORDS = """
system sys assistant user human developer tool tools function functions invoke parameter parameters instruction
instructions inst prompt memory memories relevant recall context message messages role start end bos
eos s im endoftext eot eom turn thinking think reasoning result results response answer document documents admin
root policy reminder override antml channel analysis final call calls command hook agent bot model ai claude gpt
chatgpt gemini llama openai anthropic im_start im_end fim sep pad cls mask startoftext header_id eot_id
system_prompt 系统 系統 用户 用戶 助手
指令 提示 システム ユーザー アシスタント 指示
시스템 사용자 어시스턴트 지시 система система пользователь ассистент
systeme utilisateur benutzer usuario sistema asistente assistente
memoriter
"""
_STRUCTURAL_NAMES = frozenset(_STRUCTURAL_WORDS.split())
_BRACKET = re.compile(
    rf"[\[［【〔](?P<slash>{_FILLER}[/／]?{_FILLER})(?P<name>[^\W\d_](?:[\w -]|{_MARKER}){{0,40}}+)"
    rf"(?P<close>[\]］】〕])(?=(?P<link>[(\[:]?))"
)
_BRACKETED_WORDS = """
inst sys system assistant user human developer tool tools tool_calls tool_call tool_results tool_result
available_tools system_prompt system_message developer_message im_start im_end instruction instructions 系统 系統
システム 시스템
"""
_BRACKETED = frozenset(_BRACKETED_WORDS.split())
_ALWAYS_BRACKETED_WORDS = """
inst sys tool_calls tool_call tool_results tool_result available_tools system_prompt
"""
_ALWAYS_BRACKETED = frozenset(_ALWAYS_BRACKETED_WORDS.split())
_ROLE = re.compile(
    rf"(?m)^(?P<lead>(?:[ \t>#*_|]|{_MARKER})*+)(?P<role>[^\W\d_](?:\w|[ -](?=\w)|{_MARKER}){{0,24}})"
    rf"(?=[*_ \t]{{0,8}}[:：﹕︰])"
)
_ROLES_WORDS = """
human assistant system developer user tool function instruction instructions response ai model chatgpt claude 系统
系統 用户 用戶 助手 人类 システム
ユーザー アシスタント 人間 시스템 사용자 어시스턴트
система пользователь ассистент systeme utilisateur benutzer
usuario sistema asistente assistente
"""
_ROLES = frozenset(_ROLES_WORDS.split())


def without_tags(text: str) -> str:
    """Return the text with the brackets of tags, roles and special tokens as parentheses; see `neutral`."""
    return _ROLE.sub(_replace_role, _BRACKET.sub(_replace_bracket, "".join(_replace_brackets(text))))


def brackets(text: str) -> dict[int, tuple[int, str]]:
    """Map the offset of each bracket of a tag to its end and the parenthesis that may replace it."""
    closes = [match.span() for match in _CLOSE.finditer(text)]
    edges: dict[int, tuple[int, str]] = {}
    ends = set[int]()
    next_close = line_end = 0
    for opening in _OPEN.finditer(text):
        inside = _INSIDE.match(text, opening.end())
        if inside is None or not inside["name"]:
            continue
        while next_close < len(closes) and closes[next_close][0] < inside.end():
            next_close += 1
        if line_end < inside.end():
            newline = text.find("\n", inside.end())
            line_end = len(text) if newline < 0 else newline
        close = closes[next_close] if next_close < len(closes) else None
        # An entity without a semicolon may end here, and its last letter will be replaced with a parenthesis.
        before = "" if opening.start() in ends else text[opening.start() - 1 : opening.start()]
        if not _is_structure(text, opening, inside, before, closed=close is not None and close[0] < line_end):
            continue
        edges[opening.start()] = opening.end(), "("
        ends.add(opening.end())
        if close is not None:
            edges[close[0]] = close[1], ")"
            ends.add(close[1])
    return edges


def without_brackets(text: str) -> str:
    """Return the text without any bracket that could open a tag, whatever follows it."""
    return without_tags(_OPEN.sub("(", text))


def _replace_brackets(text: str) -> Iterator[str]:
    """Yield the text in pieces, with parentheses instead of brackets."""
    at = 0
    for start, (end, parenthesis) in sorted(brackets(text).items()):
        yield text[at:start]
        yield parenthesis
        at = end
    yield text[at:]


def _is_structure(text: str, opening: re.Match[str], inside: re.Match[str], before: str, *, closed: bool) -> bool:
    name, sigil = _plain_name(inside["name"]), inside["sigil"]
    words = [word for word in re.split(r"[._:▁·-]+", name) if word]
    is_structural = any(word in _STRUCTURAL_NAMES for word in words) or name in _STRUCTURAL_NAMES
    if opening["weak"]:
        return bool(sigil) and is_structural
    if opening["like"]:
        return is_structural or "/" in folded(sigil) or "|" in folded(sigil)
    if sigil:
        return not (set(sigil) == {"/"} and name in _PRESENTATION_NAMES)
    if inside["filler"].strip(" \t\r\n") != inside["filler"]:
        return is_structural and all(word in _STRUCTURAL_NAMES for word in words)
    if is_structural:
        return True
    if name in _PRESENTATION_NAMES or before.isalnum() or before == "_" or _ADDRESS.match(text, opening.end()):
        return False
    return closed


@lru_cache(maxsize=4_096)
def _plain_name(name: str) -> str:
    """Return the known name that a name looks like, as `system` for `syst3m`, or else its folded form."""
    shape = skeleton(folded(name))
    words = {shape, folded(name), *without_digits(shape)}
    return next((word for word in sorted(words) if word in _STRUCTURAL_NAMES or word in _ROLES), shape)


def _replace_bracket(match: re.Match[str]) -> str:
    name = _plain_name(match["name"]).strip().replace(" ", "_").replace("-", "_")
    if name not in _BRACKETED or (match["link"] and name not in _ALWAYS_BRACKETED):
        return match[0]
    return f"({match['slash']}{match['name']})"


def _replace_role(match: re.Match[str]) -> str:
    role = _plain_name(match["role"])
    return f"{match['lead']}({match['role']})" if role in _ROLES else match[0]
