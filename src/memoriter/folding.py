"""The one form in which words are compared: of notes, queries, phrases, names, tags, and texts to forget.

Case, width, accents and optional marks make no difference, nor do the typographic forms of hyphens, apostrophes and
digits, invisible characters inside words, and the separators inside numbers. Vowel signs and other marks without which
a word is another one stay. Rules for single scripts are at the end of the file.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast

from memoriter.ids import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator

LATIN_MARKS = "\u0300-\u036f"
"""Marks that follow Latin, Greek and Cyrillic letters; `re` counts no mark as a part of a word."""


def fold(text: str) -> str:
    """Return the text as it is compared.

    >>> fold("Łódź, ＦＵＬＬ width, 1,250 or +49 (30) 123-45 67")
    'lodz, full width, 1250 or 49301234567'
    """
    return join_numbers(fold_letters(clean(text)))


def fold_letters(cleaned: str) -> str:
    """Return clean text in lower case, without accents and optional marks, its numbers as they are."""
    if cleaned.isascii():
        return cleaned.lower()
    split = _OPTIONAL_MARKS.sub("", normalize("NFD", cleaned.casefold()))
    return simplify(_NASAL.sub("\u0902", normalize("NFC", split.translate(_LETTERS))))


def simplify(text: str) -> str:
    """Return the text with the simplified form of each Chinese character; its length is the same.

    >>> simplify("資料庫")
    '资料库'
    """
    return text.translate(_simplified()) if _HAN.search(text) else text


@cache
def _simplified() -> dict[int, str]:
    from memoriter.han_variants import SIMPLIFIED, TRADITIONAL

    return str.maketrans(dict(zip(TRADITIONAL, SIMPLIFIED, strict=True)))


def clean(text: str) -> str:
    """Return the text in NFKC, without invisible characters, and with plain hyphens, apostrophes and digits."""
    if text.isascii():
        return text
    plain = _UNCLEAN.sub(_plain_character, normalize("NFKC", text.replace("´", "'")))
    plain = normalize("NFKC", plain)  # marks may have come together where an invisible character was
    return _AM_AND_TONE.sub(r"\2\1", plain) if _AM.search(plain) else plain


def clean_with_places(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text as `clean` returns it, and for each of its characters the start and end of the original one."""
    if text.isascii():
        return text, [(at, at + 1) for at in range(len(text))]
    pieces = list[str]()
    places = list[tuple[int, int]]()
    for cluster in cast("Any", _regex()).finditer(r"\X", text):
        piece = clean(cluster[0])
        pieces.append(piece)
        places += [cluster.span()] * len(piece)
    return "".join(pieces), places


def compile_words(pattern: str, text: str) -> re.Pattern[str]:
    r"""Return a compiled pattern for which `\w` is every letter, mark and digit of the scripts in a text.

    For `re`, vowel signs and tone marks are no part of a word. The package `regex` takes 20 ms to import.
    """
    return _compiled(pattern, with_marks=_OF_WORDS.search(text) is not None)


@cache
def _compiled(pattern: str, *, with_marks: bool) -> re.Pattern[str]:
    return cast("re.Pattern[str]", cast("Any", _regex()).compile(pattern)) if with_marks else re.compile(pattern)


def _regex() -> object:
    import regex

    return regex


# Names, tags and phrases


def fold_name(name: str) -> str:
    """Return the name of a note as it is compared: letters and digits, one space between words.

    >>> fold_name("Kitchen_budget, 2nd draft!")
    'kitchen budget 2nd draft'
    """
    folded = fold(name)
    return " ".join(compile_words(r"[\W_]+", folded).sub(" ", folded).split())


def fold_tag(tag: str) -> str:
    """Return a tag as it is compared, without `#`, outer slashes and spaces."""
    return fold_letters(clean(tag)).strip("#/ ")


def holds_phrase(heading: str, text: str, phrase: str) -> bool:
    """Return whether a text or its headings contain a phrase as whole words, whatever the emphasis."""
    wanted = _phrase_forms(phrase)
    return any(_is_in(*pair) for each in (text, heading) for pair in zip(wanted, _phrase_forms(each), strict=True))


