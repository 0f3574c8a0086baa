"""One number for several stages of work, and texts and addresses that every client can read."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.mcp_server._resources import note_path, note_uri
from memoriter.mcp_server._shared import TOTAL, ProgressScale
from memoriter.mcp_server._tools import to_result, wire_text
from memoriter.sync import Progress
from memoriter.workspace import neutral

Stage = Literal["read", "embed", "download"]
STAGES = st.lists(st.sampled_from(["download", "read"]), max_size=3)


@pytest.mark.slow
@given(STAGES, st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=1, max_size=50))
def test_progress_grows_with_every_message_and_stays_within_the_whole(
    stages: list[Stage], counts: list[tuple[int, int]]
) -> None:
    steps = ProgressScale()
    received = [
        step[0]
        for stage in [*stages, "embed"]
        for done, total in counts
        if (step := steps.update(Progress(stage, done, total))) is not None
    ]
    assert all(before < after for before, after in pairwise(received))
    assert all(0 < step <= TOTAL for step in received)


def test_a_run_ends_at_the_whole_and_ten_thousand_files_are_a_hundred_messages_at_most() -> None:
    steps = ProgressScale()
    read = [steps.update(Progress("read", done, 10_000)) for done in range(1, 10_001)]
    embedded = [steps.update(Progress("embed", done, 10_000)) for done in range(1, 10_001)]
    received = [step for step in (*read, *embedded) if step is not None]
    assert len(received) <= 101
    assert received[-1] == (TOTAL, "Computing vectors: 10000 of 10000")


ANY = st.text(st.characters(exclude_categories=()))
"""Half characters, too."""


@given(ANY)
def test_whatever_a_note_or_its_name_holds_goes_over_the_wire(text: str) -> None:
    assert wire_text(text).encode().decode() == wire_text(text)
    result = to_result({"text": text})
    assert json.loads(result.content[0].text) == {"text": wire_text(text)}
    assert result.structured_content == {"text": neutral(wire_text(text))}
    assert result.model_dump_json()


@given(ANY.filter(bool))
def test_an_address_of_a_note_leads_back_to_its_path(path: str) -> None:
    address = note_uri(path)
    assert address.isascii()
    assert " " not in address
    assert note_path(address) == path
