"""Eleven writers at once, of which memoriter's are killed: no acknowledged line is lost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import soak
import soak_writers

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 10.0


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("fences", ["nowhere", "entries", "everywhere"])
def test_eleven_writers_of_which_six_are_killed_again_and_again_lose_no_line(
    tmp_path: Path, fences: soak_writers.Fences
) -> None:
    seed = int(os.environ.get("MEMORITER_SEED", "1"))
    toll = soak_writers.load(tmp_path, SECONDS * soak.factor(), seed=seed, fences=fences)
    print(toll.summary(), *toll.lost[:9], *toll.held[:9], *toll.hidden[:9], *toll.failed[-20:], sep="\n")
    assert (toll.lost, toll.held, toll.hidden, toll.failed) == ([], [], [], [])
    assert toll.kept > 20
    assert toll.kills > 3
