"""Decide which paths can be memory, and open them: the folder of notes, the extra paths, and what is read from them.

A file below a folder is found and opened so that no link can lead elsewhere, even if the disk changes meanwhile.
"""
# ruff: noqa: PTH112, PTH116, PTH118, PTH206, PTH208 - plain strings: a scan makes ten thousand; pathlib keeps `..`

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import PathRefused, WriteError, sentence
from memoriter.ids import normalize, with_line_feeds
from memoriter.layout import FOLDER, LONG_TERM, SUFFIX, SUFFIX_PATTERN, is_note
from memoriter.plain_file import BY_DESCRIPTOR, open_plain
from memoriter.types import Skipped, Source
from memoriter.values import dataclass
from memoriter.workspace._ignore import (
    LONGEST_PATTERN,
    MOST_ALTERNATIVES,
    Rules,
    built_in_exclusion,
    glob_matches,
    original_beside,
    spread_braces,
    sync_copy_of,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from memoriter.layout import Layout


LONGEST = 4096
"""Limit of a path in characters; no supported file system accepts more."""
MOST_FOLDERS = 32
"""Folders that a new note may be in, one within the other."""
LONGEST_NAME = 255
"""Bytes of the name of a new file or folder at most; hardly any file system has longer ones."""
_NEVER_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in "123456789¹²³")}


def normalise_path(path: str) -> str:
    """Return the path with slashes only, without surrounding blanks and without leading dots and slashes."""
    return path.strip().lstrip("./").replace("\\", "/")


def is_memory_path(path: str) -> bool:
    """Return whether the path names the long-term file or an entry under `memory/`, by its text alone."""
    name = normalise_path(path)
    return name in LONG_TERM or name.startswith(f"{FOLDER}/")


