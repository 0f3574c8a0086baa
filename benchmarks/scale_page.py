"""`python -m benchmarks.scale_page`: `benchmarks/scale.md` and its picture, from the figures in the repository.

`just bench-postgres` and `just bench-longterm` measure, and then write the page again.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks import _long_term_page as long_term
from benchmarks import _postgres_page as postgres

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "benchmarks" / "scale.md"
_INTRODUCTION = """# At scale

Two measurements with many entries: the passages of notes, in an index on PostgreSQL beside SQLite, and long-term
memories in LanceDB. [Performance](performance.md) has those of one person's notes.
"""


def main() -> None:
    """Write both files."""
    PAGE.write_text(page(), encoding="utf-8")
    (RESULTS / postgres.PICTURE).write_text(picture(), encoding="utf-8")


def page() -> str:
    """Return the page in Markdown."""
    demoted = re.sub(r"(?m)^#", "##", long_term.page(_figures("long-term"))).rstrip()
    return "\n".join([_INTRODUCTION, postgres.page(_figures("postgres")).rstrip(), "", demoted, ""])


def picture() -> str:
    """Return the picture of PostgreSQL as an SVG file."""
    return postgres.picture(_figures("postgres"))


def _figures(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
