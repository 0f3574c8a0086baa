"""Inputs that once broke a promise, and inputs like those that are met in life: none of them breaks one now."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz_inputs import inputs
from fuzz_targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(file for file in CORPUS.rglob("*") if file.is_file())
SLOW = {"index", "messages"}


def test_every_target_can_be_named_and_has_a_corpus() -> None:
    assert {file.parent.name for file in FILES} == set(TARGETS)


@pytest.mark.matrix
@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_an_input_of_the_corpus_breaks_no_promise(file: Path) -> None:
    TARGETS[file.parent.name](file.read_bytes())


@pytest.mark.matrix
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in SLOW])
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_an_input_near_the_corpus_breaks_no_promise(name: str, data: st.DataObject) -> None:
    TARGETS[name](data.draw(inputs(CORPUS / name)))
