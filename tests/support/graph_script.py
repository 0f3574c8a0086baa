"""The scripts as modules, although they are in no package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "scripts"


def graph_script(name: str = "bundled_graph") -> Any:
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
