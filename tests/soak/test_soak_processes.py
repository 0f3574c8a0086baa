"""Ten processes at once: no error that a user would see, no lost write, no answer of half an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import soak

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SECONDS = 5.0


@pytest.mark.soak
def test_ten_processes_of_mixed_load_lose_nothing_and_never_meet_a_lock(tmp_path: Path) -> None:
    load = soak.load(tmp_path, SECONDS * soak.factor())
    print(load.summary(), *load.errors[:9], *load.torn[:9], *load.lost[:9], sep="\n")
    assert load.crashed == []
    assert load.errors == []
    assert load.torn == []
    assert load.lost == []
    assert len(load.figures) == len(soak.ROLES)
    assert load.generation > 1
