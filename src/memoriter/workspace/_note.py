"""A note as it is indexed: its passages, and what belongs to the whole note: title, other names, tags, day.

Front matter is the YAML between two lines of `---` at the start of a note, the TOML between two lines of `+++` as Hugo
and Zola have it, the JSON between `{` and `}`, or Logseq's `key:: value` lines. Tags in the text follow Obsidian's
rule: `#` and letters, digits, `_`, `-` or `/`, and not digits alone. Encoded data and navigation stay in the note, and
in no passage, because they mean nothing to a search.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import groupby
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.folding import compile_words, fold_name, fold_tag
from memoriter.ids import normalize
from memoriter.times import begins_with_day, written_day
from memoriter.values import dataclass
from memoriter.workspace.chunking import NOTE_LINK, chunk_markdown, scan_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from memoriter.types import Chunk
    from memoriter.workspace.chunking import Block

LONGEST_FRONT_MATTER = 16_384
"""Most characters of front matter. A longer beginning of a note is text."""
_BLOCK = re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML_BLOCK = re.compile(r"\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_JSON_BLOCK = re.compile(r"(\{[ \t]*\r?\n.*?^\})[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_ABOVE = re.compile(r"(?:[ \t\r]*\n|[ \t]*<!--(?! (?:from|end):)[^\n]*?-->[ \t\r]*\n)*")
"""Blank lines, and comments of one line. Nothing below a mark of origin is front matter."""
_KEY = re.compile(r"[ \t]*(\w[\w .-]{0,60}):(?:[ \t]+(.*))?")
_LOGSEQ = re.compile(r"(?:[-*+][ \t]+)?(\w[\w-]{0,60})::[ \t]+(\S.*)")
"""A property as Logseq writes it into a line of its own."""
_LOGSEQ_VALUE = re.compile(r"#?\[\[([^\[\]]+)\]\]|#([\w/-]+)|([^,#\[\]]+)")
_LOGSEQ_TAGS = re.compile(r"[ \t]*(?:[-*+][ \t]+)?tags::[ \t]+(\S.*)", re.IGNORECASE)
"""The tags of a block in Logseq."""
_EMPTY = frozenset({"", "~", "null", "Null", "NULL"})
_NAMED = ("title", "alias", "aliases", "tag", "tags")
_DAYS = (
    *("date", "day", "datetime", "datum", "fecha", "日付", "日期", "날짜"),
    *(
        "created",
        "datecreated",
        "createdat",
        "createddate",
        "creationdate",
        "createdtime",
        "erstellt",
        "작성일",
        "创建时间",
    ),
    *("published", "datepublished", "publishedat", "publishdate", "pubdate"),
    *("updated", "dateupdated", "updatedat", "lastupdated", "modified", "datemodified", "modifiedat", "lastmodified"),
    *("lastmod", "modificationdate"),
)
"""The keys of a note's day, the one that counts first, without spaces, hyphens and underscores."""
_KEY_MARKS = re.compile(r"[-_\s]+")
_MOST_VALUES = 50
_LONGEST_VALUE = 200
_WHOLE = re.compile(r"(?!)")
_COMMAS = re.compile(r",")
_COMMAS_OR_SPACES = re.compile(r"[\s,]+")
_VALUE_SEPARATORS = {"tags": _COMMAS_OR_SPACES, "tag": _COMMAS_OR_SPACES, "aliases": _COMMAS, "alias": _COMMAS}
"""What separates the values of a key that is no list."""
_TAG = r"(?<!\S)#(?:([\w/-]*[^\W\d][\w/-]*)|\[\[([^\[\]]{1,200})\]\])"
"""`#tag`, and `#[[two words]]` as in Logseq."""
CODE_SPAN = re.compile(r"(`+)(?!`).{1,1000}?(?<!`)\1(?!`)")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})[ \t]*([\w+.-]*)")
"""The first or last line of a fence; a first one may name its content."""
LONGEST_TAG = 200
"""Most characters of a tag."""
MOST_TAGS = 500
"""Most tags of one note."""
_DATED = re.compile(r"\d{4}[-_.]?\d{2}[-_.]?\d{2}(?!\d)[-_. ]*")
"""A day at the beginning of a file name, which is no part of its title."""
_NAMELESS = frozenset({"memory", "readme", "index", "_index", "untitled"})
"""File names that say nothing about their content."""
_FIRST_LEVEL = re.compile(r"#[ \t]|[^\n]*\n {0,3}=+[ \t\r]*(?:\n|\Z)")
_SEPARATORS = re.compile(r"[-_\s]+")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a note says about itself before its text."""

    lines: frozenset[int] = frozenset()
    """Its lines, from 0, with the marks around each block of them."""
    yaml: str = ""
    """The lines between the marks; those of TOML and JSON as YAML."""
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """As written, without `#`."""
    day: date | None = None
    """Of the first key in `_DAYS`."""
    properties: tuple[str, ...] = ()
    """The values of all other keys."""
    faulty: tuple[int, ...] = ()
    """The lines, from 0, that are no YAML or TOML and were read as plain text."""


class _Block(NamedTuple):
    """A block of front matter, and what is in it."""

    match: re.Match[str]
    values: Mapping[str, list[str]]
    yaml: str
    faulty: Sequence[int] = ()
    """The lines below the first mark, from 0, that were read as plain text."""


def read_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of a note, or None if it has none.

    Blank lines and comments may stand above it, and several blocks count as one. Where a few lines are no YAML, the
    others count. Aliases of YAML (`*name`) are never followed, so that no text becomes longer than it is written.
    """
    lines = set[int]()
    faulty = list[int]()
    yaml = ""
    values: dict[str, list[str]] = {}
    at = 0
    while block := _next_block(text, at):
        match = block.match
        first = text.count("\n", 0, match.start())
        for key, some in block.values.items():
            values.setdefault(key, []).extend(some)
        lines.update(range(first, first + match[0].count("\n") + (not match[0].endswith("\n"))))
        faulty += [first + 1 + line for line in block.faulty]
        yaml += block.yaml
        at = match.end()
    for key, value in _logseq_properties(text, at):
        _add_value(values, key, value, listed=True)
    if not lines and not values:
        return None
    days = (day for key in _DAYS for value in values.get(key, ()) if (day := written_day(value)))
    return FrontMatter(
        lines=frozenset(lines),
        yaml=yaml,
        title=next(iter(values.get("title", ())), ""),
        aliases=tuple(dict.fromkeys((*values.get("aliases", ()), *values.get("alias", ())))),
        tags=tuple(tag.strip("#[]").strip("/") for tag in (*values.get("tags", ()), *values.get("tag", ()))),
        day=next(days, None),
        properties=tuple(
            value
            for key, some in values.items()
            if key not in {*_NAMED, *_DAYS}
            for value in some
            if not begins_with_day(value)
        ),
        faulty=tuple(faulty),
    )


