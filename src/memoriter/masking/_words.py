"""Judge words: which could be a password that a person chose, and which are random enough to be a key."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error

from memoriter.values import dataclass

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
_TYPES = """
string str text char varchar nvarchar int integer number float bool boolean bytes blob object array list dict map
any type types field input label hint title name value values default required optional nullable readonly writeonly
hidden visible true false none null nil undefined empty blank void self this other another same
"""
"""Words of forms, types and schemas."""
_STATES = """
password passwords passwort passwd passphrase passcode kennwort contrasena senha wachtwoord parola haslo heslo
salasana losenord passord adgangskode sandi secret secrets token tokens credential credentials key keys login
username user expired changed forgotten forgot reset unknown missing invalid correct wrong incorrect weak strong
valid accepted denied rejected rotated stored saved encrypted decrypted hashed hash plain plaintext cleartext
encoded masked redacted shown pending unchanged updated failed success done todo tbd fixme yes okay ok never always
once weekly monthly daily manual manually auto automatic automatically random randomly generated unset disabled
enabled protected private public shared ask see vault keychain keyring keepass bitwarden lastpass onepassword
dashlane safe nothing something anything above below here there later soon now again confirm confirmation repeat
retype policy manager length minimum maximum authentication authorization prompt interactive mandatory needed
allowed forbidden supported deprecated removed budget include omit same-origin bearer basic digest negotiate
"""
"""Words that describe a password."""
_VARIABLES = """
candidate attempt guess entered typed submitted supplied given result data line lines word words raw stdin answer
response body payload content chars letters buffer temp new old current previous env environ environment config
settings options params args kwargs request form query row record entry item parts first second last next prev
"""
"""Names of variables that hold a password in a program."""
_SENTENCE = """
to and or is are was for with from in on the a an option options flag argument instead if when which that must as of
at by not be can may will should only also both either without before after because while via using means sets asks
"""
"""Words that follow the name of an option in a sentence."""
_EXAMPLES = """
changeme example placeholder sample dummy foo bar baz qux test tests testing demo abc xyz
"""
"""Example values."""
_ORDINARY_WORDS = frozenset(f"{_TYPES} {_STATES} {_VARIABLES} {_SENTENCE} {_EXAMPLES}".split())
"""Words that appear next to the name of a secret and are not secret."""
_NUMBERED = re.compile(
    r"(?:sha|md|argon|bcrypt|base|utf|[rhep]s|oauth|http|tls|ssl|x|v|ver|version|step|option|section|page|chapter"
    r"|line|table|figure|fig|note|field|arg|param|gpt|cl|py|python|java|h|p)[-_.]?\d{1,5}[a-z]{0,2}",
    re.IGNORECASE,
)
"""Algorithms, versions and places in a text."""
_IN_PROGRAMS = re.compile(
    r"pass|pw(?![a-z])|secret|token|key|str(?![a-z])|string|type|schema|field|input|value|hash|text|form|param|arg"
    r"|props|state|ref(?![a-z])|config|option|encoder|manager|service|provider|factory|model|validator"
    r"|get|set(?![a-z])|(?:^|_)(?:user|data|env)",
    re.IGNORECASE,
)
"""Parts of the names of variables, types and functions that hold a secret in a program."""
_WORD = re.compile(r"[A-Za-z][A-Za-z.@-]*[A-Za-z]")
_TYPED = re.compile(r"[A-Za-z]+\d{0,4}[!?%$#*+-]{0,2}|\d{1,4}[A-Za-z]+")
_HUMP = re.compile(r"[a-z][A-Z]")
_ENDS = re.compile(r"[\"'`*)\]}]{0,2}[ \t]{0,8}(?:$|\n|\r|#|//|<|[|&;。，、；）」]|\\n)")
"""The end of a line or of its part, or a comment."""
_STARTS = re.compile(
    r"(?:^|\n|\\n|[\r;&?|`。，、；])[ \t]{0,20}(?:[-*>+] |export |set |env |\$env:|\|)?"
    r"[ \t]{0,4}[\"'*_]{0,2}[\w.$-]{0,60}$"
)
_LOOSE = re.compile(r"(?:^|[\s\"'`;&?{])(?:--?)?[\w.-]{0,60}$")
_BEFORE = 90
_AFTER = 40
VALUE_KEY = "value"
"""The separator of a name and a value that have keys of their own, as in `{"name": …, "value": …}`."""


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


@dataclass(frozen=True, slots=True)
class ValueContext:
    """The context of a value that follows the name of a secret."""

    text: str
    name_start: int
    name_end: int
    start: int
    """Start of the value."""
    separator: str
    """Characters that separate name and value, without blanks around them."""
    has_blanks: bool
    """True if blanks surround the separator."""
    quoted: bool
    """True if the value follows a quotation mark."""
    in_sentence: bool
    """True if a word such as `is` separates name and value, as in a sentence."""
    is_password_name: bool
    """True for the name of a password, which people choose; False for the name of a key, which programs generate."""

    @property
    def name(self) -> str:
        return self.text[self.name_start : self.name_end]

    @property
    def is_environment_variable(self) -> bool:
        """True if the name is written like an environment variable."""
        return self.name.isascii() and self.name.isupper()

    @property
    def is_non_ascii(self) -> bool:
        """True if the name is a word of a language with letters that are not ASCII."""
        return not self.name.isascii()

    def is_alone(self, value: str) -> bool:
        """Return whether name and value fill their line, or their part of it."""
        return self.ends_line(value) and bool(
            _STARTS.search(self.text[max(0, self.name_start - _BEFORE) : self.name_start])
        )

    def is_separate(self, value: str) -> bool:
        """Return whether name and value are separate words, as in a list of settings, and not an argument of a call."""
        end = self.start + len(value)
        after = self.text[end : end + 1]
        before = self.text[max(0, self.name_start - _BEFORE) : self.name_start]
        return (not after or after in " \t\r\n;&\"'`\\|") and bool(_LOOSE.search(before))

    def ends_line(self, value: str) -> bool:
        """Return whether only a comment follows in the line."""
        end = self.start + len(value)
        return bool(_ENDS.match(self.text, end, end + _AFTER)) or end == len(self.text)


def is_ordinary(value: str) -> bool:
    """Return whether a value is a word that appears next to the names of secrets and is not secret."""
    lowered = value.lower().strip(".,:;!?*_-")
    return lowered in _ORDINARY_WORDS or bool(_NUMBERED.fullmatch(value))


def is_argument(value: str, following: str) -> bool:
    """Return whether a value follows `--password` in a command, and not in a sentence about that option."""
    if is_ordinary(value):
        return False
    in_sentence = following[:1] == " " and following[1:].isalpha()
    return not _WORD.fullmatch(value) or (len(value) >= 4 and not value.isupper() and not in_sentence)


def is_chosen(value: str, context: ValueContext) -> bool:
    """Return whether a person may have chosen the value as a secret, such as `hunter2` or `correcthorsebattery`."""
    if len(value) < 3 or not value.isascii() or is_ordinary(value) or context.separator == "," or "(" in value:
        return False
    if value.isdecimal():
        return (
            context.is_password_name
            and len(value) >= 4
            and (context.quoted or context.is_environment_variable or context.is_alone(value))
        )
    if not _WORD.fullmatch(value):
        return _is_chosen_mixed(value, context)
    return False if context.in_sentence and not context.quoted else _is_chosen_word(value, context)


def _is_chosen_mixed(value: str, context: ValueContext) -> bool:
    """Return whether a word with digits or a sign is a chosen secret."""
    if not (_TYPED.fullmatch(value) or is_password(value, shortest=5)) or not any(map(str.isalnum, value)):
        return False
    if context.is_password_name:
        is_code_name = (
            context.separator == "="
            and not context.quoted
            and not context.is_environment_variable
            and _IN_PROGRAMS.match(value)
        )
        return len(value) >= 4 and not is_code_name
    return context.is_environment_variable and context.separator == "=" and len(value) >= 5


def _is_chosen_word(value: str, context: ValueContext) -> bool:
    """Return whether a word of letters alone is a chosen secret."""
    if context.quoted or context.separator == ">":
        return _is_chosen_quoted_word(value, context)
    if context.separator == "=" and context.is_environment_variable and not context.has_blanks:
        return len(value) >= (3 if context.is_password_name else 8)
    is_code_name = bool(_IN_PROGRAMS.search(value)) or "." in value or (bool(_HUMP.search(value)) and len(value) < 12)
    if is_code_name or (not context.is_password_name and "token" in context.name.lower()):
        return False
    minimum = 4 if context.is_password_name else 10
    if context.separator in {"=", ":="}:
        return len(value) >= minimum and (context.is_alone(value) if context.has_blanks else context.is_separate(value))
    if context.separator == VALUE_KEY:
        return len(value) >= minimum
    is_labelled = context.separator in {":", "：", "＝"} and (
        context.ends_line(value) if context.is_non_ascii else context.is_alone(value)
    )
    return len(value) >= minimum and is_labelled and not value.endswith("ed")


def _is_chosen_quoted_word(value: str, context: ValueContext) -> bool:
    lowered = context.name.lower()
    if context.is_password_name:
        return len(value) >= 3
    return len(value) >= 6 and not lowered.startswith(("token", "credential", "authorization"))
