"""The commits of a note in the Git repository around it, which is only read."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from memoriter.journal import Change

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

COMMIT = "commit"
"""The act of a change that only Git knows."""
_SECONDS = 10
_MOST = 200
"""Commits of a note that are read."""
_FIELDS = "%h%x1f%at%x1f%an"


def commits_of(root: Path, path: str) -> tuple[Change, ...]:
    """Return the commits of a note, the newest first; none if there is no repository, or Git is not installed."""
    rows = _git(root, "log", f"-{_MOST}", f"--format={_FIELDS}", "--no-ext-diff", "--no-textconv", "--", path)
    return tuple(_change(row, path) for row in rows.splitlines() if row.count("\x1f") == 2)


def commit_of_line(root: Path, path: str, line: int) -> Change | None:
    """Return the commit that a line of a note is from; None if Git does not know."""
    rows = _git(root, "blame", "--porcelain", "--no-textconv", "-L", f"{line},{line}", "--", path).splitlines()
    parts = (row.partition(" ") for row in rows[1:])
    fields = {name: value for name, _, value in parts}
    if not rows or "author-time" not in fields or rows[0].startswith("0000000"):  # a line that is not committed yet
        return None
    return _change("\x1f".join((rows[0][:10], fields["author-time"], fields["author"])), path)


def committed_texts(root: Path, paths: Collection[str], moment: float) -> dict[str, bytes | None]:
    """Return notes as in the last commit before a time; None for one that was committed only later.

    Notes of which Git does not know this are left out.

    `moment` is in seconds since 1970.
    """
    if not paths or not (commit := _git(root, "rev-list", "-1", f"--before={int(moment)}", "HEAD").strip()):
        return {}
    held = _names(root, "ls-tree", "-r", "-z", "--name-only", commit, ".").intersection(paths)
    options = ["-z", "--format=", "--name-only", "--relative", "--no-renames", "--diff-filter=A", "--no-ext-diff"]
    later = _names(root, "log", *options, f"{commit}..HEAD", "--", ".").intersection(paths) - held
    return {**_contents(root, commit, sorted(held)), **dict.fromkeys(later)}


def _contents(root: Path, commit: str, paths: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of files in a commit; those with a line break in their name are left out."""
    asked = [path for path in paths if "\n" not in path]
    rest = _run(root, "cat-file", "--batch", given="".join(f"{commit}:./{path}\n" for path in asked)) or b""
    found = dict[str, bytes]()
    for path in asked:
        head, _, rest = rest.partition(b"\n")
        if head.endswith(b" missing"):
            continue
        size = int(head.rpartition(b" ")[2] or 0)
        found[path] = rest[:size]
        rest = rest[size + 1 :]
    return found


def _names(root: Path, *words: str) -> set[str]:
    return set(_git(root, *words).split("\0"))


def _change(row: str, path: str) -> Change:
    identifier, at, author = row.split("\x1f")
    return Change(identifier, float(at), path, author, COMMIT)


def _git(root: Path, *words: str) -> str:
    return (_run(root, *words) or b"").decode("utf-8", "replace")


def _run(root: Path, *words: str, given: str = "") -> bytes | None:
    """Return what Git prints, with `given` as its input; None if it fails, is missing, or there is no repository."""
    if not any((folder / ".git").exists() for folder in (root, *root.parents)) or (git := shutil.which("git")) is None:
        return None
    import subprocess

    # The repository may be untrusted, so none of its programs are run.
    command = [git, "-C", str(root), "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(  # noqa: S603 (our words)
            command, input=given.encode(), capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
