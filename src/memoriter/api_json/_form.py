"""Tables of fields: which fields of a value its JSON form has, in which order, and how each is converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a JSON form."""

    convert: Callable[[Any], Any] = _unchanged
    """Returns the JSON value of the field."""
    omit: Literal["none", "empty"] | None = None
    """The values for which the field is absent: None, every empty or false value, or no value at all."""
    key: str = ""
    """The JSON key; empty: the field's name in camelCase."""


Form = Mapping[str, Field]
"""The fields by their names in Python, in the order of the JSON form."""


def plain(*names: str) -> dict[str, Field]:
    """Return fields that need no conversion."""
    return dict.fromkeys(names, Field())


def apply_form(value: object, form: Form) -> dict[str, Any]:
    """Return the JSON form of a value: an object with one key for each field that is not omitted."""
    fields: dict[str, Any] = {}
    for name, field in form.items():
        content = getattr(value, name)
        if (field.omit == "none" and content is None) or (field.omit == "empty" and not content):
            continue
        fields[field.key or _camel_case(name)] = field.convert(content)
    return fields


def object_of(form: Form) -> Callable[[Any], dict[str, Any]]:
    """Return a conversion to the JSON object of a form."""
    return lambda value: apply_form(value, form)


def list_of(form: Form) -> Callable[[Iterable[Any]], list[dict[str, Any]]]:
    """Return a conversion to a list of the JSON objects of a form."""
    return lambda values: [apply_form(value, form) for value in values]


def iso_time(at: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(at, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
