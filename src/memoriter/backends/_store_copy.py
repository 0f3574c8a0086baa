"""A copy of an index in another store, without computing a vector.

Text is read from the notes again, as after `index --force`; vectors are taken along by their keys. Every step can be
repeated, so a copy that was killed goes on where it stopped.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memoriter.errors import IndexUnavailable, UsageError
from memoriter.search import rank
from memoriter.sync import CUTTING, MARKS, ChangeSet, Progress, Sync, Task, background_of, make_plan
from memoriter.types import Filters
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._builtin import BuiltinBackend
    from memoriter.search import SearchSettings
    from memoriter.store import Store
    from memoriter.types import Hit

COPYING = "copying"
"""The setting that marks a store as an unfinished copy."""
BATCH = 512
"""Vectors of one transaction."""
PATIENCE = 60.0
"""Seconds to wait for a process that is indexing in one of the stores."""
QUESTIONS = 25
"""Questions that are asked of both stores in the end."""
QUESTION_WORDS = 12
SCORE_ERROR = 1e-3
"""The most by which the scores of a hit may differ: stores round cosines and lengths differently."""
MOST_DIFFERENT = 0.1
"""The share of questions whose hits may differ: above so many passages, SQLite compares the codes of vectors."""
ROUNDS = 3
"""How often both stores are brought up to date if notes change meanwhile."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What a copy of an index holds, and how it was checked."""

    files: int
    chunks: int
    vectors: int
    """Vectors of all models, also those that no chunk uses."""
    models: int
    """Models that have vectors."""
    copied: int = 0
    """Vectors that the copy did not have before."""
    waiting: int = 0
    """Texts without a vector, in both."""
    questions: int = 0
    """Questions that were asked of both."""
    different: tuple[str, ...] = ()
    """Those with other hits, or with scores that differ by more than 0.001."""
    seconds: float = 0.0


class CopySide(NamedTuple):
    """One of the two stores of a copy."""

    store: Store
    sync: Callable[[], Sync]
    """Returns what reads the notes into the store."""
    search: SearchSettings


def plan_copy(source: BuiltinBackend, target: BuiltinBackend, *, replace_all: bool) -> CopyReport:
    """Return what `copy_index` would copy, of two backends that only inspect. Nothing is changed."""
    before, after = (copy_side(each).store for each in (source, target))
    _check(before, after, replace_all=replace_all)
    corpus = before.corpus()
    models = before.models()
    return CopyReport(files=corpus.files, chunks=corpus.chunks, vectors=sum(models.values()), models=len(models))


def copy_index(
    source: BuiltinBackend, target: BuiltinBackend, *, replace_all: bool, progress: Callable[[Progress], None]
) -> CopyReport:
    """Copy an index, check the copy by its counts and by answers, and return the report.

    Args:
        source: its index is copied; it is brought up to date with the notes first, without new vectors.
        target: its index receives the copy; it is empty, or an unfinished copy.
        replace_all: whether a target that is not empty loses its files first.
        progress: receives the progress of reading notes and of copying vectors.

    Raises:
        IndexBusy: another process is indexing in one of the stores.
        IndexUnavailable: one of the stores cannot be used, or the copy differs from its source.
        UsageError: there is nothing to copy, or the target is not empty.
    """
    started = source.clocks.monotonic()
    report = _copy(copy_side(source), copy_side(target, progress), progress, replace_all=replace_all)
    return replace(report, seconds=source.clocks.monotonic() - started)


def copy_side(backend: BuiltinBackend, progress: Callable[[Progress], None] | None = None) -> CopySide:
    """Return the store of a backend, with what reads its notes into it."""
    store = backend.follow_and_act(lambda _, index: index)

    def sync() -> Sync:
        clocks = backend.clocks
        rules = backend.settings.sync
        return Sync(backend.workspace, store, rules, clocks.monotonic, progress or (lambda _: None), wall=clocks.wall)

    return CopySide(store, sync, backend.settings.search)


