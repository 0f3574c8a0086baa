"""The Markdown of imported notes: where they are, their front matter, their marks, and what is read from them again.

Everything about an import is in its notes, so nothing can disagree with them: `imported_from`, `imported_id` and
`imported_by` say which program, which record and which import a note comes from, and `imported_hash` whether the note
is as it was imported. Entries that share a note have their ids in their marks.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from memoriter.environment import local_time
from memoriter.extensions.importing._records import Entry, Page
from memoriter.ids import bytes_hash, content_hash, normalize
from memoriter.layout import FOLDER, SUFFIX
from memoriter.masking import mask
from memoriter.plain_file import read_plain
from memoriter.values import dataclass
from memoriter.workspace import MAX_BYTES, entry_of, marked, marked_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

IMPORTED = f"{FOLDER}/imported"
"""The folder of imported notes, below the folder of notes."""
_OWN_LINE = re.compile(r"^imported_(?:by|hash): [^\n]*\n", re.MULTILINE)
_KEY = re.compile(r'^imported_(from|id|by|hash): ("(?:[^"\\]|\\.)*"|[^\n]*)$', re.MULTILINE)
_FRONT = re.compile(r"---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
_DATED = re.compile(r"^(?:date|created|updated)[ \t]*:", re.MULTILINE | re.IGNORECASE)
_DAY_NAME = re.compile(r"\d{4}[-_.]?\d{2}[-_.]?\d{2}(?!\d)")
_PLAIN_ID = re.compile(r"(?!.*--)[A-Za-z0-9_.@+/-]{1,40}")
_IMPORT_LINE = re.compile(r"^imported_(?:from|id|by|hash): [^\n]*\n?", re.MULTILINE)
_ENTRY = re.compile(r"import ([\w-]+) \(([^()]+)\), ")
_NOT_IN_SLUG = re.compile(r"[\W_]+")
_NOT_IN_NAME = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\/\u2028\u2029\ud800-\udfff]+')
_RESERVED = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
_NOT_IN_YAML = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff\ufeff]")
_LONGEST_SLUG = 60
_LONGEST_TITLE = 200
_SLUG_BYTES = 200
_NAME_BYTES = 255 - len(SUFFIX)
"""Bytes of a name without its suffix: file systems take 255."""
_DIGEST = 8
"""Digits that tell names apart that were cut."""
LONGEST_TEXT = 4 << 20
"""Characters of one note; a longer page becomes several notes."""


@dataclass(frozen=True, slots=True)
class Run:
    """One import: its format, its id, and the owner's time zone."""

    source: str
    """The name of the format."""
    id: str
    zone: str | None
    own: bool = False
    """Whether the owner wrote what is imported, so that it gets no marks."""

    def day(self, at: datetime | None) -> str:
        """Return the owner's day of a time as `YYYY-MM-DD`, or an empty text."""
        return f"{local_time(at.timestamp(), self.zone):%Y-%m-%d}" if at else ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What the front matter of an imported note says."""

    source: str
    id: str
    """Empty if the note has entries with ids of their own."""
    run: str
    hash: str

    def is_unchanged(self, text: str) -> bool:
        """Return whether the note is as it was imported."""
        return bool(self.hash) and self.hash == hash_of(text)


def hash_of(text: str) -> str:
    """Return the hash of a note without the lines that say which import wrote it."""
    return content_hash(_OWN_LINE.sub("", text, count=2))[:16]


def read_imported(text: str) -> Imported | None:
    """Return what the front matter of a note says of its import, or None if the note is not imported."""
    front = _FRONT.match(text)
    if front is None or "imported_from: " not in front[1]:
        return None
    found = {match[1]: _unquoted(match[2]) for match in _KEY.finditer(front[1])}
    return Imported(found.get("from", ""), found.get("id", ""), found.get("by", ""), found.get("hash", ""))


def page_note(page: Page, run: Run) -> str:
    """Return the note of a page, without secrets."""
    text = mask(_clean(page.text)).strip()
    front = mask(_IMPORT_LINE.sub("", _clean(page.front))).strip("\n")
    own = {**_title_of(page, front), **_day_of(page, front, run)}
    lists = {"tags": page.tags, "aliases": page.aliases}
    own |= {key: [mask(value) for value in values] for key, values in lists.items() if values}
    if not run.own:
        text = marked(f"{text}\n", f"import {run.source}", run.day(page.at) or "date unknown").strip()
    return _with_hash(own, front, _without_secret(page.id), f"\n{text}\n", run)


def entries_note(title: str, day: str, entries: Iterable[Entry], run: Run) -> str:
    """Return the note of the entries of a day, oldest first, without secrets."""
    ordered = sorted(entries, key=lambda entry: (entry.at is None, entry.at and entry.at.timestamp(), entry.id))
    title = mask(title)
    text = f"\n# {title}\n"
    for lines in (entry_lines(entry, run) for entry in ordered):
        is_list = lines.startswith("- ") and text.rpartition("\n\n")[2].startswith("- ")
        text += lines if is_list else f"\n{lines}"
    return _with_hash({"title": title, **({"date": day} if day else {})}, "", "", text, run)


def entry_lines(entry: Entry, run: Run) -> str:
    """Return the lines of an entry, with a mark that has its id."""
    name = f"import {run.source} ({entry_key(entry.id)})"
    return marked(entry_of(mask(_clean(entry.text))), name, run.day(entry.at) or "date unknown")


def page_key(identifier: str) -> str:
    """Return the id of a page as the front matter of its note has it when it is read again."""
    return _unquoted(_quoted(_without_secret(identifier)))


def entry_key(identifier: str) -> str:
    """Return the id of an entry as its mark has it: a hash of the id if it is long, secret or has other characters."""
    is_plain = _PLAIN_ID.fullmatch(identifier) and mask(identifier) == identifier
    return identifier if is_plain else content_hash(identifier)[:32]


def entries_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the ids of imported entries of a note, with their first and last line (1-based)."""
    for entry in marked_entries(text.split("\n")):
        if match := _ENTRY.match(entry.origin):
            yield match[2], entry.start_line, entry.end_line


