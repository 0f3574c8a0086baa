"""Edit one mapping of a YAML text and keep everything else, comments included.

PyYAML finds the lines of keys and values; the edit replaces these lines. The result is read again, and if it does not
hold what was intended, nothing is written.

Lines are edited by hand because ruamel.yaml writes the whole file anew, with its own indentation and white space.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import ConfigError, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

STEP = "  "
"""Indentation of what is inserted."""


def read(text: str, name: str) -> dict[str, Any]:
    """Return the mapping in a YAML text; an empty text has an empty one.

    Raises ConfigError: the text is not YAML, or not a mapping; the message names the position.
    """
    import yaml

    try:
        value: Any = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        message = f"{place}: This is not YAML: {sentence(error.problem or 'it cannot be read')}"
        raise ConfigError(message, remedy="Nothing was written. Correct the file and retry.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        message = f"{name}: This is not YAML: {sentence(error)}"
        raise ConfigError(message, remedy="Nothing was written. Correct the file and retry.") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{name}: This is not a YAML mapping.", remedy="Nothing was written. Correct the file.")
    return cast("dict[str, Any]", value)


def put(text: str, name: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """Return the text with these values in the mapping at a path; other keys of that mapping stay.

    The values are texts, numbers, truth values, lists and objects of texts; None removes the key. Messages name the
    file.

    Raises:
        ConfigError: the text is not YAML, the path holds another kind of value, or the file has a form that cannot be
            edited safely.
    """
    outer, inner = path
    before = read(text, name)
    parent = _mapping(before, outer, name, outer)
    current = _mapping(parent, inner, name, f"{outer}.{inner}")
    wanted = {key: value for key, value in {**current, **values}.items() if value is not None}
    if current == wanted:
        return text
    if inner in parent:
        text = _without(text, path)
        if outer in before and not (read(text, name).get(outer)):
            text = text if outer not in read(text, name) else _without(text, (outer,))
    after = _insert(text, path, wanted)
    return _checked(after, name, {**before, outer: {**parent, inner: wanted}})


def remove(text: str, name: str, path: tuple[str, str]) -> str:
    """Return the text without the mapping at a path, and without the outer one if this empties it.

    The text is unchanged if there is no value at the path. Raises ConfigError: the text is not YAML, or the file has a
    form that cannot be edited safely.
    """
    outer, inner = path
    before = read(text, name)
    parent = before.get(outer)
    if not isinstance(parent, dict) or inner not in parent:
        return text
    rest = {key: value for key, value in cast("dict[str, Any]", parent).items() if key != inner}
    others = {key: value for key, value in before.items() if key != outer}
    after = _without(text, path)
    if not rest and (whole := _without(text, (outer,))).count("#") == after.count("#"):
        return _checked(whole, name, others)
    pair = _nodes(after, (outer,))
    if pair is not None and not rest and not pair[1].value:  # comments are left
        after = _with_value(after, pair, " {}")
    return _checked(after, name, {**before, outer: rest})


def _mapping(parent: Mapping[str, Any], key: str, name: str, shown: str) -> dict[str, Any]:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(
            f"{name}: {shown} is not a mapping.", remedy="Nothing was written. Correct the file and retry."
        )
    return cast("dict[str, Any]", value)


def _checked(after: str, name: str, expected: dict[str, Any]) -> str:
    """Return the text if it holds what is expected. Raises ConfigError: it does not."""
    try:
        if read(after, name) == expected:
            return after
    except ConfigError:
        pass
    message = f"{name}: The file has a form that cannot be edited safely, such as anchors or several documents."
    raise ConfigError(message, remedy="Nothing was written. Add the entry by hand.")


def _nodes(text: str, path: tuple[str, ...]) -> tuple[Any, Any] | None:
    """Return the nodes of the key and the value at a path; None if there are none."""
    import yaml

    library: Any = yaml
    pair: Any = None
    node: Any = library.compose(text, Loader=yaml.SafeLoader)
    for key in path:
        pairs: Any = node.value if isinstance(node, yaml.MappingNode) else []
        pair = next((each for each in reversed(pairs) if each[0].value == key), None)
        if pair is None:
            return None
        node = pair[1]
    return pair


def _insert(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """Return the text with a new mapping at a path that holds none."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer, inner = path
    pair = _nodes(text, (outer,))
    lines = text.splitlines(keepends=True)
    if pair is None:
        block = [f"{outer}:", *_block(inner, values, STEP)]
        ended = text if not text or text.endswith("\n") else text + newline
        return ended + "".join(line + newline for line in block)
    key: Any = pair[0]
    value: Any = pair[1]
    if getattr(value, "value", None) and getattr(value, "flow_style", False):  # {a: …}
        at = value.start_mark.index + 1
        return f"{text[:at]}{inner}: {json.dumps(dict(values), ensure_ascii=False)}, {text[at:]}"
    if value.id == "mapping" and value.value:
        indent = " " * value.start_mark.column
        row = key.start_mark.line + 1
    else:  # nothing, null or {}
        lines = _with_value(text, pair, "").splitlines(keepends=True)
        indent = " " * key.start_mark.column + STEP
        row = key.start_mark.line + 1
    if text and not text.endswith("\n") and row == len(lines):
        lines[-1] += newline
    return "".join([*lines[:row], *(line + newline for line in _block(inner, values, indent)), *lines[row:]])


def _with_value(text: str, pair: tuple[Any, Any], value: str) -> str:
    """Return the text with another value, such as ` {}`, after a key whose value is empty."""
    colon = text.index(":", pair[0].end_mark.index) + 1
    return text[:colon] + value + text[max(colon, pair[1].end_mark.index) :]


def _block(key: str, values: Mapping[str, Any], indent: str) -> list[str]:
    """Return the lines of a mapping; each value is JSON, which is YAML, too."""
    members = [f"{indent}{STEP}{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    return [f"{indent}{key}:", *members]


def _without(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the lines of a key and its value, or without that part of a line in braces."""
    pair = _nodes(text, path)
    assert pair is not None, "the caller has looked"
    key, value = pair
    parent = _nodes(text, path[:-1])
    if parent is not None and parent[1].flow_style:
        start = key.start_mark.index
        end = value.end_mark.index
        rest = text[end:].lstrip(" \t")
        if rest.startswith(","):
            return text[:start] + rest[1:].lstrip(" \t")
        return text[:start].rstrip().removesuffix(",") + text[end:]
    lines = text.splitlines(keepends=True)
    last = max(_last_line(value), key.start_mark.line)
    return "".join(lines[: key.start_mark.line] + lines[last + 1 :])


def _last_line(node: Any) -> int:
    """Return the line in which a value ends; comments and blank lines after it do not count."""
    if node.id in {"mapping", "sequence"} and node.value and not node.flow_style:
        return max(_last_line(each) for item in node.value for each in (item if node.id == "mapping" else [item]))
    end = node.end_mark
    start = node.start_mark
    return end.line - 1 if end.column == 0 and end.line > start.line else end.line
