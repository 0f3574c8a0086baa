"""Locate the transcripts of one agent, list their files, and read their messages within limits."""
# ruff: noqa: PTH116, PTH117 - plain strings throughout, as a scan of the disk makes thousands of them

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.types import Excerpt, Skipped, Source
from memoriter.values import dataclass, field
from memoriter.workspace._paths import (
    ReadablePath,
    changed_ns,
    name_fault,
    names_below,
    open_confined,
    path_refused,
    program_home,
    shown_name,
    started_in,
)
from memoriter.workspace._scan import Scan
from memoriter.workspace.transcripts._messages import OpenTranscript

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from memoriter.codes import SkipReason

CITED = "sessions"
"""Folder name in the cited paths of transcripts, wherever their files are."""
SUFFIX = ".jsonl"
DEEPEST = 12
"""Levels of nested folders that a scan enters."""
_SYMLINK = "symbolic links are not followed"
_HARD_LINK = "it has a second name on this disk (a hard link), so it may belong to another agent"


@dataclass(frozen=True, slots=True)
class TranscriptFolder:
    """A folder of transcripts, or a single transcript file."""

    at: Path
    """Absolute path of the folder or file."""
    cited: str = CITED
    """Path by which the folder is cited."""
    deep: bool = False
    """True if the folders inside it are scanned too."""
    configured: bool = False
    """True if the owner configured it, so that a missing folder is reported."""
    prefix: str = ""
    """Prefix that file names must have."""
    started_in: tuple[str, ...] = ()
    """Only sessions that were started in or below one of these folders; if empty, all sessions."""
    by_project: bool = False
    """True if it has a folder for each project, which is scanned, but not cited and not entered deeper."""


