"""Finding secrets in text: keys, tokens and passwords, by their format, by what is written before them, by chance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.masking import _formats as formats
from memoriter.masking._chosen import VALUE_KEY, ValueContext, is_argument, is_chosen, is_ordinary
from memoriter.masking._looks import (
    is_identifier,
    is_password,
    is_placeholder,
    is_random,
    is_text_in_base64,
    is_varied,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MASK = "***"
_MAX_PASSES = 8


@dataclass(frozen=True, slots=True)
class Secret:
    """Where something secret stands in a text: `start` to before `end`, without the beginning that names its format."""

    start: int
    end: int
    kind: str


def mask(text: str) -> str:
    """The text with `***` in the place of every secret; the same object if there is none.

    Of a token only what says its format stays (`ghp_***`, `AKIA***`): the first and the last characters of a secret
    say which one it is to everybody who has a list to compare with, and shorten the search for the rest.
    Masking what is masked changes nothing.
    """
    # What is masked may have been what explained its neighbour, such as the word in front of a public key. A text that
    # is made to need ever more passes loses the lines concerned, and in the end everything.
    for widened in (_unchanged, _widen_to_lines):
        for _ in range(_MAX_PASSES):
            found = find_secrets(text)
            if not found:
                return text
            text = _replace(text, widened(text, found))
    return MASK if find_secrets(text) else text


def _unchanged(text: str, secrets: Sequence[Secret]) -> Sequence[Secret]:
    del text
    return secrets


def _widen_to_lines(text: str, secrets: Sequence[Secret]) -> Sequence[Secret]:
    """The lines in which secrets stand."""
    lines = list[Secret]()
    for secret in secrets:
        if not lines or secret.end > lines[-1].end:
            end = text.find("\n", secret.end)
            start = text.rfind("\n", 0, secret.start) + 1
            lines.append(Secret(start, len(text) if end < 0 else end, secret.kind))
    return tuple(_merge(lines))


def _replace(text: str, secrets: Sequence[Secret]) -> str:
    parts: list[str] = []
    done = 0
    for secret in secrets:
        parts += text[done : secret.start], MASK
        done = secret.end
    return "".join((*parts, text[done:]))


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Every secret of the text, in order, without overlaps; in time that grows as the text does."""
    found = [*_find_by_format(text), *_find_by_place(text), *_find_by_name(text), *_find_random(text)]
    return tuple(_merge(found)) if found else ()


def _merge(found: Iterable[Secret]) -> Iterator[Secret]:
    last: Secret | None = None
    for secret in sorted(found, key=lambda each: (each.start, -each.end)):
        if last is None:
            last = secret
        elif secret.start < last.end:
            last = Secret(last.start, max(last.end, secret.end), last.kind)
        else:
            yield last
            last = secret
    if last is not None:
        yield last


def _find_by_format(text: str) -> Iterator[Secret]:
    for match in formats.FORMATS.finditer(text):
        kind = match.lastgroup or ""
        if is_varied(match[kind]) and not is_placeholder(match[kind]):
            yield Secret(*match.span(kind), kind.partition("_")[0])
    for pattern in (formats.PRIVATE_KEY, formats.PUTTY_KEY) if "PRIVATE KEY" in text or "Private-" in text else ():
        for match in pattern.finditer(text):
            start, end = match.span(match.lastgroup or 0)
            if sum(character.isalnum() for character in text[start : min(end, start + 200)]) >= 16:
                yield Secret(start, end, "private key")


def _find_by_place(text: str) -> Iterator[Secret]:
    """What stands where a secret belongs: headers, cookies, addresses, commands."""
    if "://" in text:
        for match in formats.ADDRESS.finditer(text):
            if match["password"] is not None and not is_placeholder(match["password"]):
                yield Secret(*match.span("password"), "password")
            elif match["lone"] is not None and is_random(match["lone"], 16):
                yield Secret(*match.span("lone"), "token")
        for match in formats.SIGNED.finditer(text):
            if is_varied(match["value"]) and not is_placeholder(match["value"]):
                yield Secret(*match.span("value"), "signature")
    for match in formats.HEADERS.finditer(text):
        kind = match.lastgroup or ""
        if _is_header_secret(kind, match[kind]):
            yield Secret(*match.span(kind), "header")
    for match in formats.COOKIES.finditer(text):
        for cookie in formats.COOKIE.finditer(text, *match.span("line")):
            if cookie[1].lower() not in formats.COOKIE_PLAIN and is_varied(cookie[2]) and not is_placeholder(cookie[2]):
                yield Secret(*cookie.span(2), "cookie")
    for match in formats.COMMANDS.finditer(text):
        kind = match.lastgroup or ""
        value, following = match[kind], text[match.end(kind) : match.end(kind) + 2]
        if is_placeholder(value) or (kind == "sql" and not is_password(value)):
            continue
        if kind != "flag" or is_argument(value, following):
            yield Secret(*match.span(kind), "password")


