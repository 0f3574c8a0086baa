"""A tool as a value, and its parameters: MCP, HTTP and agent frameworks show and run it in the same way.

Agents write numbers as text and send blank values, so both are accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from memoriter.answers import fields_of, schema_of
from memoriter.errors import UsageError, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.memory_like import MemoryLike
    from memoriter.types import Argument, Kind

DOCTOR = "Run `memoriter doctor`."
"""What the user can do if the memory fails in an unknown way."""


def advice(step: str, remedy: str = DOCTOR) -> str:
    """Return the next step of an agent whose memory failed. Only the user can run programs, so the agent reports it.

    Both are sentences: what the agent does now, and what helps, for the user.
    """
    return f"{step} What the user can do: {remedy}"


def origin_json(memory: MemoryLike) -> dict[str, str]:
    """Return what the agent must know about the author of the notes; empty if they are the owner's."""
    return {"origin": memory.place.origin} if memory.place.origin else {}


class ToolFunction(Protocol):
    """The signature of a tool's function. It returns JSON, also for a failure, and raises nothing."""

    def __call__(
        self, memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that an agent can call."""

    name: str
    description: str
    """For the agent: when to call the tool, and what it returns."""
    input_schema: Mapping[str, Any]
    """A JSON schema; an object."""
    run: ToolFunction
    """`run(memory, params, session_key=...)` returns JSON. The session's key decides about citations and searches."""
    title: str = ""
    """For people."""
    output_schema: Mapping[str, Any] | None = None
    """A JSON schema of the result of `run`; an object."""
    writes: bool | None = None
    """True if the tool changes data; None: unknown."""
    destructive: bool = False
    """Whether the tool deletes what was stored."""
    always_load: bool = False
    """Whether the model needs the tool from its first request on, even if the client loads others on demand."""


_TYPES: Mapping[Kind, str] = {"whole": "integer", "number": "number", "flag": "boolean"}
"""The JSON types of arguments; the others are text."""


class _WrongValue(Exception):
    """A value that an argument does not allow; the text says why."""


def input_schema(arguments: Iterable[Argument]) -> dict[str, Any]:
    """Return the JSON schema of a tool's parameters; models may send `null` for the optional ones.

    Some clients compare arguments with the schema before they call. `nullable` allows `null` in the only form that no
    provider refuses: Gemini's API answers 400 to a list of types, Vertex to a description beside `anyOf`, and both to
    `null` in `enum`. An optional parameter has therefore no `enum`: its description lists the values. Gemini also
    refuses `format` and `additionalProperties`.
    """
    arguments = list(arguments)
    required = [each.tool_parameter for each in arguments if each.required]
    return {
        "type": "object",
        "properties": {each.tool_parameter: _schema_of(each) for each in arguments},
        "required": required,
    }


def _schema_of(argument: Argument) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES.get(argument.kind, "string")}
    high = argument.agent_high or argument.high
    schema |= {} if argument.low is None else {"minimum": argument.low}
    schema |= {} if high is None else {"maximum": high}
    schema["description"] = argument.agent
    return schema if argument.required else {**schema, "nullable": True}


