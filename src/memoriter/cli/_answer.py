"""The request of a search, the output of its result, and how an editor opens a hit."""

from __future__ import annotations

import sys
from itertools import takewhile, zip_longest
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Self

import click

from memoriter.cli._options import read_environment
from memoriter.cli._render import is_painted
from memoriter.errors import UsageError, sentence
from memoriter.filters import all_options
from memoriter.types import filter_arguments
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memoriter.cli._options import GlobalOptions
    from memoriter.cli._render import Line, Screen, Span
    from memoriter.memory import Memory
    from memoriter.search import Marker
    from memoriter.sync import Progress
    from memoriter.types import Explanation, Hit, SearchResult


SNIPPET_LINES = 6
INDENT = "   "
_NO_TEXT = ("#", "```", "~~~", "---", "|--", "| --")
"""The beginnings of headings, fences, rules and the line below the header of a table."""
TRY = "Try other words, a name or a date; `memoriter status` says what is indexed."


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """All that the output of a search depends on, besides the memory; it can be sent as JSON."""

    text: str
    arguments: Mapping[str, Any]
    """Those of `Memory.search`, by their names."""
    form: str
    """`text`, `json` or `lines`."""
    quiet: bool
    marked: bool
    """Whether to highlight the query's words in the text."""
    linked: bool
    """Whether citations link to their files."""

    @classmethod
    def of(cls, options: GlobalOptions, text: str, arguments: Mapping[str, Any], form: str) -> Self:
        """Return the request of a command of this process."""
        marked = is_painted(sys.stdout)
        return cls(text, arguments, form, quiet=options.quiet, marked=marked, linked=sys.stdout.isatty())

    def search(self, memory: Memory, progress: Callable[[Progress], None]) -> SearchResult:
        """Search a memory. Raises MemoriterError."""
        return memory.search(self.text, operators=True, progress=progress, **self.arguments)

    def answer(self, memory: Memory, result: SearchResult) -> Any:
        """Return what is printed on stdout: a JSON value, or lines."""
        if self.form == "json":
            from memoriter.api_json import result_json
            from memoriter.tools import citations_on

            citations = citations_on(memory.configuration.settings.memory.citations, self.arguments.get("session"))
            return result_json(result, citations=citations, texts=True)
        query = self.query_of(result)
        if self.form == "lines":
            return grep_lines(result, query, [memory.file_of(hit.path) for hit in result.hits], marked=self.marked)
        files = [memory.file_of(hit.path) for hit in result.hits] if self.linked else ()
        return answer_lines(result, query, marked=self.marked, narrowed=self.narrowed, files=files)

    def remarks(self, result: SearchResult) -> list[Line]:
        """Return what is printed on stderr: with `lines`, that there is no clear match."""
        is_clear = result.outcome == "match" and result.truncated_by is None
        return [] if self.form != "lines" or is_clear else outcome_lines(result, narrowed=self.narrowed)

    @property
    def narrowed(self) -> bool:
        """Whether options restrict the search."""
        return any(self.arguments.get(name) for name in ("min_score", *filter_arguments()))

    def query_of(self, result: SearchResult) -> str:
        """Return the question without its operators."""
        return result.understood.get("text", "") if result.understood else self.text

    def show(self, screen: Screen, answer: Any) -> None:
        """Print the answer on stdout."""
        match self.form:
            case "json":
                screen.json(answer)
            case "lines":
                folder = read_environment().cwd
                shown = [_near(line, folder) for line in answer]
                if sys.stdout.isatty():
                    screen.show(shown, wrapped=False)
                else:  # programs read it, whatever FORCE_COLOR says
                    screen.text("\n".join("".join(text for text, _ in line) for line in shown))
            case _:
                screen.show(answer)


def _near(line: Line, folder: Path) -> Line:
    """Return a line whose first span is a path, with this path relative to a folder if it is inside."""
    (path, style), *others = line
    file = Path(path)
    return ((str(file.relative_to(folder)) if file.is_relative_to(folder) else path, style), *others)


