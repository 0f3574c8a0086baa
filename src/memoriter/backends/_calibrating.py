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
from memoriter.types import CalibratedScript, CalibrationState, Certainty, Filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._context import BackendSettings
    from memoriter.backends._ports import Store
    from memoriter.embed import EmbeddingProvider
    from memoriter.search import Calibration, Candidates, RankedLine, Reader, SearchSettings
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
    from memoriter.search import FEWEST_CHUNKS

    spec, chunks = index.spec, index.corpus().chunks
    usable = spec is not None and settings.search.scoring == "calibrated" and not index.read_only
    if not usable or spec is None or chunks < FEWEST_CHUNKS or index.pending():
        return False
    known = stored_calibration(index, spec)
    return known is None or not known.chunks / GROWTH <= chunks <= known.chunks * GROWTH


def measure_calibration(index: Store, provider: EmbeddingProvider, settings: BackendSettings) -> Calibration | None:
    """Measure the calibration of an index and store it. Return None if the provider fails or the index changes.

    The same notes give the same figures.
    """
    from memoriter.backends._foreign_vectors import questions
    from memoriter.search import OWN_QUESTIONS, OwnQuestion, calibrate, question_from

    spec = index.spec
    if spec is None:
        return None
    texts, vectors = index.sample(SAMPLE)
    made = {passage: question for passage in texts if (question := question_from(passage))}
    passages, foreign = list(made)[:OWN_QUESTIONS], questions()
    known = _known_vectors(index, spec)
    rows = _embedded(provider, [*(made[passage] for passage in passages), *(() if known is not None else foreign)])
    if rows is None:
        return None
    asked = rows[len(passages) :] if known is None else list(known)
    scope = scope_of(Filters(), settings.sources, index.corpus().kinds)
    search = replace(settings.search, background=background_of(index, spec), kinds=scope.kinds, half_life_days=None)
    own = [OwnQuestion(made[passage], passage, row) for passage, row in zip(passages, rows, strict=False)]
    calibration = calibrate(
        cast("Reader", index),
        search,
        filters=scope.filters,
        foreign=list(zip(foreign, asked, strict=True)),
        own=own,
        sample=(texts, vectors),
    )
    with suppress(IndexBusy), index.lease(wait=STORING_SECONDS):
        index.set_meta(key_of(spec), calibration.dumps())
    return calibration


def _known_vectors(index: Store, spec: ModelSpec) -> NDArray[np.float32] | None:
    """Return the vectors of the foreign questions if the index or the package has them."""
    from memoriter.backends._foreign_vectors import shipped_vectors

    stored = stored_calibration(index, spec)
    return shipped_vectors(spec) if stored is None else stored.foreign.vectors


def _embedded(provider: EmbeddingProvider, texts: Sequence[str]) -> list[NDArray[np.float32]] | None:
    """Return the vectors of questions, or None if the provider does not return all of them."""
    from memoriter.embed import embed_in_batches

    rows: list[NDArray[np.float32]] = []
    try:
        for batch in embed_in_batches(provider, texts, role="query"):
            if batch.failures:
                return None
            rows += list(batch.vectors)
    except EmbeddingError as error:
        log.info("certainty: not measured: %s", error)
        return None
    return rows


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