def _is_in(phrase: str, text: str) -> bool:
    """Return whether a folded text contains a folded phrase."""
    return phrase in text and compile_words(_phrase_pattern(phrase), text).search(text) is not None


@lru_cache(maxsize=64)
def _phrase_pattern(phrase: str) -> str:
    """Return a pattern over folded text. In scripts that are written without spaces, a word may be part of another."""
    before = r"(?<!\w)" if _SPACED.match(phrase[:1]) else ""
    after = r"(?!\w)" if _SPACED.match(phrase[-1:]) or _OF_WORDS.match(phrase[-1:]) else ""
    return before + re.escape(phrase) + after


def _phrase_forms(text: str) -> tuple[str, str]:
    """Return the folded text without emphasis: with its words as they are, and without the separators in words."""
    plain = clean(text).translate(_NO_EMPHASIS)
    return " ".join(join_numbers(fold_letters(plain)).split()), join_words(plain)


_NO_EMPHASIS = str.maketrans("", "", "*`")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
    "\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_SPACED = re.compile(rf"(?![{_UNSPACED}])\w")
"""A letter or digit of a script whose words have spaces between them; Korean particles follow without one."""


# Words with separators that people also leave out


def join_words(cleaned: str) -> str:
    """Return clean text folded, with single spaces, and without the separators inside words, identifiers and numbers.

    >>> join_words("Flight LH 454 is in the e-mail, see LEDG-142 and 1,250")
    'flight lh454 is in the email, see ledg142 and 1250'
    """
    joined = SPACED_CODE.sub(_without_gaps, cleaned) if MAY_BE_SPACED.search(cleaned) else cleaned
    joined = _SPACED_WORD.sub(_without_gaps, joined) if "م" in joined or "ها" in joined else joined
    folded = join_numbers(fold_letters(_SEPARATED_WORD.sub(_without_separators, joined)))
    return " ".join(_CODE.sub(_without_separators_of_code, folded).split())