def output_schema(
    *objects: str, fields: str, required: str, of_lists: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the JSON schema of a tool's answer, which is short because agents pay for it.

    It has those fields of objects of `memoriter.answers` that an agent should know. The items of lists have no schema,
    unless `of_lists` has it.
    """
    types = {row.name: row.type for name in objects for row in fields_of(name)}
    properties = {name: _brief_schema(types[name]) for name in fields.split()}
    for name, items in (of_lists or {}).items():
        properties[name] = {"type": "array", "items": items}
    return {"type": "object", "properties": properties, "required": required.split()}


def _brief_schema(type_text: str) -> dict[str, Any]:
    """Return the schema of a type without the fields of objects, and without ranges."""
    if type_text.startswith("list of "):
        return {"type": "array", "items": _brief_schema(type_text.removeprefix("list of "))}
    if type_text.startswith("["):
        return {"type": "object"}
    schema = schema_of(type_text)
    return {name: schema[name] for name in ("type", "enum") if name in schema}


def parse_parameters(arguments: Iterable[Argument], params: Any) -> dict[str, Any]:
    """Return the values of all arguments by their names in Python; None for those that were not given.

    Raises:
        UsageError: a parameter is unknown or has a wrong value; the message names it.
    """
    if params is not None and not isinstance(params, Mapping):
        raise UsageError("The parameters must be an object.", remedy="Call again with names and values.")
    arguments = list(arguments)
    rest = dict(cast("Mapping[str, Any]", params or {}))
    values = dict[str, Any]()
    problems = list[str]()
    for argument in arguments:
        by_name = rest.pop(argument.name, None)
        value = rest.pop(argument.tool_parameter, by_name)
        try:
            values[argument.name] = _value_of(argument, value)
        except _WrongValue as problem:
            problems.append(f"The parameter {argument.tool_parameter} {sentence(str(problem))}")
    problems += [f"There is no parameter {name!r}." for name in rest]
    if problems:
        names = ", ".join(each.tool_parameter for each in arguments)
        raise UsageError(" ".join(problems), remedy=f"Call again with parameters out of: {names}.")
    return values


def _value_of(argument: Argument, value: Any) -> Any:
    """Return the value of an argument. Raises _WrongValue."""
    match argument.kind:
        case "whole":
            number = _number(value)
            return _in_range(argument, None if number is None else math.trunc(number))
        case "number":
            return _in_range(argument, _number(value))
        case "flag":
            return _flag(value)
        case "choice":
            return _choice(argument, _text(value))
        case "choices":
            return _chosen(argument, _names(value))
        case "names":
            names = _names(value)
            return None if names is None else [names]
        case "text" | "day":
            return _text(value)


def _text(value: Any) -> str | None:
    """Return the text trimmed, or None if it is blank."""
    if value is not None and not isinstance(value, str):
        raise _WrongValue("must be text")
    return (value or "").strip() or None


def _names(value: Any) -> str | None:
    """Return names as one text with commas between them, from a text or a list of texts."""
    if isinstance(value, list) and all(isinstance(each, str) for each in cast("list[Any]", value)):
        return _text(",".join(cast("list[str]", value)))
    return _text(value)


def _choice(argument: Argument, value: str | None) -> str | None:
    if value is not None and value not in argument.choices:
        *others, last = [repr(each) for each in argument.choices]
        raise _WrongValue(f"is not valid: input should be {', '.join(others)} or {last}")
    return value


def _chosen(argument: Argument, value: str | None) -> list[str] | None:
    """Return the values in a text, or None if all are meant: none is given, `all`, `both`, or each one."""
    given = [each.strip() for each in (value or "all").split(",")]
    if given in (["all"], ["both"]) or (len(given) == len(argument.choices) and set(given) == set(argument.choices)):
        return None
    if value not in argument.choices:
        raise _WrongValue(f"must be {', '.join(argument.choices)} or all, not {value!r}")
    return [value]


def _number(value: Any) -> float | None:
    """Return a number, or the number that a text holds."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _WrongValue(f"must be a number, not {value!r}")
    return number


def _in_range(argument: Argument, number: float | None) -> float | None:
    if number is None or not argument.checked:
        return number
    high = argument.agent_high or argument.high
    if argument.low is not None and number < argument.low:
        raise _WrongValue(f"is not valid: input should be greater than or equal to {argument.low}")
    if high is not None and number > high:
        raise _WrongValue(f"is not valid: input should be less than or equal to {high}")
    return number


def _flag(value: Any) -> bool | None:
    """Return True, or None if it is not set."""
    if isinstance(value, str):
        value = {"true": True, "false": False, "": None}.get(value.strip().lower(), value)
    if value not in (True, False, None):
        raise _WrongValue(f"must be true or false, not {value!r}")
    return value or None
