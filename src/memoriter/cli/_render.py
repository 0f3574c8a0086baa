"""All output of the program: plain text into a pipe, styled text on a terminal, errors with exit codes."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoriter.errors import MemoriterError, UsageError, sentence, system_error_text
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import TextIO

    from rich.console import Console
    from rich.text import Text

    from memoriter.sync import Progress
    from memoriter.types import Diagnostic

Span = tuple[str, str]
"""A text and its style in rich's notation; an empty style is plain."""
Line = tuple[Span, ...]

NARROWEST = 20
"""Fewest columns for text; on a narrower terminal, lines are not wrapped."""
_MARK = re.compile(r" *(?:\d+\. |[-*+] )?")
"""White space at the beginning of a line, and the mark of a list item."""
LOG_HANDLER = "memoriter"
WORK = {
    "read": "Reading notes",
    "embed": "Computing vectors",
    "download": "Downloading the model",
    "import": "Importing",
    "export": "Exporting notes",
    "copy": "Copying vectors",
}
DONE = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130


def pluralize(number: int, noun: str) -> str:
    """Return a count with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Screen:
    """The output of one command: answers on stdout, everything else on stderr."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, verbosity: int = 0, log_format: str = "") -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.verbosity = verbosity
        self.log_format = log_format

    @property
    def verbose(self) -> bool:
        """Whether details and traces are shown."""
        return self.verbosity > 0

    def configure_logging(self) -> None:
        """Log warnings of memoriter to stderr, with a verbosity of 1 also operations and traces, and with 2 each step.

        Other packages log nothing here, because what they log may contain queries and addresses.
        """
        import logging

        class Tame(logging.Formatter):
            def format(self, record: logging.LogRecord) -> str:
                return _safe_for(sys.stderr, super().format(record))

        class WithoutTrace(Tame):
            def formatException(self, ei: Any) -> str:  # noqa: ARG002, N802 - as in logging
                return ""

        own = logging.getLogger("memoriter")
        for handler in list(own.handlers):  # of a command that ran before in this process
            if handler.name == LOG_HANDLER:
                own.removeHandler(handler)
                own.setLevel(logging.NOTSET)
        text = Tame("%(asctime)s %(levelname)s %(name)s: %(message)s")
        if self.log_format:
            from memoriter.cli._logging import use_format

            use_format(self.log_format, self.verbosity, text)
            return
        if not self.verbosity:
            if logging.lastResort is not None:  # what Python writes warnings with
                logging.lastResort.setFormatter(WithoutTrace("%(message)s"))
            return
        handler = logging.StreamHandler(sys.stderr)
        handler.name = LOG_HANDLER
        handler.setFormatter(text)
        own.addHandler(handler)
        own.setLevel(logging.INFO if self.verbosity == 1 else logging.DEBUG)

    def json(self, value: Any) -> None:
        """Print a value as JSON on stdout."""
        _echo(_json(value, sys.stdout, indent=2), sys.stdout)

    def json_line(self, value: Any) -> None:
        """Print a value on stdout as one line of a JSON Lines stream."""
        _echo(_json(value, sys.stdout, indent=None), sys.stdout)

    def show(self, lines: Sequence[Line], *, wrapped: bool = True) -> None:
        """Print lines of an answer on stdout; `wrapped`: at spaces if the terminal is narrower, unlike tables."""
        _print(lines, sys.stdout, wrapped=wrapped)

    def text(self, text: str) -> None:
        """Print a text on stdout unchanged, except that a terminal gets it without control characters."""
        if text:
            _echo(_safe_for(sys.stdout, text), sys.stdout, newline=not text.endswith("\n"))

    def note(self, *lines: Line) -> None:
        """Print lines on stderr, unless `quiet`; where logs are JSON, each is one of them."""
        if self.log_format == "json":
            import logging

            for line in lines:
                logging.getLogger("memoriter.cli").warning("".join(text for text, _ in line))
        elif not self.quiet:
            _print(lines, sys.stderr)

    def detail(self, text: str) -> None:
        """Print a detail on stderr if `verbose`."""
        if self.verbose:
            _print([((text, "dim"),)], sys.stderr)

    def show_diagnostics(self, reasons: Sequence[Diagnostic]) -> None:
        """Print diagnostics with their remedies on stderr, unless `quiet`."""
        self.note(*diagnostic_lines(reasons))

    def show_failure(self, failure: CommandFailure, error: Exception) -> None:
        """Print a failure as JSON on stdout or as text on stderr, and the trace on stderr if `verbose`."""
        if self.verbose:
            import traceback

            _echo(_safe_for(sys.stderr, "".join(traceback.format_exception(error)).rstrip()), sys.stderr)
        if self.as_json:
            from memoriter.api_json import error_json

            self.json(error_json(failure.code, failure.message, failure.remedy))
            return
        remedy: list[Line] = [((failure.remedy, ""),)] if failure.remedy else []
        _print([(("Error: ", "bold red"), (failure.message, "")), *remedy], sys.stderr)

    @contextmanager
    def progress(self, first: Callable[[Progress], str] | None = None) -> Generator[Callable[[Progress], None]]:
        """Show a progress bar on a terminal while work is reported; `first` returns a line to print before it."""
        bar = _Bar(painted=sys.stderr.isatty() and not self.quiet and not self.as_json)
        started = False

        def step(progress: Progress) -> None:
            nonlocal started
            if not started and first is not None:
                self.note(((first(progress), ""),))
            started = True
            bar.step(progress)

        try:
            yield step
        finally:
            bar.close()


