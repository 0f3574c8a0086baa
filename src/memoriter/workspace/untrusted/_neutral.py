"""Make text safe for a model or a terminal: no hidden characters and no structure.

A note may contain anything. Invisible characters can carry orders that no person sees, control characters can drive a
terminal, and a tag can close the quotation around a note or open another role. `neutral` makes the characters visible
and replaces the brackets of tags, so that people can still read the text. Plain text of any language is unchanged.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from memoriter.workspace.untrusted._characters import HIDDEN, RUN
from memoriter.workspace.untrusted._tags import brackets, without_brackets, without_tags

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

    pieces, at = list[str](), 0
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
    run, text = match[0], match.string
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