@dataclass(slots=True)
class Transcripts:
    """The transcripts of one agent.

    `agents` are folders that contain one folder for each agent. Files there that belong to an agent other than
    `agent` are never read.
    """

    folders: Sequence[TranscriptFolder]
    agents: Sequence[Path] = ()
    agent: str = ""
    _started: dict[tuple[str, int], str | None] = field(default_factory=dict[tuple[str, int], "str | None"])
    """Start folder of each session, by path and inode; it never changes."""

    def scan(self) -> Scan:
        """Return all transcripts and the files that were skipped, with one listing per folder and one stat per file."""
        scan = _TranscriptScan()
        for folder in self.folders:
            if self._belongs_to_other_agent(folder.at):
                scan.skip(folder.cited, "other_agent", f"{str(folder.at)!r} belongs to another agent")
            else:
                self._scan_folder(folder, scan)
        sources = sorted(scan.sources.values(), key=lambda source: source.path)
        skipped = sorted(scan.skipped.values(), key=lambda skip: skip.path)
        return Scan(tuple(sources), tuple(skipped), scan.folders)

    def find(self, path: str) -> Source | None:
        """Return the current transcript at a cited or absolute path, or None."""
        target = path.strip().removeprefix("./")
        return next((each for each in self.scan().sources if target in {each.path, str(each.file)}), None)

    def cites(self, path: str) -> bool:
        """Return whether a cited or absolute path can be that of a transcript."""
        clean = path.strip()
        if not clean.endswith(SUFFIX):
            return False
        absolute = os.path.isabs(clean) and any(
            names_below(str(folder.at), clean) is not None for folder in self.folders
        )
        return clean.removeprefix("./").startswith(f"{CITED}/") or absolute

    @contextmanager
    def opened(self, source: Source) -> Generator[OpenTranscript]:
        """Open a transcript for reading.

        Raises:
            PathRefused: the file is gone, is not a plain file, has a hard link, or belongs to another agent.
        """
        with open_confined(self._locate(source)) as (file, status):
            if status.st_nlink > 1:
                raise path_refused(source.path, _HARD_LINK)
            current = Source(source.path, source.kind, source.file, status.st_size, changed_ns(status))
            yield OpenTranscript(file, current)

    def read(self, path: str, *, start: int | None, lines: int | None, max_chars: int) -> Excerpt:
        """Return the messages in some lines of a transcript, one line per message.

        Args:
            path: a cited or an absolute path.
            start: first line of the file, 1-based; smaller numbers count as 1.
            lines: number of lines of the file; smaller numbers count as 1, but 0 without `start` means all lines.
            max_chars: limit of the text in characters. Only whole messages are kept, but a first message that is too
                long is cut; `truncated` is set in both cases.

        Raises:
            PathRefused: the path is not one of this agent's transcripts.
        """
        if (source := self.find(path)) is None:
            raise path_refused(path, "it is not one of this agent's transcripts")
        first = max(1, start or 1)
        last = first + max(1, lines) - 1 if lines is not None and (start or lines) else None
        messages: list[str] = []
        length = 0
        with self.opened(source) as transcript:
            for each in transcript.lines(first=first):
                if last is not None and each.number > last:
                    break
                if not (line := each.parsed.rendered):
                    continue
                if length + len(line) > max_chars:
                    messages += [line[:max_chars]] if not messages else []
                    return Excerpt(source.path, "\n".join(messages), truncated=True)
                messages.append(line)
                length += len(line) + 1
        return Excerpt(source.path, "\n".join(messages))

    def _scan_folder(self, folder: TranscriptFolder, scan: _TranscriptScan) -> None:
        at = str(folder.at)
        try:
            status = os.stat(at)
        except (OSError, ValueError) as error:
            if folder.configured:
                missing = isinstance(error, FileNotFoundError | NotADirectoryError)
                why = "nothing is there" if missing else getattr(error, "strerror", None) or str(error)
                scan.skip(folder.cited, "missing" if missing else "unreadable", f"{at!r}: {why}")
            return
        if not stat.S_ISDIR(status.st_mode):
            self._scan_file(folder, at, folder.cited, status, scan)
            return
        scan.folders[at] = status.st_ino
        pending = [(at, folder.cited, 0)]
        while pending:
            place, cited, depth = pending.pop()
            for entry in _entries(place, cited, scan):
                inner = f"{cited}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    entered = depth < DEEPEST if folder.deep else folder.by_project and not depth
                    if entered and not self._belongs_to_other_agent(Path(entry.path)):
                        scan.folders[entry.path] = entry.inode()
                        pending.append((entry.path, cited if folder.by_project else inner, depth + 1))
                elif entry.name.endswith(SUFFIX) and entry.name.startswith(folder.prefix):
                    self._scan_entry(folder, entry, inner, scan)

    def _scan_entry(self, folder: TranscriptFolder, entry: os.DirEntry[str], cited: str, scan: _TranscriptScan) -> None:
        if fault := name_fault(entry.name):
            scan.skip(cited, "unreadable", fault)
        elif entry.is_symlink():
            scan.skip(cited, "symlink", _SYMLINK)
        else:
            try:
                self._scan_file(folder, entry.path, cited, entry.stat(follow_symlinks=False), scan)
            except FileNotFoundError:
                return
            except OSError as error:
                scan.skip(cited, "unreadable", error.strerror or str(error))

    def _scan_file(
        self, folder: TranscriptFolder, path: str, cited: str, status: os.stat_result, scan: _TranscriptScan
    ) -> None:
        if not stat.S_ISREG(status.st_mode):
            scan.skip(cited, "special", "it is a device, pipe or socket")
        elif not path.endswith(SUFFIX):
            scan.skip(cited, "not_transcript", f"{path!r}: only files that end in {SUFFIX} are transcripts")
        elif (status.st_dev, status.st_ino) in scan.inodes:
            return
        elif status.st_nlink > 1:
            scan.skip(cited, "hard_link", _HARD_LINK)
        elif self._started_here(folder, path, status):
            scan.inodes.add((status.st_dev, status.st_ino))
            name = scan.free_name(cited, path)
            scan.sources[name] = Source(name, "sessions", Path(path), status.st_size, changed_ns(status))

    def _started_here(self, folder: TranscriptFolder, path: str, status: os.stat_result) -> bool:
        if not folder.started_in:
            return True
        key = (path, status.st_ino)
        if (started := self._started.get(key)) is None:
            started = self._started[key] = started_in(path)
        return started is not None and any(names_below(place, started) is not None for place in folder.started_in)

    def _belongs_to_other_agent(self, path: Path) -> bool:
        """Return whether a path lies in the folder of another agent."""
        real = os.path.realpath(path)
        inside = (names_below(os.path.realpath(agents), real) for agents in self.agents)
        return any(names and names[0] != self.agent for names in inside)

    def _locate(self, source: Source) -> ReadablePath:
        for folder in self.folders:
            names = names_below(str(folder.at), str(source.file))
            if names is not None and not self._belongs_to_other_agent(source.file.parent):
                if names:
                    return ReadablePath(str(folder.at), names, source.path)
                real = Path(os.path.realpath(folder.at))
                return ReadablePath(str(real.parent), (real.name,), source.path)
        raise path_refused(source.path, "it is not one of this agent's transcripts")


