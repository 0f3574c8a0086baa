"""Exclude files: by built-in rules, by `.memoryignore` files with the syntax of `.gitignore`, and as programs do.

Sync programs make copies of notes when two machines change one note, and the note itself is next to them. Note programs
exclude files from their own searches: the excluded files of Obsidian, and the backups of Logseq.

Globs are matched without backtracking: at most (length of the path x length of the pattern) steps. If `*` became `.*`,
each star would cost another power of the path's length, and six stars would stop a search for minutes. Here each star
ends at the first place where the text after it matches, and never tries another: between two stars no later place can
do better. Atomic groups make `re` work this way.

Patterns are compiled by hand because pathspec 1.1 matches with backtracking, which takes more than a minute for a
pattern of five stars, and differs from git in brackets (`[!a]` matches a slash, `[[:alpha:]]` does not work).
"""
# ruff: noqa: PTH118, PTH119, PTH120, PTH206 - plain strings throughout, as a scan makes ten thousand of them

from __future__ import annotations

import codecs
import errno
import os
import re
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from memoriter.ids import normalize
from memoriter.layout import TOOL_FOLDERS, VAULT
from memoriter.plain_file import read_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
IGNORE_FILE = ".memoryignore"
LOGSEQ = "logseq"
"""Folder with the settings and backups of Logseq."""
RULES_NAMES = frozenset({IGNORE_FILE, VAULT, LOGSEQ})
"""Names of the entries of a folder that may give it rules."""
IGNORED = "a .memoryignore file leaves it out"
MOST_PATTERNS = 1_000
"""Limit of patterns that apply to one path; each path is compared with all of them."""
_LONGEST_IGNORE_FILE = 1 << 20
_EXCLUDED = "Everything below its folder is left out"
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_MARKS: dict[int, None] = dict.fromkeys((0xFEFF, 0x200B))
"""Invisible characters that come into a file where texts are put together."""
_LEFTOVER = re.compile(
    r"\..*|~\$.*|#.*#|.*~|.*\.(?:swp|swo|swx|tmp|temp|bak|orig|part|crdownload)(?:\.md)?",
    re.DOTALL,
)
"""Hidden files, and files that editors and browsers leave next to a note."""
_SYNC_COPY = re.compile(
    r"\.sync-conflict-"  # Syncthing
    r"|[\[(][^()\[\]]*conflict(?:ed|ing)? copy|_conflict(?:ed)?[_ ]copy"  # Dropbox, Nextcloud, Obsidian Sync
    r"|\((?:case|selective sync|unicode encoding|whitespace) conflict"  # Dropbox
    r"|\((?:[^()]* )?(?:in konflikt stehende kopie|copie en conflit|copia en conflicto|copia in conflitto"
    r"|cópia em conflito|conflicterende kopie|конфликтующая копия|[^()]*(?:競合コピー|冲突副本|衝突複本|충돌 ?사본))"
    r"|_conflict-\d{8}-\d{6}"  # ownCloud
    r"|_[a-z]{3}-\d\d-\d{4,6}-\d{4}_conflict"  # Synology Drive
    r"|\(sfconflict "  # Seafile
    r"|\[conflict(?:ed)?\]|\(conflicted\)"  # Google Drive, pCloud
    r"|\.conflict(?:\(\d+\))?\."  # Resilio Sync
    r"|_(?:backup|base|local|remote)_\d{2,}\.",  # git mergetool
    re.IGNORECASE,
)
COPY_NAME = re.compile(
    r"(?P<prefix>(?i:copy of|kopie von|copie de|copia de|copia di|cópia de) )?(?P<stem>.+?)(?(prefix)|(?:"
    r"-(?:DESKTOP|LAPTOP|WIN|PC|SURFACE)-[A-Z0-9]{3,15}(?:-\d)?"  # OneDrive, after the name of a computer
    r"|-[A-Z0-9]{1,12}-(?:PC|LAPTOP|THINKPAD|NOTEBOOK|SURFACE|XPS)(?:-\d)?"
    r"|-[\w-]{0,20}(?:MacBook|iMac|Mac-mini)[\w-]{0,20}"
    r"|(?P<copied> (?:[-–—] |\((?:another |\d{1,2}(?:st|nd|rd|th) )?)?"  # Windows, macOS, GNOME
    r"(?i:copy|kopie|copie|copia|cópia|kopia|kopi|копия|のコピー|コピー|的?副本|복사본)(?: ?\(?\d{1,3}\)?)?\)?)"
    r"|(?P<similar> [2-9]"  # iCloud
    r"| \(\d{1,3}\)"  # Google Drive, browsers
    r"| \([^()]{0,80}\d{4}-\d\d-\d\d[^()]{0,40}\)"  # Proton Drive, and conflicts in any language
    r"|[._]conflict\d{0,3})))(?P<suffix>\.\w+)"
)
"""Names that only the note next to them makes copies.

`similar` ones also have half of its lines, and people's own (`prefix`, `copied`) have no other lines.
"""
_LONGEST_COPY = 1 << 20
LOGSEQ_FILE = f"{LOGSEQ}/config.edn"
_EDN_STRING = r'"(?:\\.|[^"\\])*+"'
_EDN_COMMENT = re.compile(rf"({_EDN_STRING})|;[^\n]*")
_EDN_HIDDEN = re.compile(rf":hidden\s*\[((?:[\s,]|{_EDN_STRING})*+)\]")
OBSIDIAN_FILE = f"{VAULT}/app.json"
_LONGEST_FILE = 1 << 20
_SECONDS = 0.05
"""Time for one regular expression and one path; a note that takes longer is left out."""


