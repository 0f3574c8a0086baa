"""`python -m benchmarks`: measure, print a table, say which budget holds here and now."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._machine import describe
from benchmarks._measures import NAMES, Bench
from benchmarks._plan import QUICK, Effort
from benchmarks._report import Row, table

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """0, whatever the figures are; with `--check` 1 when a ratio is under its floor."""
    told = _parser().parse_args(arguments)
    effort = QUICK if told.quick else Effort()
    if told.small_files is not None:
        effort = replace(effort, small_files=told.small_files)
    rows: list[Row] = []
    for row in Bench(told.sizes, told.only, effort).run():
        rows.append(row)
        if sys.stderr.isatty():
            print(f"\r\033[K{row.name} {row.size or ''}", end="", file=sys.stderr, flush=True)
    machine = describe()
    print(
        f"\n{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, SQLite {machine['sqlite']}\n"
    )
    print(table(rows))
    if told.json:
        written = {"date": told.date, "machine": machine, "sizes": told.sizes, "rows": [row.as_json() for row in rows]}
        told.json.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    worse = [row for row in rows if row.ratio and row.holds is False]
    for row in worse if told.check else ():
        print(f"{row.name} at {row.size:,}: {row.value:.1f}, floor {row.budget}", file=sys.stderr)
    return int(bool(worse) and told.check)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "benchmarks", description="Measure memoriter against its budgets. Figures are of this machine in this run."
    )
    parser.add_argument(
        "--sizes", type=_sizes, default=[1_000, 10_000], metavar="N,N", help="chunks (default: 1000,10000)"
    )
    parser.add_argument(
        "--only", type=_names, default=list(NAMES), metavar="NAME,NAME", help=f"some of: {', '.join(NAMES)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument(
        "--small-files",
        type=_positive,
        metavar="N",
        help="files of the workspace of small notes (default: 10000; left out when no size reaches it)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--date", default="", help="is written to the JSON file as it is")
    parser.add_argument(
        "--check", action="store_true", help="end with 1 when a ratio of two things in this run is under its floor"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _sizes(text: str) -> list[int]:
    return sorted({_positive(part) for part in text.split(",")})


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(NAMES):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: not one of {', '.join(NAMES)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