def spaced_words_in(cleaned: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of each Persian word with a space inside, and the word folded without it.

    >>> [word for *_, word in spaced_words_in("من می خواهم")]
    ['ميخواهم']
    """
    if "م" in cleaned or "ها" in cleaned:
        for match in _SPACED_WORD.finditer(cleaned):
            yield *match.span(), fold_letters(_without_gaps(match))


def _without_gaps(match: re.Match[str]) -> str:
    return re.sub(f"[{GAP}]", "", match[0])


def _without_separators(match: re.Match[str]) -> str:
    return re.sub(r"[\W_]", "", match[0]) if JOINABLE.fullmatch(match[0]) else match[0]


def _without_separators_of_code(match: re.Match[str]) -> str:
    return re.sub("[-_/]", "", match[0])


_SEPARATED_WORD = re.compile(r"(?<!\w)(?:\w++(?:[.\-/:@#+']++\w++)+|\d++(?:_\d++)+(?!\w))")
_CODE = re.compile(r"(?<![\w/-])(?=[a-z_/-]*\d)(?=[\d_/-]*[a-z])[a-z\d]+(?:[-_/]+[a-z\d]+)+(?![\w/-])", re.ASCII)
"""An identifier of letters and numbers, such as `ledg-142`."""
JOINABLE = re.compile(
    r"[^\W\d_]+(?:-[^\W\d_]+){1,2}|[^\W\d_](?:\.[^\W\d_])+"  # e-mail, U.S.A
    r"|[oO]'[^\W\d_]+|[^\W\d_]*[aeiou](?<!qu)'[aeiou][^\W\d_]*|[\u0400-\u052f]+'[\u0400-\u052f]+"  # O'Brien, Hawai'i
    r"|\d+(?:_\d+)+|(?:[\da-fA-F]{2}[:-]){5}[\da-fA-F]{2}|(?:[\da-fA-F]{4}\.){2}[\da-fA-F]{4}"  # 1_000, addresses
)
"""A word with separators that people also leave out."""
GAP = " \u00a0\u202f\u2009-"
_CODE_GROUP = r"(?:[A-Z]{1,4}|\d{1,8}|[A-Z\d]{2,4})"
SPACED_CODE = re.compile(
    rf"(?<![\w-])(?=[A-Z\d{GAP}]{{0,71}}\d)(?=[\d{GAP}]{{0,71}}[A-Z]){_CODE_GROUP}(?:[{GAP}]{_CODE_GROUP}){{1,7}}(?![\w-])"
    rf"|(?<![\w.,])\d{{1,6}}[{GAP}](?:[kmcμnµ]?[gmlsVAWJN]|[kMGT]i?[Bb]|[kMG]?Hz|kWh|mAh|min|px|pt)(?!\w)",
    re.ASCII,
)
"""An identifier in groups, such as `LH 454` and `AB 12 CDE`, and a number with its unit.

Eight groups have 71 characters; to look further ahead would take the square of the time."""
_SPACED_WORD = re.compile("(?<!\\w)(?:ن?م[یيى] [\u0620-\u06d3]{2,24}|[\u0620-\u06d3]{2,24} ها(?:[یيى]{1,2})?)(?!\\w)")
"""A Persian verb or plural with a space between its parts, where others write none or a zero-width non-joiner."""
MAY_BE_SPACED = re.compile(rf"[A-Z\d][{GAP}](?:[A-Z\d]|(?<=\d.)(?:[a-zμµTVAWJN]{{1,3}}(?!\w)|[kMGT]))", re.ASCII)
"""Most texts have nothing like one, and this is found out faster."""


# Texts that contain others


def contains(text: str, wanted: str) -> bool:
    """Return whether a text contains another one, compared as by `find_all`."""
    return any(next(find_all(place, form, wanted), None) is not None for place, form in enumerate(search_forms(text)))


def search_forms(text: str) -> tuple[str, str]:
    """Return the folded text with single spaces: as it is, and without the separators in words and numbers."""
    plain = clean(text)
    return " ".join(fold_letters(plain).split()), join_words(plain)


def find_all(place: int, form: str, wanted: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of a text in another one.

    A number is found as a whole only: 1250 is neither in 12500 nor in 12,500.

    Args:
        place: which of the `search_forms` of the other one it is.
        form: this form.
        wanted: the text to find.
    """
    needle = _needles(wanted)[place]
    whole = place > 0 or needle.isdigit()
    at = form.find(needle) if needle else -1
    while at >= 0:
        end = at + len(needle)
        if not (whole and (_cuts_number(form, at) or _cuts_number(form, end))):
            yield at, end
        at = form.find(needle, end)


@lru_cache(maxsize=64)
def _needles(wanted: str) -> tuple[str, str]:
    return search_forms(wanted)


def _cuts_number(text: str, at: int) -> bool:
    return text[max(at - 1, 0) : at].isdigit() and text[at : at + 1].isdigit()


# Numbers


def join_numbers(folded: str) -> str:
    """Return folded text with one form for each number, whatever its separators."""
    if not has_numbers(folded):
        return folded
    parts = list[str]()
    position = 0
    for start, end, number in numbers_in(folded):
        parts += [folded[position:start], number]
        position = end
    return "".join([*parts, folded[position:]])


def numbers_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each number of several groups in clean text: its start, its end, and its one form, in lower case.

    A number has groups of thousands, or is a telephone number, an account or a card. Dates and addresses of computers
    are none.

    >>> [number for *_, number in numbers_in("1,250.50 of DE89 3704 0044 0532 0130 00 on 2024-03-05")]
    ['1250.50', 'de89370400440532013000']
    """
    for run in _RUN.finditer(text):
        position, end = run.span()
        if _SEPARATED.search(text, position, end) is None:
            continue
        while match := _NUMBER.search(text, position, end):
            number = _one_form(match)
            if number:
                yield *match.span(), number
            position = match.end() if number else _end_of_digits(text, match.start())


def _end_of_digits(text: str, start: int) -> int:
    """Return the end of the digits that begin at a place; if there are none, the next place."""
    digits = _DIGITS.match(text, start)
    return digits.end() if digits else start + 1


def _one_form(match: re.Match[str]) -> str:
    """Return the one form of a number; empty if it is something else."""
    whole = match[0]
    if match["account"]:
        return re.sub(r"[ -]", "", whole.lower())
    groups = _DIGITS.findall(whole)
    if match["grouped"]:
        is_address = match["point"] == "." and len(groups) == 4 and all(int(group) < 256 for group in groups)
        return (
            "" if is_address else re.sub(r"[,.' ]", "", match["grouped"]) + (match["decimals"] or "").replace(",", ".")
        )
    digits = re.sub(r"\D", "", whole.replace("(0)", "") if whole.startswith("+") else whole)
    is_number = _FEWEST_DIGITS <= len(digits) <= _MOST_DIGITS and not _DATE.search(whole)
    years = all(len(group) == 4 and group[:2] in {"19", "20"} for group in groups)
    if not is_number or years or not (_is_phone(whole, groups) or _is_code(whole, groups)):
        return ""
    return f"{digits}x" if whole[-1] in "xX" else digits


def _is_phone(whole: str, groups: list[str]) -> bool:
    if whole.startswith("+"):
        return True
    separators = set(re.sub(r"[\d()]", "", whole))
    if whole[0] in "(0" and ("." not in separators or (separators == {"."} and len(groups) > 4)):
        return True
    lengths = [len(group) for group in groups]
    is_chinese = lengths == [3, 4, 4] and whole[0] == "1"
    is_indian = lengths == [5, 5] and whole[0] in "6789"
    return is_chinese or is_indian or (lengths[-3:] == [3, 3, 4] if len(groups) in {3, 4} else lengths == [3, 4])


def _is_code(whole: str, groups: list[str]) -> bool:
    """Return whether it is the number of a card, a parcel, a book, a person or a company."""
    if len(groups) > 3 and all(len(group) == 4 for group in groups[1:]):
        return True
    separators = set(re.sub(r"[\dxX]", "", whole))
    digits = sum(map(len, groups))
    if len(groups) < 3:
        return separators == {"-"} and digits > 10 and len(groups[0]) != len(groups[1])
    if separators == {"-"}:
        return True
    is_mixed = len(separators) > 1 or separators == {"/"}
    return is_mixed and " " not in separators and digits >= _FEWEST_DIGITS_OF_A_CODE and not _ADDRESS.search(whole)


_RUN = re.compile(r"[A-Za-z0-9 ,.'/()+_-]{3,}")
"""The characters of numbers and of what may stand beside them. Most texts of other scripts have few."""
_SEPARATED = re.compile(r"[\d+](?:(?<=\d)\)?[ ,.'/()-]{1,2}\d|(?<=\+)\d)")
has_numbers = _SEPARATED.search
"""Returns whether a clean text may have numbers of several groups, as a match or None."""
_DIGITS = re.compile(r"\d+")
_FEWEST_DIGITS = 7
_MOST_DIGITS = 24
_FEWEST_DIGITS_OF_A_CODE = 9
"""Of a number with several kinds of separators, such as `12.345.678/0001-95`."""
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
"""An address of a computer."""
_DATE = re.compile(
    r"(?<!\d)(?:\d{4}([./-])\d{1,2}\1\d{1,2}|(?<!\d[./-])\d{1,2}([./-])\d{1,2}\2(?:\d{4}|\d{2}))(?![./-]?\d)"
)
_NUMBER = re.compile(
    r"(?<![\w.,'/+-])(?:"
    r"(?P<account>[a-z]{2}\d{2}[ -]?[a-z0-9]{4}(?:[ -]?(?=[a-z]*\d)[a-z0-9]{4}){1,6}(?:[ -]?(?:[a-z]?\d{1,3}[a-z]?))?)"
    r"|(?P<grouped>\d{1,3}(?:(?P<point>[,.' ])\d{3}(?:(?P=point)\d{3}){0,6}|(?:,\d{2}){1,6},\d{3})"
    r"|\d{1,16}(?=,\d{1,2}(?!\d)))"
    r"(?P<decimals>(?!(?P=point))[.,]\d{1,16})?(?!\d|[,.']\d| \d|[ ./-]{1,2}\d|\)[ ./-]?\d)"
    r"|(?P<digits>\+?\(?\d{1,16}\)?(?:(?:[ ./-]{1,2}\(?|\(|(?<=\)))\d{1,16}\)?){1,9}(?:-[xX])?|\+\d{7,16})"
    r")(?!\w)",
    re.IGNORECASE | re.ASCII,
)


# Characters


def _plain_character(match: re.Match[str]) -> str:
    """Return the plain form of a hyphen, an apostrophe or a digit, and nothing for an invisible character."""
    character = match[0]
    if character.isdigit():
        return str(unicodedata.digit(character))
    return _PUNCTUATION.get(character, "")


_HIDDEN = (
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_DASHES = "\u058a\u05be\u2010-\u2013\u2212"
_APOSTROPHES = "\u02b9\u02bb-\u02bd\u02c8\u05f3\u2018-\u201b\u2032\ua78c"
_UNCLEAN = re.compile(rf"[{_HIDDEN}{_DASHES}{_APOSTROPHES}\u066b\u066c]|[^\D0-9]")
_AM = re.compile("[\u0e4d\u0ecd]")
_AM_AND_TONE = re.compile("([\u0e4d\u0ecd])([\u0e48-\u0e4b\u0ec8-\u0ecb])")
"""The first half of the vowel am before a tone mark, in Thai and Lao; NFKC puts it behind."""
_PUNCTUATION = {
    **dict.fromkeys("\u058a\u05be\u2010\u2011\u2012\u2013\u2212", "-"),
    **dict.fromkeys("\u02b9\u02bb\u02bc\u02bd\u02c8\u05f3\u2018\u2019\u201a\u201b\u2032\ua78c", "'"),
    "\u066b": ".",  # the Arabic decimal point
    "\u066c": ",",  # the Arabic separator of thousands
}
_OF_WORDS = re.compile(
    "[\u0591-\u085f\u0898-\u10ff\u135d-\u135f\u1700-\u1cff\ua66f-\ua67d\ua800-\uabff\U00010a00-\U0001e94f]"
)
"""Blocks of scripts with marks that are no letters."""
_OPTIONAL_MARKS = re.compile(
    "[\u0300-\u0305\u0307-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # accents
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u08ca-\u08ff"  # Arabic
    "\u0711\u0730-\u074a"  # Syriac
    "\u093c]"  # the dot of Devanagari, which many leave out
    "|(?<!\u0438)\u0306"  # Without its breve, й would be и, which is another letter.
)
"""Marks without which a word is still the same one."""
_NASAL = re.compile("[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u0939])|\u0901")
"""A nasal before a consonant in Devanagari, which may be written as a dot: हिन्दी, हिंदी."""
_HAN = re.compile("[\u3400-\u9fff]")
_LETTERS = str.maketrans(
    {
        # Latin letters that Unicode does not split into a letter and a mark
        **dict(zip("łøđðħŧıɓɗƙƴɖɨʉƀəɛɔŋɲɣʋƒ", "lodd" + "htibdkydiub" + "eeonngvf", strict=True)),
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        # Arabic letters, as Arabs, Persians and Kurds type them
        "ٱ": "ا",
        **dict.fromkeys("ىیې", "ي"),
        **dict.fromkeys("ةۃہھە", "ه"),
        **dict.fromkeys("کڪ", "ك"),
        "ں": "ن",
        # Katakana, because many words are written in hiragana as well
        **{chr(code): chr(code - 0x60) for code in (*range(0x30A1, 0x30F7), 0x30FD, 0x30FE)},
        # Letters that Malayalam and Bengali also write with a virama
        **dict(zip("ൺൻർൽൾൿৎ", ("ണ്", "ന്", "ര്", "ല്", "ള്", "ക്", "ত্"), strict=True)),
    }
)
