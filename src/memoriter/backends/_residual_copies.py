"""Places outside memoriter's control where forgotten text may remain: git history, copies, other programs, services."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING
from unicodedata import normalize

from memoriter.backends._forget import wanted_of
from memoriter.backends._kept import files_containing
from memoriter.plain_file import open_plain
from memoriter.providers import PROCESS
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from memoriter.backends._forget import ForgetPlan

LEDGER = "ledger.sqlite"
"""The ledger of usage, which holds no text of notes."""
_GENERATION = re.compile(r"\.g\d+\.sqlite$")
_GIT_SECONDS = 10
_TELLING = 12
"""The length in characters from which a line is unlikely to occur elsewhere by chance."""
_COPIES = ("{0}~", "{0}.bak", "{0}.orig", "{0}.tmp", "#{0}#", ".#{0}", ".{0}.swp", ".{0}.swo", ".{0}.un~", ".trash/{0}")


def residual_copies(
    plan: ForgetPlan, *, root: Path, index: Path, sessions: Path | None, providers: set[str]
) -> list[Diagnostic]:
    """Return diagnostics for what the user must check or delete after a plan is carried out.

    Args:
        plan: the plan.
        root: the folder of the workspace.
        index: the file of the index.
        sessions: the folder of the agent's transcripts.
        providers: names of the providers whose vectors the index has held.
    """
    files = [removal.file for removal in plan.notes]
    diagnostics = [*_git_history(files), *_copies(files, root), *_services(providers), *_other_indexes(plan, index)]
    if plan.request.match is not None:
        diagnostics += _transcripts(plan.request.match, sessions)
    diagnostics += _other_sessions(plan, sessions)
    message = "Backups, snapshots and synchronised copies of the folder are not looked at."
    return [*diagnostics, Diagnostic("elsewhere", message, "Delete it there as well, where you have any.")]


def _git_history(files: Sequence[Path]) -> Iterator[Diagnostic]:
    """Report notes whose earlier versions git keeps."""
    if tracked := [file.name for file in files if _tracked(file)]:
        message = f"Git keeps earlier versions of {_listed(tracked)}."
        yield Diagnostic("git_history", message, "Commit the change, then rewrite the history with `git filter-repo`.")


def _tracked(file: Path) -> bool:
    if not any((folder / ".git").exists() for folder in file.parents):
        return False
    if (git := shutil.which("git")) is None:
        return True  # unknown without git, so report it
    import subprocess

    def prints(*arguments: str) -> bool:
        # The repository may be untrusted, so none of its programs are run.
        command = [git, "-C", str(file.parent), "-c", "core.fsmonitor=false", *arguments, "--", file.name]
        completed = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)  # noqa: S603 (our words)
        return completed.returncode == 0 and bool(completed.stdout.strip())

    try:
        return prints("ls-files") or prints("log", "--all", "-1", "--format=%h")
    except (OSError, subprocess.SubprocessError):
        return True


def _copies(files: Iterable[Path], root: Path) -> Iterator[Diagnostic]:
    """Report copies that editors and Obsidian keep beside a note."""
    candidates = [
        folder / form.format(file.name) for file in files for folder in (file.parent, root) for form in _COPIES
    ]
    if copies := sorted({str(copy) for copy in candidates if copy.is_file()}):
        yield Diagnostic(
            "copies", f"There are copies of the note: {_listed(copies)}.", "Delete them if you do not need them."
        )


def _services(providers: set[str]) -> Iterator[Diagnostic]:
    if services := sorted(providers - PROCESS):
        message = (
            f"Text of your notes was sent to {', '.join(services)} for vectors; what is kept there is not known here."
        )
        yield Diagnostic("sent", message, "Ask the service to delete it.")


def _other_indexes(plan: ForgetPlan, index: Path) -> Iterator[Diagnostic]:
    """Report indexes of other agents in the same folder. Each belongs to its agent."""
    files = sorted(index.parent.glob("*.sqlite")) if index.parent.is_dir() else []
    own = {index.name, LEDGER}
    others = [path.name for path in files if path.name not in own and not _GENERATION.search(path.name)]
    needles = list(_needles(plan))
    others = [name for name in others if any(held_in(index.parent / name, text) for text in needles)]
    if others:
        message = f"Indexes of other agents or workspaces hold it: {_listed(others)}."
        yield Diagnostic("other_indexes", message, "Run the same with --agent, or with -w, for each of them.")


def _needles(plan: ForgetPlan) -> Iterator[str]:
    """Yield the texts to search for elsewhere: the text itself, or the longest line of each passage."""
    if plan.request.match is not None:
        yield plan.request.match
        return
    for passage in (passage for removal in plan.notes for passage in removal.passages):
        longest = max(passage.text.split("\n"), key=len).strip()
        if len(longest) >= _TELLING:
            yield longest


def _transcripts(text: str, sessions: Path | None) -> Iterator[Diagnostic]:
    if sessions is None or not sessions.is_dir():
        return
    for file in sorted(sessions.iterdir()):
        if ".jsonl" in file.name and file.is_file() and held_in(file, text):
            session = file.name.partition(".jsonl")[0]
            yield Diagnostic(
                "transcript", f"The transcript {file.name!r} holds it.", f"Run `memoriter forget --session {session}`."
            )


def _other_sessions(plan: ForgetPlan, sessions: Path | None) -> Iterator[Diagnostic]:
    """Report copies of note text that belong to sessions of other agents."""
    agents = sessions.parent.parent if sessions is not None else None
    if sessions is None or agents is None or not agents.is_dir():
        return
    wanted = wanted_of(plan)
    others = sorted(agent / sessions.name for agent in agents.iterdir() if agent != sessions.parent)
    if files := [str(file) for other in others for file in files_containing(wanted, other)]:
        message = f"Copies that are kept for sessions of other agents hold it: {_listed(files)}."
        yield Diagnostic(
            "other_sessions", message, "Delete these files: they are copies, and are made anew when needed."
        )


def held_in(file: Path, text: str) -> bool:
    """Return whether a file contains the text as it is, in NFC, in NFD, or escaped as JSON."""
    import mmap

    forms = {text, normalize("NFC", text), normalize("NFD", text)}
    forms |= {json.dumps(form, ensure_ascii=plain)[1:-1] for form in list(forms) for plain in (True, False)}
    try:
        with open_plain(file, follow=True) as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(form.encode("utf-8", "replace")) >= 0 for form in forms)
    except (OSError, ValueError):  # empty, or deleted
        return False


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