def _next_block(text: str, at: int) -> _Block | None:
    """Return the block that is next, below blank lines and comments; None if its content is something else."""
    above = _ABOVE.match(text, at)
    start = above.end() if above else at
    if match := _BLOCK.match(text, start, LONGEST_FRONT_MATTER):
        read = _properties(match[1])
        return _Block(match, read[0], match[1], read[1]) if read else None
    if match := _TOML_BLOCK.match(text, start, LONGEST_FRONT_MATTER):
        return _toml_block(match)
    if match := _JSON_BLOCK.match(text, start, LONGEST_FRONT_MATTER):
        return _json_block(match)
    return None


def _toml_block(match: re.Match[str]) -> _Block | None:
    document, wrong = _read_toml(match[1])
    values = _values_of(document)
    is_mapping = len(document) + _familiar(values) > 2 * len(wrong)
    return _Block(match, values, _yaml_of(document), wrong) if is_mapping else None


def _json_block(match: re.Match[str]) -> _Block | None:
    """Return a block of JSON. Other objects than front matter have none of its keys."""
    try:
        document = json.loads(match[1])
    except (ValueError, RecursionError):
        return None
    values = _values_of(document)
    return _Block(match, values, _yaml_of(document)) if _familiar(values) else None


def _values_of(document: dict[str, Any]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for key, text, listed in _texts_of(document):
        _add_value(values, key, text, listed=listed)
    return values


def _yaml_of(document: Mapping[str, object]) -> str:
    """Return a document as YAML, of which JSON is a part."""
    return "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False, default=str)}\n" for key, value in document.items() if key
    )


def _familiar(values: Mapping[str, object]) -> int:
    """Return the number of keys that front matter usually has."""
    return len({*_NAMED, *_DAYS} & values.keys())