def _is_header_secret(kind: str, value: str) -> bool:
    if kind == "basic":
        return ":" in _decode_base64(value)
    return is_varied(value) and is_password(value) and not is_placeholder(value)


def _decode_base64(value: str) -> str:
    from base64 import b64decode

    try:
        return b64decode(value + "=" * (-len(value) % 4)).decode("utf-8", "replace")
    except ValueError:
        return ""


_NAME = re.compile(
    r"(?P<name>pass(?:word|wort|wd|phrase|code)|(?<![a-z])pass(?![a-z])|(?-i:(?<=[a-z])Pass)(?![a-z])|pwd|(?<![a-z0-9_])pw(?![a-z0-9])|secret(?:[_-]?(?:access)?[_-]?key)?|token|credentials?"
    r"|api[_ -]?key|(?:access|private|auth|secret|encryption|signing|account|shared|master|license|service|app)[_-]?key"
    r"|authorization|kennwort|contrase(?:ñ|n)a|mot de passe|senha|пароль"
    r"|비밀 ?번호|비번|암호|패스워드|토큰|시크릿|密码|密碼|口令|密钥|密鑰|秘钥|金鑰|令牌"
    r"|パスワード|合言葉|トークン|暗証番号|秘密鍵)"
    r"(?P<suffix>(?:[_-](?:prod|production|test|dev|live|staging|value|base64|b64|hash|hex|\d{1,2})|[0-9]|\(s\))?)"
    r"(?P<shut>\\{0,3}[\"'`\]*]{0,3})"
    r"(?P<between>[ \t]{0,4}(?::=|=>|={1,3}|:{1,2}|：|＝|->)[ \t]{0,40}"
    r"|[ \t]{0,4},?[ \t]{0,4}(?:\n[ \t]{0,20})?[\"']?value[\"']?[ \t]{0,4}[:=][ \t]{0,4}|[ \t]{0,2},[ \t]{0,2}"
    r"|[ \t]{0,2}(?:is|was|는|은|이|가|是|为|為|は)[ \t]{0,2}[:：=]?[ \t]{0,2}"
    r"|[ \t]{0,20}\|[ \t]{0,20}|>(?=[^<\s]{3,200}</))"
    r"(?P<open>(?:[bruf]{0,2})\\{0,3}[\"'`「“‘]|\*\*[ \t]{0,4}|)",
    re.IGNORECASE,
)
_BARE = re.compile(r"(?:[!-%(-+\--:=-_a-{}~]|[&;|,](?!\s|$|[\w.%-]{1,40}=|[^\w]))+")
_HASHED = re.compile(r"(?:sha\d*|md5|bcrypt|argon2\w*|pbkdf2\w*)[:$-]|\$(?:2[aby]|argon2\w*|[156y])\$", re.IGNORECASE)
_CLOSING = {"「": "」", "“": "”", "‘": "’"}
_MAX_VALUE_LENGTH = 400
_CHOSEN_NAMES = (
    *(
        "pass",
        "pw",
        "kennwort",
        "contrase",
        "mot de passe",
        "senha",
        "пароль",
        "비",
        "암",
        "패",
        "密码",
        "密碼",
        "口令",
    ),
    *("パス", "合言葉", "暗"),
)
"""How the names of secrets begin that people choose; programs make the others."""
_PROSE = ("is", "was", "는", "은", "이", "가", "是", "为", "為", "は")


def _find_by_name(text: str) -> Iterator[Secret]:
    """What is called a password, a token, a key."""
    place = 0
    while match := _NAME.search(text, place):
        place = match.end("name")
        if (found := _named_secret(text, match)) is not None:
            place = found.end
            yield found


def _named_secret(text: str, match: re.Match[str]) -> Secret | None:
    opened, between = match["open"].strip("* \t"), match["between"].strip()
    if not opened and between == ",":
        return None
    start, prose = match.end("open"), between.rstrip(":：= ").lower() in (*_PROSE, "|")
    shown = _quoted_value(text, start) if opened else _bare_value(text, start)
    if not shown or match["suffix"].endswith("hash") or _HASHED.match(shown) or is_placeholder(shown):
        return None
    if _is_secret_value(shown, match, text, opened=bool(opened), prose=prose):
        return Secret(start, start + len(shown), "password" if "pass" in match["name"].lower() else "secret")
    return None