def glob_matches(names: Sequence[str], glob: Sequence[str]) -> bool:
    """Return whether the names of a path match the names of a glob; `**` matches any number of folders."""
    index = star_start = 0
    after_star: int | None = None
    """Index in the glob after the last `**`; `star_start` is the index in the path where its match begins."""
    glob_index = 0
    while index < len(names):
        if glob_index < len(glob) and glob[glob_index] == "**":
            after_star = glob_index + 1
            star_start = index
            glob_index += 1
        elif glob_index < len(glob) and fnmatchcase(names[index], glob[glob_index]):
            index += 1
            glob_index += 1
        elif after_star is not None:
            star_start += 1
            index = star_start
            glob_index = after_star
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
    pending = [pattern]
    globs = set[str]()
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
    """Return a regular expression for `fullmatch` with a path, or None if no path can match the pattern.

    It is a pattern of `.gitignore` without its `!` and its final `/`. Without a slash it names a file in any folder;
    with one it is a path relative to the folder of the ignore file.
    """
    anchored = "/" in pattern
    parts = pattern.removeprefix("/").split("/")
    if not anchored and parts != ["**"]:
        parts = ["**", *parts]
    try:
        return re.compile(_path_regex(parts), re.DOTALL)
    except (KeyError, ValueError, re.error):  # an unknown class, another fault, or a range that goes backwards
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
    """Return the expression for a bracket that opens before `at`, and its end. Raises ValueError and KeyError."""
    negated = part[at : at + 1] in {"!", "^"}
    at += negated
    members: list[str] = []
    first = True
    while first or part[at : at + 1] != "]":
        if at >= len(part):
            raise ValueError("a bracket is not closed")
        first = False
        if part.startswith("[:", at) and (end := part.find(":]", at, at + 12)) > 0:
            members.append(_CLASSES[part[at + 2 : end]])
            at = end + 2
            continue
        low, at = _read_member(part, at)
        if part[at : at + 1] == "-" and part[at + 1 : at + 2] not in {"]", ""}:
            high, at = _read_member(part, at + 1)
            members.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            members.append(re.escape(low))
    return f"(?!/)[{'^' if negated else ''}{''.join(members)}]", at + 1


def _read_member(part: str, at: int) -> tuple[str, int]:
    at += part[at : at + 1] == "\\"
    if at >= len(part):
        raise ValueError("a bracket is not closed")
    return part[at], at + 1


def in_ignored_folder(path: str) -> bool:
    """Return whether the path leads through a folder of a tool (`.git`, `node_modules`, `venv` …), in any case."""
    return any(_is_tool_folder(name) for name in os.path.normpath(path).split(os.sep))


def _is_tool_folder(name: str) -> bool:
    return name.strip().lower() in TOOL_FOLDERS


def built_in_exclusion(name: str, *, folder: bool) -> str | None:
    """Return why a folder or file of this name is never memory, or None."""
    if folder and name.startswith("."):
        return "hidden folder"
    if folder:
        return "folder of a tool" if _is_tool_folder(name) else None
    if name.startswith("."):
        return "hidden file"
    left = _LEFTOVER.fullmatch(name) or _SYNC_COPY.search(name)
    return "left behind by an editor or a sync tool" if left else None


