"""The calibration of one index: when it is measured, where it is stored, and what it says about an answer."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from memoriter.backends._context import scope_of
from memoriter.errors import EmbeddingError, IndexBusy
from memoriter.ids import fingerprint
from memoriter.search import WEAK
from memoriter.sync import background_of
from memoriter.types import CalibratedScript, CalibrationState, Certainty, Diagnostic, Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._context import BackendContext, BackendSettings
    from memoriter.backends._embedding import Embedding
    from memoriter.backends._foreign_vectors import SharedVectors
    from memoriter.backends._ports import Store
    from memoriter.embed import EmbeddingProvider
    from memoriter.search import Calibration, Candidates, RankedLine, Reader, SearchSettings
    from memoriter.sync import Task
    from memoriter.types import ModelSpec

log = logging.getLogger(__name__)

VERSION = 1
"""The number of the measurement. Raise it when the foreign questions or the certainty of the same query change."""
GROWTH = 1.25
"""How many times as many, or as few, chunks the index has when it is measured again."""
SAMPLE = 200
"""Passages from which the spread of scores is measured, and from which questions are made."""
MEASURING_SECONDS = 8.0
"""Seconds that a search that has just embedded the notes must have left to measure: a measurement takes 1 to 3."""
STORING_SECONDS = 5.0
"""How long a finished measurement waits for a process that is indexing."""


def key_of(spec: ModelSpec) -> str:
    """Return the key under which the calibration of a set of vectors is stored; deleted with the baselines."""
    return f"background:certainty:{VERSION}:{fingerprint(spec)}"


def stored_calibration(index: Store, spec: ModelSpec) -> Calibration | None:
    """Return the calibration that the index holds, or None. One that cannot be read counts as none."""
    from memoriter.search import Calibration

    text = index.get_meta(key_of(spec))
    if text is None:
        return None
    try:
        return Calibration.loads(text)
    except (ValueError, KeyError, TypeError):
        return None


def is_due(index: Store, settings: BackendSettings) -> bool:
    """Return whether a calibration can be measured, and is missing or was measured on another amount of notes."""
    chunks = index.corpus().chunks
    usable = index.spec is not None and not index.read_only
    return usable and _is_outgrown(index, settings, chunks) and not index.pending()


def _is_outgrown(index: Store, settings: BackendSettings, chunks: int) -> bool:
    """Return whether an index of so many chunks needs a measurement that it does not have."""
    from memoriter.search import FEWEST_CHUNKS

    if settings.search.scoring != "calibrated" or chunks < FEWEST_CHUNKS:
        return False
    known = stored_calibration(index, index.spec) if index.spec is not None else None
    return known is None or not known.chunks / GROWTH <= chunks <= known.chunks * GROWTH


def measure_if_due(
    context: BackendContext,
    index: Store,
    provider: Callable[[], EmbeddingProvider],
    task: Task,
    diagnostics: list[Diagnostic],
) -> None:
    """Measure the calibration after indexing, if it is due and this run may take the time and the requests.

    A model on this machine measures whenever there is time. A service is sent questions only by a run that has no
    deadline, because a person requested it; if it fails, a diagnostic is added, and the next such run tries again.
    """
    choice = context.embedding.current.choice
    if choice is None:
        return
    remote = choice.kind == "remote"
    hurried = task.embed_by is not None and (remote or (task.question and task.embed_by.left < MEASURING_SECONDS))
    if hurried or not is_due(index, context.settings):
        return
    try:
        measure_calibration(index, provider(), context.settings, _shared_vectors(context.embedding))
    except EmbeddingError as error:
        log.info("certainty: not measured: %s", error)
        if remote:
            message = f"A fixed score decides what is called a match, because it was not measured: {error.message}"
            diagnostics.append(Diagnostic(error.code, message, error.remedy))


def questions_to_embed(
    index: Store, embedding: Embedding, settings: BackendSettings, new: Sequence[str], *, chunks: int
) -> list[str]:
    """Return about the questions that `memoriter index` will send to a service to measure the calibration, or none.

    Args:
        index: the index as it is; nothing is changed.
        embedding: the provider.
        settings: the settings.
        new: the passages that are not indexed yet.
        chunks: how many chunks the index will have.
    """
    from memoriter.backends._foreign_vectors import questions

    choice, spec = embedding.current.choice, index.spec
    if choice is None or choice.kind != "remote" or not _is_outgrown(index, settings, chunks):
        return []
    known = spec is not None and _known_vectors(index, spec, _shared_vectors(embedding)) is not None
    passages = (*new, *(index.sample(SAMPLE)[0] if spec is not None else ()))
    return [*(() if known else questions()), *_own_questions(passages).values()]


def _shared_vectors(embedding: Embedding) -> SharedVectors | None:
    """Return the vectors that all indexes of this home share; None if the provider is no service."""
    from memoriter.backends._foreign_vectors import SharedVectors

    choice = embedding.current.choice
    return SharedVectors(embedding.ledger, choice.endpoint) if choice is not None and choice.kind == "remote" else None


def measure_calibration(
    index: Store, provider: EmbeddingProvider, settings: BackendSettings, shared: SharedVectors | None = None
) -> Calibration | None:
    """Measure the calibration of an index and store it. Return None if the index has no vectors.

    The same notes give the same figures.

    Args:
        index: the open index.
        provider: embeds the questions whose vectors are not known.
        settings: the settings.
        shared: the vectors of the foreign questions that all indexes of a service's model use; None for other models.

    Raises:
        EmbeddingError: the provider failed.
    """
    from memoriter.backends._foreign_vectors import embedded, questions
    from memoriter.search import OwnQuestion, calibrate

    spec = index.spec
    if spec is None:
        return None
    texts, vectors = index.sample(SAMPLE)
    made, foreign = _own_questions(texts), questions()
    asked = _known_vectors(index, spec, shared)
    if asked is None:
        asked = embedded(provider, foreign)
        if shared is not None:  # stored before anything else can fail, so that nothing is paid twice
            asked = shared.keep(spec, asked)
    rows = embedded(provider, list(made.values()))
    scope = scope_of(Filters(), settings.sources, index.corpus().kinds)
    search = replace(settings.search, background=background_of(index, spec), kinds=scope.kinds, half_life_days=None)
    calibration = calibrate(
        cast("Reader", index),
        search,
        filters=scope.filters,
        foreign=list(zip(foreign, asked, strict=True)),
        own=[OwnQuestion(question, passage, row) for (passage, question), row in zip(made.items(), rows, strict=True)],
        sample=(texts, vectors),
    )
    with suppress(IndexBusy), index.lease(wait=STORING_SECONDS):
        index.set_meta(key_of(spec), calibration.dumps())
    return calibration


def _own_questions(passages: Iterable[str]) -> dict[str, str]:
    """Return a question for each of the first passages from which one can be made."""
    from memoriter.search import OWN_QUESTIONS, question_from

    made = {passage: question for passage in passages if (question := question_from(passage))}
    return dict(list(made.items())[:OWN_QUESTIONS])


def _known_vectors(index: Store, spec: ModelSpec, shared: SharedVectors | None) -> NDArray[np.float32] | None:
    """Return the vectors of the foreign questions if the index, the package or another index of this home has them."""
    from memoriter.backends._foreign_vectors import shipped_vectors

    if (stored := stored_calibration(index, spec)) is not None:
        return stored.foreign.vectors
    known = shipped_vectors(spec)
    return shared.load(spec) if known is None and shared is not None else known


def with_lowest_score(settings: SearchSettings, calibration: Calibration | None, text: str) -> SearchSettings:
    """Return the settings with the lowest score that this index needs for a query, if it is below the default.

    Vectors of some languages and notes score lower throughout. A minimum score that the owner chose stays.
    """
    if calibration is None or settings.scoring != "calibrated" or settings.min_score != WEAK:
        return settings
    return replace(
        settings, min_score=min(settings.min_score, calibration.lowest_score(text, settings.false_match_rate))
    )


def certainty_of(
    calibration: Calibration, index: Store, text: str, candidates: Candidates | None, settings: SearchSettings
) -> Certainty | None:
    """Return how certain it is that a passage answers a query.

    It is None if scoring is not calibrated, without a vector near the query, and if the query names something that no
    chunk contains. Then scores decide.
    """
    if candidates is None or candidates.has_unknown_name or settings.scoring != "calibrated":
        return None
    value = calibration.foreign.certainty(candidates, cast("Reader", index), settings.background)
    return None if value is None else Certainty(value, calibration.threshold(text, settings.false_match_rate))


def certainty_of_lines(
    calibration: Calibration, index: Store, lines: Sequence[RankedLine], settings: SearchSettings
) -> Certainty | None:
    """Return the certainty that exceeds its threshold most, of the `vec` lines of a typed query.

    Each further line is another chance of a false match, so each line has its part of the rate (Bonferroni). None if
    there is no `vec` line, and if `certainty_of` is None for one. Nearness to a hypothetical answer is no certainty.
    """
    asked = [line for line in lines if line.line.kind == "vec"]
    shared = replace(settings, false_match_rate=settings.false_match_rate / max(len(asked), 1))
    found = [certainty_of(calibration, index, line.line.text, line.candidates, shared) for line in asked]
    known = [each for each in found if each is not None]
    if len(known) < len(found) or any(line.candidates.has_unknown_name for line in lines):
        return None
    return max(known, key=lambda each: each.value - each.threshold, default=None)


def calibration_state(index: Store, spec: ModelSpec | None, settings: SearchSettings) -> CalibrationState | None:
    """Return what `status` reports of the calibration; None if outcomes come from scores alone."""
    known = stored_calibration(index, spec) if spec is not None and settings.scoring == "calibrated" else None
    if known is None:
        return None
    rate = settings.false_match_rate
    scripts = tuple(
        CalibratedScript(script, each.value, each.questions, each.measured)
        for script, each in known.thresholds(rate).items()
    )
    limits = {each.script: each.threshold for each in scripts}
    highest = max(limits.values())
    own = [(found, without, limits.get(script, highest)) for script, found, without in known.own]
    return CalibrationState(
        rate=rate,
        chunks=known.chunks,
        scripts=scripts,
        own_questions=len(own),
        own_matched=sum(found > limit for found, _, limit in own),
        own_matched_without=sum(without is not None and without > limit for _, without, limit in own),
    )
