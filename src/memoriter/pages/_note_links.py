"""The links of a note, as text: where they stand, which note each names, and what they are called after a renaming."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote

from memoriter.values import dataclass
from memoriter.workspace import CODE_SPAN, outside_fences

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

Form = Literal["wiki", "plain", "bracketed"]
FORMS: tuple[Form, ...] = ("wiki", "plain", "bracketed")
NOT_IN_WIKI = frozenset("[]|#^\\")
"""Characters that the name in a wiki link cannot have."""
_WIKI = r"\[\[(?P<wiki>[^\[\]|#\n\\]{1,400})(?=[^\[\]\n]{0,600}\]\])"
_PLAIN = r"(?P<plain>(?:[^()<>\s#]|\([^()<>\s#]*\)){1,400}%s)(?=[#)\s]|$)"
_BRACKETED = r"<(?P<bracketed>[^<>\n#]{1,400}%s)(?=[#>])"
_BEFORE = r"(?:\]\(|^ {0,3}\[[^\]\n]{1,400}\]:)[ \t]*"
_LINK = re.compile(f"{_WIKI}|{_BEFORE}(?:{_BRACKETED % '[.]md'}|{_PLAIN % '[.]md'})", re.IGNORECASE)
_LINK_TO_FILE = re.compile(f"{_BEFORE}(?:{_BRACKETED % ''}|{_PLAIN % ''})")
_QUOTED = re.compile(r"[\s()<>%#?]")
_QUOTED_IN_BRACKETS = re.compile(r"[<>%#?]")


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a line of a note."""

    line: int
    """From 1."""
    start: int
    """Where its name begins in the line."""
    end: int
    written: str
    """The name as it is written."""
    form: Form
    """`[[name]]`, `[text](name.md)` or `[text](<name.md>)`."""

    @property
    def name(self) -> str:
        """The note that it names: a path or a part of one."""
        return (self.written if self.form == "wiki" else unquote(self.written)).strip()

    def path_from(self, path: str) -> str:
        """Return the path of the note that it names beside the note with the link."""
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), self.name))


def links_in(text: str) -> Iterator[Link]:
    """Yield `[[wiki links]]` and links to Markdown files, without headings and labels; code has none.

    >>> [link.name for link in links_in("See [[plan|it]], [this](a%20b.md#top) and `[[code]]`.")]
    ['plan', 'a b.md']
    """
    if "[[" in text or ".md" in text.lower():
        yield from _found(_LINK, text)


def links_to_files(text: str) -> Iterator[Link]:
    """Yield the links `[text](target)`, `[text](<target>)` and `[label]: target`, whatever they lead to; code has none.

    >>> [link.name for link in links_to_files("![](a.png) and [it](<b c.pdf>)")]
    ['a.png', 'b c.pdf']
    """
    return _found(_LINK_TO_FILE, text)


def _found(pattern: re.Pattern[str], text: str) -> Iterator[Link]:
    """Yield the links of a form that are in no code."""
    forms = FORMS if pattern is _LINK else FORMS[1:]
    for number, line in outside_fences(text.split("\n")):
        if "[" in line:
            plain = CODE_SPAN.sub(lambda code: " " * len(code[0]), line) if "`" in line else line
            for found in pattern.finditer(plain):
                form: Form = next(each for each in forms if found[each] is not None)
                yield Link(number, found.start(form), found.end(form), found[form], form)


def with_names(text: str, links: Iterable[Link], name_of: Callable[[Link], str | None]) -> tuple[str, list[int]]:
    """Return a text whose links have other names, and the lines that are changed; None leaves a link as it is."""
    lines = text.split("\n")
    changed: list[int] = []
    for link in reversed([*links]):
        if (name := name_of(link)) is not None:
            line = lines[link.line - 1]
            lines[link.line - 1] = line[: link.start] + name + line[link.end :]
            changed.append(link.line)
    return "\n".join(lines), sorted(set(changed))


def new_name(link: Link, wanted: str, path: str, names: NoteNames, *, from_root: bool) -> str | None:
    """Return how a link names a note, as much like the present name as possible; None: the form of the link cannot.

    `wanted` is the note that it is to lead to, and `path` the one with the link. `from_root` says whether the present
    name is the path from the root.
    """
    beside = posixpath.relpath(wanted, posixpath.dirname(path) or ".")
    if link.form != "wiki":
        return _quoted(link, wanted if from_root else beside)
    if NOT_IN_WIKI & {*wanted}:
        return None
    whole = [beside, wanted] if link.name.startswith(".") else [wanted]
    choices = whole if "/" in link.name else [posixpath.basename(wanted), wanted]
    keeps_suffix = link.name.lower().endswith(".md")
    named = [each if keeps_suffix else each.removesuffix(".md") for each in choices]
    return next((each for each in named if names.find(each, path) == wanted), None)


def with_moved_files(text: str, file: Path, old: str, new: str) -> tuple[str, list[int]]:
    """Return a note whose links lead to the same pictures and files from a new folder, and the lines that are changed.

    `file` is where the note is now, and `old` and `new` are its paths before and afterwards.
    """

    def name_of(link: Link) -> str | None:
        target = link.path_from(old)
        if link.name.startswith("/") or link.name.lower().endswith(".md") or target.startswith("../"):
            return None
        try:
            is_file = (file.parent / link.name).is_file()
        except (OSError, ValueError):  # no name of a file, such as a long address
            return None
        return _quoted(link, posixpath.relpath(target, posixpath.dirname(new) or ".")) if is_file else None

    return with_names(text, links_to_files(text), name_of)


def _quoted(link: Link, name: str) -> str:
    quoted = _QUOTED if link.form == "plain" else _QUOTED_IN_BRACKETS
    return quoted.sub(lambda found: quote(found[0], safe=""), name)


class NoteNames:
    """The names of all notes, by which links find them."""

    def __init__(self, paths: Collection[str] = ()) -> None:
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(paths, key=lambda each: (len(each), each)):
            self._by_name[posixpath.basename(plain_name(path))].append(path)

    def find(self, name: str, path: str) -> str | None:
        """Return the note that a link names by its path from another note or from the root, or by its end."""
        wanted = plain_name(name)
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(plain_name(path)), wanted))
        ending = posixpath.normpath("/" + wanted)
        called = self._by_name.get(posixpath.basename(wanted), [])
        found = [each for each in called if f"/{plain_name(each)}".endswith(ending)]
        exact = (each for place in (beside, ending[1:]) for each in found if plain_name(each) == place)
        return next(exact, found[0] if found else None)


def plain_name(path: str) -> str:
    """Return a path or the name of a note as links are compared: without `.md`, in small letters."""
    return path.lower().removesuffix(".md")
