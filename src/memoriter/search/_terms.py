"""Text to terms: one analysis for notes, transcripts and queries, for every script.

Alphabetic words are folded and, in Latin script, stemmed. Identifiers are kept whole *and* in parts. Han and kana runs
become overlapping bigrams plus single ideographs (JSQuAD nDCG@10 .974 -> .977, and a one-character query finds
something); Korean words lose their particle and become bigrams. A term is data, never an operator.
"""

from __future__ import annotations

import re
from functools import lru_cache
from threading import local
from typing import TYPE_CHECKING, Any, cast

from memoriter.ids import normalize
from memoriter.search._dates import extract_months, terms_of_text
from memoriter.search._irregular import LEMMAS
from memoriter.search._stopwords import COMMON_TERMS, COMMON_WORDS, KOREAN_ENDINGS, STOP_TERMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a1-\u30ff\u31f0-\u31ff"
_HANGUL = "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"
_WORD = rf"(?:(?![{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}])\w)"
_TOKEN = re.compile(
    rf"(?P<cjk>[{_HAN}{_HIRAGANA}]+|[{_KATAKANA}]+)|(?P<hangul>[{_HANGUL}]+)|(?P<word>{_WORD}+(?:[.\-/:@#+'’]+{_WORD}+)*)",
)
_PARTS = re.compile(r"[._\-/:@#+'’]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
_MARKS = re.compile("[\u0300-\u036f]+")
_IDEOGRAPH = re.compile(f"[{_HAN}]")
_HIRAGANA_ONLY = re.compile(f"[{_HIRAGANA}]+")
_STEMMABLE = re.compile(r"[a-z]{3,}\Z")


def analyse(text: str) -> list[str]:
    """The terms of a text, in order and with repetitions: what the index holds of it."""
    return [term for _, terms in _tokenize(text) for term in terms] + terms_of_text(text)


def query_terms(text: str) -> tuple[str, ...]:
    """The distinct terms of a question, without the words that any question has, unless nothing else is left."""
    rest, months = extract_months(text)
    tokens = list(_tokenize(rest))
    telling = [term for token, terms in tokens if token not in STOP_TERMS for term in terms if term not in STOP_TERMS]
    return tuple(dict.fromkeys([*telling, *months] or [term for _, terms in tokens for term in terms]))


def is_compound(term: str) -> bool:
    """Whether the term is an identifier whose parts are terms as well."""
    return _PARTS.search(term) is not None


def is_numbered(term: str) -> bool:
    """Whether the term is a name with a number in it, such as `ledg-142`; a bare date or address is not."""
    return any(map(str.isdigit, term)) and any(map(str.isalpha, term)) and is_compound(term)


def is_common(term: str) -> bool:
    """Whether the term is an everyday word of its language, or kana that is likely to be grammar."""
    return term in COMMON_TERMS or term in _common_stems() or _HIRAGANA_ONLY.fullmatch(term) is not None


@lru_cache(maxsize=1)
def _common_stems() -> frozenset[str]:
    return frozenset(map(_stem, COMMON_WORDS))


def fold(text: str) -> str:
    """The form in which words are compared: NFKC, case folded, without combining marks; dakuten and Hangul stay."""
    if text.isascii():
        return text.casefold()
    folded = normalize("NFD", normalize("NFKC", text).casefold())
    return normalize("NFC", _MARKS.sub("", folded))


def _tokenize(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each token in its folded form, with its terms."""
    normal = normalize("NFKC", text)
    for match in _TOKEN.finditer(normal):
        token = match[0]
        if match.lastgroup == "word":
            yield fold(token), _word_terms(token)
        elif match.lastgroup == "hangul":
            yield token, _hangul_terms(token)
        else:
            yield token, _cjk_terms(token)


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _cjk_terms(run: str) -> list[str]:
    terms = _bigrams(fold(run))
    return terms + _IDEOGRAPH.findall(run) if len(run) > 1 else terms


@lru_cache(maxsize=65_536)
def _hangul_stem(word: str) -> str:
    """The word without a trailing particle or ending, if something is left to search for."""
    for ending in KOREAN_ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            return word[: -len(ending)]
    return word


def _hangul_terms(run: str) -> list[str]:
    word = fold(run)
    return [] if word in STOP_TERMS and len(word) == 1 else _bigrams(_hangul_stem(word))


@lru_cache(maxsize=65_536)
def _word_terms_cached(token: str) -> tuple[str, ...]:
    token = _POSSESSIVE.sub("", token)
    parts = [part for part in _PARTS.split(token) if part]
    if len(parts) == 1 and not _is_camel(parts[0]):
        return (_stem(fold(parts[0])),)
    pieces = [piece for part in parts for piece in _split_part(part)]
    whole = fold(token).replace("’", "'")
    return tuple(dict.fromkeys([whole, *(_stem(fold(piece)) for piece in pieces)]))


def _word_terms(token: str) -> list[str]:
    return list(_word_terms_cached(token))


def _split_part(part: str) -> list[str]:
    return [part, *_CAMEL.findall(part)] if _is_camel(part) else [part]


def _is_camel(part: str) -> bool:
    """`memorySearch` and `HttpClient` are two words; `ER605`, `iPhone15` and `a828e60` are names."""
    return part.isalpha() and part.isascii() and re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]", part) is not None


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return _stemmer()(LEMMAS.get(word, word)) if _STEMMABLE.match(word) else word


_per_thread = local()


def _stemmer() -> Callable[[str], str]:
    """Snowball's English stemmer (Porter 2); one for each thread, as the library asks."""
    if not hasattr(_per_thread, "stem"):
        import Stemmer

        _per_thread.stem = cast("Any", Stemmer).Stemmer("english").stemWord
    return _per_thread.stem


def classic_terms(text: str) -> list[str]:
    """The terms of FTS5's `unicode61` tokenizer, for classic scoring: runs of letters and digits, folded."""
    return _CLASSIC.findall(fold_classic(text))


def fold_classic(text: str) -> str:
    """Lower case without diacritics, as `unicode61` compares words."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", _MARKS.sub("", normalize("NFD", text.lower())))


_CLASSIC = re.compile(r"[^\W_]+")
