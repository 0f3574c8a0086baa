"""`memoriter compact`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoriter.api_json import compact_json
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.cli._render import Line
    from memoriter.types import CompactReport


@click.command(cls=Command, name="compact")
@click.option("--unused", is_flag=True, help="Also drop vectors of text that is in no note any more.")
@click.option("--damaged", is_flag=True, help="Also remove damaged indexes that were set aside.")
def command(*, unused: bool, damaged: bool) -> None:
    """Make the index as small as it can be; no answer changes.

        memoriter compact
        memoriter compact --unused
        memoriter compact --damaged --json

    Vectors of text that was deleted or changed are kept for a while, within memorySearch.cache, because computing them
    again takes longest if the text comes back. Searches work meanwhile. Next: memoriter status.
    """
    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    with options.open_memory() as memory:
        report = memory.compact(unused=unused, damaged=damaged)
    if screen.as_json:
        screen.json(compact_json(report))
        return
    screen.show(list(_lines(report)))


def _lines(report: CompactReport) -> Iterator[Line]:
    sizes = f"{_megabytes(report.bytes_before)} before, {_megabytes(report.bytes_after)} now"
    yield ((sizes, "bold"), (f"; {report.seconds:.1f} s.", ""))
    yield ((f"{pluralize(report.vectors, 'unused vector')} dropped.", ""),)
    if report.unused:
        yield ((f"{pluralize(report.unused, 'unused vector')} kept; --unused drops them.", "dim"),)
    if report.damaged:
        count = f"{len(report.damaged)} damaged files ({_megabytes(report.damaged_bytes)})"
        fate = "removed." if report.damaged_removed else "kept; --damaged removes them."
        yield ((f"{count} {fate}", "" if report.damaged_removed else "dim"),)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
