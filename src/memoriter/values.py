"""Dataclasses that cost little to declare: like those of the standard library, but generated on first use.

A process that searches once declares some 150 dataclasses. The standard library generates and compiles up to six
methods for each, about 0.8 ms per class, which was a third of the process' time. Here a class costs 0.02 ms. `__init__`
is compiled when the first instance is made (0.08 ms), and the other methods need no code of their own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Record", "dataclass", "field"]

_T = TypeVar("_T")
_FIELDS = "__dataclass_fields__"
_LOCK = Lock()


class Record:
    """A dataclass that can be written as JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields with their names, as values of JSON: a day is `YYYY-MM-DD`, and a path is a text."""
        return cast("dict[str, Any]", _json_value(self))


def _json_value(value: Any) -> Any:
    """Return a value as one that `json.dumps` accepts."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if dataclasses.is_dataclass(value):
        return {item.name: _json_value(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _json_value(each) for key, each in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_json_value, cast("set[Any]", value)))
    if isinstance(value, (list, tuple)):
        return [_json_value(each) for each in cast("list[Any]", value)]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *, slots: bool, frozen: bool = False, kw_only: bool = False, eq: bool = True
) -> Callable[[type[_T]], type[_T]]:
    """Return a decorator that makes a class a dataclass with slots.

    `dataclasses.fields`, `replace` and `asdict` accept its instances, and so does pydantic. The module of the class
    needs postponed annotations. `InitVar`, `KW_ONLY` and base classes with fields are not supported.

    Args:
        slots: Must be True. It is an argument because type checkers read it.
        frozen: Whether assigning to a field raises `dataclasses.FrozenInstanceError`.
        kw_only: Whether the fields are passed by keyword only.
        eq: Whether instances with equal fields are equal; else each equals only itself.
    """
    if not slots:
        raise TypeError("A dataclass without slots needs `dataclasses.dataclass`.")
    return lambda plain: _declare(plain, frozen=frozen, kw_only=kw_only, eq=eq)


def _declare(plain: type[_T], *, frozen: bool, kw_only: bool, eq: bool) -> type[_T]:
    """Return a copy of a class with slots and with methods that know its fields."""
    annotations: dict[str, str] = plain.__annotations__
    names = tuple(name for name, kind in annotations.items() if not kind.startswith("ClassVar"))
    body = {name: value for name, value in vars(plain).items() if name not in {"__dict__", "__weakref__"}}
    defaults = {name: body.pop(name) for name in names if name in body}
    declared: dict[str, Any] = {
        "__qualname__": plain.__qualname__,
        "__slots__": names,
        "__match_args__": () if kw_only else names,
        "__repr__": _represent,
        "__getstate__": _get_state,
        "__setstate__": _set_state,
        _FIELDS: _Fields(plain, kw_only=kw_only),
    }
    if eq:
        declared |= _comparison(tuple(name for name in names if getattr(defaults.get(name), "compare", True)), frozen)
    if frozen:
        declared |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
    made: Any = type(plain)(plain.__name__, plain.__bases__, declared | body)

    def construct_first(self: object, *args: object, **values: object) -> None:
        made.__init__ = _constructor(made, names, defaults, kw_only=kw_only)
        made.__init__(self, *args, **values)

    if "__init__" not in body:
        made.__init__ = construct_first
    return made


class _Fields:
    """The attribute that `dataclasses.fields` reads; the standard library makes its value when it is first read."""

    __slots__ = ("kw_only", "plain")

    def __init__(self, plain: type, *, kw_only: bool) -> None:
        self.plain = plain
        self.kw_only = kw_only

    def __get__(self, instance: object, owner: type) -> dict[str, Field[Any]]:
        if _FIELDS not in vars(self.plain):
            with _LOCK:  # a second run would not find the default factories again
                if _FIELDS not in vars(self.plain):
                    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=self.kw_only)(self.plain)
        known = cast("Any", self.plain).__dataclass_fields__
        setattr(owner, _FIELDS, known)  # the next read finds them there
        return known


def _constructor(
    made: type, names: tuple[str, ...], defaults: Mapping[str, object], *, kw_only: bool
) -> Callable[..., None]:
    """Return the `__init__` of a class. It sets each slot directly, because the class may be frozen."""
    known: dict[str, object] = {"MISSING": MISSING}
    parameters = ["self", "*"] if kw_only and names else ["self"]
    lines: list[str] = []
    for name in names:
        given = defaults.get(name, MISSING)
        declared: Field[Any] = cast("Any", given if isinstance(given, Field) else field(default=given))
        if not declared.init:
            continue
        known |= {f"set_{name}": vars(made)[name].__set__, f"default_{name}": declared.default}
        parameter = name
        value = name
        if declared.default_factory is not MISSING:
            known[f"make_{name}"] = declared.default_factory
            parameter = f"{name}=MISSING"
            value = f"make_{name}() if {name} is MISSING else {name}"
        elif declared.default is not MISSING:
            parameter = f"{name}=default_{name}"
        parameters.append(parameter)
        lines.append(f"set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    source = f"def __init__({', '.join(parameters)}): " + ("; ".join(lines) or "pass")
    exec(source, known)  # noqa: S102 - the only variable parts are names of fields
    init = cast("Callable[..., None]", known["__init__"])
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


def _comparison(names: tuple[str, ...], frozen: bool) -> dict[str, Any]:
    """Return `__eq__`, and `__hash__` if instances cannot change."""
    key: Callable[[object], object] = attrgetter(*names) if names else type

    def is_equal(self: object, other: object) -> bool:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: object) -> int:
        return hash(key(self))

    return {"__eq__": is_equal, "__hash__": hash_of if frozen else None}


def _represent(self: object) -> str:
    shown = (f"{item.name}={getattr(self, item.name)!r}" for item in dataclasses.fields(cast("Any", self)) if item.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_assignment(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: object) -> list[object]:
    return [getattr(self, name) for name in cast("Any", self).__slots__]


def _set_state(self: object, state: list[object]) -> None:
    for name, value in zip(cast("Any", self).__slots__, state, strict=True):
        object.__setattr__(self, name, value)
