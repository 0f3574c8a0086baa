"""Validate the parameters of tools. Agents write numbers as text and send blank values, so both are accepted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Annotated, Any, Literal, Self, TypeVar, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from memoriter.errors import UsageError, sentence
from memoriter.filters import FILTERS, parse_days
from memoriter.types import SourceKind

_SOME_DAY = date(2026, 2, 10)
ALL_SOURCES = ("all", "both", "memory,sessions", "sessions,memory")


def _text(value: Any) -> Any:
    """Return the text trimmed, or None if it is blank."""
    if value is not None and not isinstance(value, str):
        raise PydanticCustomError("text", "must be text")
    return (value or "").strip() or None


def _names(value: Any) -> Any:
    """Return names as one text with commas between them, from a text or a list of texts."""
    if isinstance(value, list) and all(isinstance(each, str) for each in cast("list[Any]", value)):
        return _text(",".join(cast("list[str]", value)))
    return _text(value)


def _source(value: Any) -> Any:
    """Return the kind of source, or None if all are meant."""
    kinds = _names(value)
    if kinds in ALL_SOURCES:
        return None
    if kinds is not None and kinds not in get_args(SourceKind):
        raise PydanticCustomError("source", "must be memory, sessions or all, not {value}", {"value": repr(value)})
    return kinds


def _number(value: Any) -> float | None:
    """Return a number, or the number that a text holds."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise PydanticCustomError("number", "must be a number, not {value}", {"value": repr(value)})
    return number


def _integer(value: Any) -> int | None:
    """Return a number without its fraction."""
    number = _number(value)
    return None if number is None else math.trunc(number)


def _day(value: Any) -> date | str | None:
    """Return the day in an ISO 8601 text, or a text with words for days, which depend on today."""
    text = _text(value)
    with suppress(ValueError):
        return date.fromisoformat(text) if text else None
    if parse_days(text, _SOME_DAY) is None:
        raise PydanticCustomError("day", "must be a day such as 2026-02-10, not {value}", {"value": repr(value)})
    return text


def _flag(value: Any) -> bool | None:
    """Return True, or None if it is not set."""
    if isinstance(value, str):
        value = {"true": True, "false": False, "": None}.get(value.strip().lower(), value)
    if value not in (True, False, None):
        raise PydanticCustomError("flag", "must be true or false, not {value}", {"value": repr(value)})
    return value or None


Text = Annotated[str | None, BeforeValidator(_text)]
Whole = Annotated[int | None, BeforeValidator(_integer)]
Day = Annotated[date | str | None, BeforeValidator(_day)]


class _Params(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class _SearchParams(_Params):
    query: Text = None
    max_results: Annotated[Annotated[int, Field(ge=1, le=100)] | None, BeforeValidator(_integer)] = None
    min_score: Annotated[Annotated[float, Field(ge=0, le=1)] | None, BeforeValidator(_number)] = None

    @property
    def filters(self) -> dict[str, Any]:
        """Return the value of each filter, by its parameter; None if it is not set."""
        return {each.parameter: getattr(self, each.parameter) for each in FILTERS}

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        since = self.filters["since"]
        until = self.filters["until"]
        if isinstance(since, date) and isinstance(until, date) and since > until:
            raise PydanticCustomError("order", "since must not be later than until")
        return self


FILTER_TYPES: Mapping[str, Any] = {
    "source": Annotated[SourceKind | None, BeforeValidator(_source)],
    "day": Day,
    "text": Text,
    "tags": Annotated[str | None, BeforeValidator(_names)],
    "flag": Annotated[bool | None, BeforeValidator(_flag)],
}
"""The type of each kind of filter."""
_FILTER_FIELDS: dict[str, Any] = {each.parameter: (FILTER_TYPES[each.kind], None) for each in FILTERS}
SearchParams = create_model(
    "SearchParams", __base__=_SearchParams, __doc__="Parameters of `memory_search`.", **_FILTER_FIELDS
)


class GetParams(_Params):
    """Parameters of `memory_get`."""

    path: Text = None
    start: Annotated[Whole, Field(alias="from")] = None
    lines: Whole = None


class AppendParams(_Params):
    """Parameters of `memory_append`."""

    text: Text = None
    to: Annotated[Literal["daily", "long-term"] | None, BeforeValidator(_text)] = None


class StoreMemoryParams(_Params):
    """Parameters of `memory_store`."""

    text: Text = None
    importance: Annotated[Annotated[float, Field(ge=0, le=1)] | None, BeforeValidator(_number)] = None
    category: Annotated[Literal["preference", "fact", "decision", "entity", "other"] | None, BeforeValidator(_text)] = (
        None
    )
    supersedes: Text = None


class RecallMemoryParams(_Params):
    """Parameters of `memory_recall`."""

    query: Text = None
    limit: Annotated[Annotated[int, Field(ge=1, le=100)] | None, BeforeValidator(_integer)] = None
    as_of: Text = None


class ForgetMemoryParams(_Params):
    """Parameters of `memory_forget`."""

    query: Text = None
    memory_id: Text = None


AnyParams = TypeVar("AnyParams", bound=_Params)


def parse_params(kind: type[AnyParams], params: Any) -> AnyParams:
    """Return the parameters as a validated model.

    Raises:
        UsageError: a parameter is missing, unknown or has a wrong value; the message names it.
    """
    if params is not None and not isinstance(params, Mapping):
        raise UsageError("The parameters must be an object.", remedy="Call again with names and values.")
    try:
        return kind.model_validate(dict(cast("Mapping[str, Any]", params or {})))
    except ValidationError as error:
        names = ", ".join(field.alias or name for name, field in kind.model_fields.items())
        problems = " ".join(
            _problem_text(problem["loc"], problem["type"], problem["msg"]) for problem in error.errors()
        )
        raise UsageError(problems, remedy=f"Call again with parameters out of: {names}.") from error


def _problem_text(where: tuple[int | str, ...], kind: str, message: str) -> str:
    name = ".".join(str(part) for part in where)
    if kind == "extra_forbidden":
        return f"There is no parameter {name!r}."
    if not name:
        return f"The parameters are not valid: {message[:1].lower()}{sentence(message[1:])}"
    if message.startswith("must "):
        return f"The parameter {name} {sentence(message)}"
    return f"The parameter {name} is not valid: {message[:1].lower()}{sentence(message[1:])}"