def _logseq_properties(text: str, at: int) -> Iterator[tuple[str, str]]:
    """Yield the properties of a page of Logseq, `key:: value` in its first lines, each value on its own."""
    for line in text[at : at + LONGEST_FRONT_MATTER].lstrip().split("\n"):
        match = _LOGSEQ.fullmatch(line.rstrip())
        if match is None:
            return
        whole = match[1].casefold() == "title"
        yield from ((match[1], value) for value in ([match[2]] if whole else _logseq_values(match[2])))


def _logseq_values(text: str) -> Iterator[str]:
    """Yield the values of a property of Logseq: texts between commas, `#tags` and `[[links]]`."""
    values = (match[1] or match[2] or match[3] for match in _LOGSEQ_VALUE.finditer(text))
    yield from filter(None, (value.strip() for value in values))


def _properties(yaml_text: str) -> tuple[dict[str, list[str]], list[int]] | None:
    """Return the texts below each key, and the lines from 0 that are no YAML; None if the text is no mapping.

    Where some of its keys are no YAML with what is below them, most must be; those of `_NAMED` and `_DAYS` count twice.
    """
    values: dict[str, list[str]] = {}
    if _add_yaml(values, yaml_text):
        return values, []
    values.clear()
    wrong = list[int]()
    correct = 0
    for number, entry in _split_entries(yaml_text, _begins_yaml_entry):
        if _add_yaml(values, entry):
            correct += 1
            continue
        wrong.append(number)
        key = _KEY.match(entry)
        _add_value(values, key[1] if key else "", (key[2] or "" if key else entry).strip("\"' \t\r\n"))
    return (values, wrong) if correct + _familiar(values) > len(wrong) else None


def _begins_yaml_entry(line: str) -> bool:
    return bool(line.strip()) and not line.startswith((" ", "- ", "#"))


def _add_yaml(values: dict[str, list[str]], yaml_text: str) -> bool:
    """Add the texts of a YAML mapping, and return whether the text is one."""
    from yaml import YAMLError

    try:
        scalars = list(_scalars(yaml_text))
    except (YAMLError, ValueError):
        return False
    for key, text, listed in scalars:
        _add_value(values, key, text, listed=listed)
    return True


def _add_value(values: dict[str, list[str]], key: str, text: str, *, listed: bool = False) -> None:
    """Add the value of a property, or all of them if separators stand between several."""
    name = _KEY_MARKS.sub("", key.casefold())
    some = values.setdefault(name, [])
    parts = [text] if listed else _VALUE_SEPARATORS.get(name, _WHOLE).split(text)
    cleaned = (" ".join(part.split())[:_LONGEST_VALUE] for part in parts)
    some += [part for part in cleaned if part not in _EMPTY][: max(0, _MOST_VALUES - len(some))]


