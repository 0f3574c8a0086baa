"""Error messages and exit codes."""

from __future__ import annotations

import click

from memoriter.errors import MemoriterError, UsageError, sentence, system_error_text
from memoriter.values import dataclass

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True, slots=True)
class CommandFailure:
    """The message, remedy and exit code of a failure."""

    code: str
    message: str
    remedy: str
    exit_code: int


def describe_failure(error: Exception) -> CommandFailure:
    """Return the message and exit code of an error: 2 if the request must change, 130 for Ctrl-C, else 1."""
    match error:
        case click.UsageError():
            place = error.ctx.command_path if error.ctx else "memoriter"
            return CommandFailure("usage", sentence(error.format_message()), f"See `{place} --help`.", USAGE)
        case click.ClickException():
            return CommandFailure("failed", sentence(error.format_message()), "", FAILED)
        case click.Abort(__cause__=EOFError() as cause):  # click turns every EOFError into an Abort
            return describe_failure(cause)
        case click.Abort():
            return CommandFailure("interrupted", "Stopped. What was finished is kept.", "", INTERRUPTED)
        case MemoriterError():
            return CommandFailure(
                error.code, error.message, error.remedy, USAGE if isinstance(error, UsageError) else FAILED
            )
        case OSError():
            remedy = "Look at the path, its permissions and the free space."
            return CommandFailure("system", system_error_text(error), remedy, FAILED)
        case _:
            return CommandFailure(
                "internal",
                f"Sorry, that is a mistake in memoriter ({type(error).__name__}: {error}).",
                "Your notes are untouched. Run it again with -v to see the trace, and report it with that.",
                FAILED,
            )
