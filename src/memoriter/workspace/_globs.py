"""Match glob patterns without backtracking: at most (length of the path x length of the pattern) steps.

If `*` became `.*`, each star would cost another power of the path's length, and six stars would stop a search for
minutes. Here each star ends at the first place where the text after it matches, and never tries another: between two
stars no later place can do better. Atomic groups make `re` work this way.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_PATTERN = 1_000
"""Limit of one pattern in characters."""
MOST_ALTERNATIVES = 64
"""Limit of globs that the braces of one pattern may expand to."""
_BRACES = re.compile(r"\{([^{}]*+)\}")
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}


def glob_matches(names: Sequence[str], glob: Sequence[str]) -> bool:
    """Return whether the names of a path match the names of a glob; `**` matches any number of folders."""
    index = star_start = 0
    after_star: int | None = None
    """Index in the glob after the last `**`; `star_start` is the index in the path where its match begins."""
    glob_index = 0
    while index < len(names):
        if glob_index < len(glob) and glob[glob_index] == "**":
            after_star, star_start, glob_index = glob_index + 1, index, glob_index + 1
        elif glob_index < len(glob) and fnmatchcase(names[index], glob[glob_index]):
            index, glob_index = index + 1, glob_index + 1
        elif after_star is not None:
            star_start += 1
            index, glob_index = star_start, after_star
        else:
            return False
    return all(name == "**" for name in glob[glob_index:])


def spread_braces(pattern: str) -> tuple[str, ...] | None:
    """Expand braces, innermost first: `a.{md,txt}` becomes `a.md` and `a.txt`.

    Returns:
        The globs in order, or `None` if the pattern is too long or expands to more than 64 globs.
    """
    if len(pattern) > LONGEST_PATTERN:
        return None
    pending, globs = [pattern], set[str]()
    while pending:
        glob = pending.pop()
        match = next((each for each in _BRACES.finditer(glob) if "," in each[1]), None)
        if match is None:
            globs.add(glob)
        else:
            pending += [glob[: match.start()] + choice + glob[match.end() :] for choice in match[1].split(",")]
        if len(pending) + len(globs) > MOST_ALTERNATIVES:
            return None
    return tuple(sorted(globs))


@lru_cache(maxsize=2_048)
def ignore_pattern(pattern: str) -> re.Pattern[str] | None:
    """Compile one pattern of `.gitignore`, without its `!` and its final `/`.

    Args:
        pattern: a pattern with git's meaning. Without a slash it names a file in any folder; with one it is a path
            relative to the folder of the ignore file.

    Returns:
        A regular expression for `fullmatch` with a path, or `None` if no path can match the pattern.
    """
    anchored = "/" in pattern
    parts = pattern.removeprefix("/").split("/")
    if not anchored and parts != ["**"]:
        parts = ["**", *parts]
    try:
        return re.compile(_path_regex(parts), re.DOTALL)
    except (ValueError, re.error):
        return None


def _path_regex(parts: Sequence[str]) -> str:
    """Return the regular expression for a path, from the names of a pattern."""
    if parts == ["**"]:
        return ".+"
    runs: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(_name_regex(part))
    runs = [runs[0], *(run for run in runs[1:-1] if run), *runs[1:][-1:]]
    first, *rest = ("/".join(run) for run in runs)
    if not rest:
        return first
    *inner, last = rest
    expression = f"{first}/" if first else ""
    expression += "".join(f"(?>(?:[^/]++/)*?{run}/)" for run in inner)
    return expression + (f"(?:[^/]++/)*{last}" if last else ".+")


def _name_regex(part: str) -> str:
    """Return the regular expression for one name; raise ValueError if no name can match."""
    pieces: list[list[str]] = [[]]
    at = 0
    while at < len(part):
        character = part[at]
        at += 1
        if character == "*":
            pieces.append([])
        elif character == "?":
            pieces[-1].append("[^/]")
        elif character == "[":
            expression, at = _class_regex(part, at)
            pieces[-1].append(expression)
        elif character == "\\":
            if at == len(part):
                raise ValueError("it ends in a backslash")
            pieces[-1].append(re.escape(part[at]))
            at += 1
        else:
            pieces[-1].append(re.escape(character))
    if not part:
        raise ValueError("a name is empty")
    first, *rest = ("".join(piece) for piece in pieces)
    if not rest:
        return first
    *inner, last = rest
    if not first and not any(rest):
        return "[^/]+"
    stars = "".join(f"(?>[^/]*?{piece})" for piece in inner if piece)
    return f"{first}{stars}[^/]*{last}(?![^/])" if last else f"{first}{stars}[^/]*+"


def _class_regex(part: str, at: int) -> tuple[str, int]:
    """Return the expression for a bracket that opens before `at`, and where it ends; raise ValueError if invalid."""
    negated = part[at : at + 1] in {"!", "^"}
    at += negated
    members: list[str] = []
    first = True
    while first or part[at : at + 1] != "]":
        if at >= len(part):
            raise ValueError("a bracket is not closed")
        first = False
        if part.startswith("[:", at) and (end := part.find(":]", at, at + 12)) > 0:
            members.append(_CLASSES[part[at + 2 : end]] if part[at + 2 : end] in _CLASSES else _reject_range(part))
            at = end + 2
            continue
        low, at = _read_member(part, at)
        if part[at : at + 1] == "-" and part[at + 1 : at + 2] not in {"]", ""}:
            high, at = _read_member(part, at + 1)
            members.append(f"{re.escape(low)}-{re.escape(high)}" if low <= high else _reject_range(part))
        else:
            members.append(re.escape(low))
    return f"(?!/)[{'^' if negated else ''}{''.join(members)}]", at + 1


def _read_member(part: str, at: int) -> tuple[str, int]:
    at += part[at : at + 1] == "\\"
    if at >= len(part):
        raise ValueError("a bracket is not closed")
    return part[at], at + 1


def _reject_range(part: str) -> str:
    raise ValueError(f"{part!r} has a range that git does not know")