def sync_copy_of(original: str) -> str:
    """Return why a copy of a note is left out."""
    return f"it looks like a copy of {original!r} that a program made"


def copied_note(name: str) -> str | None:
    """Return the name of the note that a sync program has copied to a file of this name; None: it is no such name.

    >>> copied_note("Plan (Bob's conflicted copy 2024-03-05).md"), copied_note("Plan.sync-conflict-20240305-1-A.md")
    ('Plan.md', 'Plan.md')

    A person copies a note to such a name:

    >>> copied_note("Plan - Copy.md")
    """
    if match := _SYNC_COPY.search(name):
        return name[: match.start()].rstrip(" ") + Path(name).suffix
    match = COPY_NAME.fullmatch(name)
    if match is None or match["prefix"] or match["copied"]:
        return None
    return match["stem"] + match["suffix"]


def original_beside(file: str) -> str | None:
    """Return the name of the note that a file is a copy of, if that note is next to it; else None.

    `Plan 2.md` may be a note of its own. It is a copy if the note has half of its lines, not counting headings. Whoever
    writes on in `Plan - Copy.md` has made it a note of its own.
    """
    match = COPY_NAME.fullmatch(os.path.basename(file))
    if match is None:
        return None
    name = match["stem"] + match["suffix"]
    original = os.path.join(os.path.dirname(file), name)
    try:
        stamps = [(status.st_mtime_ns, status.st_size) for status in map(os.lstat, (file, original))]
    except (OSError, ValueError):
        return None
    share = 1.0 if match["prefix"] or match["copied"] else 0.5 if match["similar"] else 0.0
    return name if not share or _shared_lines(file, original, *stamps) >= share else None


@lru_cache(maxsize=1_024)
def _shared_lines(file: str, original: str, *_stamps: tuple[int, int]) -> float:
    """Return the share of the lines of a file that a note has; the stamps tell one state of the two from another."""
    try:
        copied, own = (_text_lines(read_plain(Path(path), _LONGEST_COPY)) for path in (file, original))
    except OSError:
        return 0.0
    return sum(line in own for line in copied) / len(copied) if copied else 0.0


def _text_lines(content: bytes) -> list[bytes]:
    lines = (line.strip() for line in content.splitlines())
    return [line for line in lines if line and not line.startswith(b"#")]


@dataclass(frozen=True, slots=True)
class VaultRules:
    """Beginnings of paths, and regular expressions, that exclude files, without regard to case."""

    reason: str
    prefixes: tuple[str, ...]
    expressions: tuple[str, ...] = ()
    rules: ClassVar[tuple[()]] = ()

    def decision(self, path: str, *, folder: bool) -> bool | None:
        """Return True if a path is excluded, or None."""
        path = normalize("NFC", path)
        name = f"{path}/".casefold() if folder else path.casefold()
        if name.startswith(self.prefixes):
            return True
        return True if any(_finds(each, path) for each in self.expressions) else None


def logseq_rules(folder: str) -> Iterator[VaultRules]:
    """Yield the rules of Logseq for its own folder, or for a folder of notes with that folder.

    Raises OSError if its settings cannot be read.
    """
    if os.path.basename(folder).lower() == LOGSEQ:
        yield VaultRules("a copy that Logseq keeps", ("bak/", "version-files/"))
    file = os.path.join(folder, LOGSEQ_FILE)
    if os.path.lexists(file):
        settings = _EDN_COMMENT.sub(r"\1", read_plain(Path(file), _LONGEST_FILE).decode("utf-8", "replace"))
        hidden = _EDN_HIDDEN.search(settings)
        paths = re.findall(_EDN_STRING, hidden[1]) if hidden else []
        prefixes = [normalize("NFC", path[1:-1]).lstrip("/").casefold() for path in paths]
        if any(prefixes):
            yield VaultRules("Logseq hides it", tuple(filter(None, prefixes)))