def is_interactive(screen: Screen) -> bool:
    """Return whether a person can be asked: stdin and stderr are terminals, and neither JSON nor quiet is wanted.

    Questions go to stderr, with all that is needed to answer them, so stdout may be a pipe or a file.
    """
    return not screen.as_json and not screen.quiet and sys.stdin.isatty() and sys.stderr.isatty()


def read_stdin() -> str:
    """Return the text on stdin, in its encoding or in UTF-16 with a byte order mark. Raises UsageError."""
    content = sys.stdin.buffer.read()
    encoding = (sys.stdin.encoding or "utf-8").lower()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif encoding == "utf-8":
        encoding = "utf-8-sig"
    try:
        return content.decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise UsageError(
            f"The text on stdin is not {name}: it has the byte {content[error.start]:#04x} at {error.start + 1:,}.",
            remedy="Give text, not the bytes of a file; `iconv -t utf-8` converts other encodings.",
        ) from error


def diagnostic_lines(reasons: Sequence[Diagnostic]) -> list[Line]:
    """Return the lines for diagnostics with their remedies."""
    lines: list[Line] = []
    for reason in reasons:
        lines.append((("! ", "yellow"), (reason.message, "")))
        if reason.remedy:
            lines.append((("  " + reason.remedy, ""),))
    return lines


