"""What OpenClaw makes of a transcript: the messages it takes, as lines, and the lines of the file they came from."""

from __future__ import annotations

from typing import Any

import pytest

from memoriter.sync import at_lines
from memoriter.types import Chunk
from memoriter.workspace import TranscriptFolder, Transcripts
from memoriter.workspace.transcripts._messages import message_text, one_line


@pytest.mark.vectors("buildSessionEntry")
def test_a_transcript_gives_the_same_lines_at_the_same_places(tmp_path: Any, case: Any) -> None:
    parameters = case["input"]
    recorded = case["output"]
    transcripts = Transcripts([TranscriptFolder(tmp_path)])
    if parameters["raw"] is None:
        assert transcripts.scan().sources == ()
        return
    (tmp_path / parameters["file_name"]).write_bytes(parameters["raw"].encode("utf-8", "surrogatepass"))
    (source,) = transcripts.scan().sources
    with transcripts.opened(source) as transcript:
        lines = [(line.number, line.parsed.rendered) for line in transcript.lines() if line.parsed.rendered]
    assert (source.path, source.size) == (recorded["path"], recorded["size"])
    assert [number for number, _ in lines] == recorded["lineMap"]
    # What is a secret, and how much of one is left, is a rule of our own.
    if "secret" not in case["name"]:
        assert "\n".join(text for _, text in lines) == recorded["content"]


@pytest.mark.vectors("extractSessionText")
def test_the_text_of_a_message_is_the_same(case: Any) -> None:
    assert (message_text(case["input"], "assistant") or None) == case["output"]
    if isinstance(case["input"], str):
        assert one_line([case["input"]]) == (case["output"] or "")


@pytest.mark.vectors("remapChunkLines")
def test_chunks_are_placed_at_the_same_lines_of_the_file(case: Any) -> None:
    for chunk, expected in zip(case["input"]["chunks"], case["output"], strict=True):
        placed = at_lines(Chunk(chunk["startLine"], chunk["endLine"], chunk["text"]), case["input"]["lineMap"])
        assert (placed.start_line, placed.end_line) == (expected["startLine"], expected["endLine"])
