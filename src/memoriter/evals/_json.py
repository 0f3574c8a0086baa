"""Reading of JSON files of questions and documents, with checks of their shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import UsageError, sentence

if TYPE_CHECKING:
    from pathlib import Path

Fields = dict[str, Any]


def read_json(file: Path) -> Any:
    """Return the value in a JSON file.

    Raises:
        UsageError: if the file cannot be read or is not JSON.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{str(file)!r} cannot be read: {sentence(error)}", remedy="Give a JSON file in UTF-8."
        ) from error


def fields_of(value: Any, *required: str, where: str) -> Fields:
    """Return the value as an object with the required fields.

    Raises:
        UsageError: if it is not an object, or a field is missing.
    """
    if not isinstance(value, dict):
        raise UsageError(f"{where}: {value!r} is not an object.", remedy="See docs/evaluation.md for the shape.")
    fields = cast("Fields", value)
    if missing := [name for name in required if name not in fields]:
        raise UsageError(
            f"{where}: {', '.join(missing)} is missing in {sorted(fields)}.",
            remedy="See docs/evaluation.md for the shape.",
        )
    return fields


def rows_of(value: Any, where: str) -> list[Any]:
    """Return the value as a list.

    Raises:
        UsageError: if it is not a list.
    """
    if not isinstance(value, list):
        raise UsageError(f"{where} is not a list.", remedy="See docs/evaluation.md for the shape.")
    return cast("list[Any]", value)