def obsidian_rules(folder: str) -> Iterator[VaultRules]:
    """Yield the excluded files of Obsidian, if this is a vault.

    Raises:
        OSError: its settings cannot be read.
        ValueError: they are not JSON, or a regular expression in them is not valid.
        TypeError: the excluded files are no list.
    """
    file = os.path.join(folder, OBSIDIAN_FILE)
    if os.path.lexists(file):
        filters = _obsidian_filters(read_plain(Path(file), _LONGEST_FILE))
        expressions = [each[1:-1] for each in filters if len(each) > 2 and each[0] == each[-1] == "/"]
        prefixes = [each.casefold() for each in filters if each[1:-1] not in expressions]
        for each in expressions:
            _finds(each, "")
        if filters:
            yield VaultRules("Obsidian excludes it", tuple(prefixes), tuple(expressions))


def _obsidian_filters(content: bytes) -> list[str]:
    import json

    settings: Any = json.loads(content)
    filters: Any = cast("dict[str, Any]", settings).get("userIgnoreFilters") if isinstance(settings, dict) else None
    if not isinstance(filters, list | None):
        raise TypeError("userIgnoreFilters is no list")
    texts = [each for each in cast("list[object]", filters or []) if isinstance(each, str) and each.strip()]
    return [normalize("NFC", each) for each in texts]


def _finds(expression: str, path: str) -> bool:
    """Return whether an expression matches a part of a path; True if it takes too long. Raises ValueError."""
    import regex

    try:
        return regex.search(expression, path, regex.IGNORECASE, timeout=_SECONDS) is not None
    except TimeoutError:
        return True
    except regex.error as error:
        raise ValueError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Patterns:
    """The rules of one ignore file."""

    rules: tuple[tuple[re.Pattern[str], bool, bool], ...]
    """Each pattern, whether it excludes (or includes again), and whether it applies to folders only."""
    any_pattern: re.Pattern[str]
    """All patterns joined into one for a fast check, since most paths match none."""

    @property
    def reason(self) -> str:
        """Why what they exclude is left out."""
        return IGNORED

    def decision(self, path: str, *, folder: bool) -> bool | None:
        """Return whether the last pattern that matches excludes the path, or None if no pattern matches.

        An `ö` in a pattern and in a name may be one character or two: macOS writes names with two.
        """
        path = normalize("NFC", path)
        if self.any_pattern.fullmatch(path) is None:
            return None
        for pattern, excluded, folders_only in reversed(self.rules):
            if (folder or not folders_only) and pattern.fullmatch(path):
                return excluded
        return None


@dataclass(frozen=True, slots=True)
class RulesFault:
    """Why an ignore file cannot be used."""

    reason: Literal["too_large", "unreadable"]
    message: str
    file: str = IGNORE_FILE


@dataclass(frozen=True, slots=True)
class Rules:
    """The ignore files from the top folder down to the current one; a deeper file overrides, as in git."""

    chain: tuple[tuple[int, Patterns | VaultRules], ...] = ()
    """For each file with rules, the length of its folder's path from the top in characters, and its patterns."""
    fault: RulesFault | None = None
    """Why the last ignore file cannot be used.

    Everything below its folder is then excluded, because an ignore file that cannot be read must not let in the files
    that its owner meant to exclude."""

    def enter(self, folder: str, prefix: str) -> Rules:
        """Return the rules inside `folder`."""
        if self.fault:
            return self
        chain = self.chain
        file = LOGSEQ_FILE
        try:
            if os.path.basename(folder).lower() == LOGSEQ or os.path.lexists(os.path.join(folder, LOGSEQ_FILE)):
                chain += tuple([(len(prefix), rules) for rules in logseq_rules(folder)])
            file = OBSIDIAN_FILE
            chain += tuple([(len(prefix), rules) for rules in obsidian_rules(folder)])
        except (OSError, TypeError, ValueError, RecursionError) as error:
            message = f"{getattr(error, 'strerror', None) or 'it is no JSON with valid expressions'}. {_EXCLUDED}"
            return replace(self, fault=RulesFault("unreadable", message, file))
        try:
            lines = _read_patterns(os.path.join(folder, IGNORE_FILE))
        except OSError as error:
            message = f"{error.strerror or error}. {_EXCLUDED}"
            return replace(self, fault=RulesFault("too_large" if error.errno == errno.EFBIG else "unreadable", message))
        except UnicodeError:
            return replace(self, fault=RulesFault("unreadable", f"it is neither UTF-8 nor UTF-16. {_EXCLUDED}"))
        if not lines:
            return replace(self, chain=chain) if chain != self.chain else self
        if sum(len(patterns.rules) for _, patterns in self.chain) + len(lines) > MOST_PATTERNS:
            message = f"there are more than {MOST_PATTERNS} patterns. {_EXCLUDED}"
            return replace(self, fault=RulesFault("too_large", message))
        if any(len(line) > LONGEST_PATTERN for line in lines):
            message = f"a pattern is longer than {LONGEST_PATTERN:,} characters. {_EXCLUDED}"
            return replace(self, fault=RulesFault("too_large", message))
        patterns = _compile(lines)
        return replace(self, chain=(*chain, (len(prefix), patterns)) if patterns else chain)

    def excludes(self, path: str, *, folder: bool) -> str:
        """Return why the rules exclude `path`, which is relative to the top folder; empty if they do not.

        Only the path itself is checked: check each folder above it first.
        """
        if self.fault:
            return IGNORED
        for start, patterns in reversed(self.chain):
            decision = patterns.decision(path[start:], folder=folder)
            if decision is not None:
                return patterns.reason if decision else ""
        return ""


