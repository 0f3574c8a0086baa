"""Extensions declare their settings, and the configuration checks and shows them like its own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from memoriter.config import Configuration, load, reference
from memoriter.config._section import _points, section_of_extension
from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "agents.defaults.memorySearch.store.lake"
CODE = """\
from __future__ import annotations
from typing import Annotated
from memoriter.config import Doc, ExtensionSection, Whole
from memoriter.values import dataclass

@dataclass(frozen=True, slots=True, kw_only=True)
class Lake(ExtensionSection):
    depth: Annotated[Whole, Doc("Metres", low=1)] = 3
    name: Annotated[str | None, Doc("Its name", secret=True)] = None
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home, while a package is installed that declares the section `store.lake`."""
    packages = tmp_path / "packages"
    (packages / "lake-1.dist-info").mkdir(parents=True)
    points = f"[memoriter.settings]\n{KEY} = lake_settings:Lake\n"
    (packages / "lake-1.dist-info" / "entry_points.txt").write_text(points, encoding="utf-8")
    (packages / "lake_settings.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(packages)
    for cached in (_points, section_of_extension):
        cached.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    sys.modules.pop("lake_settings", None)
    for cached in (_points, section_of_extension):
        cached.cache_clear()


def loaded(folder: Path, text: str) -> Configuration:
    (folder / "memoriter.json5").write_text(text, encoding="utf-8")
    return load(None, home=folder, environ={})


def test_a_mistake_in_the_settings_of_an_extension_is_reported_with_its_line(folder: Path) -> None:
    text = "{agents: {defaults: {memorySearch: {store: {lake: {\n  dept: 4,\n  depth: 0,\n}}}}}}"
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text)
    unknown, low = caught.value.message.splitlines()
    assert unknown.endswith(f"memoriter.json5:2:3: The key {KEY}.dept is not a setting. Perhaps you mean 'depth'.")
    assert low.endswith(f"memoriter.json5:3:3: The setting {KEY}.depth must be 1 or more, not 0.")


def test_the_name_of_an_extension_is_suggested_for_one_like_it(folder: Path) -> None:
    with pytest.raises(ConfigError, match="Perhaps you mean 'lake'"):
        loaded(folder, "{memorySearch: {store: {lakes: {}}}}")


def test_an_agent_has_settings_of_an_extension_of_its_own(folder: Path) -> None:
    both = "{agents: {defaults: {memorySearch: {store: {lake: {depth: 5}}}}, list: [{id: 'a'}, {id: 'b', "
    configuration = loaded(folder, both + "memorySearch: {store: {lake: {name: 'Como'}}}}]}}")
    from lake_settings import Lake  # type: ignore[reportMissingImports]

    assert configuration.extension(KEY, Lake, agent="a") == Lake(depth=5)
    assert configuration.extension(KEY, Lake, agent="b") == Lake(depth=5, name="Como")
    assert Configuration().extension(KEY, Lake) == Lake()


def test_the_settings_of_an_extension_are_listed_and_their_secrets_are_hidden(folder: Path) -> None:
    assert [row.key for row in reference() if row.key.startswith(KEY)] == [f"{KEY}.depth", f"{KEY}.name"]
    configuration = loaded(folder, "{memorySearch: {store: {lake: {name: 'Como'}}}}")
    rows = {key: (value, origin.line) for key, value, origin in configuration.rows() if key.startswith(KEY)}
    assert rows == {f"{KEY}.depth": (3, None), f"{KEY}.name": ("***", 1)}


@pytest.mark.parametrize("fault", ["raise ImportError('gone')", "Lake = 5"])
def test_an_extension_that_cannot_be_loaded_has_no_settings(folder: Path, fault: str) -> None:
    (folder / "packages" / "lake_settings.py").write_text(fault, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"The key {KEY} is not a setting"):
        loaded(folder, "{memorySearch: {store: {lake: {}}}}")
    assert [row.key for row in reference() if row.key.startswith(KEY)] == []


@pytest.mark.slow
def test_an_extension_that_no_file_names_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "memoriter.json5").write_text("{memory: {citations: 'off'}, gateway: {port: 1}}", encoding="utf-8")
    code = (
        "import sys; from pathlib import Path; from memoriter.config import load;"
        f"load(None, home=Path({str(tmp_path)!r}), environ={{}});"
        "print([name for name in sys.modules if name.startswith('memoriter.extensions')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