def answer_lines(
    result: SearchResult, query: str, *, marked: bool, narrowed: bool, files: Sequence[Path | None] = ()
) -> list[Line]:
    """Return the lines for the hits with their citations, which link to `files`, and for the confidence of all."""
    terms = _marker(query)
    lines: list[Line] = []
    above: Hit | None = None
    for number, (hit, file) in enumerate(zip_longest(result.hits, files), 1):
        if above is not None and above.path == hit.path:
            lines.pop()  # hits of one note stand together
        title = _title_line(number, hit, above, file, listed=result.newest)
        lines += [title, *_text_lines(hit, terms, marked=marked), ()]
        above = hit
    timings = [] if result.timings is None else [((timing_row(result.timings), "cyan"),)]
    outcome = outcome_lines(result, narrowed=narrowed)
    understood = [*time_lines(result), *understood_lines(result)]
    return [*lines, *outcome, *understood, *certainty_lines(result), *timings]


def grep_lines(result: SearchResult, query: str, files: Sequence[Path | None], *, marked: bool) -> list[Line]:
    """Return a line `path:line:text` for each hit, as grep prints them. The first span of each is the path."""
    lines: list[Line] = []
    terms = _marker(query)
    for hit, file in zip(result.hits, files, strict=True):
        number, row = best_row(hit, terms)
        place: list[Span] = [(str(file or hit.path), "magenta"), (":", ""), (str(number), "green"), (":", "")]
        lines.append((*place, *_highlight(row, terms if marked else None)))
    return lines


def best_row(hit: Hit, terms: Marker | None) -> tuple[int, str]:
    """Return the line of a passage with most words of the query, with its number; without any, its first text."""
    rows = [row.strip("\r") for row in hit.text.split("\n")]

    def rank(at: int) -> tuple[int, bool, bool]:
        words = terms.words_in(rows[at]) if terms else ()
        return len(words), bool(rows[at].strip()), not rows[at].lstrip().startswith(_NO_TEXT)

    best = max(range(len(rows)), key=rank)
    exact = len(rows) == hit.end_line - hit.start_line + 1  # the passage of a transcript has only some of its lines
    return hit.start_line + (best if exact else 0), rows[best]


def timing_row(timings: Mapping[str, float]) -> str:
    """Return the line with the milliseconds of each stage, in the order of a search.

    >>> timing_row({"changes": 1.26, "rank": 2.0, "total": 3.5})
    'milliseconds: look for changes 1.3, rank 2.0, total 3.5'
    """
    from memoriter.types import STAGES

    rows = (f"{title} {timings[stage]:.1f}" for stage, title in STAGES.items() if stage in timings)
    return f"milliseconds: {', '.join(rows)}"


def _title_line(number: int, hit: Hit, above: Hit | None, file: Path | None, *, listed: bool) -> Line:
    """Return the line with the place of a hit; headings that it shares with a hit of its note above it are left out.

    A hit that is `listed`, because nothing else was asked, has its day in place of a score.
    """
    style = f"bold link {file.as_uri()}" if file else "bold"
    title: list[Span] = [(f"{number}. ", "dim"), (hit.citation, style)]
    title.append((f"  {hit.date or f'changed {hit.changed}'}" if listed else f"  {hit.score:.2f}", "green"))
    if hit.outside_time:
        title.append((f"  of {hit.date}" if hit.date else "  without a day", "yellow"))
    pairs = zip(hit.heading[:-1], above.heading, strict=False) if above and above.path == hit.path else ()
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if hit.heading:
        title.append((f"  {' › '.join([*(['…'] if shared else []), *hit.heading[shared:]])}", "dim"))
    return tuple(title)


def _text_lines(hit: Hit, terms: Marker | None, *, marked: bool) -> Iterator[Line]:
    numbered = enumerate((hit.text or hit.snippet).split("\n"), hit.start_line)
    rows = [(number, row.rstrip()) for number, row in numbered if row.strip()]
    first, last = hit.answer_lines or (0, -1)
    answer = next((at for at, (number, _) in enumerate(rows) if first <= number <= last), None)
    for row in snippet_window([row for _, row in rows], terms, answer):
        yield ((f"{INDENT}…", "dim"),) if row is None else ((INDENT, ""), *_highlight(row, terms if marked else None))
    if hit.explanation is not None:
        for text in explanation_rows(hit.explanation):
            yield ((f"{INDENT}{text}", "cyan"),)