def _copy(source: CopySide, target: CopySide, progress: Callable[[Progress], None], *, replace_all: bool) -> CopyReport:
    with _leased(source.store), target.store.lease(wait=PATIENCE):
        _check(source.store, target.store, replace_all=replace_all)
        if target.store.get_meta(COPYING) is None:
            target.store.set_meta(COPYING, str(source.store.path))
            target.store.remove_files(list(target.store.files()))
        _copy_files(source, target)
        copied = _copy_vectors(source.store, target.store, progress)
        for key, value in source.store.metas("").items():
            if key not in {CUTTING, COPYING} and not key.startswith(MARKS):
                target.store.set_meta(key, value)
        report = _compare(source, target)
        target.store.drop_meta(COPYING)
    return replace(report, copied=copied)


def _leased(store: Store) -> AbstractContextManager[None]:
    return nullcontext() if store.read_only else store.lease(wait=PATIENCE)


def _check(source: Store, target: Store, *, replace_all: bool) -> None:
    """Raise UsageError unless there is something to copy and a place for it."""
    if not source.corpus().files:
        raise UsageError(
            f"There is nothing to copy: the index {str(source.path)!r} is empty.", remedy="Run `memoriter index`."
        )
    files = target.corpus().files
    if files and not replace_all and target.get_meta(COPYING) is None:
        count = "1 file" if files == 1 else f"{files} files"
        raise UsageError(
            f"The index {str(target.path)!r} is not empty: it holds {count}.",
            remedy="Add --replace to build it again from this memory's notes and vectors; its own vectors are kept.",
        )


# files


def _copy_files(source: CopySide, target: CopySide) -> None:
    """Read the notes into the target in the order of the source, until both hold the same state of the notes."""
    for _ in range(ROUNDS):
        if not source.store.read_only:
            source.sync().read(Task(wait=PATIENCE))
        target.sync().read(Task(changes=_in_order(source.store, target), wait=PATIENCE))
        wanted = _contents(source.store)
        if wanted == _contents(target.store):
            return
    differing = sorted(dict(_contents(source.store).items() ^ _contents(target.store).items()))
    raise IndexUnavailable(
        f"The notes changed while they were copied; {len(differing)} files differ, such as {differing[0]!r}.",
        remedy="Run the same command again; it continues.",
    )


def _in_order(source: Store, target: CopySide) -> ChangeSet | None:
    """Return the files that the target lacks, in the order of their chunks in the source.

    Where passages are equally good, the order of their ids decides which are found.
    """
    sync = target.sync()
    store = target.store
    if sync.outdated:
        return None
    scan = sync.workspace.scan()
    indexed = store.files()
    plan = make_plan(scan.sources, indexed)
    first = {each.path: next(iter(source.ids_at(each.path)), 0) for each in plan.added}
    added = tuple(sorted(plan.added, key=lambda each: (first[each.path], each.path)))
    return ChangeSet(store.version(), not plan.empty, replace(plan, added=added), indexed, held=True)


def _contents(store: Store) -> dict[str, tuple[str, int]]:
    """Return the hash and the number of chunks of each file."""
    return {path: (file.hash, file.chunks) for path, file in store.files().items()}


# vectors


def _copy_vectors(source: Store, target: Store, progress: Callable[[Progress], None]) -> int:
    """Copy the vectors and refusals of every model; return how many vectors the target did not have."""
    models = source.models()
    before = source.spec
    done = copied = 0
    for model in models:
        source.use_vectors(model)
        target.use_vectors(model)
        key = b""
        while True:
            keys, vectors = source.stored_vectors(key, BATCH)
            if not len(keys):
                break
            key = keys[-1]
            known = target.having_vectors(keys)
            new = [place for place, each in enumerate(keys) if each not in known]
            if new:
                target.put_vectors([keys[place] for place in new], vectors[new])
            copied += len(new)
            done += len(keys)
            progress(Progress("copy", done, sum(models.values())))
        for refused, message in source.refused().items():
            target.put_failure(refused, message)
    used = before if before is not None else max(models, key=models.__getitem__, default=None)
    if used is not None:
        source.use_vectors(used)
        target.use_vectors(used)
    return copied


