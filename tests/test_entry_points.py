"""The entry points of installed packages are found without importing anything, and say what is wrong when loaded."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from memoriter.entry_points import entry_points, load_all, load_named
from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

GROUP = "some.group"


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two folders of Python's path, and nothing else on it."""
    made = [tmp_path / "first", tmp_path / "second"]
    for folder in made:
        folder.mkdir()
    (made[0] / "things.py").write_text("number = 7\ntext = 'seven'\n", encoding="utf-8")
    (made[0] / "leaves.py").write_text("raise SystemExit('bye')\n", encoding="utf-8")
    monkeypatch.setattr("sys.path", [str(tmp_path / "python.zip"), *map(str, made)])
    return made


def install(folder: Path, name: str, text: str) -> None:
    package = folder / name
    package.mkdir()
    (package / "entry_points.txt").write_text(text, encoding="utf-8")


def test_those_of_a_group_come_by_name_and_others_stay_away(folders: list[Path]) -> None:
    install(
        folders[0],
        "b-1.dist-info",
        f"[other]\nx = things\n\n[{GROUP}]\n; a comment\nz=things:number\n\n[more]\ny = things\n",
    )
    install(folders[1], "A-2.egg-info", f"[{GROUP}]\r\n a = things:text [extra]\r\n")
    (folders[1] / "c-1.dist-info").mkdir()
    assert [(point.name, point.place) for point in entry_points(GROUP)] == [
        ("a", "things:text"),
        ("z", "things:number"),
    ]
    assert [point.load() for point in entry_points(GROUP)] == ["seven", 7]


def test_of_two_versions_of_a_package_the_first_on_the_path_counts(folders: list[Path]) -> None:
    install(folders[0], "same-2.0.dist-info", f"[{GROUP}]\nnew = things\n")
    install(folders[1], "Same-1.0.dist-info", f"[{GROUP}]\nold = things\n")
    assert [point.name for point in entry_points(GROUP)] == ["new"]


def test_one_that_fails_or_is_something_else_is_logged_and_left_out(
    folders: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    lines = ["good = things:number", "text = things:text", "none = nowhere", "exits = leaves", "lost = things:lost"]
    install(folders[0], "b-1.dist-info", "\n".join([f"[{GROUP}]", *lines]))
    with caplog.at_level(logging.WARNING):
        assert load_all(GROUP, int) == (7,)
    assert [record.args[0] for record in caplog.records if record.args] == ["exits", "lost", "none", "text"]


@pytest.mark.parametrize(
    ("place", "message", "remedy"),
    [
        ("", "names 'mine', which is not installed", "Install the package that has 'mine', or set a.b to 'own'."),
        ("nowhere", "No module named 'nowhere'", "Repair its package, or set a.b to 'own'."),
        ("leaves", "raised SystemExit('bye')", "Repair its package, or set a.b to 'own'."),
    ],
)
def test_what_a_setting_names_and_does_not_work_is_an_error_with_a_remedy(
    folders: list[Path], place: str, message: str, remedy: str
) -> None:
    install(folders[0], "b-1.dist-info", f"[{GROUP}]\nmine = {place}\n" if place else "")
    with pytest.raises(ConfigError) as error:
        load_named(GROUP, "mine", setting="a.b", default="own")
    assert message in error.value.message
    assert error.value.message.startswith("The setting a.b names 'mine', which ")
    assert error.value.remedy == remedy


def test_what_a_setting_names_is_imported(folders: list[Path]) -> None:
    install(folders[0], "b-1.dist-info", f"[{GROUP}]\nmine = things:text\n")
    assert load_named(GROUP, "mine", setting="a.b", default="own") == "seven"
