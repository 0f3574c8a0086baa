"""Inputs near those of a corpus, for a fuzzer that is not told which code they reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

TOKENS = [
    *(bytes([each]) for each in b'\0\n\t <>`#|\\"{}[]!/'),
    *(b"\r\n", b"```", b"- ", b"---\n", b"<!--", b"-->", b"null", b"NaN", b"1e308", b"-1", b"9" * 400, b"[" * 200),
    *(b"**", b"*a" * 8, b"\x1b[2J", b"\xff\xfe", b"\xed\xa0\x80"),
    *("한국어".encode(), "\u202e".encode(), "\U000e0041".encode()),
]


def inputs(corpus: Path) -> st.SearchStrategy[bytes]:
    """Files of the corpus with pieces replaced, repeated, moved or taken from another one; and any bytes at all."""
    seeds = [file.read_bytes() for file in sorted(corpus.glob("*"))] or [b""]
    part = st.one_of(st.sampled_from(TOKENS), st.binary(max_size=8), st.sampled_from(seeds))
    place = st.integers(0, max(map(len, seeds)))
    edit = st.tuples(place, st.integers(0, 40), part, st.sampled_from([1, 1, 1, 2, 40]))
    edited = st.tuples(st.sampled_from(seeds), st.lists(edit, max_size=6)).map(lambda each: _edited(*each))
    return st.one_of(edited, st.binary(max_size=200), st.lists(part, max_size=20).map(b"".join))


def _edited(seed: bytes, edits: list[tuple[int, int, bytes, int]]) -> bytes:
    for at, length, part, times in edits:
        seed = seed[:at] + part * times + seed[at + length :]
    return seed[:65_536]