def snippet_window(rows: Sequence[str], terms: Marker | None, answer: int | None = None) -> list[str | None]:
    """Return the rows of a passage to show: around the answer if it is known, else those with most words of the query.

    The rows have no blank ones. `answer` is the row that answers, 0-based, if the judge has read the passage.

    Returns:
        At most `SNIPPET_LINES` rows, with None for each part that is left out. If the rows begin inside a table, its
        header is shown above them.
    """
    if len(rows) <= SNIPPET_LINES:
        return list(rows)
    if answer is None:
        found = [len(terms.words_in(row)) if terms else 0 for row in rows]
    else:
        found = [int(at == answer) for at in range(len(rows))]
    starts = range(len(rows) - SNIPPET_LINES + 1)
    best = max(starts, key=lambda start: sum(found[start : start + SNIPPET_LINES]))
    if any(found):  # one row of context above the first match
        first = next(at for at in range(best, len(rows)) if found[at])
        best = min(max(best, first - 1), starts[-1])
    header = _table_header(rows, best)
    count = SNIPPET_LINES - len(header)
    best = max(range(best, best + len(header) + 1), key=lambda start: sum(found[start : start + count]))
    window: list[str | None] = list(rows[best : best + count])
    before = [*header, None] if header or best > 0 else []
    return [*before, *window, *([None] if best + count < len(rows) else [])]


def _table_header(rows: Sequence[str], start: int) -> list[str]:
    """Return the header of the table in which the row at `start` is, or nothing outside of a table or at its top."""
    top = start
    while top > 0 and rows[top - 1].lstrip().startswith("|"):
        top -= 1
    is_table = rows[start].lstrip().startswith("|") and set(rows[top + 1].strip()) <= set("|-: ")
    return list(rows[top : top + 2]) if is_table and start > top + 1 else []


def explanation_rows(explanation: Explanation) -> list[str]:
    """Return the lines that explain the score of a hit."""
    cosine = "no vector" if explanation.cosine is None else f"cosine {explanation.cosine:.3f}"
    vector = "-" if explanation.vector is None else f"{explanation.vector:.3f}"
    meaning = f"meaning {vector} ({cosine})"
    words = (
        f"words {explanation.keyword:.3f} (coverage {explanation.coverage:.3f}, "
        f"saturation {explanation.saturation:.3f}, neighbours {explanation.neighbours:.3f})"
    )
    score = f"blend {explanation.raw:.3f}, calibrated {explanation.calibrated:.3f}, decay {explanation.decay:.3f}"
    retrievers = " and ".join(explanation.legs) or "no retriever"
    terms = ", ".join(explanation.terms) or "none"
    rows = [f"{meaning}; {words}", f"{score}; found by {retrievers}; terms: {terms}"]
    for line in explanation.lines:
        place = "not in its list" if line.place is None else f"place {line.place}"
        rows.append(f"line {line.line} ({line.kind}): {place}, score {line.score:.3f}, adds {line.share:.4f}")
    if explanation.reranked is not None:
        relevance = f"relevance {explanation.relevance:.3f}"
        rows.append(f"reranked from place {explanation.rank} to place {explanation.reranked} ({relevance})")
    return rows


def outcome_lines(result: SearchResult, *, narrowed: bool) -> list[Line]:
    """Return the lines for the confidence of a result; `narrowed`: options restricted the search."""
    lines: list[Line]
    match result.outcome:
        case "match" if result.newest:
            lines = [(("The newest passages; nothing else was asked.", "green"),)]
        case "match" if result.hits:
            lines = [((f"Best match: 1. {result.hits[0].citation}", "green"),)]
        case "weak":
            lines = [(("Possibly related; there is no clear match.", "yellow"),), ((TRY, ""),)]
        case "match" | "none":
            nearest = " These passages are the nearest." if result.hits else ""
            lines = [((f"Nothing in your notes answers this.{nearest}", "yellow"),), *_empty_result_lines(result)]
    if result.reasons and result.hits:
        lines += _empty_result_lines(result)
    if result.outcome != "match" and narrowed and not result.reasons:
        options = ", ".join([*all_options(), "--min-score"])
        lines.append(((f"Or search everywhere: leave out {options}.", ""),))
    if result.truncated_by is not None:
        lines.append(((f"Cut short by the {result.truncated_by}: this is the best so far.", "yellow"),))
    return lines


def _empty_result_lines(result: SearchResult) -> Iterator[Line]:
    """Yield the lines that explain an empty result, with remedies."""
    for reason in result.reasons:
        yield ((f"{reason.message} {reason.remedy}", ""),)
    if not result.reasons:
        yield ((TRY, ""),)


def _marker(query: str) -> Marker | None:
    """Return what marks the words of the query; None if there are none."""
    from memoriter.search import marker_of

    return marker_of(query)


