"""Edit a JSON5 text in place: set and remove settings, so that comments and all other text stay as they are."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from memoriter.config._section import dotted
from memoriter.config._tree import Node, parse, parse_spans, table
from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

Names = tuple[str, ...]
"""The names that lead to a setting, from the outermost section inwards."""

SEARCH = ("agents", "defaults", "memorySearch")
RERANK = (*SEARCH, "query", "rerank")
"""Its settings are called as those of the embedding provider, which are meant by a name alone."""
_BLANK_OR_COMMENT = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")
_INDENT = re.compile(r"\n([ \t]+)[^\s/]")


def set_value(text: str, names: Names, value: Any, file: str) -> str:
    """Return the text with a value at a setting; missing sections are created.

    Raises:
        ConfigError: the text is not JSON5, or something other than a section is in the way.
    """
    if not _BLANK_OR_COMMENT.sub("", text, count=1):
        text = f"{text.rstrip()}\n{{\n}}\n".lstrip("\n")
    node = parse_spans(text, file)
    depth = 0
    names = _written_names(text, names, file)
    while depth < len(names) and node.members is not None and names[depth] in node.members:
        node = node.members[names[depth]]
        depth += 1
    if depth == len(names):
        return text[: node.start] + _rendered(value, text, _indent_at(text, node.start)) + text[node.end :]
    if node.members is None:
        raise ConfigError(
            f"{file}: The setting {dotted(names)} cannot be set, because {dotted(names[:depth])} is not a section.",
            remedy="Nothing was written. Correct the file first.",
        )
    for name in reversed(names[depth + 1 :]):
        value = {name: value}
    return _with_member(text, node, names[depth], value)


def remove_value(text: str, names: Names, file: str) -> str:
    """Return the text without a setting, and without sections that this empties; unchanged if it is not written.

    Raises:
        ConfigError: the text is not JSON5.
    """
    root = parse_spans(text, file) if _BLANK_OR_COMMENT.sub("", text, count=1) else None
    names = _written_names(text, names, file) if root else names
    chain: list[Node] = [root] if root else []
    for name in names:
        members = chain[-1].members if chain else None
        if members is None or name not in members:
            return text
        chain.append(members[name])
    while len(chain) > 2 and len(chain[-2].order) == 1:  # a section must not stay behind without a setting
        chain.pop()
    return _without_member(text, chain[-2], chain[-1]) if len(chain) > 1 else text


def _written_names(text: str, names: Names, file: str) -> Names:
    """Return the names under which a file writes the setting: OpenClaw accepts the search settings in three places."""
    if names[:3] != SEARCH:
        return names
    tree = parse(text, file)
    if names == (*RERANK, "provider") and isinstance(_value_at(tree, _written_names(text, RERANK, file)), str):
        return _written_names(text, RERANK, file)  # the name of the reranker, in place of a section
    for other in (SEARCH, ("memorySearch",), ("memory", "search")):
        if isinstance(_value_at(tree, other), dict):
            return (*other, *names[3:])
    return names


def _value_at(tree: Any, names: Names) -> Any:
    for name in names:
        tree = table(tree).get(name)
    return tree


def _with_member(text: str, section: Node, name: str, value: Any) -> str:
    """Return the text with a new last member of an object."""
    strict = _is_json(text)
    key = name if not strict and _IDENTIFIER.match(name) else json.dumps(name, ensure_ascii=False)
    outer = _indent_at(text, section.start)
    one_line = "\n" not in text[section.start : section.end] and section.order
    indent = None if one_line else outer + _indent_unit(text)
    member = f"{key}: {_rendered(value, text, indent)}"
    if not section.order:
        inside = text[section.start + 1 : section.end - 1].rstrip()
        comma = "" if strict else ","
        return f"{text[: section.start + 1]}{inside}\n{indent}{member}{comma}\n{outer}{text[section.end - 1 :]}"
    last = section.members[section.order[-1]] if section.members else section
    after = _BLANK_OR_COMMENT.match(text, last.end)
    has_comma = after is not None and text[after.end()] == ","
    end = after.end() + 1 if has_comma and after is not None else last.end
    before = text[:end] if has_comma else f"{text[:end]},"
    if one_line:
        return f"{before} {member}{text[end:]}"
    rest_of_line = re.compile(r"[ \t]*(?://[^\n]*)?").match(text, end)
    end_of_line = rest_of_line.end() if rest_of_line else end
    comma = "," if has_comma and not strict else ""
    return f"{before}{text[end:end_of_line]}\n{indent}{member}{comma}{text[end_of_line:]}"


def _without_member(text: str, section: Node, member: Node) -> str:
    """Return the text without a member; comments around it stay."""
    start = member.key_start
    end = member.end
    after = _BLANK_OR_COMMENT.match(text, end)
    if after is not None and text[after.end()] == ",":
        comma = after.end()
        text = text[:comma] + text[comma + 1 :]
    elif section.members and (at := section.order.index(_name_of(section, member))) > 0:
        previous = section.members[section.order[at - 1]]
        before = _BLANK_OR_COMMENT.match(text, previous.end)
        comma = before.end() if before is not None and text[before.end()] == "," else -1
        if comma >= 0 and (_is_json(text) or "\n" not in text[comma:start]):
            text = text[:comma] + text[comma + 1 :]
            start -= 1
            end -= 1
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if line_end >= 0 and not text[line_start:start].strip() and not text[end:line_end].strip():
        return text[:line_start] + text[line_end + 1 :]
    return text[:start] + text[end:].lstrip(" \t") if text[end : end + 1] in " \t" else text[:start] + text[end:]


def _name_of(section: Node, member: Node) -> str:
    return next(name for name, node in (section.members or {}).items() if node is member)


def _is_json(text: str) -> bool:
    """Return whether the text is plain JSON, which must stay readable for programs without JSON5."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _rendered(value: Any, text: str, indent: str | None) -> str:
    """Return a value in the style of the text; on one line if `indent` is None or the value has no inner section."""
    if indent is None or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    strict = _is_json(text)
    unit = _indent_unit(text)
    lines = ["{"]
    members = table(value)
    for number, (name, below) in enumerate(members.items(), 1):
        key = name if not strict and _IDENTIFIER.match(name) else json.dumps(name, ensure_ascii=False)
        comma = "" if strict and number == len(members) else ","
        lines.append(f"{indent}{unit}{key}: {_rendered(below, text, indent + unit)}{comma}")
    return "\n".join([*lines, f"{indent}}}"])