def _scalars(yaml_text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each text in a YAML mapping: the key of the outermost mapping, the text, and whether it is in a list.

    Raises:
        YAMLError: the text is not YAML.
        ValueError: it is no mapping.
    """
    depth = 0
    key = ""
    wants_key = True
    mappings = 0
    for event in _events(yaml_text):
        match type(event).__name__:
            case "MappingStartEvent" | "SequenceStartEvent" as kind:
                mappings += kind == "MappingStartEvent"
                if not mappings:
                    raise ValueError(kind)
                depth += 1
                continue
            case "MappingEndEvent" | "SequenceEndEvent":
                depth -= 1
            case "ScalarEvent" if depth == 1 and wants_key:
                key = event.value
            case "ScalarEvent" if depth:
                yield key, event.value, depth > 1
            case "AliasEvent" | "ScalarEvent":
                pass
            case _:
                continue
        if depth == 1:
            wants_key = not wants_key
    if not mappings and yaml_text.strip():
        raise ValueError(yaml_text)


def _events(yaml_text: str) -> Iterator[Any]:
    """Yield the events of the YAML parser, which builds no object of any kind."""
    import yaml

    parser: Any = yaml
    yield from parser.parse(yaml_text, Loader=getattr(parser, "CSafeLoader", parser.SafeLoader))


_TOML_ENTRY = re.compile(r"[ \t]*(?:\[|([\w.\"'-]+)[ \t]*=[ \t]*(.*))")
"""The beginning of an entry: the name of a table, or a key and the first line of its value."""
_OF_TAGS = "taxonomies"
"""The table in which Zola has tags and categories."""


def _read_toml(text: str) -> tuple[dict[str, Any], list[int]]:
    """Return the values of TOML, and the lines from 0 that are none.

    Where a few entries are no TOML, their values are read as plain text, and the others count.
    """
    try:
        return _loads(text), []
    except ValueError:
        pass
    document: dict[str, Any] = {}
    wrong = list[int]()
    table = ""
    for number, entry in _split_entries(text, lambda line: _TOML_ENTRY.match(line) is not None):
        try:
            read = _loads(f"{table}{entry}")
        except ValueError:
            wrong.append(number)
            match = _TOML_ENTRY.match(entry)
            key = ((match and match[1]) or "").strip("\"'")
            document.setdefault(key, (match[2] if match and match[1] else entry).strip("\"' \t\r\n"))
            continue
        _merge(document, read)
        table = f"{entry}\n" if entry.lstrip().startswith("[") else table
    return document, wrong


def _texts_of(document: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield each text of TOML or JSON: its outermost key, the text, and whether it is in a list or a table."""
    for key, value in document.items():
        if key == _OF_TAGS and isinstance(value, dict):
            yield from _texts_of(cast("dict[str, Any]", value))
        else:
            listed = isinstance(value, list | dict)
            yield from ((key, text, listed) for text in _texts(value))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _texts(each)
    else:
        yield str(value)


def _loads(text: str) -> dict[str, Any]:
    """Return the document. Raises ValueError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _split_entries(text: str, begins: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    """Yield the entries of front matter, and their first lines, from 0; `begins` says which lines begin one."""
    entry = list[str]()
    first = 0
    for number, line in enumerate(text.split("\n")):
        if entry and begins(line):
            yield first, "\n".join(entry)
            entry = []
        if not entry:
            if not line.strip():
                continue
            first = number
        entry.append(line)
    if entry:
        yield first, "\n".join(entry)


def _merge(document: dict[str, Any], read: dict[str, Any]) -> None:
    for key, value in read.items():
        known = document.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            cast("dict[str, Any]", known).update(cast("dict[str, Any]", value))
        else:
            document[key] = value


def outside_fences(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of Markdown that are in no fence, with their numbers from 1."""
    fence = ""
    for number, line in enumerate(lines, 1):
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence:
            fence = "" if match and match[1].startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif match:
            fence = match[1]
        else:
            yield number, line


def tags_in(lines: Iterable[str]) -> Iterator[str]:
    """Yield the tags in lines of Markdown, without `#`; code has none."""
    for _, line in outside_fences(lines):
        if tags := _LOGSEQ_TAGS.match(line) if "::" in line else None:
            yield from _logseq_values(tags[1])
        elif "#" in line:
            plain = CODE_SPAN.sub(" ` ", line) if "`" in line else line
            names = ((tag[1] or tag[2]).strip(" /") for tag in compile_words(_TAG, plain).finditer(plain))
            yield from (name for name in names if len(name) <= LONGEST_TAG)


def fold_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags in the form in which they are compared, each once."""
    folded = map(fold_tag, tags)
    return tuple(dict.fromkeys(tag for tag in folded if tag))[:MOST_TAGS]


@dataclass(frozen=True, slots=True)
class Note:
    """A note that is split into passages."""

    chunks: tuple[Chunk, ...]
    """Without front matter and noise. The title is the outermost heading unless a first-level heading says the same."""
    names: tuple[str, ...] = ()
    """Every name of the note: title, file name, aliases, folders, tags of the front matter."""
    titles: tuple[str, ...] = ()
    """The names by which links lead to the note, as `fold_name` returns them: title, file name, aliases."""
    properties: tuple[str, ...] = ()
    """The other values of its front matter."""
    tags: tuple[str, ...] = ()
    """Of front matter and text, as `fold_tags` returns them."""
    day: date | None = None
    """The day in the front matter."""
    faulty: tuple[int, ...] = ()
    """The lines of the front matter, from 1, that are no YAML or TOML."""


def read_note(path: str, text: str, *, tokens: int = 400, overlap: int = 80) -> Note:
    """Split a note; `tokens` and `overlap` are those of `chunk_markdown`.

    The file name in the cited path is the title if neither front matter nor a heading has one.
    """
    front = read_front_matter(text) or FrontMatter()
    body = ["" if at in front.lines else line for at, line in enumerate(text.split("\n"))]
    noise = noisy_lines(body)
    whole = chunk_markdown("\n".join(_without_noise(body, noise)), tokens=tokens, overlap=overlap)
    chunks = tuple(part for chunk in whole for part in _split_at_noise(chunk, noise)) if noise else whole
    if front.lines and not chunks:
        # A note that has nothing else is found by its front matter.
        chunks = chunk_markdown(text, tokens=tokens, overlap=overlap)
    stem, folders = _names_in(path)
    title = front.title or (_first_heading(chunks) or stem if stem or folders else "")
    linked = (title, stem, PurePosixPath(path).stem, *front.aliases)
    return Note(
        chunks=tuple(_titled(chunk, title, folders) for chunk in chunks) if title or folders else chunks,
        titles=tuple(dict.fromkeys(filter(None, map(fold_name, linked)))),
        names=tuple(dict.fromkeys(name for name in (title, stem, *front.aliases, *folders, *front.tags) if name)),
        properties=front.properties,
        tags=fold_tags([*front.tags, *tags_in(body)]),
        day=front.day,
        faulty=tuple(line + 1 for line in front.faulty),
    )


def _names_in(path: str) -> tuple[str, tuple[str, ...]]:
    """Return the title that a path has, without a day, and its folders; of a daily log and of MEMORY.md, nothing.

    >>> _names_in("memory/work/2026-02-10-router.md"), _names_in("memory/work/2026-02-10.md"), _names_in("a/README.md")
    (('router', ('work',)), ('', ()), ('', ('a',)))
    """
    name = PurePosixPath(normalize("NFC", path))
    dated = _DATED.match(name.stem)
    stem = name.stem[dated.end() :] if dated else name.stem
    parents = [part for part in name.parent.parts if part not in {"", ".", "..", "/"}]
    folders = tuple(parents[1:] if parents and parents[0] == "memory" else parents)
    if not stem:
        return "", ()
    return ("" if stem.casefold() in _NAMELESS else stem), folders


def _first_heading(chunks: Sequence[Chunk]) -> str:
    """Return the first heading of a note if it is one of the first level."""
    first = next((chunk for chunk in chunks if chunk.heading), None)
    return first.heading[0] if first and _FIRST_LEVEL.match(first.text.lstrip()) else ""


def _titled(chunk: Chunk, title: str, folders: tuple[str, ...]) -> Chunk:
    """Return the chunk below the title of its note, unless its outermost heading says the same."""
    if chunk.heading and _folded(chunk.heading[0]) == _folded(title):
        return chunk
    return replace(chunk, heading=tuple(name for name in (*folders, title, *chunk.heading) if name))


def _folded(title: str) -> str:
    return _SEPARATORS.sub(" ", normalize("NFKC", title).casefold()).strip()


LONGEST_WORD = 1_000
"""Most characters without a space, in ASCII. More of them are data; other scripts are written without spaces."""
_DATA = re.compile(
    r"(?:!?\[[^\[\]]{0,400}\]\()?data:[\w.+-]{1,40}/[\w.+-]{1,80}[^\s,]{0,80},[^\s)\"'>]{40,}\)?"
    rf"|[!-~]{{{LONGEST_WORD + 1},}}"
)
"""A `data:` URI with its link, or a run without spaces that is too long for words."""
_LABEL = re.compile(r"(?![^:=]*\bdata:)[^:：=\"'{}<>()\[\]]{0,80}\w\w[^:：=\"'{}<>()\[\]\w]{0,9}[:：=](?!//)")
"""What a line with data says that the data are: `Public key: MIIB…`."""
_FEWEST_LETTERS = 12
_LETTER = re.compile(r"\w")
_ENCODED = frozenset({"compressed-json", "base64"})
"""The names of fences whose content is encoded."""
_BASE64 = re.compile(r"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=\D*\d)[A-Za-z0-9+/_-]{60,}={0,2}")
_BASE64_LINES = 3
"""Least number of lines of base64 that make a fence one of encoded content."""
_LONGEST_NAVIGATION = 4_000
_BETWEEN_LINKS = re.compile(
    r"(?:[\s|/\\>·•,:;»«‹›→←↑↓⬅➡-]|\b(?:up|home|top|back|next|prev|previous|parent)\b)*", re.IGNORECASE
)
_NO_NAVIGATION = re.compile(r"[ \t]*(?:\||(?:[-*+•]|\d{1,9}[.)])[ \t])")
"""A row of a table, or a list item: what such a line links may be its whole content."""
_ANCHOR = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+\[[^\[\]]{0,400}\]\(#[^()\s]{0,400}\)[ \t\r]*")
"""A list item that links into the same note, as in a table of contents."""


def noisy_lines(lines: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return the lines with noise, by their number from 0: for each its label and its parts that are text.

    Noise is a fence with encoded content, a `data:` URI, a run of over 1,000 ASCII characters without a space, a line
    of nothing but links to other notes, and a list item that links into the same note.
    """
    noise: dict[int, tuple[str, ...]] = {}
    fenced = set[int]()
    for block in _fences(lines):
        match = _FENCE.match(lines[block.start])
        if match is None:  # raw HTML
            continue
        closed = not lines[block.end - 1].strip().strip(match[1][0])
        inside = range(block.start + 1, block.end - 1 if closed else block.end)
        fenced.update(inside)
        if match[2].casefold() in _ENCODED or _is_base64([lines[at] for at in inside]):
            noise |= dict.fromkeys(range(block.start, block.end), ())
    for at, line in enumerate(lines):
        parts = None if at in noise else _text_parts(line, fenced=at in fenced)
        if parts is not None:
            noise[at] = parts
    return noise


def _fences(lines: Sequence[str]) -> Iterator[Block]:
    if any("```" in line or "~~~" in line for line in lines):
        yield from (block for block in scan_blocks(lines) if block.kind == "fence")


def _text_parts(line: str, *, fenced: bool) -> tuple[str, ...] | None:
    """Return the text of a line with noise in it; None if the line has no noise."""
    if (len(line) > LONGEST_WORD or "data:" in line) and _DATA.search(line):
        parts = (part.strip() for part in _DATA.split(line))
        kept = tuple(part for part in parts if len(_LETTER.findall(part)) >= _FEWEST_LETTERS)
        label = _LABEL.match(line)
        return kept if label is None or (kept and kept[0].startswith(label[0].strip())) else (label[0].strip(), *kept)
    linked = not fenced and ("]]" in line or "](" in line)
    return () if linked and _is_navigation(line) else None


def _is_navigation(line: str) -> bool:
    if len(line) > _LONGEST_NAVIGATION:
        return False
    if _NO_NAVIGATION.match(line):
        return _ANCHOR.fullmatch(line) is not None
    rest, links = NOTE_LINK.subn(" ", line)
    return links > 0 and _BETWEEN_LINKS.fullmatch(rest) is not None


def _is_base64(lines: Sequence[str]) -> bool:
    full = [line.strip() for line in lines if line.strip()][:-1]
    return len(full) >= _BASE64_LINES - 1 and all(_BASE64.fullmatch(line) for line in full)


def _without_noise(lines: Sequence[str], noise: Mapping[int, Sequence[str]]) -> list[str]:
    """Return as many lines, in which the longest part that is text stands for a line with noise."""
    return [max(noise[at], key=len, default="") if at in noise else line for at, line in enumerate(lines)]


def _split_at_noise(chunk: Chunk, noise: Mapping[int, Sequence[str]]) -> Iterator[Chunk]:
    """Yield the parts of a chunk of `_without_noise` that are lines of the note, or a part of one line."""
    numbers = range(chunk.start_line - 1, chunk.end_line)
    if not any(at in noise for at in numbers):
        yield chunk
        return
    if len(numbers) == 1 and chunk.text not in noise[numbers[0]]:
        yield chunk  # a slice of a long part
        return
    rows = list(zip(numbers, chunk.text.split("\n"), strict=False))
    for is_noise, group in groupby(rows, key=lambda row: row[0] in noise):
        part = list(group)
        if is_noise:
            for at, _ in part:
                yield from (replace(chunk, start_line=at + 1, end_line=at + 1, text=text) for text in noise[at])
            continue
        filled = [at for at, (_, row) in enumerate(part) if row.strip()]
        if filled:
            kept = part[filled[0] : filled[-1] + 1]
            text = "\n".join(row for _, row in kept)
            yield replace(chunk, start_line=kept[0][0] + 1, end_line=kept[-1][0] + 1, text=text)
