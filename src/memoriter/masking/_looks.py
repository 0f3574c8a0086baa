"""Tests of single words: which are random enough to be a secret, and which only look random."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error

_CASES = (re.compile("[a-z]"), re.compile("[A-Z]"))
_DIGITS = re.compile("[0-9]+")
_PARTS = re.compile("[_/-]")
_WORDS = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_RUNS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_UUID = re.compile(r"\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"your[-_ ]?|example|placeholder|redacted|change[-_]?me|dummy|sample|insert[-_]|<[^>]*>|\.\.\.|…|x{4,}|\*{2,}"
    r"|(.)\1{7,}|abc123$|123456789(?:0|$)(?!\d)|_here$|-here$|not[-_]a[-_]|^todo|^fixme|^tbd$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\$\{|\$\(|^\$[A-Za-z_]+$|\{\{|^\{[A-Za-z_.]*\}?$|^%[A-Za-z_]+%$|^%[sdr]$|^<|^[A-Za-z_][\w.]*[(\[]"
    r"|^(?:process\.env|os\.environ|env|secrets|vars|var|settings|config|self|this|args|options|data|ref|vault|op|arn"
    r"|keyring|file|https?|ssm|sm)\b(?:\.|:|->)",
    re.IGNORECASE,
)
_PLAIN = {
    *("", "none", "null", "nil", "true", "false", "undefined", "string", "str", "bytes", "int", "number", "bool"),
    *("object", "password", "passwd", "pass", "pwd", "secret", "token", "key", "apikey", "api_key", "required"),
    *(
        "optional",
        "enabled",
        "disabled",
        "default",
        "empty",
        "unset",
        "hidden",
        "masked",
        "unknown",
        "any",
        "yes",
        "no",
    ),
    "test",
}
_SIGNS = re.compile(r"[!@#$%^&*+=?~]")
_ORDINARY = re.compile(
    r"v?\d+(?:[.\-:/]\d+)*[a-z%]{0,2}|\d{4}-\d\d-\d\d(?:T[\d:.+Z-]*)?|\d+(?:ms|[smhdKMG]B?|px)"
    r"|[A-Za-z]{1,18}\d?[.:,;!?)]*|(?:\.{0,2}|~)/[\w./-]*|[\w-]+(?:/[\w.-]+)+\.[a-z]{1,5}|[\w.+-]+@[\w-]+\.[a-z]{2,8}"
    r"|[\w-]+\.(?:md|py|json|txt|pem|ya?ml|toml)",
    re.IGNORECASE,
)
"""Dates, versions, measures, words, paths and addresses."""
RANDOM_SHARE = 0.4
"""Least share of adjacent characters that change between lower case, upper case and digits. It is .62 in random text
and about .3 in names of several words."""
LETTERS_SHARE = 0.25
"""The same share for letters alone after a format's prefix."""
LONG_LENGTH = 32
"""Length from which a random word has more than two groups of digits."""


def is_placeholder(value: str) -> bool:
    """Return whether a value stands for a secret, or names where the secret comes from."""
    return value.lower().strip("\"'<>[](){}$%*.:;-_ ") in _PLAIN or bool(
        _PLACEHOLDER.search(value) or _REFERENCE.search(value)
    )


def is_varied(value: str) -> bool:
    """Return whether a value has many different characters and does not consist of words alone."""
    cases = all(kind.search(value) for kind in _CASES)
    mixed = any(character.isdigit() for character in value) or (cases and _change_share(value) >= LETTERS_SHARE)
    return mixed and len(set(value)) >= min(8, len(value) // 2)


def is_random(value: str, shortest: int) -> bool:
    """Return whether letters of both cases and digits alternate as often as in random text.

    Values with fewer than `shortest` characters are not random.
    """
    if len(value) < shortest or _HEX.fullmatch(value) or not all(kind.search(value) for kind in _CASES):
        return False
    if "/" in value and not _is_base64(value) and not is_random(max(value.split("/"), key=len), shortest):
        return False
    if len(_DIGITS.findall(value)) < (2 if len(value) < LONG_LENGTH else 3):
        return False
    return _change_share(value) >= RANDOM_SHARE and not any(_is_camel_case_name(part) for part in _PARTS.split(value))


def is_mixed(value: str) -> bool:
    """Return whether a long run has letters of both cases and digits, as base64 has and words have not."""
    return all(kind.search(value) for kind in (*_CASES, _DIGITS)) and _change_share(value) >= RANDOM_SHARE


def _change_share(value: str) -> float:
    return (len(_RUNS.findall(value)) - 1) / max(1, len(value) - 1)


def _is_camel_case_name(part: str) -> bool:
    """Return whether a part is words joined by capitals, as in programs. One random word in thousands is like that."""
    words = _WORDS.findall(part)
    return len(part) >= 12 and part.isalpha() and len(words) * 4 <= len(part)


def _is_base64(value: str) -> bool:
    """Return whether a slash may be a base64 character. In a path, the first name is a word."""
    return ("+" in value or value.endswith("=") or len(value) == 40) and not value.partition("/")[0].islower()


def is_identifier(value: str) -> bool:
    """Return whether a value is a UUID or a hexadecimal number, such as a digest, a date or a version."""
    return bool(_UUID.fullmatch(value) or _HEX.fullmatch(value))


def is_text_in_base64(value: str) -> bool:
    """Return whether a value is base64 of readable text."""
    try:
        plain = b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (Error, ValueError):
        return False
    readable = sum(character.isprintable() or character.isspace() for character in plain)
    return bool(plain) and readable >= 0.97 * len(plain)


def is_password(value: str, *, shortest: int = 6) -> bool:
    """Return whether a person may have chosen a value: letters with digits or signs, no date, version, path or name."""
    if len(value) < shortest or is_placeholder(value) or _ORDINARY.fullmatch(value):
        return False
    letters = any(character.isalpha() for character in value)
    digits = any(character.isdigit() for character in value)
    return (letters and digits) or (bool(_SIGNS.search(value)) and (letters or digits))
