"""The provider without a model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from memoriter.embed import open_provider

if TYPE_CHECKING:
    from pathlib import Path


def test_a_word_weighs_one_and_its_trigrams_half(tmp_path: Path) -> None:
    (vector,) = open_provider("fake", cache_dir=tmp_path).embed(["a"], role="document")
    assert sorted(abs(float(x)) for x in vector if x) == pytest.approx([0.5 / math.sqrt(1.25), 1 / math.sqrt(1.25)])


def test_case_and_punctuation_do_not_matter(tmp_path: Path) -> None:
    left, right = open_provider("fake", cache_dir=tmp_path).embed(["VLAN 10: IoT!", "vlan 10 iot"], role="document")
    assert left.tolist() == right.tolist()


def test_texts_without_words_are_alike_and_unlike_others(tmp_path: Path) -> None:
    dots, dashes, words = open_provider("fake", cache_dir=tmp_path).embed(["...", "---", "some words"], role="query")
    assert float(dots @ dashes) == pytest.approx(1)
    assert abs(float(dots @ words)) < 0.5