def extra_files(root: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the configured extra paths as absolute paths in order, without duplicates and blank ones."""
    return tuple(dict.fromkeys(absolute(root, path.strip()) for path in paths if path.strip()))


def absolute(root: str, path: str) -> str:
    """Return `path` relative to `root` as an absolute path, with `.` and `..` resolved by name (links not followed)."""
    normalized = os.path.normpath(os.path.join(root, path))
    return normalized if os.name == "nt" or not normalized.startswith("//") else "/" + normalized.lstrip("/")


def names_below(folder: str, path: str) -> tuple[str, ...] | None:
    """Return the names that lead from `folder` to `path`: `()` if they are equal, None if `path` is not inside."""
    if path == folder:
        return ()
    prefix = folder.rstrip(os.sep) + os.sep
    return tuple(path.removeprefix(prefix).split(os.sep)) if path.startswith(prefix) else None


def names_inside(root: str, extra_paths: Sequence[ExtraPath]) -> bool:
    """Return whether an extra path is inside the folder: then the owner has chosen what is memory there."""
    paths = (absolute(root, extra.path.strip()) for extra in extra_paths if not extra.client)
    return any(names_below(root, path) is not None for path in paths)


def cite(root: str, path: str) -> str:
    """Return the cited form of an absolute path: relative to the workspace, with `/`; absolute on another drive."""
    try:
        return os.path.relpath(path, root).replace(os.sep, "/")
    except ValueError:
        return path.replace(os.sep, "/")


_CITATION = re.compile(
    rf"(?P<path>.+(?i:{SUFFIX_PATTERN}|\.jsonl))(?:#L(?P<first>\d{{1,9}})(?:-L?(?P<last>\d{{1,9}}))?|:(?P<from>\d{{1,9}})(?:-(?P<to>\d{{1,9}}))?)",
    re.DOTALL,
)


def split_citation(path: str) -> tuple[str, int | None, int | None]:
    """Return the path of a citation, its first line and its number of lines; None where it names none.

    No memory file has a name that ends like this, so a plain path is never mistaken for a citation.

    >>> split_citation("a.md#L4-L6"), split_citation("a.md:4"), split_citation("a.md")
    (('a.md', 4, 3), ('a.md', 4, 1), ('a.md', None, None))
    """
    match = _CITATION.fullmatch(path) or _CITATION.fullmatch(path.strip())
    if match is None:
        return path, None, None
    first = int(match["first"] or match["from"])
    last = int(match["last"] or match["to"] or first)
    if first < 1 or last < first:
        return path, None, None
    return match["path"], first, last - first + 1


def path_fault(path: str, *, windows: bool) -> str | None:
    """Return why no file can have this path, or None."""
    if not path:
        return "path required"
    if len(path) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if fault := name_fault(path):
        return fault
    if windows and any(_is_windows_trap(name) for name in path.replace("\\", "/").split("/")):
        return "Windows gives this name to something that is not a file"
    return None


def new_path_fault(names: Sequence[str]) -> str | None:
    """Return why no new file is created below a folder, or None. Files that exist may be deeper."""
    if len(names) > MOST_FOLDERS + 1:
        return f"it has more than {MOST_FOLDERS} folders"
    if any(len(os.fsencode(name)) > LONGEST_NAME for name in names):
        return f"a name in it has more than {LONGEST_NAME} bytes"
    return None


def name_fault(name: str) -> str | None:
    r"""Return why a file of this name cannot be cited, or None.

    On Linux a name may be any bytes. A name with a line break could add a line of its own to a list of files.

    >>> name_fault("notes.md"), name_fault("a\nb.md")
    (None, 'its name holds a line break or another control character')
    """
    match = _NEVER_SHOWN.search(name)
    if match is None:
        return None
    if "\ud800" <= match[0] <= "\udfff":
        return "its name is not UTF-8"
    return "its name holds a line break or another control character"


def shown_name(name: str) -> str:
    """Return the name on one line, with U+FFFD for characters that cannot be shown."""
    return _NEVER_SHOWN.sub("\ufffd", name)


def _is_windows_trap(name: str) -> bool:
    """Return whether the name is a device, a stream (`a.md:b`), or ends in dots or spaces that Windows drops."""
    drive = len(name) == 2 and name[1] == ":"
    stem = name.partition(".")[0].rstrip().lower()
    dropped = name not in {"", ".", ".."} and name[-1:] in {".", " "}
    return stem in _DEVICES or dropped or (":" in name and not drive)


TOO_MANY = (
    f"the pattern of its extra path has more than {LONGEST_PATTERN:,} characters or {MOST_ALTERNATIVES} alternatives"
)


@dataclass(frozen=True, slots=True)
class ExtraPath:
    """A file or folder that is memory in addition to the workspace's own notes."""

    path: str
    """Path of the file or folder, absolute or relative to the workspace."""
    pattern: str | None = None
    """A glob below the folder (`**/*.md`, `work/*.{md,txt}`); if None, every note is memory."""
    client: str = ""
    """Path by which a folder of another program's memory is cited, such as `codex:`; memoriter does not write there."""


@dataclass(frozen=True, slots=True)
class Area:
    """A file, or a folder with everything below it, that is memory."""

    path: str
    """Absolute path of the file or folder."""
    base: str
    """Folder that is opened first. Its path may lead through links, because the owner chose it."""
    names: tuple[str, ...]
    """Names from `base` to the file or folder; no link is followed below `base`."""
    cited: str
    """Path by which `path` is cited."""
    configured: bool = False
    """True for an extra path, False for the workspace's own areas."""
    listed: bool = True
    """Whether files without the suffix of a note are reported as skipped, as in OpenClaw's `memory/`."""
    suffixes: tuple[str, ...] = (SUFFIX,)
    """The suffixes of notes."""
    globs: tuple[tuple[str, ...], ...] = ()
    refused: str = ""
    """Reason that the pattern cannot be used, or empty; with a reason, the area accepts no file."""
    client: str = ""
    """Path by which a folder of another program's memory is cited; empty: it is cited by its place."""

    @property
    def is_long_term(self) -> bool:
        """True for the long-term file; a folder of this name is not memory."""
        return not self.configured and self.cited in LONG_TERM

    @property
    def suffix_rule(self) -> str:
        """The reason for which a file with another suffix is not memory."""
        return f"only files that end in {' or '.join(self.suffixes)} are memory"

    def accepts(self, names: Sequence[str]) -> bool:
        """Return whether the patterns, if any, match the file with these names below the area's path."""
        if self.refused:
            return False
        return not (self.globs and names) or any(glob_matches(names, glob) for glob in self.globs)


@dataclass(frozen=True, slots=True)
class ReadablePath:
    """A path that may be read: the folder to open it from, the names below that, and the cited path."""

    base: str
    names: tuple[str, ...]
    cited: str


def list_areas(
    root: str,
    extra_paths: Sequence[ExtraPath],
    layout: Layout,
    suffixes: tuple[str, ...],
) -> tuple[Area, ...]:
    """Return every area as the disk is now; an extra path outside the workspace may be a link, one inside may not."""
    own = [Area(os.path.join(root, name), root, (name,), name, suffixes=suffixes) for name in (*LONG_TERM, FOLDER)]
    if layout == "notes":
        own = [Area(root, root, (), ".", listed=False, suffixes=suffixes)]
    return (*own, *[_extra_area(root, extra, suffixes) for extra in extra_paths if extra.path.strip()])


def _extra_area(root: str, extra: ExtraPath, suffixes: tuple[str, ...]) -> Area:
    path = rebase(root, absolute(root, extra.path.strip()))
    base = root
    start = names_below(root, path)
    if start is None and os.path.isdir(path):
        base = path
        start = ()
    elif start is None:
        base, name = os.path.split(real_path(path))
        start = (name,)
    if extra.client:
        return Area(path, path, (), extra.client, configured=True, listed=False, suffixes=suffixes, client=extra.client)
    alternatives = spread_braces(extra.pattern or "")
    globs = tuple(tuple(glob.strip("/").split("/")) for glob in alternatives or () if glob)
    refused = TOO_MANY if alternatives is None else ""
    cited = cite(root, path)
    return Area(path, base, start, cited, configured=True, suffixes=suffixes, globs=globs, refused=refused)


_FIRST_LINES = 1 << 20
"""Bytes at the beginning of a transcript that are searched."""
CLIENT_MEMORIES = ("claude-code:", "codex:")
"""Beginnings of the citations of what Claude Code and Codex remember by themselves."""


def is_client_memory(path: str) -> bool:
    """Return whether a citation is one of another program's memory: its text is a model's, and no note of the owner."""
    return path.startswith(CLIENT_MEMORIES)


def client_memories(
    clients: Sequence[str], *, workspace: Path, user_home: Path, environ: Mapping[str, str], owned: bool
) -> Iterator[ExtraPath]:
    """Yield the folders in which coding agents keep what they remember by themselves.

    `clients` are `claude-code` and `codex`, whose default folders in `user_home` the variables `CLAUDE_CONFIG_DIR` and
    `CODEX_HOME` override. Unless the workspace is `owned`, there is only what belongs to the workspace itself.
    """
    if "claude-code" in clients:
        projects = program_home(environ, "CLAUDE_CONFIG_DIR", user_home / ".claude") / "projects"
        names = sorted(folder.parent.name for folder in projects.glob("*/memory"))
        if not owned:
            names = [name for name in names if _is_project(projects / name, workspace)]
        for name in names or [project_name(str(workspace))] * owned:
            yield ExtraPath(str(projects / name / "memory"), client=f"{CLIENT_MEMORIES[0]}{name}")
    if "codex" in clients and owned:
        home = program_home(environ, "CODEX_HOME", user_home / ".codex")
        yield ExtraPath(str(home / "memories"), client=f"{CLIENT_MEMORIES[1]}memories")


def _is_project(folder: Path, workspace: Path) -> bool:
    """Return whether all sessions in a folder of Claude Code were started in the workspace.

    The name of the folder decides only if it has no session: several projects may have the same one.
    """
    started = {place for file in folder.glob("*.jsonl") if (place := started_in(str(file)))}
    if not started:
        return folder.name == project_name(str(workspace))
    own = {str(workspace), os.path.realpath(workspace)}
    return all(any(names_below(each, place) is not None for each in own) for place in started)


def started_in(path: str) -> str | None:
    """Return the folder in which a session of Codex or Claude Code was started, from the first line that names one."""
    try:
        with open_plain(Path(path)) as file:
            lines = file.read(_FIRST_LINES).splitlines()
    except OSError:
        return None
    for line in lines:
        if b'"cwd"' in line and (folder := _folder_of(line)):
            return os.path.normpath(folder)
    return None


def _folder_of(line: bytes) -> str | None:
    try:
        fields: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    payload: Any = cast("dict[str, Any]", fields).get("payload")
    folder: Any = cast("dict[str, Any]", payload if isinstance(payload, dict) else fields).get("cwd")
    return folder if isinstance(folder, str) else None


def program_home(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    """Return the folder of a program, which a variable may move."""
    value = environ.get(variable, "").strip()
    return Path(value) if value else default


def project_name(path: str) -> str:
    """Return the name that Claude Code gives to its folder for a project at this path."""
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def real_path(path: str) -> str:
    """Return the path with all links resolved, or the path itself if they cannot be resolved."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path  # the name is invalid, or a link changed meanwhile; opening the file will fail


def rebase(root: str, path: str) -> str:
    """Return a path below the target of the link `root` as a path below `root`, and any other path unchanged."""
    real = real_path(root)
    names = names_below(real, path) if real != root else None
    return path if names is None else os.path.join(root, *names)


class Admission:
    """Decides for one operation which paths are memory, from names and ignore files alone.

    Each ignore file is read once, so an operation sees it in one state.
    """

    def __init__(self, root: str, areas: Sequence[Area]) -> None:
        """Start an operation."""
        self._root = root
        self._areas = areas
        self._rules: dict[tuple[str, str], Rules] = {}
        """The rules inside each folder, by the folder of the area and the folder itself."""

    def admit(self, path: str) -> ReadablePath | Skipped:
        """Return where a cited or absolute path may be read, or why it may not."""
        # A name may begin with a blank, and a person may type one too many.
        clean = path if _begins_or_ends_blank(self._root, path) else path.strip()
        client = next((area for area in self._areas if area.client and clean.startswith(f"{area.client}/")), None)
        inside = clean.removeprefix(f"{client.client}/") if client is not None else clean
        if fault := path_fault(inside, windows=os.name == "nt"):
            return Skipped(path, "outside", fault)
        target = absolute(client.path, inside) if client else rebase(self._root, absolute(self._root, inside))
        refusal: Skipped | None = None
        for area in self._areas:
            names = names_below(area.path, target)
            if names is None or (names and area.is_long_term):
                continue
            verdict = self._admit_to_area(area, names)
            if isinstance(verdict, ReadablePath):
                return verdict
            refusal = refusal or verdict
        return refusal or Skipped(path, "outside", "it is not one of the memory files")

    def _admit_to_area(self, area: Area, names: tuple[str, ...]) -> ReadablePath | Skipped:
        cited = "/".join((area.cited, *names)) if area.cited != "." else "/".join(names)
        if not is_note(cited, area.suffixes):
            return Skipped(cited, "not_markdown", area.suffix_rule)
        if not area.accepts(names):
            return Skipped(cited, "outside", area.refused or "the pattern of its extra path does not take it")
        for depth, name in enumerate(names, 1):
            if why := built_in_exclusion(name, folder=depth < len(names)):
                return Skipped(cited, "ignored", why)
        if why := self._why_ignored(area, names):
            return Skipped(cited, "ignored", why)
        if original := original_beside(os.path.join(area.path, *names)):
            return Skipped(cited, "ignored", sync_copy_of(original))
        return ReadablePath(area.base, (*area.names, *names), cited)

    def may_hold(self, path: str) -> bool:
        """Return whether a folder at the absolute `path` leads to memory or may contain it."""
        target = rebase(self._root, absolute(self._root, path))
        for area in self._areas:
            if names_below(target, area.path) is not None:
                return True
            names = names_below(area.path, target)
            if names and not area.is_long_term and not any(built_in_exclusion(name, folder=True) for name in names):
                return not self._why_ignored(area, names)
        return False

    def _why_ignored(self, area: Area, names: tuple[str, ...]) -> str:
        """Return why the rules between the area's first folder and the file exclude the file; empty if they do not."""
        folder = area.base
        prefix = ""
        rules = self._rules_in(folder, area.base, prefix, Rules())
        path_names = (*area.names, *names)
        for depth, name in enumerate(path_names, 1):
            is_folder = depth < len(path_names)
            if why := rules.excludes(prefix + name, folder=is_folder):
                return why
            folder = os.path.join(folder, name)
            prefix = f"{prefix}{name}/"
            rules = self._rules_in(folder, area.base, prefix, rules) if is_folder else rules
        return ""

    def _rules_in(self, folder: str, base: str, prefix: str, above: Rules) -> Rules:
        """Return the rules inside a folder, which add those of its own ignore file to the ones above."""
        known = self._rules.get((base, folder))
        if known is None:
            known = self._rules[base, folder] = above.enter(folder, prefix)
        return known


def _begins_or_ends_blank(root: str, path: str) -> bool:
    """Return whether a path with blanks around it is that of a file."""
    if path == path.strip() or path_fault(path, windows=False):
        return False
    return os.path.lexists(absolute(root, path))


_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
# Without O_NONBLOCK, opening a FIFO blocks until a writer opens it; without O_NOCTTY, a terminal may become ours.
_FILE = (
    os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A source with its content."""

    source: Source
    """The file's path, size and times when the content was read."""
    hash: str
    """`ids.bytes_hash` of the file's bytes."""
    text: str
    """Content decoded as UTF-8 (invalid bytes as U+FFFD), without a byte order mark, with newlines unchanged."""
    decoded: bool = True
    """True if all bytes were valid UTF-8."""
    inode_changed_ns: int = 0
    """Time of the inode's last change, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Raw:
    """The bytes of a memory file."""

    path: str
    """Path by which the file is cited."""
    file: Path
    content: bytes


def path_refused(path: str, why: str) -> PathRefused:
    """Return the error for a path that is not read; it quotes the path, shortened to 200 characters."""
    shortened = path if len(path) <= 200 else f"{path[:200]}…"
    return PathRefused(
        f"The path {shortened!r} is refused: {sentence(why)}",
        remedy="Name a note as search results name it, such as memory/2026-02-10.md.",
    )


def not_utf8(path: str) -> WriteError:
    """Return the error for a note in another encoding, which a change of its text would damage."""
    message = f"{path!r} has bytes that are not UTF-8, so that nothing was written: the change would damage them."
    return WriteError(message, remedy="Save it as UTF-8, in an editor or with iconv.")


def read_bytes(place: ReadablePath, limit: int) -> tuple[bytes, os.stat_result]:
    """Return the content of a plain file and its stat.

    Raises:
        FileNotFoundError: the file does not exist.
        PathRefused: the path is a link, a folder or a device, or the file is too large or not readable.
    """
    try:
        descriptor = _open(place.base, place.names)
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            _require_kind(status, folder=False, limit=limit)
            content = opened.read(limit)
    except FileNotFoundError:
        raise
    except _NotAFileError as error:
        raise path_refused(place.cited, str(error)) from None
    except (OSError, ValueError) as error:
        raise path_refused(place.cited, getattr(error, "strerror", None) or str(error)) from error
    return content, status


@contextmanager
def open_confined(place: ReadablePath) -> Generator[tuple[BinaryIO, os.stat_result]]:
    """Open a plain file of any size for reading, and yield it with its stat.

    Raises:
        PathRefused: the file does not exist or is not readable, or the path is a link, a folder or a device.
    """
    try:
        opened = os.fdopen(_open(place.base, place.names), "rb")
    except FileNotFoundError:
        raise path_refused(place.cited, "it is not there any more") from None
    except _NotAFileError as error:
        raise path_refused(place.cited, str(error)) from None
    except (OSError, ValueError) as error:
        raise path_refused(place.cited, getattr(error, "strerror", None) or str(error)) from error
    with opened:
        yield opened, os.fstat(opened.fileno())


def changed_ns(status: os.stat_result) -> int:
    """Return the modification time in nanoseconds since 1970, limited to 64 bits, since a disk may hold any year."""
    return max(-(1 << 63), min(status.st_mtime_ns, (1 << 63) - 1))


def stamp_of(status: os.stat_result) -> int:
    """Return a positive number that differs when the inode or its change time differs.

    Programs can set the modification time of a file (`cp -p`, `touch -r`), but not the change time of its inode.
    """
    return ((status.st_ctime_ns ^ (status.st_ino * 0x9E3779B97F4A7C15)) & ((1 << 63) - 1)) | 1


class _NotAFileError(Exception):
    """The path leads to something other than a plain file."""


def _open(base: str, names: Sequence[str]) -> int:
    if not BY_DESCRIPTOR:
        return _open_by_path(base, names)
    folder = os.open(base, _FOLDER)
    try:
        for name in names[:-1]:
            _require_kind(os.stat(name, dir_fd=folder, follow_symlinks=False), folder=True)
            inner = os.open(name, _FOLDER | _NO_FOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        _require_kind(os.stat(names[-1], dir_fd=folder, follow_symlinks=False), folder=False)
        return os.open(names[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _open_by_path(base: str, names: Sequence[str]) -> int:
    """Check each name, open the file and verify that it is the checked one, for systems without `openat`."""
    path = base
    status = os.lstat(base)
    for depth, name in enumerate(names, 1):
        path = os.path.join(path, name)
        status = os.lstat(path)
        _require_kind(status, folder=depth < len(names))
    descriptor = os.open(path, _FILE)
    if not os.path.samestat(os.fstat(descriptor), status):
        os.close(descriptor)
        raise _NotAFileError("it changed while it was opened")
    return descriptor


def _require_kind(status: os.stat_result, *, folder: bool, limit: int | None = None) -> None:
    matches = stat.S_ISDIR(status.st_mode) if folder else stat.S_ISREG(status.st_mode)
    if not matches:
        raise _NotAFileError(f"{'a part of it' if folder else 'it'} {_describe_kind(status.st_mode)}")
    if limit is not None and status.st_size > limit:
        raise _NotAFileError(f"it has {status.st_size} bytes, more than {limit}")


def _describe_kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if stat.S_ISDIR(mode):
        return "is a folder"
    return "is a file and not a folder" if stat.S_ISREG(mode) else "is a device, pipe or socket"


def source_at(place: ReadablePath, max_bytes: int) -> Source | None:
    """Return the source at an admitted path: a plain file within the size limit, reached without a link, or None."""
    path = place.base
    try:
        status = os.stat(path)
        for depth, name in enumerate(place.names, 1):
            path = os.path.join(path, name)
            status = os.lstat(path)
            is_expected = stat.S_ISREG if depth == len(place.names) else stat.S_ISDIR
            if not is_expected(status.st_mode):
                return None
    except (OSError, ValueError):
        return None
    if status.st_size > max_bytes:
        return None
    return Source(place.cited, "memory", Path(path), status.st_size, changed_ns(status), stamp_of(status))


def find_normalized(place: ReadablePath) -> str | None:
    """Return the absolute path of the only file whose name is equivalent to the requested one, or None.

    Names are equivalent if Unicode says so, and with blanks around them, which agents leave out. Only names are
    compared; the caller must admit the path before it opens the file.
    """
    path = place.base
    for name in place.names:
        if os.path.lexists(os.path.join(path, name)):
            path = os.path.join(path, name)
            continue
        try:
            names = os.listdir(path)
        except OSError:
            return None
        normalized = normalize("NFC", name).strip()
        matches = [entry for entry in names if normalize("NFC", entry).strip() == normalized]
        if len(matches) != 1:
            return None
        path = os.path.join(path, matches[0])
    return path


def is_utf8(content: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def decode(content: bytes) -> str:
    """Return a note as text, without a byte order mark and with U+FFFD for bytes that are not UTF-8."""
    return with_line_feeds(content).decode("utf-8", "replace").removeprefix("\ufeff")
