"""A folder of notes into which exports are imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from memoriter.extensions.importing.api import FORMATS, ImportReport, run_import
from memoriter.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


class Target:
    """A folder of notes."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "notes"
        self.records = folder / "records"
        self.root.mkdir()
        (self.root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")

    def run(self, source: str, path: Path, **options: Any) -> ImportReport:
        options = {"zone": "UTC", **options}
        return run_import(Workspace(self.root), FORMATS[source], path, locks=self.records, **options)

    def texts(self) -> dict[str, str]:
        folder = self.root / "memory" / "imported"
        return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in folder.rglob("*.md")}

    @property
    def text(self) -> str:
        return "\n".join(self.texts().values())


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(tmp_path)
