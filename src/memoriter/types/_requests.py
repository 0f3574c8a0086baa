"""What is asked: a query and its filters, whose arguments are declared here once for all who ask.

A field with an `Argument` is an argument of `Memory.search`. The options of the command line, the parameters of the
tool and of the HTTP API, and their documentation derive from it.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, fields, replace
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, cast, get_args, get_origin

from memoriter.types._content import SourceKind  # noqa: TC001 - evaluated with the annotations
from memoriter.values import Record, dataclass, field

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from memoriter.times import Days

Kind = Literal["whole", "number", "flag", "text", "day", "choice", "choices", "names"]
_KINDS: dict[Any, Kind] = {int: "whole", float: "number", bool: "flag", str: "text", date: "day"}


@dataclass(frozen=True, slots=True)
class Argument:
    """The documentation and the range of an argument."""

    help: str = ""
    """Text for people, of the option and of the parameter of the HTTP API; empty: neither of them exists."""
    agent: str = ""
    """Text for agents; empty: the tool has no such parameter."""
    low: int | None = None
    high: int | None = None
    agent_high: int | None = None
    """The highest value for agents, if it is lower."""
    parameter: str = ""
    """The parameter of the tool; with two hyphens, the option. Empty: as the argument is called."""
    short: str = ""
    """The option with one hyphen."""
    metavar: str = ""
    narrows: bool = True
    """Whether it decides which passages are hits."""
    in_http: bool = True
    required: bool = False
    """Whether a tool does nothing without it."""
    checked: bool = True
    """Whether a tool refuses a value that is out of range; else what the tool calls decides."""
    name: str = ""
    """The argument in Python, which follows from the field, as the rest does."""
    kind: Kind = "text"
    choices: tuple[str, ...] = ()
    default: Any = None

    @property
    def option(self) -> str:
        return f"--{(self.parameter or self.name).replace('_', '-')}"

    @property
    def tool_parameter(self) -> str:
        return self.parameter or camel_case(self.name)


def camel_case(name: str) -> str:
    """Return a name as it is in JSON.

    >>> camel_case("max_results")
    'maxResults'
    """
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def arguments_of(kind: type) -> dict[str, Argument]:
    """Return the arguments that a dataclass declares, by their names."""
    known = vars(sys.modules[kind.__module__])
    declared = dict[str, Argument]()
    for item in fields(cast("Any", kind)):
        text = cast("str", item.type)
        if not text.startswith("Annotated["):
            continue
        # As `typing.get_type_hints` does, which would evaluate the other fields too, whose types are not imported.
        annotation = eval(text, known)  # noqa: S307 - the text is code of memoriter
        (argument,) = annotation.__metadata__
        shape, choices = _shape_of(annotation.__origin__)
        default = None if item.default is MISSING else item.default
        declared[item.name] = replace(argument, name=item.name, kind=shape, choices=choices, default=default)
    return declared


def _shape_of(annotation: Any) -> tuple[Kind, tuple[str, ...]]:
    """Return the kind of a type, which may be optional, and the values of a set whose values are listed."""
    (kind,) = [each for each in get_args(annotation) if each is not type(None)] or [annotation]
    if get_origin(kind) is not frozenset:
        return _KINDS[kind], ()
    values = get_args(get_args(kind)[0])
    return ("choices", values) if values else ("names", ())


LineKind = Literal["lex", "vec", "hyde"]
DAY_FORMS = "YYYY-MM-DD, today, yesterday, or 7d for seven days ago, or words such as last week or October 2025"
"""The forms of a day as text. Words are understood in nine languages."""


@dataclass(frozen=True, slots=True)
class Filters(Record):
    """The chunks that a search may return; applied before ranking in both retrievers."""

    sources: Annotated[
        frozenset[SourceKind] | None,
        Argument(
            "Only notes, or only conversations. Default: both.",
            "memory: only the notes. sessions: only past conversations. all (default): both.",
            parameter="source",
        ),
    ] = None
    since: Annotated[
        date | None,
        Argument(
            f"Only passages of this day or later: {DAY_FORMS}. With `any`, a time in the question is left unread.",
            "Only what is dated this day or later: YYYY-MM-DD, or words such as last week. With any, a time in the"
            " query is left unread.",
        ),
    ] = None
    until: Annotated[
        date | None,
        Argument(
            "Only passages of this day or earlier.",
            "Only what is dated this day or earlier: YYYY-MM-DD, or words such as last week.",
        ),
    ] = None
    """Both days are included."""
    changed: Annotated[
        bool | None,
        Argument(
            "For a note without a day, count the day of the last change of its file.",
            "With days: count the last change of its file as the day of a note that has none.",
        ),
    ] = None
    """Whether the day of the last change counts as the day of a note that has none."""
    path: Annotated[
        str | None,
        Argument(
            "Only this file, folder or pattern, such as 'memory/work/*'.",
            "Only this file or folder, or a pattern such as memory/work/*.",
        ),
    ] = None
    """A cited path, a folder, or a glob (`memory/work/*`)."""
    tags: Annotated[
        frozenset[str] | None,
        Argument(
            "Only notes with this tag, or one below it ('a/b' is below 'a'). Several: notes with all of them.",
            "Only notes with this tag; several, with commas between them: notes with all of them.",
            parameter="tag",
        ),
    ] = None
    """Tags that a note must have, all of them; `a` includes `a/b`."""
    phrases: tuple[str, ...] = ()
    """Texts that a chunk or its headings must contain."""
    without: tuple[str, ...] = ()
    """Texts that neither a chunk nor its headings may contain."""

    @property
    def empty(self) -> bool:
        return self == Filters()


@dataclass(frozen=True, slots=True)
class QueryLine:
    """One line of a typed query."""

    kind: LineKind
    """`lex`: words for the keyword retriever. `vec`: a question for the vector retriever. `hyde`: a hypothetical answer
    for the vector retriever, embedded as a passage."""
    text: str
    """Without operators; not empty."""
    filters: Filters = field(default_factory=Filters)
    """The filters of the query, and the operators of this line."""


@dataclass(frozen=True, slots=True)
class Query:
    """One question; None means as configured."""

    text: Annotated[str, Argument(agent="The question, or the words to look for.", parameter="query", required=True)]
    """Of a typed query: the text of its lines."""
    max_results: Annotated[
        int | None,
        Argument(
            "At most N passages. Default: the setting, 6.",
            "At most so many passages.",
            low=1,
            high=1_000,
            agent_high=100,
            short="-n",
            metavar="N",
        ),
    ] = None
    min_score: Annotated[
        float | None,
        Argument("Omit passages with a score below S.", "Leave out lower scores.", low=0, high=1, metavar="S"),
    ] = None
    filters: Filters = field(default_factory=Filters)
    explain: Annotated[
        bool, Argument("Show how each score was computed, and the time of each stage.", narrows=False)
    ] = False
    deadline_ms: Annotated[
        int | None,
        Argument("Return the best answer within this time.", low=1, high=86_400_000, metavar="MS", narrows=False),
    ] = None
    update: Annotated[bool, Argument(narrows=False)] = True
    """Whether changes are indexed and missing vectors computed first; if not, only the words of small changes are."""
    understood: Mapping[str, Any] | None = field(default=None, compare=False)
    """The operators or typed lines that were read from the text, in the form of JSON."""
    lines: tuple[QueryLine, ...] = ()
    """The lines of a typed query, which are searched instead of the text; empty for a question."""
    intent: str = ""
    """What a typed query is for; it chooses among the passages of one note."""
    session: Annotated[
        str | None,
        Argument(
            "Search for this conversation, such as agent:main:slack:group:7, instead of for you.",
            metavar="KEY",
            narrows=False,
            in_http=False,
        ),
    ] = None
    """The key of the conversation that asks, such as `agent:main:slack:group:7`; None: the owner asks."""
    as_of: Annotated[
        str | None,
        Argument(
            "Search the notes as they were at this time, from the journal and from Git: 2026-02-10 (its end), 7d, 2h,"
            " 2026-02-10T14:30.",
            "Search the notes as they were at the end of this day, or at this time: YYYY-MM-DD, or YYYY-MM-DDTHH:MM.",
            metavar="WHEN",
            narrows=False,
        ),
    ] = None
    """A time of which the state of the notes is searched; None: now."""
    any_day: bool = False
    """Whether the caller has decided about days, so that no time is read from the text."""
    time: Days | None = None
    """The days that the text names, whose hits come first."""
    newest: bool = False
    """Whether nothing is asked besides the filters: the hits are the newest passages that pass them."""


class SearchArguments(TypedDict, total=False):
    """The arguments of `Memory.search` that decide which passages are hits, for type checkers."""

    max_results: int | None
    min_score: float | None
    sources: Collection[SourceKind] | None
    since: date | str | None
    until: date | str | None
    on: date | str | None
    changed: bool | None
    path: str | None
    tags: Collection[str] | None


ON = Argument("Only passages of this day, week, month or year.", name="on", kind="day")
"""The argument that sets `since` and `until` to the same day or days."""


REMEMBER = (
    Argument(
        "The entry, as Markdown.",
        "What to write down, as Markdown; it becomes a list item, today's with the time of day.",
        name="text",
        required=True,
    ),
    Argument(
        "To today's note (memory/YYYY-MM-DD.md, unless memory.dailyNote differs), or to MEMORY.md.",
        "daily (default): today's log, for what happened. long-term: MEMORY.md, for what stays.",
        name="to",
        kind="choice",
        choices=("daily", "long-term"),
        default="daily",
    ),
    Argument(
        "Below this heading, which is added if the note has none like it.",
        name="section",
        metavar="HEADING",
        in_http=False,
    ),
    Argument("Add the entry even if the same text is already there.", name="again", kind="flag", default=False),
)
"""The arguments of `Memory.remember`."""


@cache
def filter_arguments() -> dict[str, Argument]:
    """Return the arguments of `Memory.search` that are filters, by their names."""
    return arguments_of(Filters)


@cache
def search_arguments() -> dict[str, Argument]:
    """Return the arguments of `Memory.search` by their names, in the order of help texts."""
    filters = dict[str, Argument]()
    for name, argument in filter_arguments().items():
        filters[name] = argument
        if name == "until":
            filters[ON.name] = ON
    arguments = arguments_of(Query)
    run = {name: argument for name, argument in arguments.items() if not argument.narrows}
    return {name: argument for name, argument in arguments.items() if name not in run} | filters | run
