"""Secrets that a person chose: words and short words with a digit, which only what stands around them gives away."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memoriter.masking._looks import is_password

_TYPES = """
string str text char varchar nvarchar int integer number float bool boolean bytes blob object array list dict map
any type types field input label hint title name value values default required optional nullable readonly writeonly
hidden visible true false none null nil undefined empty blank void self this other another same
"""
"""What a form, a type or a schema says."""
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
"""What is said of a password."""
_VARIABLES = """
candidate attempt guess entered typed submitted supplied given result data line lines word words raw stdin answer
response body payload content chars letters buffer temp new old current previous env environ environment config
settings options params args kwargs request form query row record entry item parts first second last next prev
"""
"""What a program calls the place that holds one."""
_SENTENCE = """
to and or is are was for with from in on the a an option options flag argument instead if when which that must as of
at by not be can may will should only also both either without before after because while via using means sets asks
"""
"""What follows the name of an option in a sentence."""
_EXAMPLES = """
changeme example placeholder sample dummy foo bar baz qux test tests testing demo abc xyz
"""
"""Examples."""
_ORDINARY = frozenset(f"{_TYPES} {_STATES} {_VARIABLES} {_SENTENCE} {_EXAMPLES}".split())
"""Words that stand beside the names of secrets without being secrets."""
_NUMBERED = re.compile(
    r"(?:sha|md|argon|bcrypt|base|utf|[rhep]s|oauth|http|tls|ssl|x|v|ver|version|step|option|section|page|chapter"
    r"|line|table|figure|fig|note|field|arg|param|gpt|cl|py|python|java|h|p)[-_.]?\d{1,5}[a-z]{0,2}",
    re.IGNORECASE,
)
"""An algorithm, a version, a place in a text."""
_IN_PROGRAMS = re.compile(
    r"pass|pw(?![a-z])|secret|token|key|str(?![a-z])|string|type|schema|field|input|value|hash|text|form|param|arg"
    r"|props|state|ref(?![a-z])|config|option|encoder|manager|service|provider|factory|model|validator"
    r"|get|set(?![a-z])|(?:^|_)(?:user|data|env)",
    re.IGNORECASE,
)
"""Parts of the names that programs give to what holds a secret."""
_WORD = re.compile(r"[A-Za-z][A-Za-z.@-]*[A-Za-z]")
_TYPED = re.compile(r"[A-Za-z]+\d{0,4}[!?%$#*+-]{0,2}|\d{1,4}[A-Za-z]+")
_HUMP = re.compile(r"[a-z][A-Z]")
_ENDS = re.compile(r"[\"'`*)\]}]{0,2}[ \t]{0,8}(?:$|\n|\r|#|//|<|[|&;。，、；）」]|\\n)")
"""Nothing follows in this line but a comment."""
_STARTS = re.compile(
    r"(?:^|\n|\\n|[\r;&?|`。，、；])[ \t]{0,20}(?:[-*>+] |export |set |env |\$env:|\|)?"
    r"[ \t]{0,4}[\"'*_]{0,2}[\w.$-]{0,60}$"
)
_LOOSE = re.compile(r"(?:^|[\s\"'`;&?{])(?:--?)?[\w.-]{0,60}$")
_BEFORE, _AFTER = 90, 40
VALUE_KEY = "value"
"""What stands between a name and its value where each has a key, as in `{"name": …, "value": …}`."""


@dataclass(frozen=True, slots=True)
class ValueContext:
    """What stands around a value that a name announces."""

    text: str
    name_start: int
    name_end: int
    start: int
    """Of the value."""
    separator: str
    """What separates name and value, without blanks around it."""
    has_blanks: bool
    """Whether there are blanks around it."""
    quoted: bool
    """Whether a quotation mark stands before the value."""
    in_sentence: bool
    """Whether a word such as `is` does: a sentence."""
    is_password_name: bool
    """Whether the name is that of a password, which people choose, and not of a key, which programs make."""

    @property
    def name(self) -> str:
        return self.text[self.name_start : self.name_end]

    @property
    def is_environment_variable(self) -> bool:
        """Whether the name is written as environment variables are."""
        return self.name.isascii() and self.name.isupper()

    @property
    def is_non_ascii(self) -> bool:
        """Whether the name is a word of a language that has other letters."""
        return not self.name.isascii()

    def is_alone(self, value: str) -> bool:
        """Whether name and value are all that is in their line, or in their part of it."""
        return self.ends_line(value) and bool(
            _STARTS.search(self.text[max(0, self.name_start - _BEFORE) : self.name_start])
        )

    def is_separate(self, value: str) -> bool:
        """Whether name and value are words of their own, as in a list of settings, and no argument of a call."""
        end = self.start + len(value)
        after = self.text[end : end + 1]
        before = self.text[max(0, self.name_start - _BEFORE) : self.name_start]
        return (not after or after in " \t\r\n;&\"'`\\|") and bool(_LOOSE.search(before))

    def ends_line(self, value: str) -> bool:
        """Whether nothing but a comment follows in the line."""
        end = self.start + len(value)
        return bool(_ENDS.match(self.text, end, end + _AFTER)) or end == len(self.text)


def is_ordinary(value: str) -> bool:
    """Is it a word that stands beside the names of secrets without being one?"""
    lowered = value.lower().strip(".,:;!?*_-")
    return lowered in _ORDINARY or bool(_NUMBERED.fullmatch(value))


def is_argument(value: str, following: str) -> bool:
    """Is it what follows `--password` in a command, and not in a sentence about that option?"""
    if is_ordinary(value):
        return False
    in_sentence = following[:1] == " " and following[1:].isalpha()
    return not _WORD.fullmatch(value) or (len(value) >= 4 and not value.isupper() and not in_sentence)


def is_chosen(value: str, place: ValueContext) -> bool:
    """Could it be a secret that somebody thought of, such as `hunter2` or `correcthorsebattery`?"""
    if len(value) < 3 or not value.isascii() or is_ordinary(value) or place.separator == "," or "(" in value:
        return False
    if value.isdecimal():
        return (
            place.is_password_name
            and len(value) >= 4
            and (place.quoted or place.is_environment_variable or place.is_alone(value))
        )
    if not _WORD.fullmatch(value):
        return _is_chosen_mixed(value, place)
    return False if place.in_sentence and not place.quoted else _is_chosen_word(value, place)


def _is_chosen_mixed(value: str, place: ValueContext) -> bool:
    """A word with a digit or two, or a sign."""
    if not (_TYPED.fullmatch(value) or is_password(value, shortest=5)) or not any(map(str.isalnum, value)):
        return False
    if place.is_password_name:
        named = (
            place.separator == "="
            and not place.quoted
            and not place.is_environment_variable
            and _IN_PROGRAMS.match(value)
        )
        return len(value) >= 4 and not named
    return place.is_environment_variable and place.separator == "=" and len(value) >= 5


def _is_chosen_word(value: str, place: ValueContext) -> bool:
    """Letters alone."""
    if place.quoted or place.separator == ">":
        return _is_chosen_quoted_word(value, place)
    if place.separator == "=" and place.is_environment_variable and not place.has_blanks:
        return len(value) >= (3 if place.is_password_name else 8)
    named = bool(_IN_PROGRAMS.search(value)) or "." in value or (bool(_HUMP.search(value)) and len(value) < 12)
    if named or (not place.is_password_name and "token" in place.name.lower()):
        return False
    least = 4 if place.is_password_name else 10
    if place.separator in {"=", ":="}:
        return len(value) >= least and (place.is_alone(value) if place.has_blanks else place.is_separate(value))
    if place.separator == VALUE_KEY:
        return len(value) >= least
    labelled = place.separator in {":", "：", "＝"} and (
        place.ends_line(value) if place.is_non_ascii else place.is_alone(value)
    )
    return len(value) >= least and labelled and not value.endswith("ed")


def _is_chosen_quoted_word(value: str, place: ValueContext) -> bool:
    lowered = place.name.lower()
    if place.is_password_name:
        return len(value) >= 3
    return len(value) >= 6 and not lowered.startswith(("token", "credential", "authorization"))