def with_new_hash(text: str) -> str:
    """Return an imported note with the hash of its present text."""
    new = f"imported_hash: {hash_of(text)}"
    return re.sub(r"^imported_hash: [^\n]*$", new, text, count=1, flags=re.MULTILINE)


def page_path(page: Page, run: Run) -> str:
    """Return the path of a page's note, without secrets: in the folders it names, or in that of its month."""
    if page.path:
        parts = [clean for part in mask(page.path).split("/") if (clean := file_name(part))]
        return "/".join((IMPORTED, run.source, *(parts or ["note"]))) + SUFFIX
    day = run.day(page.at)
    slug = slug_of(mask(page.title)) or "untitled"
    return f"{IMPORTED}/{run.source}/{day[:7] or 'undated'}/{f'{day}-' if day else ''}{slug}{SUFFIX}"


def entries_path(group: str, day: str, run: Run) -> str:
    """Return the path of the note of a day's entries, without secrets."""
    folders = [clean for part in mask(group).split("/") if (clean := file_name(part))]
    return "/".join((IMPORTED, run.source, *folders, day[:7] or "undated", day or "undated")) + SUFFIX


def slug_of(title: str) -> str:
    """Return a title as part of a file name.

    >>> slug_of("Kitchen: budget & plans?")
    'kitchen-budget-plans'
    """
    slug = _NOT_IN_SLUG.sub("-", normalize("NFC", title).casefold())[:_LONGEST_SLUG].strip("-")
    return _cut_to_bytes(slug, _SLUG_BYTES)