def _highlight(row: str, mark: Marker | None) -> Iterator[Span]:
    for text, marked in mark.parts(row) if mark else ((row, False),):
        yield text, "bold yellow" if marked else ""


_PLUS = frozenset(
    {"vi", "vim", "nvim", "view", "gvim", "mvim", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg"}
)
"""Editors that take a line as `+N FILE`."""
_GOTO = frozenset({"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"})
"""Editors that take a line as `--goto FILE:N`."""
_COLON = frozenset({"subl", "sublime_text", "zed", "zeditor", "hx", "helix"})
"""Editors that take a line as `FILE:N`."""


def find_editor(environ: Mapping[str, str]) -> str:
    """Return the command of the user's editor. Raises UsageError if no variable names one, or it is not a command."""
    from shlex import split

    for name in ("VISUAL", "EDITOR"):
        command = environ.get(name, "").strip()
        if not command:
            continue
        try:
            split(command)
        except ValueError as error:
            message = f"The variable {name} is {command!r}, which is not a command: {sentence(str(error).lower())}"
            raise UsageError(message, remedy=f"Correct {name}: quotation marks come in pairs.") from error
        return command
    raise UsageError(
        "There is no editor to open the note: the environment variables VISUAL and EDITOR are not set.",
        remedy="Name your editor, for example with `export VISUAL=nano`.",
    )


def open_hit(editor: str, result: SearchResult, number: int, file: Path | None, query: str) -> None:
    """Open a hit at its line with most words of the query, and wait for the editor.

    Raises UsageError if there is no such hit, and click.ClickException if the editor fails.
    """
    if not result.hits:
        raise UsageError("There is no hit to open.", remedy="Try other words.")
    if number > len(result.hits):
        raise UsageError(
            f"There is no hit {number} to open.", remedy=f"Give --open a number from 1 to {len(result.hits)}."
        )
    hit = result.hits[number - 1]
    if file is None:
        raise UsageError(f"The file of {hit.citation} is not there any more.", remedy="Search again.")
    command, argument = _at_line(editor, str(file), best_row(hit, _marker(query))[0])
    click.edit(editor=command, filename=argument)


def _at_line(editor: str, file: str, line: int) -> tuple[str, str]:
    """Return the command and the last argument that open a file at a line; an unknown editor gets the file alone.

    >>> _at_line("code --wait", "a.md", 7), _at_line("/usr/bin/vim", "a.md", 7), _at_line("less", "a.md", 7)
    (('code --wait --goto', 'a.md:7'), ('/usr/bin/vim +7', 'a.md'), ('less', 'a.md'))
    """
    from shlex import split

    words = split(editor)
    name = PurePath(words[0]).name.lower().removesuffix(".exe").removesuffix(".cmd") if words else ""
    if name in _PLUS:
        return f"{editor} +{line}", file
    if name in _GOTO:
        return f"{editor} --goto", f"{file}:{line}"
    return editor, f"{file}:{line}" if name in _COLON else file


def time_lines(result: SearchResult) -> list[Line]:
    """Return the line that shows which time the question names, and how it is left unread."""
    time = (result.understood or {}).get("time")
    if time is None:
        return []
    first = time.get("since", "")
    last = time.get("until", "")
    days = first if first == last else f"{first} … {last}".strip()
    return [((f"Time understood: {time['words']} = {days}. Without it: --since any.", "cyan"),)]


def understood_lines(result: SearchResult) -> list[Line]:
    """Return the lines that show which operators or typed lines the query has, if the result explains itself."""
    if result.timings is None or result.understood is None:
        return []
    typed = result.understood.get("lines")
    if typed is None:
        return [((f"understood: {_values(result.understood)}", "cyan"),)]
    rows = [f"understood: line {number}: {_values(line)}" for number, line in enumerate(typed, 1)]
    if intent := result.understood.get("intent"):
        rows.append(f"understood: intent {intent!r}")
    return [((row, "cyan"),) for row in rows]


def _values(understood: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} {value!r}" for name, value in understood.items())


def certainty_lines(result: SearchResult) -> list[Line]:
    """Return the line that shows what decided about a match, if the result explains itself."""
    if result.timings is None or result.certainty is None:
        return []
    value = result.certainty.value
    threshold = result.certainty.threshold
    return [((f"certainty {value:.2f}; a match has more than {threshold:.2f}", "cyan"),)]
