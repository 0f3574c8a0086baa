"""The numbers of repeats of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Numbers of repeats."""

    questions: int = 120
    repeats: int = 3
    peer_questions: int = 15
    processes: int = 7
    syncs: int = 5
    embedded: int = 200
    """Chunks that the model embeds."""
    small_files: int = 10_000
    """Files of the workspace of small notes, made when the largest size is at least this."""
    load_seconds: float = 300.0
    """How long many clients search by the web page at once."""


QUICK = Effort(questions=30, repeats=1, peer_questions=5, processes=3, syncs=3, embedded=40, load_seconds=10.0)
