"""The collections and times that the settings of QMD mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoriter.extensions.qmd.api import plan_qmd
from memoriter.extensions.qmd.settings import QmdPath, QmdSettings, QmdUpdate


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("5", 300_000), ("90s", 90_000), ("1.5h", 5_400_000), ("250ms", 250), ("0", 0), ("-5m", 300_000), ("", 300_000)],
)
def test_an_interval_of_qmd_is_read_with_minutes_as_the_unit(text: str, milliseconds: int) -> None:
    settings = QmdSettings(update=QmdUpdate(interval=text))
    assert plan_qmd(settings, "a", workspace=Path("/w"), user_home=Path("/u")).schedule.interval_ms == milliseconds


def test_collections_of_qmd_have_names_that_differ() -> None:
    paths = tuple(QmdPath(path=each, name="Docs") for each in ("/a", "~/b", "c/../d"))
    plan = plan_qmd(
        QmdSettings(paths=paths, include_default_memory=False), "Me", workspace=Path("/w"), user_home=Path("/u")
    )
    assert [(each.name, str(each.path)) for each in plan.collections] == [
        ("docs-me", "/a"),
        ("docs-me-2", "/u/b"),
        ("docs-me-3", "/w/d"),
    ]
