"""Copy the tables of evaluation reports into a page: paste_tables.py PAGE REPORT_DIR…

A table of the page is replaced by the one with the same title, which may have other numbers. A table that no report
has, or that one report has twice, stays as it is and is named.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TABLE = re.compile(r"^\*\*(?P<title>[^*\n]+)\*\*\n\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE)


def key_of(title: str) -> str:
    """Return a title without its numbers, except those of names such as `w1` and `recall@10`."""
    return re.sub(r"(?<![\w@])\d+(?!\w)", "#", title)


def tables_of(report: str) -> dict[str, str]:
    """Return the tables of a report by their key, without those that it has twice."""
    found: dict[str, list[str]] = {}
    for match in TABLE.finditer(report):
        found.setdefault(key_of(match["title"]), []).append(match[0])
    return {key: tables[0] for key, tables in found.items() if len(tables) == 1}


def paste(page: str, reports: list[str]) -> tuple[str, list[str]]:
    """Return the page with the tables of the reports, the last one first, and the titles that stay as they are."""
    tables: dict[str, str] = {}
    for report in reports:
        tables |= tables_of(report)
    stay = [match["title"] for match in TABLE.finditer(page) if key_of(match["title"]) not in tables]
    return TABLE.sub(lambda match: tables.get(key_of(match["title"]), match[0]), page), stay


def main(page: Path, reports: list[Path]) -> None:
    """Rewrite the page."""
    text, stay = paste(page.read_text("utf-8"), [(each / "report.md").read_text("utf-8") for each in reports])
    page.write_text(text, "utf-8")
    for title in stay:
        sys.stderr.write(f"No report has this table, or one has it twice: {title}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
