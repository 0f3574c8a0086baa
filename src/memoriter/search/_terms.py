"""The tokenizer: one analysis of notes, transcripts and queries in every script, and packed term counts.

Alphabetic words are folded and, in Latin script, stemmed. Identifiers are kept whole *and* in parts. Han and kana runs
become overlapping bigrams and single ideographs, so that a query of one character has matches (JSQuAD nDCG@10 rises
from .974 to .977). Korean words lose their particle and become bigrams. A term is data, never an operator.

Queries drop stop words, and common words count less. Stemmers do not unite irregular forms: `chosen` becomes `choose`.
Verbs with a very broad meaning (make, take, go) are left out: uniting their forms would only add chance matches.
The word lists are at the end of the file.

Notes get terms for the day in their path and for the dates in their text. Queries get terms for the months they name,
in English, Korean, Chinese or Japanese, so that a query about February finds the notes of February. A term only adds to
a score; only filters exclude notes.

A chunk is scored from its packed counts, without reading its text again. Their layout: n little-endian uint32 hashes in
ascending order, then n bytes of counts (255 means 255 or more).
"""

from __future__ import annotations

import re
import sys
import zlib
from array import array
from bisect import bisect_right
from collections import Counter
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from operator import add
from threading import local
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.folding import (
    GAP,
    JOINABLE,
    LATIN_MARKS,
    MAY_BE_SPACED,
    SPACED_CODE,
    clean,
    compile_words,
    fold_letters,
    fold_name,
    has_numbers,
    numbers_in,
    simplify,
    spaced_words_in,
)
from memoriter.ids import normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import date

