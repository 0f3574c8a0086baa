"""Glob patterns in linear time: a path is matched in at most (its length x the length of the pattern) steps.

If `*` becomes `.*`, each star costs another power of the path's length: six of them stop a search for minutes.
Here each star takes the first place at which what follows it matches, and never looks back: between two stars no later
place can do better. Python's atomic groups say so to `re`.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_PATTERN = 1_000
"""Characters of one pattern."""
MOST_ALTERNATIVES = 64
"""Globs that the braces of one pattern may stand for."""
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
    """Return whether the names of a path match the names of a glob; `**` stands for any number of folders."""
    at = star_start = 0
    after_star: int | None = None
    """The name of the glob after the last `**`; `since` is where its part of the path began."""
    position = 0
    while at < len(names):
        if position < len(glob) and glob[position] == "**":
            after_star, star_start, position = position + 1, at, position + 1
        elif position < len(glob) and fnmatchcase(names[at], glob[position]):
            at, position = at + 1, position + 1
        elif after_star is not None:
            star_start += 1
            at, position = star_start, after_star
        else:
            return False
    return all(name == "**" for name in glob[position:])


def spread_braces(pattern: str) -> tuple[str, ...] | None:
    """Return what `a.{md,txt}` stands for: `a.md` and `a.txt`, innermost braces first.

    Returns:
        The globs in order, or `None` where the pattern is too long or stands for more than 64 globs.
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
    """Compile one pattern of `.gitignore`, without its `!` and without the `/` at its end.

    Args:
        pattern: as git reads it. Without a slash it is the name of a file in any folder; with one it is a path from the
            folder of the ignore file on.

    Returns:
        What matches a path with `fullmatch`, or `None` for a pattern that no path can match.
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
    """The regular expression for a path, from the names of a pattern."""
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
    """The regular expression for one name. Raises ValueError where no name can match."""
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
    """A bracket expression that begins before `at`, and where it ends. Raises ValueError where it does not end."""
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