def _quoted_value(text: str, start: int) -> str:
    """Up to the quotation mark that belongs to the one before, on the same line."""
    mark = _CLOSING.get(text[start - 1], text[start - 1])
    end = text.find(mark, start, start + _MAX_VALUE_LENGTH)
    return "" if end < 0 or "\n" in text[start:end] else text[start:end].rstrip("\\")


def _bare_value(text: str, start: int) -> str:
    found = _BARE.match(text, start, start + _MAX_VALUE_LENGTH)
    return found[0].rstrip(".,;:!?)}]*") if found else ""


def _is_secret_value(value: str, match: re.Match[str], text: str, *, opened: bool, prose: bool) -> bool:
    """Is it a secret, or a word that explains one, a count, a variable?"""
    name, between = match["name"].lower(), match["between"]
    chosen = name.startswith(_CHOSEN_NAMES)
    place = ValueContext(
        text,
        *match.span("name"),
        match.end("open"),
        _separator(between),
        has_blanks=between != between.strip(),
        quoted=opened,
        in_sentence=prose,
        is_password_name=chosen,
    )
    if " " not in value and is_chosen(value, place):
        return True
    if value.isdigit():
        return chosen and len(value) >= 6
    if " " in value:  # a sentence, or a phrase of words that somebody quoted
        return opened and name == "passphrase" and not prose
    if is_ordinary(value):
        return False
    if is_password(value, shortest=6 if chosen else 8):
        return chosen or is_varied(value) or opened
    return False


def _separator(between: str) -> str:
    """What separates a name from its value, without blanks; `value` where each has a key of its own."""
    return VALUE_KEY if VALUE_KEY in between.lower() else between.strip()


_LONG = re.compile(r"(?<![A-Za-z0-9_+/-])[A-Za-z0-9_+/-]{24,}+={0,2}")
_IDENTIFIER_NAME = re.compile(
    r"(?:\bid|[a-z]Id|_id|hash|sha\d*|digest|checksum|etag|integrity|cursor|nonce|commit|rev|revision|fingerprint|build"
    r"|version|uuid|guid|cid|address|base64|sum|pubkey|public[_ -]?key|verification)"
    r"[\"'\]]{0,2}\s{0,3}[:=,-]?\s{0,3}(?:W/)?[\"'`(]{0,2}$",
    re.IGNORECASE,
)
PUBLIC_VALUES = re.compile(
    r"data:[\w/+.;=-]{0,100};base64,[A-Za-z0-9+/=_%-]*+"
    r"|-----BEGIN (?!(?:[A-Z0-9]{1,12} ){0,3}PRIVATE)[A-Z0-9 ]{1,40}-----(?:[^-]|-(?!----))*+-----END"
    r"|(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]{4,12}|sk-ssh-[a-z0-9@.]{4,30}) AAAA[A-Za-z0-9+/=]*+"
    r"|\bsha(?:1|256|384|512)[-:=][A-Za-z0-9+/_-]*+=*"
)
_MAX_RANDOM_LENGTH = 160
"""More at once is content, such as a picture, and no key."""


def _find_random(text: str) -> Iterator[Secret]:
    """Long words in which letters and digits follow each other as nobody would write them."""
    shown: list[tuple[int, int]] | None = None
    for match in _LONG.finditer(text):
        value, (start, end) = match[0], match.span()
        if end - start > _MAX_RANDOM_LENGTH or not is_random(value.rstrip("="), 24) or is_identifier(value):
            continue
        if shown is None:
            shown = [each.span() for each in PUBLIC_VALUES.finditer(text)]
        if any(first <= start < last for first, last in shown) or _is_in_path(text, start, end):
            continue
        if not _IDENTIFIER_NAME.search(text, max(0, start - 40), start) and not _is_readable(value, text, start, end):
            yield Secret(start, end, "random")


def _is_readable(value: str, text: str, start: int, end: int) -> bool:
    """Text in base64, or a line of a longer piece of base64."""
    alone = (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end] in "\r\n")
    return is_text_in_base64(value) or is_placeholder(value) or (alone and end - start >= 60)


def _is_in_path(text: str, start: int, end: int) -> bool:
    """Part of an address, a path, a file name or an e-mail address."""
    run = re.search(r"[^\s\"'`<>()\[\]{},;]*$", text[max(0, start - 300) : start])
    before, after = run[0] if run else "", text[end : end + 2]
    if "://" in before or before[-1:] in {"/", "\\", "@", "#", ".", "%"} or text[start] == "/":
        return True
    return after[:1] in {"@", "\\"} or (after[:1] == "." and after[1:].isalnum())
