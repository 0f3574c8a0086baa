"""`memoriter doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoriter.cli._failure import FAILED
from memoriter.cli._options import Command, GlobalOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.cli._checks import Finding
    from memoriter.cli._render import Line

MARKS = {"good": ("ok  ", "green"), "note": ("note", "yellow"), "broken": ("BAD ", "bold red")}


@click.command(cls=Command, name="doctor")
def command() -> None:
    """Examine everything, and say how to mend what is wrong.

        memoriter doctor
        memoriter doctor -w ~/notes --json

    It looks at Python, SQLite, the packages, the configuration, the folders, the model and the index, and searches for
    passages that must be found. It creates and changes no file, unless it must ask a service for its model: then the
    answer is recorded. Exit code 1 if something is broken. Next: do what it says, and run it again.
    """
    from memoriter.cli._checks import examine

    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    findings = list(examine(options))
    broken = sum(finding.state == "broken" for finding in findings)
    if screen.as_json:
        screen.json({"ok": not broken, "findings": [finding.to_json() for finding in findings]})
    else:
        screen.show([line for finding in findings for line in _lines(finding)])
        screen.note((((f"{broken} broken." if broken else "Nothing is broken."), "bold red" if broken else "green"),))
    if broken:
        click.get_current_context().exit(FAILED)


def _lines(finding: Finding) -> Iterator[Line]:
    yield (MARKS[finding.state], (f"  {finding.check:<13} ", "bold"), (finding.message, ""))
    if finding.remedy:
        yield ((f"{'':20}{finding.remedy}", ""),)
