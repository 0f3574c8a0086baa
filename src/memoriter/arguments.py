"""What programs may pass to the methods of `Memory` and of a session: a wrong argument is an error that names it."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache, wraps
from inspect import Parameter, signature
from math import inf
from os import PathLike
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

from memoriter.errors import UsageError
from memoriter.folding import fold_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Concatenate

_P = ParamSpec("_P")
_T = TypeVar("_T")
_O = TypeVar("_O")
_S = TypeVar("_S", bound="Closable")
_SHOWN = 200

Rule = tuple[str, "type[Any] | Callable[[Any], bool]"]
"""What is allowed, in words, and its type, or a function that returns whether a value is."""


class Closable(Protocol):
    """An object whose methods cannot be used any more once it is closed."""

    closed: bool


def checked(method: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Return a method that raises UsageError for a wrong argument, and once its object is closed."""

    @wraps(method)
    def call(this: _S, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if this.closed:
            message = f"The memory is closed: {method.__qualname__} cannot be called."
            raise UsageError(message, remedy="Open it again with Memory.open.")
        check_arguments(method, args, kwargs)
        return method(this, *args, **kwargs)

    return call


def with_checked_arguments(
    method: Callable[Concatenate[_O, _P], _T],
) -> Callable[Concatenate[_O, _P], _T]:
    """Return a method that raises UsageError for a wrong argument."""

    @wraps(method)
    def call(this: _O, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        check_arguments(method, args, kwargs)
        return method(this, *args, **kwargs)

    return call


def check_arguments(method: Callable[..., object], args: tuple[object, ...], named: Mapping[str, object]) -> None:
    """Raise UsageError if arguments are missing or too many, or have no allowed value; None is allowed as a default."""
    parameters, others = _parameters(method)
    positional = [each.name for each in parameters.values() if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    given = dict(zip(positional, args, strict=False)) | dict(named)
    title = cast("str", getattr(method, "__qualname__", ""))
    allowed = f"Its arguments are {', '.join([*parameters, *others])}." if parameters else "It has no arguments."
    if len(args) > len(positional):
        raise UsageError(f"{title} has {len(positional)} arguments without names, not {len(args)}.", remedy=allowed)
    for name in given:
        if name not in parameters and name not in others:
            raise UsageError(f"{title} has no argument {name!r}.", remedy=allowed)
    for name, parameter in parameters.items():
        if name not in given and parameter.default is Parameter.empty:
            raise UsageError(f"{title} needs the argument {name!r}.", remedy=allowed)
    for name, value in given.items():
        default = parameters[name].default if name in parameters else None
        if value is None and (default is None or name in _MAY_BE_NONE):
            continue
        allowed, rule = RULES[name]
        if not (isinstance(value, rule) if isinstance(rule, type) else rule(value)):
            raise refused(name, value, allowed)


def refused(name: str, value: object, allowed: str) -> UsageError:
    """Return the error for a value of an argument that is not allowed."""
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    return UsageError(f"The value of {name} is {shown}, which is not {allowed}.", remedy=f"Give {allowed}.")


def check_optional_text(name: str, value: object) -> None:
    """Raise UsageError if the value of an argument is neither a text nor None."""
    if value is not None and not isinstance(value, str):
        raise refused(name, value, _TEXT[0])


def check_places(**places: object) -> None:
    """Raise UsageError if an argument is neither a path nor None."""
    for name, value in places.items():
        if not (value is None or isinstance(value, (str, PathLike))):
            raise UsageError(f"The value of {name} is {value!r}, which is not a path.", remedy="Give a text or a Path.")


@lru_cache(maxsize=64)
def _parameters(method: Callable[..., object]) -> tuple[dict[str, Parameter], tuple[str, ...]]:
    """Return the parameters of a method without its object, and the names that it takes besides them."""
    _, *parameters = signature(method).parameters.values()
    free = any(each.kind is Parameter.VAR_KEYWORD for each in parameters)
    return {each.name: each for each in parameters if each.kind is not Parameter.VAR_KEYWORD}, (*FILTERS,) * free


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _whole(low: int, high: float = inf) -> Rule:
    def is_whole(value: Any) -> bool:
        return hasattr(value, "__index__") and not isinstance(value, bool) and low <= int(value) <= high

    return f"a whole number from {low} to {high:,}" if high < inf else f"a whole number from {low}", is_whole


def _choice(*values: str) -> Rule:
    def is_choice(value: Any) -> bool:
        return isinstance(value, str) and value in values

    return " or ".join(map(repr, values)), is_choice


def _are_texts(value: Any) -> bool:
    return isinstance(value, Collection) and all(isinstance(each, str) for each in cast("Collection[object]", value))


def _are_sources(value: Any) -> bool:
    return _are_texts(value) and not isinstance(value, str) and set() < {*value} <= {"memory", "sessions"}


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _has_words(value: object) -> bool:
    return isinstance(value, str) and bool(fold_name(value))


def _is_plan(value: object) -> bool:
    return hasattr(value, "notes") and hasattr(value, "request")


def _is_proposal(value: object) -> bool:
    return hasattr(value, "removed") and hasattr(value, "kept")


def _is_planned(value: object) -> bool:
    return hasattr(value, "notes") and hasattr(value, "conflicts")


def _is_change(value: object) -> bool:
    return hasattr(value, "id") and hasattr(value, "hunks")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _are_messages(value: Any) -> bool:
    return isinstance(value, Collection) and all(
        hasattr(each, "role") and hasattr(each, "text") for each in cast("Collection[object]", value)
    )


def _is_event(value: object) -> bool:
    return hasattr(value, "is_set") and hasattr(value, "wait")


_TEXT: Rule = ("a text", str)
_FLAG: Rule = ("True or False", bool)
_FUNCTION: Rule = ("a function", callable)
_DAY: Rule = ("a day", object)  # `make_query` reads it, and raises the error
_MAY_BE_NONE = frozenset({"expected"})
FILTERS: dict[str, Rule] = {
    "max_results": _whole(1, 1_000),
    "min_score": ("a number from 0 to 1", _is_share),
    "sources": ("a list with 'memory', 'sessions' or both", _are_sources),
    "since": _DAY,
    "until": _DAY,
    "on": _DAY,
    "changed": _FLAG,
    "path": ("a path", _is_filled),
    "tags": ("a list of tags", _are_texts),
}
"""The arguments of a search that decide which passages are hits."""
RULES: dict[str, Rule] = FILTERS | {
    **dict.fromkeys(("query", "citation", "text", "origin", "match", "session", "key", "agent", "about"), _TEXT),
    **dict.fromkeys(("identifier", "token"), _TEXT),
    **dict.fromkeys(("explain", "update", "operators", "force", "vectors", "unused", "damaged"), _FLAG),
    **dict.fromkeys(("again", "deep", "writable", "project", "renew", "index", "success", "dry_run", "tidy"), _FLAG),
    **dict.fromkeys(("prompt", "conversation"), _TEXT),
    "max_chars": _whole(0),
    "seconds": ("a number", _is_number),
    "messages": ('a list of messages, such as Message("user", "…")', _are_messages),
    **dict.fromkeys(("progress", "on_event"), _FUNCTION),
    "deadline_ms": _whole(1, 86_400_000),
    "start": _whole(1),
    "lines": _whole(1),
    "line": _whole(1),
    "as_of": _DAY,
    "section": ("the words of a heading", _has_words),
    "to": _choice("daily", "long-term"),
    "audience": _choice("private", "shared"),
    "expected": ("the hash of a note as it was read, or None", str),
    "plan": ("what plan_forget returned", _is_plan),
    "planned": ("what plan_rollback returned", _is_planned),
    "proposal": ("a proposal, as tidy returns it", _is_proposal),
    "change": ("a change, as history returns it", _is_change),
    "stop": ("a threading.Event", _is_event),
}
"""What is allowed for each argument of the methods of `Memory` and of a session."""