# comparison


def _compare(source: CopySide, target: CopySide) -> CopyReport:
    """Return the report of a copy. Raises IndexUnavailable if it differs from its source."""
    differences = [
        f"{what}: {before} in the source, {after} in the copy"
        for (what, before), (_, after) in zip(_counts(source.store), _counts(target.store), strict=True)
        if before != after
    ]
    models = source.store.models()
    copies = target.store.models()
    lacking = [model.model for model, count in models.items() if copies.get(model, 0) < count]
    differences += [f"vectors of {model!r} are missing" for model in lacking]
    if differences:
        raise _differs(source.store, target.store, "; ".join(differences))
    asked, different = _ask_both(source, target)
    if len(different) > MOST_DIFFERENT * asked:
        raise _differs(source.store, target.store, f"{len(different)} of {asked} questions have other hits")
    corpus = target.store.corpus()
    return CopyReport(
        files=corpus.files,
        chunks=corpus.chunks,
        vectors=sum(models.values()),
        models=len(models),
        waiting=target.store.waiting(),
        questions=asked,
        different=tuple(different),
    )


def _differs(source: Store, target: Store, how: str) -> IndexUnavailable:
    return IndexUnavailable(
        f"The copy {str(target.path)!r} differs from {str(source.path)!r}: {how}.",
        remedy="Run the same command again with --replace; the setting was not changed.",
    )


def _counts(store: Store) -> list[tuple[str, int]]:
    corpus = store.corpus()
    return [
        ("files", corpus.files),
        ("chunks", corpus.chunks),
        ("vectors of chunks", store.vectors()),
        ("texts without a vector", store.waiting()),
        ("texts that the model refused", store.failures()),
        ("different texts", len(store.vector_keys())),
    ]


def _ask_both(source: CopySide, target: CopySide) -> tuple[int, list[str]]:
    """Ask both stores for passages that they hold, with stored vectors; return how many, and what differs."""
    questions = _questions(source.store)
    different = list[str]()
    for text, vector in questions:
        before, after = (_hits(side, source.search, text, vector) for side in (source, target))
        if not _same_hits(before, after):
            different.append(text)
    return len(questions), different


def _questions(store: Store) -> list[tuple[str, NDArray[np.float32] | None]]:
    """Return the first words of a sample of passages, with the vectors of the passages if there are any."""
    found = list[tuple[str, "NDArray[np.float32] | None"]]()
    if store.spec is not None and store.vectors():
        texts, vectors = store.sample(QUESTIONS)
        found = list(zip(texts, vectors, strict=True))
    else:
        ids = store.all_ids()
        rows = store.rows(ids[:: max(1, len(ids) // QUESTIONS)][:QUESTIONS])
        found = [(row.chunk.text, None) for row in rows.values()]
    worded = [(" ".join(re.findall(r"\w+", text)[:QUESTION_WORDS]), vector) for text, vector in found]
    return [(text, vector) for text, vector in worded if text]


def _hits(side: CopySide, search: SearchSettings, text: str, vector: NDArray[np.float32] | None) -> Sequence[Hit]:
    settings = replace(search, min_score=0.0, max_per_note=None)
    if vector is not None and (spec := side.store.spec) is not None:
        settings = replace(settings, background=background_of(side.store, spec))
    return rank(side.store, text, vector, settings, filters=Filters(), now=0.0, explain=False)


def _same_hits(before: Sequence[Hit], after: Sequence[Hit]) -> bool:
    """Return whether two answers are the same, except for the order of hits with nearly equal scores."""
    if len(before) != len(after):
        return False
    if any(abs(one.score - other.score) > SCORE_ERROR for one, other in zip(before, after, strict=True)):
        return False
    last = before[-1].score + SCORE_ERROR if before else 0.0
    one, other = ({each.citation for each in hits if each.score > last} for hits in (before, after))
    near = {each.citation for each in (*before, *after) if abs(each.score - last) <= 2 * SCORE_ERROR}
    return not (one ^ other) - near