def _indent_at(text: str, at: int) -> str:
    """Return the white space at the beginning of an offset's line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    match = _INDENT.search(text)
    return match[1] if match else "  "


def setting_names(key: str, known: Sequence[str]) -> Names:
    """Return the names of the setting that a key means; the end of a dotted key is enough where it is unique.

    Args:
        key: the key as given, such as `query.maxResults` or `agents.defaults.memorySearch.query.maxResults`.
        known: the dotted keys of all settings; `<id>` stands for any name.

    Raises:
        ConfigError: no setting has this key, or several have.
    """
    from difflib import get_close_matches

    steps = tuple(step for step in key.strip().strip(".").split(".") if step)
    if steps and steps == RERANK[-len(steps) :]:  # a reranker may be written as its name alone
        steps = (*steps, "provider")
    exact = list[Names]()
    matching = list[Names]()
    for name in known:
        parts = tuple(name.split("."))
        if len(parts) < len(steps) or not steps:
            continue
        tail = parts[len(parts) - len(steps) :]
        fits = (
            part == step or (part == "<id>" and at > 0) for at, (part, step) in enumerate(zip(tail, steps, strict=True))
        )
        if all(fits):
            whole = (*parts[: len(parts) - len(steps)], *steps)
            if "<id>" not in whole:
                (exact if len(parts) == len(steps) else matching).append(whole)
    found = list(dict.fromkeys(exact or matching))
    if len(found) > 1:  # what a search setting is called counts more than what the same name means elsewhere
        found = [names for names in found if names[:3] == SEARCH] or found
        found = [names for names in found if names[: len(RERANK)] != RERANK] or found
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(dotted(names) for names in found)
        raise ConfigError(f"The key {key!r} is not unique: {shown}.", remedy="Give more of the key.")
    ends = {name.rpartition(".")[2]: name for name in known if "<id>" not in name}
    similar = get_close_matches(steps[-1] if steps else key, list(ends), n=1, cutoff=0.5)
    hint = f"Perhaps you mean {ends[similar[0]]}. " if similar else ""
    raise ConfigError(f"There is no setting {key!r}.", remedy=f"{hint}See `memoriter config show`.")