ANALYSIS = 5
"""Increased whenever the same text would give other chunks or other terms, unless a migration has files read again.

Older indexes are then rebuilt.
"""
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a1-\u30ff\u31f0-\u31ff"
_HANGUL = "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"
_SYLLABIC = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
"""Thai, Lao, Burmese, Khmer, and the scripts of their neighbours, which put no spaces between words either."""
_WORD = rf"(?:(?![{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_SYLLABIC}])[\w{LATIN_MARKS}])"
_TOKEN = (
    rf"(?P<cjk>[{_HAN}{_HIRAGANA}][{_HAN}{_HIRAGANA}\u30fc]*|[{_KATAKANA}]+)|(?P<hangul>[{_HANGUL}]+)|"
    rf"(?P<syllabic>(?:(?=[{_SYLLABIC}])\w)+)|"
    rf"(?P<word>{_WORD}+(?:[.\-/:@#+']+{_WORD}+)*)"
)
_UNSPACED = f"[{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_SYLLABIC}]"
_ASCII_TOKEN = re.compile(r"\w+(?:[.\-/:@#+']+\w+)*", re.ASCII)
_CODE_GROUPS = re.compile(f"[^{GAP}]+")
_PARTS = re.compile(r"[._\-/:@#+']+")
_PART = re.compile(r"[^._\-/:@#+']+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_POSSESSIVE = re.compile(r"'s$", re.IGNORECASE)
_FIRST_KANA = "\u3041"
_LAST_KANA = "\u31ff"
"""Of the characters of a run, all others are ideographs."""
_HIRAGANA_ONLY = re.compile(f"[{_HIRAGANA}]+")
_STEMMABLE = re.compile(r"[a-z]{3,}\Z")
_CODE = re.compile(r"(?=\D*\d)(?=[^a-z]*[a-z])[a-z\d]+(?:[-_/]+[a-z\d]+)+", re.IGNORECASE)
"""An identifier of letters and numbers, which people also write without its separators."""
_SYLLABLE = "[\\w--\\p{M}](?:\\p{M}|(?<=[\u1039\u17d2\u1a60])\\w)*"
"""A letter with its marks, and in Burmese, Khmer and Tai Tham the letters below it; a pattern of `regex`."""


class Token(NamedTuple):
    """A word of a text, or a run of one of the scripts without spaces."""

    text: str
    """As it stands in the cleaned text."""
    folded: str
    terms: Sequence[str]
    """Its terms in notes and in queries."""
    parts: Sequence[str] = ()
    """Further terms in notes, and other forms in queries: the groups of a number, or a word without its separators."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of many scripts when a text needs it, because that takes 3 ms."""
    return re.compile(pattern)


def analyse(text: str) -> list[str]:
    """Return the terms of a text that the index stores, in order and with repetitions, without forms of words."""
    return terms_of(text, list(tokenize(clean(text))))


def terms_of(text: str, tokens: Sequence[Token]) -> list[str]:
    """Return the terms of a text with these tokens, in order and with repetitions."""
    own = [term for token in tokens for term in token.terms]
    parts = [part for token in tokens if token.parts for part in token.parts]
    codes = spaced_codes(text) if MAY_BE_SPACED.search(text) else ()
    words = () if text.isascii() else [word for *_, word in spaced_words_in(text)]
    return [*own, *parts, *codes, *words, *terms_of_text(text)]


def spaced_codes(text: str) -> list[str]:
    """Return the identifiers in a text whose groups have spaces between them, as they are written without.

    >>> spaced_codes("Flight LH 454, 5 kg of luggage")
    ['lh454', '5kg']
    """
    return [code for *_, code in spaced_codes_in(text)]


def spaced_codes_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of each of the `spaced_codes` of a text, and the identifier."""
    for match in SPACED_CODE.finditer(text):
        groups = list(_CODE_GROUPS.finditer(text, *match.span()))
        for first, second in pairwise(groups):
            if first[0].isalpha() != second[0].isalpha():
                yield first.start(), second.end(), (first[0] + second[0]).lower()
        if len(groups) > 2 or groups[0][0].isalpha() == groups[1][0].isalpha():
            yield *match.span(), "".join(group[0] for group in groups).lower()


def query_terms(text: str) -> tuple[str, ...]:
    """Return the distinct terms of a query without stop words, or with them if it has no other term."""
    remaining, months = extract_months(text)
    tokens = list(tokenize(clean(remaining)))
    content = [
        term for token in tokens if token.folded not in STOP_TERMS for term in token.terms if term not in STOP_TERMS
    ]
    return tuple(dict.fromkeys([*content, *months] or [term for token in tokens for term in token.terms]))


def is_compound(term: str, others: Iterable[str] = ()) -> bool:
    """Return whether the term is an identifier whose parts are terms as well, among them one of `others`."""
    return _PARTS.search(term) is not None or (
        _DIGIT.search(term) is not None and any(term.startswith(other) and term != other for other in others)
    )


def is_part(term: str, others: Iterable[str]) -> bool:
    """Return whether the term is a part of another one that is an identifier with a number."""
    return any(term in other and _DIGIT.search(other) for other in others)


def unknown_numbers(terms: Iterable[str], absent: Iterable[str]) -> list[str]:
    """Return the numbers among the `absent` terms of a query, and the names that contain one, such as `ledg142`.

    Single digits, ordinals, decades, times, dates and ranges are none, nor are days and years beside a month.
    """
    numbers = [term for term in absent if _DIGIT.search(term) and term[0] != "@" and not _NO_NUMBER.fullmatch(term)]
    if numbers and any(term[0] == "@" for term in terms):
        return [term for term in numbers if not _OF_DATE.fullmatch(term)]
    return numbers


_DIGIT = re.compile(r"\d")
_NO_NUMBER = re.compile(r"\d|\d+(?:st|nd|rd|th|s)|\d+(?:[-/:]\d+)+")
_OF_DATE = re.compile(r"\d\d|(?:19|20)\d\d")


def is_common(term: str) -> bool:
    """Return whether the term is an everyday word of its language, or kana that is likely to be grammar."""
    return term in COMMON_TERMS or term in _common_stems() or _HIRAGANA_ONLY.fullmatch(term) is not None


@lru_cache(maxsize=1)
def _common_stems() -> frozenset[str]:
    return frozenset(map(_stem, COMMON_WORDS))


def tokenize(cleaned: str) -> list[Token]:
    """Return the tokens of a text as `folding.clean` returns it."""
    if not has_numbers(cleaned) and cleaned.isascii():
        return list(map(_word_token, _ASCII_TOKEN.findall(cleaned)))
    tokens = list[Token]()
    position = 0
    for start, end, number in numbers_in(cleaned):
        text = cleaned[start:end]
        groups = () if _IN_NUMBERS.search(text) else [group.lower() for group in _ASCII_TOKEN.findall(text)]
        tokens += [*_words(cleaned[position:start]), Token(text, number, _word_terms(number), groups)]
        position = end
    return tokens + _words(cleaned[position:])


_IN_NUMBERS = re.compile("[,.']")
"""Between these, there is no group that could be a number of its own."""


def _words(text: str) -> list[Token]:
    if text.isascii():
        return list(map(_word_token, _ASCII_TOKEN.findall(text)))
    simplified = simplify(text)
    return [
        _cjk_token(match[0], simplified[match.start() : match.end()])
        if match.lastgroup == "cjk"
        else _TOKENS[cast("str", match.lastgroup)](match[0])
        for match in compile_words(_TOKEN, text).finditer(text)
    ]


def _bigrams(run: str) -> list[str]:
    return list(map(add, run, run[1:])) or [run]


def _cjk_token(run: str, folded: str) -> Token:
    """Return a run of ideographs or kana with its terms.

    Katakana stays, because a word of it is seldom a particle, as one of hiragana often is; see `query_forms`.
    """
    terms = _bigrams(folded)
    if len(folded) > 1:
        terms += [character for character in folded if not _FIRST_KANA <= character <= _LAST_KANA]
    return Token(run, folded, terms)


def _hangul_stem(word: str) -> str:
    """Return the word without its trailing particle or ending, unless the word is only that."""
    for ending in KOREAN_ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=65_536)
def _hangul_token(word: str) -> Token:
    return Token(word, word, () if word in STOP_TERMS and len(word) == 1 else _bigrams(_hangul_stem(word)))


@lru_cache(maxsize=65_536)
def _syllabic_token(run: str) -> Token:
    """Return a run of a script without spaces with its terms: overlapping pairs of syllables, and syllables with marks.

    Where a letter with its marks is a whole word, as often in Khmer and Burmese, a query may be no more than that.
    """
    folded = fold_letters(run)
    syllables = _syllables().findall(folded) or [folded]
    pairs = ["".join(syllables[i : i + 2]) for i in range(len(syllables) - 1)]
    return Token(run, folded, [*pairs, *(syllable for syllable in syllables if len(syllable) > 1 or not pairs)])


@cache
def _syllables() -> Any:
    import regex

    return cast("Any", regex).compile(_SYLLABLE, regex.V1)


@lru_cache(maxsize=65_536)
def _word_token(token: str) -> Token:
    joined = _POSSESSIVE.sub("", token)
    parts = (term_of("".join(parts_of(joined))),) if JOINABLE.fullmatch(joined) else ()
    return Token(token, fold_letters(token), _word_terms(token), parts)


_TOKENS: dict[str, Callable[[str], Token]] = {
    "hangul": _hangul_token,
    "syllabic": _syllabic_token,
    "word": _word_token,
}
"""What makes a token of each other group of `_TOKEN`."""


def _word_terms(token: str) -> tuple[str, ...]:
    token = _POSSESSIVE.sub("", token)
    parts = parts_of(token)
    if len(parts) == 1 and not _is_camel(parts[0]):
        term = _stem(fold_letters(parts[0]))
        return (term,) if term else ()  # a mark alone is no word
    pieces = [piece for part in parts for piece in _split_part(part)]
    whole = fold_letters("".join(parts) if _CODE.fullmatch(token) else token)
    return tuple(filter(None, dict.fromkeys([whole, *(_stem(fold_letters(piece)) for piece in pieces)])))


def term_of(word: str) -> str:
    """Return the term of a word without parts."""
    return _stem(fold_letters(word))


def parts_of(token: str) -> list[str]:
    """Return the words of a token, between which are points, hyphens and the like."""
    return _PART.findall(token)


def pieces_of(token: Token) -> Iterator[tuple[int, int, str]]:
    """Yield the places in the text of a token of what its terms stand for, each with its term.

    Those are the whole token and its parts, or the pairs of characters or syllables in a script without spaces.
    """
    text = token.text
    if _compiled(_UNSPACED).match(text) is None:
        yield 0, len(text), token.terms[0] if token.terms else token.folded
        for match in _PART.finditer(text) if token.folded == fold_letters(text) else ():
            yield *match.span(), term_of(match[0])
        return
    is_syllabic = _compiled(f"[{_SYLLABIC}]").match(text) is not None
    folded = fold_letters if is_syllabic else simplify
    starts = [match.start() for match in _syllables().finditer(text)] if is_syllabic else range(len(text))
    ends = [*starts, len(text)][2:] or [len(text)]
    for start, end in zip(starts, ends, strict=False):
        yield start, end, folded(text[start:end])


def _split_part(part: str) -> list[str]:
    return [part, *_CAMEL.findall(part)] if _is_camel(part) else [part]


def _is_camel(part: str) -> bool:
    """Return whether a part is in camel case: `memorySearch`, `HttpClient`, but not `ER605`, `iPhone15`, `a828e60`."""
    return part.isalpha() and part.isascii() and re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]", part) is not None


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return _stemmer()(LEMMAS.get(word, word)) if _STEMMABLE.match(word) else word


_per_thread = local()


def _stemmer() -> Callable[[str], str]:
    """Return Snowball's English stemmer (Porter 2). Each thread has its own, as the library requires."""
    if not hasattr(_per_thread, "stem"):
        import Stemmer

        _per_thread.stem = cast("Any", Stemmer).Stemmer("english").stemWord
    return _per_thread.stem


def classic_terms(text: str) -> list[str]:
    """Return the terms of FTS5's `unicode61` tokenizer, for classic scoring: runs of letters and digits, folded."""
    return _CLASSIC.findall(fold_classic(text))


def fold_classic(text: str) -> str:
    """Return the text in lower case without diacritics, as `unicode61` compares words."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", _MARKS.sub("", normalize("NFD", text.lower())))


_MARKS = re.compile(f"[{LATIN_MARKS}]+")

_CLASSIC = re.compile(r"[^\W_]+")


@lru_cache(maxsize=65_536)
def term_hash(term: str) -> int:
    """Return the CRC-32 of the term. With a few hundred terms in a chunk, one in ten million lookups is wrong."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


_LINK = re.compile(r"\[\[([^\[\]|#]{1,200})[^\[\]]{0,400}\]\]")


def link_term(name: str) -> str:
    """Return the term of a passage that links to a note by a name as `fold_name` returns it."""
    return f"[[{name.replace(' ', '-')}"


def link_terms(text: str) -> list[str]:
    """Return the terms of the wikilinks in a text, each once.

    >>> link_terms("See [[Recipes/Lentil curry#Spices|the curry]] and [[Dal.md]].")
    ['[[lentil-curry', '[[dal']
    """
    if "[[" not in text:
        return []
    targets = (match[1].rpartition("/")[2].strip().removesuffix(".md") for match in _LINK.finditer(text))
    names = map(fold_name, targets)
    return list(dict.fromkeys(link_term(name) for name in names if name))


def pack(terms: Iterable[str]) -> bytes:
    """Return the packed counts of a text's terms."""
    counts: Counter[int] = Counter(map(term_hash, terms))
    hashes = array("I", sorted(counts))
    tail = bytes([count if count < 256 else 255 for count in map(counts.__getitem__, hashes)])
    if sys.byteorder == "big":
        hashes.byteswap()
    return hashes.tobytes() + tail


@lru_cache(maxsize=65_536)
def needle(term: str) -> bytes:
    """Return the term's hash in the byte order of packed counts."""
    return term_hash(term).to_bytes(4, "little")


def occurrences(term_counts: Sequence[bytes], needles: Sequence[bytes]) -> dict[int, dict[int, int]]:
    """Count the terms in each chunk. All chunks are searched as one string, because a query reads hundreds of them.

    Args:
        term_counts: packed term counts of each chunk.
        needles: the terms, each from `needle`.

    Returns:
        For each chunk that contains a term, by the chunk's position: the counts of the terms that it contains, at most
        255, by the term's position in ascending order.
    """
    sizes = [len(chunk_counts) // 5 * 4 for chunk_counts in term_counts]
    starts = list(accumulate(sizes, initial=0))
    hashes = b"".join([chunk_counts[:size] for chunk_counts, size in zip(term_counts, sizes, strict=True)])
    counts_by_chunk: dict[int, dict[int, int]] = {}
    for term, hash_bytes in enumerate(needles):
        offset = hashes.find(hash_bytes)
        while offset >= 0:
            if offset & 3 == 0:  # Parts of two adjacent hashes may equal a third.
                chunk = bisect_right(starts, offset) - 1
                count = term_counts[chunk][sizes[chunk] + (offset - starts[chunk]) // 4]
                counts_by_chunk.setdefault(chunk, {})[term] = count
            offset = hashes.find(hash_bytes, offset + 1)
    return counts_by_chunk


def members(term_counts: bytes) -> frozenset[int]:
    """Return the hashes of the terms in packed counts."""
    keys = array("I", term_counts[: len(term_counts) // 5 * 4])
    if sys.byteorder == "big":
        keys.byteswap()
    return frozenset(keys)


_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_MONTH_NUMBERS = {name: number for number, name in enumerate(_MONTHS, 1)} | {
    name[:3]: number for number, name in enumerate(_MONTHS, 1)
}
_MONTH_NUMBERS["sept"] = 9
_AMBIGUOUS = frozenset({"may", "march", "mar", "dec", "jan", "sep", "oct", "nov"})
"""Months that are also other words or names. They count only after a word of time or next to a number."""
_MONTH_NAME = "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True))
_MONTH_IN_ENGLISH = re.compile(
    r"(?P<before>\b(?:in|of|since|until|till|from|by|early|late|mid|last|this|next|during|before|after|\d{1,2})[ -]+)?"
    rf"\b(?P<name>{_MONTH_NAME})\b\.?"
    r"(?:[ ,]+(?P<number>\d{1,2}(?:st|nd|rd|th)?\b(?!\d)[ ,]*)?(?P<year>(?:19|20)\d{2})?)?",
    re.IGNORECASE,
)
_MONTH_HINTS = tuple(name[:3] for name in _MONTHS)
"""The beginning of every English month. A text without any of them, in any case, contains no English month."""
_LOWER_CASE = re.compile("[a-z]+")
_ISO = re.compile(r"(?<![\d-])(?P<year>(?:19|20)\d{2})-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-2]\d|3[01]))?(?![\d-])")
_EASTERN_MONTH = re.compile(r"\d\s*[月월]")
_EASTERN = re.compile(
    r"(?:(?P<year>(?:19|20)\d{2})\s*[年년]\s*)?(?<!\d)(?P<month>1[0-2]|0?[1-9])\s*[月월](?!\w{0,4}요일)"
)


def terms_of_day(day: date) -> list[str]:
    """Return the terms of a note of that day, three times each, so that they count more than a day in its text."""
    return [f"@{day.month:02}", f"@{day.year}-{day.month:02}"] * 3


def terms_of_text(text: str) -> list[str]:
    """Return the terms of the months that a note mentions, each once, in the form of `terms_of_day`."""
    mentions = [*_named_months(text), *_iso_months(text)]
    return list(dict.fromkeys([term for _, terms in mentions for term in terms]))


def extract_months(text: str) -> tuple[str, list[str]]:
    """Return the query without the months it names, and one term for each month, with the year if the query has it.

    A date such as 2026-02-10 stays in the query as well, because notes may contain it literally.
    """
    mentions = _named_months(text)
    iso_months = _iso_months(text)
    if not mentions and not iso_months:
        return text, []
    month_terms = [terms[-1] for _, terms in (*mentions, *iso_months)]
    kept = list[str]()
    position = 0
    for start, end in sorted(span for span, _ in mentions):
        kept += [text[position:start], " "]
        position = end
    return "".join([*kept, text[position:]]), list(dict.fromkeys(month_terms))


_Mention = tuple[tuple[int, int], list[str]]
"""The span of a month in a text, and its terms, the most exact last."""


def _named_months(text: str) -> list[_Mention]:
    lower = text.lower()
    has_hint = any(map(lower.__contains__, _MONTH_HINTS)) and not _MONTH_NUMBERS.keys().isdisjoint(
        _LOWER_CASE.findall(lower)
    )
    english = [
        (match.span("name"), _month_terms(match["year"], _MONTH_NUMBERS[match["name"].lower()]))
        for match in (_MONTH_IN_ENGLISH.finditer(text) if has_hint else ())
        if _is_month(match)
    ]
    if _EASTERN_MONTH.search(text) is None:
        return english
    return english + [
        (match.span(), _month_terms(match["year"], int(match["month"]))) for match in _EASTERN.finditer(text)
    ]


def _iso_months(text: str) -> list[_Mention]:
    if "-0" not in text and "-1" not in text:
        return []
    return [(match.span(), _month_terms(match["year"], int(match["month"]))) for match in _ISO.finditer(text)]


def _is_month(match: re.Match[str]) -> bool:
    name = match["name"].lower()
    has_context = match["before"] or match["number"] or match["year"]
    # Where case does not matter, a pattern takes `ı`, `İ` and `ſ` for `i` and `s`, and `APRİL` is no name of a month.
    return name in _MONTH_NUMBERS and (bool(has_context) or name not in _AMBIGUOUS)


def _month_terms(year: str | None, month: int) -> list[str]:
    return [f"@{month:02}", *([f"@{year}-{month:02}"] if year else [])]


_ENGLISH = """
a about after again all also am an and any are aren't as at be because been before being both but by can
can't cannot could couldn't did didn't do does doesn't doing don't each few for from had has have having he
her here hers him his how i i'd i'll i'm i've if in into is isn't it it's its itself just know let's like
me more most my myself no nor not of off on once only or other our ours out over own please s same she
should shouldn't so some such t than that that's the their theirs them then there there's these they this
those through to too under until up us very was wasn't we we're we've were weren't what what's when where
which while who whom whose why will with won't would wouldn't you you're your yours tell remind got get
gets
"""
_SPANISH = """
el la los las un una unos unas de del al y o u en que qué por para con se su sus lo le les es son fue era
cuál cómo cuándo dónde quién mi tu
"""
_FRENCH = """
le la les un une des du de et ou en que qui quoi pour par avec se sa son ses ce cette ces est sont était au
aux quel quelle comment quand où mon ma mes
"""
_GERMAN = """
der die das den dem des ein eine einen einem eines und oder in im zu zum zur von vom mit für auf ist sind
war waren wer was wann wo wie warum welche welcher welches mein meine
"""
_PORTUGUESE = """
o a os as um uma uns umas de do da dos das e ou em no na nos nas que qual quais por para com se seu sua é
são foi era como quando onde quem meu minha
"""
_KOREAN = """
그 이 저 것 거 게 건 수 등 및 더 또 좀 잘 왜 뭐 뭘 뭔 무엇 무슨 어떤 어느 어떻게 언제 어디 어디서 어디에
누가 누구 누구와 누구랑 얼마 얼마나 몇 우리 내 내가 나 나는 제 제가 저는 우리가 우리의 그게 이게 그거 이거
있나 있어 있지 있는지 있었지 없어 했지 했어 했나 했더라 하기로 하지 하는 하나 할 한 하고 해야 되나 된 되는
됐지 됐어 인가 인지 이지 였지 였더라 뭐였지 뭐지 뭐야 뭐라고 어디지 어디야 어디였지 언제지 언제였지 누구지
누구야 얼마지 얼마였지 알려줘 말해줘 대해 대한 관한 관해 때 위해 그리고 그런데 하지만 때문에
"""
_CHINESE = """
的 了 是 在 我 你 他 她 它 们 和 与 或 也 都 就 还 又 吗 呢 吧 啊 呀 哪 谁 几 我们 你们 他们 什么 甚么 怎么
怎样 如何 为什 为何 么时 么样 哪个 哪里 哪儿 哪些 哪一 多少 时候 多久 这个 那个 这些
那些 是什 是谁 是多 是哪 在哪 有什 是不 不是 请问 一下 个什 了什
"""
_JAPANESE = """
は が を に で と も の へ や か ね よ な です ます した まし でし たか すか しょ うか ょう どこ なに 何を
何が 何で いつ だれ 谁が 谁と どれ どの どう どん なぜ って った てい いる ある あり りま ませ こと もの
ので から まで より ため して する され れた れる たっ だっ っけ たち この その あの これ それ あれ 私の
私は 何だ 何时 なん んな んで んだ いく くら らで なっ のか たの るの 教え えて てく くだ ださ さい
"""
_KOREAN_ENDINGS = """
은 는 이 가 을 를 의 에 와 과 도 로 만 에서 에게 한테 께서 으로 까지 부터 보다 처럼 이나 이랑 랑 하고 마다
조차 밖에 라고 이라고 에는 에도 에서는 에서도 으로는 으로도 로는 로도 에게는 까지는 부터는 이란 란 이라는
라는 들은 들이 들을 들의 들도 들에게 입니다 이다 이야 였다 이었다 했다 한다 합니다 했습니다 하는 하기 하며
하면 해서 하지 했던 했지 했어 했나 하기로 되는 되어 된다 됐다 였지 이지
"""

_COMMON = """
time times people look fine long whole thing way day year week month morning evening night today tomorrow
yesterday new old good bad better best great right wrong first last next make take go went gone come came
find found see saw seen know knew known think thought say said give gave given work use need want keep kept
put try start stop turn leave left move show set run ran call happen change end begin back home house place
part piece number lot little big small large high low many much several every everyone everything something
anything nothing someone anyone man woman kid child world life hand case point fact group problem question
answer reason idea name word line side kind sort type open close hold bring brought buy bought pay paid
send sent meet met feel felt seem become help talk mean meant write wrote read hear heard play live believe
remember plan decide choose chose chosen settle pick wait break broke broken fix check add early late soon
ever never always often sometimes usually still already almost around along away far near together instead
maybe probably really actually quite pretty exactly enough else another different own sure hard easy full
free real true ready able possible important main even half short minute hour second third two three four
five ten one couldn person lately recently currently originally finally later ago once while since
"""
_COMMON_KOREAN = """
사람 오늘 어제 내일 아침 저녁 시간 때문 우리 지금 다시 그냥 정말 처음 마지막 다음 이번 지난 하나 가지 경우 정도
있다 있는 있었 없는 없다 한다 했다 하는 하기 되는 된다 에서 으로 에게 까지 부터 보다 해서 라고 이라 면서 지만
"""
_COMMON_CHINESE = """
时间 今天 昨天 明天 现在 以后 之后 后来 之前 以前 一个 一次 这次 那个 这个 没有 可以 需要
知道 觉得 时候 问题 东西 地方 自己 大家 已经 因为 所以 如果 但是
"""

# The words of Chinese and Japanese are in the simplified characters that terms have.
STOP_TERMS: frozenset[str] = frozenset(
    word
    for words in (_ENGLISH, _SPANISH, _FRENCH, _GERMAN, _PORTUGUESE, _KOREAN, _CHINESE, _JAPANESE)
    for word in words.split()
)

KOREAN_ENDINGS: tuple[str, ...] = tuple(sorted(_KOREAN_ENDINGS.split(), key=len, reverse=True))
"""Particles and endings that may follow a Korean word, longest first."""

COMMON_WORDS: frozenset[str] = frozenset(_COMMON.split())
COMMON_TERMS: frozenset[str] = frozenset(f"{_COMMON_KOREAN} {_COMMON_CHINESE}".split())
"""Terms with little meaning, even if they are rare in a small set of notes."""


_FORMS = """
bent:bend bet:bet bit bitten:bite blew blown:blow broke broken:break built:build burnt:burn bought:buy
caught:catch chose chosen:choose dealt:deal dug:dig drew drawn:draw drank drunk:drink drove driven:drive ate
eaten:eat fell fallen:fall fed:feed fought:fight flew flown:fly forgot forgotten:forget forgave
forgiven:forgive froze frozen:freeze grew grown:grow hid hidden:hide leant:lean learnt:learn lent:lend
lost:lose met:meet rode ridden:ride rang rung:ring rose risen:rise sought:seek sold:sell sent:send
shook shaken:shake shone:shine shot:shoot shrank shrunk:shrink sang sung:sing sank sunk:sink slept:sleep
slid:slide spoke spoken:speak spent:spend spun:spin stole stolen:steal stuck:stick struck:strike swore
sworn:swear swept:sweep swam swum:swim taught:teach tore torn:tear threw thrown:throw woke woken:wake wore
worn:wear won:win withdrew withdrawn:withdraw wrote written:write children:child people:person men:man
women:woman feet:foot teeth:tooth mice:mouse
"""


def _parse_forms() -> dict[str, str]:
    lemmas: dict[str, str] = {}
    forms: list[str] = []
    for entry in _FORMS.split():
        form, _, lemma = entry.partition(":")
        forms.append(form)
        if lemma:
            lemmas |= dict.fromkeys(forms, lemma)
            forms = []
    return lemmas


LEMMAS: dict[str, str] = _parse_forms()