def ignoring_line(root: str, names: Sequence[str]) -> tuple[str, int, str] | None:
    """Return the ignore file, the number and the text of the line that excludes a path; None if no pattern does.

    The names lead to the file from `root`, the first folder with an ignore file that counts.
    """
    for depth in range(1, len(names) + 1):
        for above in reversed(range(depth)):
            file = os.path.join(root, *names[:above], IGNORE_FILE)
            decision = _deciding_line(file, "/".join(names[above:depth]), folder=depth < len(names))
            if decision is not None:
                number, line, excluded = decision
                if excluded:
                    return "/".join((*names[:above], IGNORE_FILE)), number, line
                break
    return None


def _deciding_line(file: str, path: str, *, folder: bool) -> tuple[int, str, bool] | None:
    """Return the last line of an ignore file that matches a path: its number, its text, and whether it excludes."""
    try:
        lines = rules_text(read_plain(Path(file), _LONGEST_IGNORE_FILE)).splitlines()
    except (OSError, UnicodeError):
        return None
    for number, line in reversed(list(enumerate(lines, 1))):
        patterns = _compile((line,)) if line.strip() and not line.startswith("#") else None
        if patterns and (decision := patterns.decision(path, folder=folder)) is not None:
            return number, line.strip(), decision
    return None


def _read_patterns(file: str) -> tuple[str, ...]:
    """Return the lines of an ignore file that may be patterns; none if there is no file.

    Raises:
        OSError: it is no plain file, is too large, or cannot be read; `strerror` says why.
        UnicodeError: it is in another encoding than those of `rules_text`.
    """
    try:
        os.lstat(file)  # most folders have none, which is known soonest so
        content = read_plain(Path(file), _LONGEST_IGNORE_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(line for line in rules_text(content).splitlines() if line.strip() and not line.startswith("#"))


def rules_text(content: bytes) -> str:
    """Return the text of a file with rules, in UTF-8, UTF-16 or UTF-32. Raises UnicodeError for another encoding.

    Nothing is guessed: patterns that are read in the wrong encoding exclude nothing.
    """
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in content:  # UTF-16 without a mark: the zeros are the first or second bytes
        encoding = "utf-16-le" if content[1::2].count(0) > content[::2].count(0) else "utf-16-be"
        if 4 * content.count(0) < len(content):
            raise UnicodeError("there are too few zeros for UTF-16")
    text = content.decode(encoding)
    if "\0" in text:
        raise UnicodeError(encoding)
    return normalize("NFC", text.translate(_NO_MARKS))


@lru_cache(maxsize=256)
def _compile(lines: tuple[str, ...]) -> Patterns | None:
    """Compile the patterns; like git, skip a line that is not a valid pattern."""
    rules: list[tuple[re.Pattern[str], bool, bool]] = []
    for line in lines:
        text = line if line.endswith("\\ ") else line.rstrip()
        excluded = not text.startswith("!")
        text = text.removeprefix("!")
        folders_only = text.endswith("/")
        if pattern := ignore_pattern(text.removesuffix("/")):
            rules.append((pattern, excluded, folders_only))
    if not rules:
        return None
    return Patterns(tuple(rules), re.compile("|".join(f"(?:{rule[0].pattern})" for rule in rules), re.DOTALL))