@dataclass(slots=True)
class _TranscriptScan:
    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    skipped: dict[str, Skipped] = field(default_factory=dict[str, Skipped])
    folders: dict[str, int] = field(default_factory=dict[str, int])
    inodes: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def skip(self, cited: str, reason: SkipReason, message: str) -> None:
        name = shown_name(cited)
        self.skipped.setdefault(name, Skipped(name, reason, message))

    def free_name(self, cited: str, path: str) -> str:
        """Return a cited name that is not taken; the digest of the path keeps it stable between scans."""
        if cited not in self.sources:
            return cited
        digest = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        return f"{cited.removesuffix(SUFFIX)}-{digest}{SUFFIX}"


def _entries(place: str, cited: str, scan: _TranscriptScan) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        scan.skip(cited, "unreadable", error.strerror or str(error))
        return []


CLAUDE_CODE = "claude-code"
CODEX = "codex"
"""Keywords for the transcripts that Claude Code and Codex keep of the workspace."""
ALL = ":all"
"""After a keyword: the transcripts of all folders. In the workspace of a project, they are those of the project."""


def transcripts_of(
    agent: str,
    paths: Sequence[str],
    *,
    homes: Sequence[Path],
    workspace: Path,
    user_home: Path,
    environ: Mapping[str, str],
    owned: bool = True,
) -> Transcripts:
    """Return the transcripts that belong to an agent.

    Args:
        agent: name of the agent, as in file names.
        paths: files, folders, or the keywords `claude-code` and `codex`, perhaps with `:all`. Relative paths start at
            the workspace.
        homes: folders that contain `agents/<agent>/sessions`: memoriter's and perhaps OpenClaw's.
        workspace: the folder of notes. The keywords select sessions that were started in it.
        user_home: home of the user, for `~` and for the default folders of Claude Code and Codex.
        environ: environment variables; `CLAUDE_CONFIG_DIR` and `CODEX_HOME` override those default folders.
        owned: whether the workspace is the owner's. Otherwise `:all` has no effect, so that the agents of a project
            find no conversations about other work.
    """
    own_folders = [TranscriptFolder(home / "agents" / agent / "sessions") for home in dict.fromkeys(homes)]
    configured_folders = [
        folder
        for path in paths
        if path.strip()
        for folder in _configured_folders(path.strip(), workspace, user_home, environ, owned=owned)
    ]
    return Transcripts((*own_folders, *configured_folders), tuple(home / "agents" for home in homes), agent)


def _configured_folders(
    path: str, workspace: Path, user_home: Path, environ: Mapping[str, str], *, owned: bool
) -> Iterator[TranscriptFolder]:
    spellings = tuple(dict.fromkeys((str(workspace), os.path.realpath(workspace))))
    everywhere = owned and path in {CLAUDE_CODE + ALL, CODEX + ALL}
    path = path.removesuffix(ALL) if path in {CLAUDE_CODE + ALL, CODEX + ALL} else path
    if path == CLAUDE_CODE:
        projects = program_home(environ, "CLAUDE_CONFIG_DIR", user_home / ".claude") / "projects"
        if everywhere:
            yield TranscriptFolder(projects, f"{CITED}/{CLAUDE_CODE}", deep=True, configured=True)
            return
        # The names of its folders do not tell projects apart: `/notes/a-b` and `/notes/a/b` have the same one.
        place = f"{CITED}/{CLAUDE_CODE}"
        yield TranscriptFolder(projects, place, configured=True, started_in=spellings, by_project=True)
    elif path == CODEX:
        home = program_home(environ, "CODEX_HOME", user_home / ".codex")
        for name in ("sessions", "archived_sessions"):
            yield TranscriptFolder(
                home / name,
                f"{CITED}/{CODEX}",
                deep=True,
                configured=name == "sessions",
                prefix="rollout-",
                started_in=() if everywhere else spellings,
            )
    else:
        in_home = path == "~" or path.startswith(("~/", "~\\"))
        configured_path = user_home / path[2:] if in_home else Path(path)
        absolute_path = Path(os.path.abspath(workspace / configured_path))  # noqa: PTH100 - resolving would follow the link
        cited = f"{CITED}/{absolute_path.name}" if absolute_path.name else CITED
        yield TranscriptFolder(absolute_path, cited, deep=not path.endswith(SUFFIX), configured=True)
