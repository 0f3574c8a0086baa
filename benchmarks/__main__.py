"""`python -m benchmarks`: measure, print a table, say which budget holds here and now."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._machine import describe
from benchmarks._measures import NAMES, Bench
from benchmarks._picture import picture
from benchmarks._plan import QUICK, Effort
from benchmarks._report import Row, table

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (1_000, 10_000, 100_000, 1_000_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """0, whatever the figures are; with `--check` 1 when a ratio is on the wrong side of its limit."""
    told = _parser().parse_args(arguments)
    effort = QUICK if told.quick else Effort()
    if told.small_files is not None:
        effort = replace(effort, small_files=told.small_files)
    if told.processes is not None:
        effort = replace(effort, processes=told.processes)
    rows: list[Row] = []
    for row in Bench(told.sizes, told.only, effort).run():
        rows.append(row)
        if sys.stderr.isatty():
            print(f"\r\033[K{row.name} {row.size or ''}", end="", file=sys.stderr, flush=True)
    machine = describe()
    print(f"\n{_described(machine)}\n")
    print(table(rows))
    written = {"date": told.date, "machine": machine, "sizes": told.sizes, "rows": [row.as_json() for row in rows]}
    if told.json:
        _write(told.json, json.dumps(written, indent=2) + "\n")
    if told.results and _complete(told):
        _write(told.results / "speed.json", json.dumps(written, indent=1) + "\n")
        _write(told.results / "speed.svg", picture(rows, _caption(machine, told.date)))
    elif told.results:
        print(f"\n{told.results} keeps the figures of a whole run: this one left something out.", file=sys.stderr)
    worse = [row for row in rows if row.ratio and row.holds is False]
    for row in worse if told.check else ():
        print(f"{row.name} at {row.size:,}: {row.value:.2f}, wanted {row.limit}", file=sys.stderr)
    return int(bool(worse) and told.check)


def _complete(told: argparse.Namespace) -> bool:
    """Everything with full effort at the usual sizes or more: what is shown to readers."""
    return not told.quick and told.processes is None and set(told.only) == set(NAMES) and set(SIZES) <= set(told.sizes)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _described(machine: dict[str, Any]) -> str:
    cores, python, sqlite = machine["cores"], machine["python"], machine["sqlite"]
    return f"{machine['processor']}, {cores} cores, Python {python}, SQLite {sqlite}"


def _caption(machine: dict[str, Any], date: str) -> str:
    """What was measured, where and when, in a line."""
    where = f"{machine['processor']}, {machine['cores']} cores" + (f", {date}" if date else "")
    return f"Median, warm, in process, 384 dimensions, without embedding the question; {where}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "benchmarks", description="Measure memoriter against its budgets. Figures are of this machine in this run."
    )
    parser.add_argument(
        "--sizes",
        type=_sizes,
        default=list(SIZES),
        metavar="N,N",
        help="chunks (default: 1000,10000,100000; past 100000, as 1000000, only searching is measured)",
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
    parser.add_argument(
        "--processes",
        type=_positive,
        metavar="N",
        help=f"how often each program is started (default: {Effort().processes}, or {QUICK.processes} with --quick)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument(
        "--results", type=Path, metavar="DIR", help="also write speed.json and speed.svg here, if nothing is left out"
    )
    parser.add_argument("--date", default="", help="is written to the files as it is")
    parser.add_argument(
        "--check", action="store_true", help="end with 1 when a ratio of two things in this run is past its limit"
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
