"""The parameters of each operation, as models that check them and describe themselves in the OpenAPI document."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.alias_generators import to_camel

from memoriter.errors import UsageError, sentence
from memoriter.types import REMEMBER, search_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoriter.types import Argument, Kind

Question = Annotated[str, Field(min_length=1, max_length=10_000, description="The question, or the words to look for.")]
NotePath = Annotated[str, Field(min_length=1, max_length=1_024, description="The path of a note, as it is cited.")]
SearchText = Annotated[
    str, Field(max_length=10_000, description="The question, or the words to look for; empty: what is newest.")
]


class Request(BaseModel):
    """No parameters."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


def _field_of(argument: Argument) -> tuple[Any, Any]:
    """Return the field of a model for an argument of a search."""
    kinds: dict[Kind, tuple[Any, dict[str, Any]]] = {
        "whole": (int, {"ge": argument.low, "le": argument.high}),
        "number": (float, {"ge": argument.low, "le": argument.high}),
        "flag": (bool, {}),
        "text": (str, {"min_length": 1, "max_length": 1_024}),
        "day": (str, {"max_length": 40}),
        "choice": (Literal[argument.choices], {}),
        "choices": (tuple[Literal[argument.choices], ...], {"max_length": len(argument.choices)}),
        "names": (tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], {"max_length": 20}),
    }
    kind, limits = kinds[argument.kind]
    annotation: Any = Annotated[kind, Field(description=argument.help, **limits)]
    return (annotation | None if argument.default is None else annotation), argument.default


_FIELDS: dict[str, Any] = {
    name: _field_of(argument) for name, argument in search_arguments().items() if argument.help and argument.in_http
}
_NARROWING = {name: field for name, field in _FIELDS.items() if search_arguments()[name].narrows}


class Search(Request):
    """The question of a search, whose other parameters are those of `Memory.search`."""

    query: SearchText

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `Memory.search`."""
        return {name: value for name, value in self if name in _FIELDS}


class WhyNot(Search):
    """The question of a search, and the passage that it should find."""

    query: Question
    citation: Annotated[
        str, Field(min_length=1, max_length=1_100, description="A path with lines, such as MEMORY.md#L3-L5.")
    ]


SearchRequest = create_model(
    "SearchRequest", __base__=Search, __doc__="A search, as `memoriter search --json`.", **_FIELDS
)
ExplainRequest = create_model(
    "ExplainRequest",
    __base__=Search,
    __doc__="A search with how each score was computed, as `memoriter search --explain --json`.",
    **{name: field for name, field in _FIELDS.items() if name != "explain"},
)
WhyNotRequest = create_model(
    "WhyNotRequest",
    __base__=WhyNot,
    __doc__="The question why a search does not find a passage, as `memoriter why-not --json`.",
    **_NARROWING,
)


class FilesRequest(Request):
    """A part of the list of files."""

    limit: Annotated[int, Field(ge=1, le=10_000, description="At most so many files.")] = 1_000
    after: Annotated[str, Field(max_length=1_024, description="Only files whose path sorts after this one.")] = ""


class GetRequest(Request):
    """Lines of a note, as `memoriter get --json`."""

    path: NotePath
    start: Annotated[int, Field(ge=1, le=10**9, description="The first line, from 1.")] | None = Field(
        None, alias="from"
    )
    lines: Annotated[int, Field(ge=1, le=10**9, description="The number of lines.")] | None = None


class Append(Request):
    """The text of an entry, whose other parameters are those of `Memory.remember`."""

    text: Annotated[str, Field(min_length=1, max_length=1_000_000, description="The entry, as Markdown.")]

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `Memory.remember`."""
        return dict(self)


_OF_ENTRY: dict[str, Any] = {each.name: _field_of(each) for each in REMEMBER if each.in_http and each.name != "text"}
AppendRequest = create_model(
    "AppendRequest",
    __base__=Append,
    __doc__="An entry for today's note or for MEMORY.md, as `memoriter remember --json`.",
    **_OF_ENTRY,
)


class ReplaceRequest(Request):
    """The whole new text of a note."""

    path: NotePath
    text: Annotated[str, Field(max_length=4_000_000, description="The whole new text.")]
    expected: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = Field(
        description="The `hash` of the note as you read it; null: the note does not exist yet."
    )