def file_name(part: str) -> str:
    """Return a name from an export as the name of a file or folder that every system accepts; it may be empty.

    A name that is too long is cut, and ends in digits of its hash, so that it stays another one than its like.

    >>> file_name("What? / ..")
    'What'
    """
    name = " ".join(_NOT_IN_NAME.sub(" ", normalize("NFC", part)).split()).strip(" .")
    name = f"{name} note" if _RESERVED.match(name) else name
    if len(name.encode()) <= _NAME_BYTES:
        return name
    return f"{_cut_to_bytes(name, _NAME_BYTES - _DIGEST - 1)} {content_hash(name)[:_DIGEST]}"


def clean_path(path: str) -> str:
    """Return a path from an export with each part as the name of a file or folder; `.` and `..` stay."""
    return "/".join(part if part in {"", ".", ".."} else file_name(part) for part in path.split("/"))


def numbered(path: str, number: int | str) -> str:
    """Return the path of another note beside one: `a.md` and `2` are `a-2.md`."""
    folder, slash, name = path.removesuffix(SUFFIX).rpartition("/")
    end = f"-{number}"
    return f"{folder}{slash}{_cut_to_bytes(name, _NAME_BYTES - len(end))}{end}{SUFFIX}"


def _with_hash(own: dict[str, object], front: str, identifier: str, body: str, run: Run) -> str:
    lines = [f"{key}: {_yaml(value)}" for key, value in own.items()]
    lines += [f"imported_from: {run.source}", *([f"imported_id: {_quoted(identifier)}"] if identifier else [])]
    lines += [f"imported_by: {run.id}", "imported_hash: "]
    return with_new_hash("\n".join(["---", *([front] if front else []), *lines, "---", body]))


def _without_secret(identifier: str) -> str:
    """Return an id, with a hash in place of a secret that a name in it has."""
    plain = mask(identifier)
    return identifier if plain == identifier else f"{plain} {content_hash(identifier)[:8]}"