class _Bar:
    """A progress bar, which appears with its first step."""

    def __init__(self, *, painted: bool) -> None:
        self._painted = painted
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def step(self, progress: Progress) -> None:
        if not self._painted:
            return
        if self._bar is None:
            from rich import progress as rich
            from rich.console import Console
            from rich.text import Text

            class Rate(rich.ProgressColumn):
                def render(self, task: rich.Task) -> Text:
                    speed = task.finished_speed or task.speed
                    return Text(f"{speed:,.1f}/s" if speed else "", "dim")

            columns = (
                *(rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn()),
                *(Rate(), rich.TimeRemainingColumn()),
            )
            self._bar = rich.Progress(*columns, console=Console(file=sys.stderr), transient=True)
            self._bar.start()
        if progress.stage not in self._tasks:
            self._tasks[progress.stage] = self._bar.add_task(WORK[progress.stage], total=progress.total)
        self._bar.update(self._tasks[progress.stage], completed=progress.done, total=progress.total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def is_painted(stream: TextIO) -> bool:
    """Return whether a stream gets styles: a terminal does, and with FORCE_COLOR but not NO_COLOR everything."""
    if stream.isatty():
        return True
    from memoriter.environment import variables

    environ = variables()
    return bool(environ.get("FORCE_COLOR")) and not environ.get("NO_COLOR")


def _print(lines: Sequence[Line], stream: TextIO, *, wrapped: bool = True) -> None:
    if lines and is_painted(stream):
        _paint(lines, stream, wrapped=wrapped and stream.isatty())
    elif lines:
        _echo("\n".join("".join(text for text, _ in line).rstrip() for line in lines), stream)


def _paint(lines: Sequence[Line], stream: TextIO, *, wrapped: bool) -> None:
    """Print with styles, as far as the terminal has them; with NO_COLOR without colours."""
    from rich.console import Console
    from rich.text import Text

    from memoriter.environment import variables

    forced = None if stream.isatty() else True
    console = Console(file=stream, highlight=False, force_terminal=forced, no_color=bool(variables().get("NO_COLOR")))
    with writing(stream):
        for line in lines:
            text = Text.assemble(*((_sanitize(part), style) for part, style in line))
            for row in _wrap(text, console, _indent_of(line)) if wrapped else (text,):
                console.print(row, soft_wrap=True)


def _indent_of(line: Line) -> int:
    """Return where the text of a line begins: after its label, its white space, or the mark of a list item."""
    label = end = 0
    for text, style in line:
        if not style:
            break
        end += len(text)
        label = end if text.endswith(" ") else label
    mark = _MARK.match("".join(text for text, _ in line))
    return label or (mark.end() if mark else 0)


def _wrap(text: Text, console: Console, indent: int) -> Iterator[Text]:
    """Yield the rows of a line that is wider than the terminal, the later ones indented.

    Words in ASCII that are too long for a row, such as addresses, stay whole, so that they can be copied.
    """
    from rich.text import Text

    width = console.width - indent
    if text.cell_len <= console.width or width < NARROWEST:
        yield text
        return
    rest = text[indent:]
    rows = rest.divide(_row_starts(rest.plain, width)) if text.plain.isascii() else rest.wrap(console, width)
    for number, row in enumerate(rows):
        row.rstrip()
        yield (Text(" " * indent) if number else text[:indent]) + row


def _row_starts(text: str, width: int) -> list[int]:
    """Return where rows of at most `width` characters begin, except the first; a longer word is a row of its own.

    >>> _row_starts("See https://example.org or ask.", 10)
    [4, 24]
    """
    starts = list[int]()
    column = 0
    for word in re.finditer(r"\S+\s*", text):
        if column and column + len(word[0].rstrip()) > width:
            starts.append(word.start())
            column = 0
        column += len(word[0])
    return starts


def _safe_for(stream: TextIO, text: str) -> str:
    """Return the text unchanged for a pipe, and safe for a terminal."""
    return _sanitize(text) if stream.isatty() else text


def _sanitize(text: str) -> str:
    """Replace characters that could move the cursor, repaint the screen or reverse a line: a note is untrusted."""
    from memoriter.workspace import TERMINAL

    return TERMINAL.sub("\ufffd", text.replace("\r\n", "\n"))


def _json(value: Any, stream: TextIO, *, indent: int | None) -> str:
    """Return JSON that parses to the same value everywhere; for a terminal, control characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if not _encodable(text, stream):
        return json.dumps(value, indent=indent)
    if not stream.isatty():
        return text
    from memoriter.workspace import TERMINAL

    # JSON has none of these characters outside strings; the pattern does not match the line feeds of its indentation.
    return TERMINAL.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _encodable(text: str, stream: TextIO) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _echo(text: str, stream: TextIO, *, newline: bool = True) -> None:
    if not _encodable(text, stream):
        encoding = stream.encoding or "utf-8"
        text = text.encode(encoding, "replace").decode(encoding)
    with writing(stream):
        click.echo(text, file=stream, nl=newline, color=True)  # otherwise click strips escape sequences from notes


class OutputFailed(OSError):
    """The answer cannot be written to stdout."""


@contextmanager
def writing(stream: TextIO) -> Generator[None]:
    """Raise OutputFailed if stdout cannot be written to; what stderr does not take is dropped."""
    try:
        yield
    except BrokenPipeError:  # click ends the program without a word
        raise
    except OSError as error:
        is_answer = stream is sys.stdout
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for what is left in buffers
        if is_answer:
            sys.stdout = nowhere
            raise OutputFailed(error.errno, error.strerror) from error
        sys.stderr = nowhere


@dataclass(frozen=True, slots=True)
class CommandFailure:
    """The message, remedy and exit code of a failure."""

    code: str
    message: str
    remedy: str
    exit_code: int


RANGE = r" is not in the range (?:([\d.]+)<=x<=([\d.]+)|x>=([\d.]+))\.?$"
LONGEST_HINT = 40


def _plain_message(error: click.UsageError) -> str:
    """Return click's message in plain words: without its formulas, and with the choice that a wrong word is near to."""
    message = " ".join(error.format_message().split())  # click lists choices on lines of their own
    if not isinstance(error, click.BadParameter):
        return sentence(message)
    for kind, plain in {"integer range": "whole number", "integer": "whole number", "float range": "number"}.items():
        message = message.replace(f"is not a valid {kind}.", f"is not a {plain}.")
    if found := re.search(RANGE, message):
        low, high, least = found.groups()
        message = message[: found.start()] + (f" is less than {least}." if least else f" is not from {low} to {high}.")
    param = error.param
    if param is None or not isinstance(param.type, click.Choice):
        return sentence(message)
    hint = param.get_error_hint(error.ctx) if error.ctx else ""
    if len(hint) > LONGEST_HINT and param.name:  # it lists all choices, as the rest of the message does
        message = message.replace(hint, param.name.upper())
    import difflib

    wrong = re.search(r": '([^']*)' is not one of", message)
    near = difflib.get_close_matches(wrong[1], [str(each) for each in param.type.choices], n=1) if wrong else []
    return sentence(message) + (f" Perhaps you mean {near[0]}." if near else "")


def describe_failure(error: Exception) -> CommandFailure:
    """Return the message and exit code of an error: 2 if the request must change, 130 for Ctrl-C, else 1."""
    match error:
        case click.UsageError():
            place = error.ctx.command_path if error.ctx else "memoriter"
            return CommandFailure("usage", _plain_message(error), f"See `{place} --help`.", USAGE)
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
        case OutputFailed():
            why = "it is closed" if error.errno == errno.EBADF else error.strerror or error
            message = f"The answer cannot be written to the standard output: {sentence(why)}"
            return CommandFailure("system", message, "Send it to a file or a program that takes it.", FAILED)
        case OSError():
            remedy = "Check the path, its permissions and the free space."
            return CommandFailure("system", system_error_text(error), remedy, FAILED)
        case _:
            return CommandFailure(
                "internal",
                f"This is a bug in memoriter ({type(error).__name__}: {error}).",
                "Your notes are untouched. Run the command again with -v, and report the bug with its output.",
                FAILED,
            )
