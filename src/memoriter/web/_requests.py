"""The parameters of each operation, as models that check them and describe themselves in the OpenAPI document."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from memoriter.errors import UsageError, sentence
from memoriter.filters import DAY_FORMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Question = Annotated[str, Field(min_length=1, max_length=10_000, description="The question, or the words to look for.")]
NotePath = Annotated[str, Field(min_length=1, max_length=1_024, description="The path of a note, as it is cited.")]
SearchText = Annotated[
    str, Field(max_length=10_000, description="The question, or the words to look for; empty: what is newest.")
]
Day = Annotated[str, Field(max_length=40, description=f"{DAY_FORMS}. Of any: whatever the day is.")]


class Request(BaseModel):
    """No parameters."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class _Limits(Request):
    max_results: Annotated[int, Field(ge=1, le=1_000, description="At most so many hits.")] | None = None
    min_score: Annotated[float, Field(ge=0, le=1, description="Leave out lower scores.")] | None = None
    sources: Annotated[tuple[Literal["memory", "sessions"], ...], Field(max_length=2)] | None = None
    since: Day | None = None
    until: Day | None = None
    on: Day | None = None
    changed: Annotated[bool, Field(description="Count the last change of a note without a day.")] | None = None
    path: Annotated[str, Field(min_length=1, max_length=1_024, description="A file, a folder or a pattern.")] | None = (
        None
    )
    tags: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(max_length=20)] | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """Return the arguments of `Memory.search` that decide which passages are hits."""
        return {name: getattr(self, name) for name in _Limits.model_fields}


class SearchRequest(_Limits):
    """A search, as `memoriter search --json`."""

    query: SearchText
    deadline_ms: Annotated[int, Field(ge=1, le=86_400_000, description="Return what is found in this time.")] | None = (
        None
    )
    explain: bool = False


class ExplainRequest(_Limits):
    """A search with how each score was computed, as `memoriter search --explain --json`."""

    query: SearchText
    deadline_ms: Annotated[int, Field(ge=1, le=86_400_000, description="Return what is found in this time.")] | None = (
        None
    )


class WhyNotRequest(_Limits):
    """The question why a search does not find a passage, as `memoriter why-not --json`."""

    query: Question
    citation: Annotated[
        str, Field(min_length=1, max_length=1_100, description="A path with lines, such as MEMORY.md#L3-L5.")
    ]


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


class AppendRequest(Request):
    """An entry for today's note or for MEMORY.md, as `memoriter remember --json`."""

    text: Annotated[str, Field(min_length=1, max_length=1_000_000, description="The entry, as Markdown.")]
    to: Literal["daily", "long-term"] = "daily"
    again: bool = False


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
