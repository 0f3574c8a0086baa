"""`scripts/bundled_graph.py` as a module, although it is in no package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "scripts" / "bundled_graph.py"


def graph_script() -> Any:
    specification = importlib.util.spec_from_file_location("bundled_graph", FILE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