class StatusRequest(Request):
    """The state of the memory, as `memoriter status --json`."""

    deep: bool = False


class CostRequest(Request):
    """What services cost, as `memoriter cost --json`."""

    days: Annotated[int, Field(ge=1, le=3_660, description="The number of days.")] = 30


class MapRequest(Request):
    """The passages in two dimensions."""

    similarity: Annotated[
        float, Field(ge=0.5, le=1, description="The cosine from which passages count as nearly the same.")
    ] = 0.97


class IndexRequest(Request):
    """An indexing run, as `memoriter index --json`. With `force` or `vectors`, it needs the scope `admin`."""

    force: bool = False
    vectors: bool = False
    dry_run: bool = False


class CaptureRequest(Request):
    """A record of a conversation to remove, as `memoriter capture undo`."""

    id: Annotated[str, Field(pattern="^[0-9a-f]{8}$", description="The id of a record.")]


class DaysRequest(Request):
    """A year of notes of single days."""

    year: Annotated[int, Field(ge=1, le=9_998)] | None = Field(None, description="Without it, the present year.")


class DayRequest(Request):
    """One day."""

    day: Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="YYYY-MM-DD.")] | None = Field(
        None, description="Without it, today."
    )


AnyRequest = TypeVar("AnyRequest", bound=Request)


class InvalidRequest(UsageError):
    """Parameters that an operation does not take, with each of them."""

    def __init__(self, message: str, problems: Iterable[dict[str, str]] = ()) -> None:
        super().__init__(message, remedy="See /api/v1/openapi.json for the parameters of each operation.")
        self.problems = [*problems]


def read_body(kind: type[AnyRequest], body: bytes) -> AnyRequest:
    """Return the parameters in a JSON body; an empty body is an empty object. Raises InvalidRequest."""
    try:
        value = json.loads(body or b"{}", parse_constant=_refuse_constant)
        text = json.dumps(value, ensure_ascii=False).encode("utf-8")  # a lone surrogate is no text
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("The body is not JSON in UTF-8.") from error
    if not isinstance(value, dict):
        raise InvalidRequest("The body is not a JSON object.")
    return _checked(lambda: kind.model_validate_json(text, strict=True))


def checked_request(kind: type[AnyRequest], values: Mapping[str, Any]) -> AnyRequest:
    """Return the parameters that a page gives by their names in Python. Raises InvalidRequest."""
    return _checked(lambda: kind.model_validate(dict(values), strict=True))


def read_query(kind: type[AnyRequest], pairs: Iterable[tuple[str, str]]) -> AnyRequest:
    """Return the parameters in the query of a URL. Raises InvalidRequest."""
    schemas = cast("Mapping[str, Any]", kind.model_json_schema(by_alias=True).get("properties", {}))
    values: dict[str, Any] = {}
    for name, text in pairs:
        if name in values:
            raise InvalidRequest(f"The parameter {name!r} is given twice.", [_problem(name, "It is given twice.")])
        values[name] = _value_of(type_of(schemas.get(name, {})), text)
    return _checked(lambda: kind.model_validate(values, strict=True))


def type_of(schema: Mapping[str, Any]) -> str:
    """Return the JSON type of a parameter, without `null`."""
    forms = [schema, *cast("list[Mapping[str, Any]]", schema.get("anyOf", []))]
    return next((str(form["type"]) for form in forms if form.get("type", "null") != "null"), "string")


def _value_of(kind: str, text: str) -> Any:
    """Return the value of a parameter in a URL; what has another form stays text, which the model refuses."""
    if kind == "integer" and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if kind == "number" and re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return float(text)
    if kind == "boolean" and text in {"true", "false"}:
        return text == "true"
    return text


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _checked(validate: Any) -> Any:
    try:
        return validate()
    except ValidationError as error:
        problems = [
            _problem(".".join(str(part) for part in each["loc"]), sentence(each["msg"]))
            for each in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        named = "; ".join(f"{each['field']}: {each['message'].rstrip('.')}" for each in problems[:5])
        raise InvalidRequest(f"The parameters are not valid: {sentence(named)}", problems) from error


def _problem(field: str, message: str) -> dict[str, str]:
    return {"field": field, "message": message}
