"""The sets of files and folders that a person names: which there are, and which are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.extensions.evals._formats import NotASet, is_beir, load_set
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from memoriter.extensions.evals._datasets import Dataset
    from memoriter.extensions.evals._formats import Format, NotesSet


@dataclass(frozen=True, slots=True)
class LoadedSets:
    """Sets of both kinds, each in the order of its file."""

    documents: tuple[Dataset, ...]
    notes: tuple[NotesSet, ...]
    left_out: tuple[Path, ...] = ()
    """JSON files of the folders that are no sets."""


def load_sets(paths: Sequence[Path], names: Collection[str] = (), form: Format | None = None) -> LoadedSets:
    """Return the sets at several paths: files, folders in the form of BEIR, or folders with sets.

    A JSON file that is found in a folder, and that no name selects, is left out if it has none of the known forms.
    Without names, all sets are returned; without a form, what each set contains decides.

    Raises:
        UsageError: there are none, a name is in no path, or a set cannot be read.
    """
    found = [set_files(path) for path in paths]
    known = sorted({name for files in found for name in files})
    if unknown := sorted(set(names) - set(known)):
        raise UsageError(f"There is no set {unknown[0]!r}.", remedy=f"Choose from: {', '.join(known)}.")
    documents: list[Dataset] = []
    notes: list[NotesSet] = []
    left_out: list[Path] = []
    chosen = dict.fromkeys(
        (file, path)
        for path, files in zip(paths, found, strict=True)
        for name, file in files.items()
        if _is(name, names)
    )
    for file, path in chosen:
        try:
            loaded = load_set(file, form)
        except NotASet:
            if file == path or names:
                raise
            left_out.append(file)
            continue
        if isinstance(loaded, tuple):
            notes += loaded
        else:
            documents.append(loaded)
    if not documents and not notes:
        raise UsageError(
            f"None of the JSON files is a set: {', '.join(map(str, left_out[:3]))}.",
            remedy="See benchmarks/evaluation.md for the forms.",
        )
    return LoadedSets(tuple(documents), tuple(notes), tuple(left_out))


def _is(name: str, names: Collection[str]) -> bool:
    return not names or name in names


def set_files(path: Path) -> dict[str, Path]:
    """Return the files at a path that may be sets, by name. Raises UsageError if there are none.

    They are the JSON files and BEIR folders of a folder and of its subfolders, but not of hidden ones, and no deeper.
    The name is that of the file without `.json`, or that of the folder; the second set of a name in a subfolder is
    called `subfolder/name`.
    """
    if path.is_file() or is_beir(path):
        return {_name(path): path}
    files: dict[str, Path] = {}
    for file in _inside(path):
        name = _name(file)
        files[f"{file.parent.name}/{name}" if name in files else name] = file
    if not files:
        raise UsageError(
            f"There are no JSON files and no BEIR folders in {str(path)!r}.",
            remedy="Give the folder that holds the sets.",
        )
    return files


def _name(path: Path) -> str:
    return path.stem if path.suffix == ".json" else path.name


def _inside(folder: Path) -> Iterator[Path]:
    """Yield the files and BEIR folders in a folder, then those in its subfolders."""
    entries = [entry for entry in sorted(folder.iterdir()) if not entry.name.startswith(".")]
    yield from (entry for entry in entries if _may_be_set(entry))
    for subfolder in entries:
        if subfolder.is_dir() and not is_beir(subfolder):
            yield from (entry for entry in sorted(subfolder.iterdir()) if _may_be_set(entry))


def _may_be_set(entry: Path) -> bool:
    return (entry.suffix == ".json" and entry.is_file()) or (entry.is_dir() and is_beir(entry))
