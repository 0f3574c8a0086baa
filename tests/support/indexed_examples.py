"""The example notes with an index by the bundled model, which is made once for all tests of a run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from memoriter import Memory
from memoriter.embed import open_provider
from memoriter.errors import ProviderUnavailable

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class IndexedExamples:
    """A copy of the examples that no test changes, since all processes of a run use it."""

    folder: Path

    @property
    def workspace(self) -> Path:
        return self.folder / "examples" / "workspace"

    def home(self, place: Path) -> Path:
        """Make a home with the finished index of the workspace and no settings."""
        return Path(shutil.copytree(self.folder / "home", place))


def indexed_examples(folders: pytest.TempPathFactory) -> IndexedExamples:
    """Return the indexed examples; skip the test if the bundled model cannot run here."""
    try:
        open_provider("bundled", cache_dir=folders.mktemp("models")).close()
    except ProviderUnavailable as error:
        pytest.skip(f"the bundled model cannot run here: {error.message}")
    base = folders.getbasetemp()
    made = IndexedExamples((base.parent if base.name.startswith("popen-") else base) / "indexed-examples")
    finished = made.folder / "finished"
    with FileLock(made.folder.with_suffix(".lock")):
        if not finished.exists():
            shutil.rmtree(made.folder, ignore_errors=True)
            _make(made)
            finished.touch()
    return made


def _make(examples: IndexedExamples) -> None:
    shutil.copytree(EXAMPLES, examples.folder / "examples")
    home = examples.folder / "home"
    home.mkdir(mode=0o700)
    settings = examples.folder / "settings.json5"
    settings.write_text('{agents: {defaults: {memorySearch: {provider: "bundled"}}}}', encoding="utf-8")
    with Memory.open(examples.workspace, config=settings, home=home) as memory:
        assert memory.sync().pending == 0
