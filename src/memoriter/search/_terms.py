"""The tokenizer: one analysis of notes, transcripts and queries in every script, and packed term counts.

Alphabetic words are folded and, in Latin script, stemmed. Identifiers are kept whole *and* in parts. Han and kana runs
become overlapping bigrams and single ideographs, so that a query of one character has matches (JSQuAD nDCG@10 rises
from .974 to .977). Korean words lose their particle and become bigrams. A term is data, never an operator.

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
from itertools import accumulate
from threading import local
from typing import TYPE_CHECKING, Any, cast

from memoriter.ids import normalize
from memoriter.search._dates import extract_months, terms_of_text
from memoriter.search._word_lists import COMMON_TERMS, COMMON_WORDS, KOREAN_ENDINGS, LEMMAS, STOP_TERMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a1-\u30ff\u31f0-\u31ff"
_HANGUL = "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"
_WORD = rf"(?:(?![{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}])\w)"
_TOKEN = (
    rf"(?P<cjk>[{_HAN}{_HIRAGANA}]+|[{_KATAKANA}]+)|(?P<hangul>[{_HANGUL}]+)|"
    rf"(?P<word>{_WORD}+(?:[.\-/:@#+'’]+{_WORD}+)*)"
)
_ASCII_TOKEN = re.compile(r"(?P<word>\w+(?:[.\-/:@#+']+\w+)*)", re.ASCII)
_PARTS = re.compile(r"[._\-/:@#+'’]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
_MARKS = re.compile("[\u0300-\u036f]+")
_IDEOGRAPH = f"[{_HAN}]"
_HIRAGANA_ONLY = re.compile(f"[{_HIRAGANA}]+")
_STEMMABLE = re.compile(r"[a-z]{3,}\Z")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of many scripts when a text needs it, because that takes 3 ms."""
    return re.compile(pattern)


def analyse(text: str) -> list[str]:
    """Return the terms of a text that the index stores, in order and with repetitions."""
    return [term for _, terms in _tokenize(text) for term in terms] + terms_of_text(text)


def query_terms(text: str) -> tuple[str, ...]:
    """Return the distinct terms of a query without stop words, or with them if it has no other term."""
    remaining, months = extract_months(text)
    tokens = list(_tokenize(remaining))
    content = [term for token, terms in tokens if token not in STOP_TERMS for term in terms if term not in STOP_TERMS]
    return tuple(dict.fromkeys([*content, *months] or [term for _, terms in tokens for term in terms]))


def is_compound(term: str) -> bool:
    """Return whether the term is an identifier whose parts are terms as well."""
    return _PARTS.search(term) is not None


def is_numbered(term: str) -> bool:
    """Return whether the term is a name that contains a number, such as `ledg-142`, and not a bare date or address."""
    return any(map(str.isdigit, term)) and any(map(str.isalpha, term)) and is_compound(term)


def is_common(term: str) -> bool:
    """Return whether the term is an everyday word of its language, or kana that is likely to be grammar."""
    return term in COMMON_TERMS or term in _common_stems() or _HIRAGANA_ONLY.fullmatch(term) is not None


@lru_cache(maxsize=1)
def _common_stems() -> frozenset[str]:
    return frozenset(map(_stem, COMMON_WORDS))


def fold(text: str) -> str:
    """Return the text as words are compared: NFKC, case folded, without combining marks; dakuten and Hangul stay."""
    if text.isascii():
        return text.casefold()
    folded = normalize("NFD", normalize("NFKC", text).casefold())
    return normalize("NFC", _MARKS.sub("", folded))


def _tokenize(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each token in its folded form, with its terms."""
    normalized = normalize("NFKC", text)
    pattern = _ASCII_TOKEN if normalized.isascii() else _compiled(_TOKEN)
    for match in pattern.finditer(normalized):
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
    return terms + _compiled(_IDEOGRAPH).findall(run) if len(run) > 1 else terms


@lru_cache(maxsize=65_536)
def _hangul_stem(word: str) -> str:
    """Return the word without its trailing particle or ending, unless the word is only that."""
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


_CLASSIC = re.compile(r"[^\W_]+")


@lru_cache(maxsize=65_536)
def term_hash(term: str) -> int:
    """Return the CRC-32 of the term. With a few hundred terms in a chunk, one in ten million lookups is wrong."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def pack(terms: Iterable[str]) -> bytes:
    """Return the packed counts of a text's terms."""
    counts: Counter[int] = Counter(map(term_hash, terms))
    hashes = array("I", sorted(counts))
    tail = bytes(min(counts[key], 255) for key in hashes)
    if sys.byteorder == "big":
        hashes.byteswap()
    return hashes.tobytes() + tail


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
