"""The mean vectors of general questions under the bundled model."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

_FILE = Path(__file__).with_name("question_centres.json")


@cache
def question_centres() -> Mapping[str, NDArray[np.float32]]:
    """Return the mean vector (384,) of general questions by script, as `scripts/question_centres.py` measured them."""
    import numpy as np

    stored: dict[str, str] = json.loads(_FILE.read_text("utf-8"))
    return {
        script: np.frombuffer(base64.b64decode(centre), "<f2").astype(np.float32) for script, centre in stored.items()
    }