def _clean(text: str) -> str:
    """Return a text as it can be written and read again: without lone surrogates, NUL and other ends of lines."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")


def _title_of(page: Page, front: str) -> dict[str, object]:
    written = not page.title or re.search(r"^title[ \t]*:", front, re.MULTILINE | re.IGNORECASE)
    return {} if written else {"title": mask(page.title)}


def _day_of(page: Page, front: str, run: Run) -> dict[str, object]:
    named = page.path and _DAY_NAME.match(page.path.rpartition("/")[2])
    day = "" if named or _DATED.search(front) else run.day(page.at)
    return {"date": day} if day else {}


def _yaml(value: object) -> str:
    """Return a value in YAML: a day and a plain word as they are, another text in quotes as in JSON."""
    if isinstance(value, str) and re.fullmatch(r"[a-z][a-z-]*|\d{4}-\d\d-\d\d", value):
        return value
    if isinstance(value, str):
        value = " ".join(value.split())[:_LONGEST_TITLE]
    return _quoted(value)


def _quoted(value: object) -> str:
    return _NOT_IN_YAML.sub("\ufffd", json.dumps(value, ensure_ascii=False))


def _unquoted(value: str) -> str:
    try:
        return str(json.loads(value)) if value.startswith('"') else value.strip()
    except ValueError:
        return value.strip()


def _cut_to_bytes(name: str, limit: int) -> str:
    return name.encode()[:limit].decode("utf-8", "ignore").strip(" .-")


def replace_lines(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """Return a text with other lines in place of some (first, last, 1-based and inclusive, and the new lines)."""
    lines = text.split("\n")
    for first, last, new in sorted(changes, reverse=True):
        lines[first - 1 : last] = new.removesuffix("\n").split("\n")
    return "\n".join(lines)


def parts_of(page: Page) -> list[Page]:
    """Return a page, or several if it is too long for one note."""
    if len(page.text) <= LONGEST_TEXT and len(page.text.encode("utf-8", "replace")) < MAX_BYTES // 2:
        return [page]
    parts = list[str]()
    lines = list[str]()
    size = 0
    for line in page.text.splitlines(keepends=True):
        for start in range(0, len(line), LONGEST_TEXT // 4):
            piece = line[start : start + LONGEST_TEXT // 4]
            if size + len(piece) > LONGEST_TEXT // 2:
                parts.append("".join(lines))
                lines = []
                size = 0
            lines.append(piece)
            size += len(piece)
    parts.append("".join(lines))
    first = Page(page.id, page.title, parts[0], page.at, page.path, page.front, page.tags, page.aliases)
    return [first, *(_part(page, text, number) for number, text in enumerate(parts[1:], 2))]


def _part(page: Page, text: str, number: int) -> Page:
    path = f"{page.path} {number}" if page.path else ""
    return Page(f"{page.id}#{number}", f"{page.title} ({number})", text, page.at, path, tags=page.tags)


def portions(entries: list[Entry]) -> list[list[Entry]]:
    """Return entries in portions that fit into a note."""
    portions = list[list[Entry]]([[]])
    size = 0
    for entry in entries:
        if portions[-1] and size + len(entry.text) > LONGEST_TEXT // 2:
            portions.append([])
            size = 0
        portions[-1].append(entry)
        size += len(entry.text)
    return portions


def beginning(text: str) -> str:
    """Return the first lines of a note that say something, on one line."""
    lines = iter(text.split("\n"))
    if text.startswith("---\n"):
        next(lines)
        for line in lines:
            if line == "---":
                break
    plain = (line.strip() for line in lines)
    return " ".join(line for line in plain if line and not line.startswith("<!-- "))[:120]


@dataclass(frozen=True, slots=True)
class KnownNote:
    """A note of an earlier import."""

    path: str
    """Below the folder of notes."""
    front: Imported
    unchanged: bool
    """Whether nobody has edited it since."""
    expected: str
    """`ids.bytes_hash` of its content."""
    text: str


@dataclass(frozen=True, slots=True)
class KnownRecord:
    """Where an imported record is, and whether it still says the same."""

    path: str
    hash: str
    """Of the note for a page, and of its lines for an entry."""
    run: str
    unchanged: bool


def imported_notes(root: Path, source: str = "") -> Iterator[KnownNote]:
    """Yield the imported notes of a folder of notes, or only those of one format. Other files are left out."""
    pending = [f"{IMPORTED}/{source}" if source else IMPORTED]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif entry.name.endswith(SUFFIX) and not entry.name.startswith("."):
                try:
                    content = read_plain(root / path, MAX_BYTES)
                except OSError:
                    continue
                text = content.decode("utf-8", "replace")
                if front := read_imported(text):
                    yield KnownNote(path, front, front.is_unchanged(text), bytes_hash(content), text)


def known_records(root: Path, source: str) -> dict[str, KnownRecord]:
    """Return the records of a format that were imported before, by the key of their id."""
    known = dict[str, KnownRecord]()
    for note in imported_notes(root, source):
        if note.front.id:
            known[note.front.id] = KnownRecord(note.path, note.front.hash, note.front.run, note.unchanged)
            continue
        for key, text in entry_texts(note.text).items():
            known[f"entry {key}"] = KnownRecord(note.path, content_hash(text), note.front.run, note.unchanged)
    return known


def entry_texts(text: str) -> dict[str, str]:
    """Return the lines of each imported entry of a note, by the key of its id."""
    lines = text.split("\n")
    found = dict[str, str]()
    for key, first, last in entries_in(text):
        found[key] = found.get(key, "") + "".join(f"{line}\n" for line in lines[first - 1 : last]).rstrip("\n") + "\n"
    return found


def entry_places(text: str) -> dict[str, tuple[int, int]]:
    """Return the first and last line (1-based) of each imported entry of a note, by the key of its id."""
    found = dict[str, tuple[int, int]]()
    for key, first, last in entries_in(text):
        found[key] = found.get(key, (first, last))[0], last
    return found
