"""`python -m benchmarks`: run the benchmarks, and print a table of the figures with their budgets."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._effort import QUICK, Effort
from benchmarks._machine import describe
from benchmarks._measures import NAMES, Bench
from benchmarks._plot import plot
from benchmarks._report import Row, table

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (1_000, 10_000, 100_000, 1_000_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0, or with `--check` 1 if a ratio is past its limit."""
    options = _parser().parse_args(arguments)
    effort = QUICK if options.quick else Effort()
    if options.small_files is not None:
        effort = replace(effort, small_files=options.small_files)
    if options.embedded is not None:
        effort = replace(effort, embedded=options.embedded)
    if options.processes is not None:
        effort = replace(effort, processes=options.processes)
    rows: list[Row] = []
    for row in Bench(options.sizes, options.only, effort).run():
        rows.append(row)
        if sys.stderr.isatty():
            print(f"\r\033[K{row.name} {row.size or ''}", end="", file=sys.stderr, flush=True)
    machine = describe()
    print(f"\n{_machine_line(machine)}\n")
    print(table(rows))
    written = {
        "date": options.date,
        "machine": machine,
        "sizes": options.sizes,
        "rows": [row.as_json() for row in rows],
    }
    if options.json:
        _write(options.json, json.dumps(written, indent=2) + "\n")
    if options.results and _complete(options):
        _write(options.results / "speed.json", json.dumps(written, indent=1) + "\n")
        _write(options.results / "speed.svg", plot(rows, _caption(machine, options.date)))
    elif options.results:
        print(
            f"\n{options.results} is unchanged: only a complete run writes there, and this run left something out.",
            file=sys.stderr,
        )
    worse = [row for row in rows if row.ratio and row.holds is False]
    for row in worse if options.check else ():
        print(f"{row.name} at {row.size:,}: {row.value:.2f}, limit {row.limit}", file=sys.stderr)
    return int(bool(worse) and options.check)


def _complete(options: argparse.Namespace) -> bool:
    """Return whether the run covers everything with full effort, at the default sizes at least."""
    return (
        not options.quick
        and options.processes is None
        and options.embedded is None
        and set(options.only) == set(NAMES)
        and set(SIZES) <= set(options.sizes)
    )


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _machine_line(machine: dict[str, Any]) -> str:
    cores = machine["cores"]
    python = machine["python"]
    sqlite = machine["sqlite"]
    return f"{machine['processor']}, {cores} cores, Python {python}, SQLite {sqlite}"


def _caption(machine: dict[str, Any], date: str) -> str:
    """Return one line with what was measured, on which machine and when."""
    where = f"{machine['processor']}, {machine['cores']} cores" + (f", {date}" if date else "")
    return f"Median, warm, in process, 384 dimensions, without embedding the query; {where}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "benchmarks",
        description="Measure memoriter against its budgets. The figures are valid for this machine and run.",
    )
    parser.add_argument(
        "--sizes",
        type=_sizes,
        default=list(SIZES),
        metavar="N,N",
        help="numbers of chunks (default: 1000,10000,100000,1000000; above 100000, only searches are measured)",
    )
    parser.add_argument(
        "--only", type=_names, default=list(NAMES), metavar="NAME,NAME", help=f"some of: {', '.join(NAMES)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument(
        "--small-files",
        type=_positive,
        metavar="N",
        help="files in the workspace of small notes (default: 10000; skipped if every size is smaller)",
    )
    parser.add_argument(
        "--embedded",
        type=_positive,
        metavar="N",
        help=f"chunks that the model embeds (default: {Effort().embedded}, or {QUICK.embedded} with --quick)",
    )
    parser.add_argument(
        "--processes",
        type=_positive,
        metavar="N",
        help=f"how often each program is started (default: {Effort().processes}, or {QUICK.processes} with --quick)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument(
        "--results", type=Path, metavar="DIR", help="also write speed.json and speed.svg here, if the run is complete"
    )
    parser.add_argument("--date", default="", help="the date to write to the files")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if a ratio of two measurements of this run is past its limit"
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
