"""Make text safe for a model or a terminal: no hidden characters and no structure.

A note may contain anything. Invisible characters can carry orders that no person sees, control characters can drive a
terminal, and a tag can close the quotation around a note or open another role. `neutral` makes the characters visible
and replaces the brackets of tags by parentheses, so that people can still read the text. Plain text of any language is
unchanged.

A parser or a model treats `</memoriter-recall>`, `<|im_start|>`, `[INST]` or a line `Human:` as structure. It may do so
with look-alikes too: other brackets, letters of other scripts, entities, blanks in between. `(system)` is no structure.
HTML for the look of text, addresses in angle brackets and comparisons stay unchanged.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from memoriter.workspace.untrusted._characters import HIDDEN, RUN, folded, skeleton, without_digits

if TYPE_CHECKING:
    from collections.abc import Iterator

_JOINING = re.compile(
    "[\u0600-\u085f\u08a0-\u0dff\u0f00-\u109f\u1780-\u18af\u1a20-\u1b7f\ua800-\ua9ff\uaa00-\uaadf\uabc0-\uabff"
    "\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff]"
)
"""Letters of scripts in which U+200C and U+200D change how a word is written."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3040-\u30ff\u4e00-\u9fff]")
"""Letters of scripts that use U+200B to mark where a line may break."""
_PICTURE = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_KEYCAP = re.compile("[0-9#*]")
_VARIED = re.compile(
    "[\u1000-\u109f\u2200-\u22ff\u2a00-\u2aff\u3000-\u303f\u3400-\u9fff\uaa60-\uaa7f\uf900-\ufaff\uff00-\uff60]"
)
"""Characters for which Unicode defines variants with U+FE00 to U+FE02."""
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_JAMO = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")
_MONGOLIAN = re.compile("[\u1800-\u18af]")
_BRAILLE = re.compile("[\u2800-\u28ff\\s]")
_FLAG = re.compile(
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
"""Flags of England, Scotland and Wales; without their tag characters they are a black flag."""
_SHOWN_ONE_BY_ONE = 3
_PASSES = 8
"""Limit of passes; a text crafted to need more loses all its brackets."""
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


def neutral(text: str) -> str:
    r"""Return the text with hidden characters made visible, and without the brackets of tags and roles.

    `neutral(neutral(text)) == neutral(text)`. The only characters of `HIDDEN` that remain are those that a language or
    an emoji needs in their place.

    Each line of the text stays one line; `\r\n` becomes `\n`.
    """
    for _ in range(_PASSES):
        cleaned = without_tags(visible(text))  # without its bracket, a tag may leave a joiner that joins nothing
        if cleaned == text:
            return text
        text = cleaned
    return visible(without_brackets(visible(text)))


def visible(text: str) -> str:
    """Return the text with each hidden character as `[U+202E]`, and a run of them as `[12 hidden characters]`.

    Soft hyphens, a byte order mark at the beginning and a variation selector of an ideograph are dropped, because the
    text reads the same without them.
    """
    if HIDDEN.search(text) is None:
        return text
    text = _FLAG.sub("\U0001f3f4", text.replace("\r\n", "\n").removeprefix("\ufeff").replace("\u00ad", ""))
    return RUN.sub(_reveal, text)


def neutral_json(text: str) -> str:
    """Return JSON text of the same value, with hidden characters and the brackets of tags as escapes.

    A model that reads the text sees the hidden characters and no tag; a program that parses it gets every character.
    """

    def escaped(match: re.Match[str]) -> str:
        neighbours = (
            match.string[max(0, match.start() - 1) : match.start()],
            match.string[match.end() : match.end() + 1],
        )
        return match[0] if match[0] and _keep_needed(match[0], *neighbours) else json.dumps(match[0])[1:-1]

    pieces = list[str]()
    at = 0
    for start in sorted(brackets(text)):
        if text[start] != "\\":
            pieces += [text[at:start], f"\\u{ord(text[start]):04x}"]
            at = start + 1
    return RUN.sub(escaped, "".join([*pieces, text[at:]]))


def neutral_data(value: Any) -> Any:
    """Return a value of the kind that `json.loads` returns with every text in it neutral; keys are unchanged."""
    if isinstance(value, str):
        return neutral(value)
    if isinstance(value, dict):
        return {key: neutral_data(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [neutral_data(each) for each in cast("list[Any]", value)]
    return value


def _reveal(match: re.Match[str]) -> str:
    run = match[0]
    text = match.string
    before = text[match.start() - 1] if match.start() else ""
    after = text[match.end()] if match.end() < len(text) else ""
    if len(run) <= _SHOWN_ONE_BY_ONE and (kept := _keep_needed(run, before, after)) is not None:
        return kept
    if len(run) <= _SHOWN_ONE_BY_ONE:
        return "".join(f"[U+{ord(character):04X}]" for character in run)
    return f"[{len(run):,} hidden characters]"


def _keep_needed(run: str, before: str, after: str) -> str | None:
    """Return the part of a run that the characters around it need, or None if they do not need the run."""
    if run in {"\ufe0f", "\ufe0e"}:
        keycap = _KEYCAP.match(before) and after == "\u20e3"
        return run if keycap or _PICTURE.match(before) else None
    if run in {"\u200d", "\ufe0f\u200d"}:
        joined = _PICTURE.match(before) and _PICTURE.match(after)
        if joined:
            return run
    if run in {"\u200c", "\u200d"}:
        return (
            run if _JOINING.match(before) or (run == "\u200c" and before.isalpha() and _JOINING.match(after)) else None
        )
    if len(run) > 1:
        return None
    return _keep_needed_one(run, before, after)


def _keep_needed_one(character: str, before: str, after: str) -> str | None:
    if character == "\u200b":
        return "" if _UNSPACED.match(before) and _UNSPACED.match(after) else None
    if character in {"\ufe00", "\ufe01", "\ufe02"}:
        return character if _VARIED.match(before) else None
    if "\U000e0100" <= character <= "\U000e01ef":
        return "" if _IDEOGRAPH.match(before) else None
    if character in {"\u115f", "\u1160"}:
        return character if _JAMO.match(before) or _JAMO.match(after) else None
    if "\u180b" <= character <= "\u180f":
        return character if _MONGOLIAN.match(before) else None
    if character == "\u2800":
        return character if _BRAILLE.match(before) and _BRAILLE.match(after) else None
    return None


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
    name = _plain_name(inside["name"])
    sigil = inside["sigil"]
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
