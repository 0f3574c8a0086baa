"""Candidates for scoring: the chunks that the retrievers propose, and their neighbours.

No note and no script takes all places. A note with thousands of passages would otherwise take the places of the right
one, and notes in the language of a question those of notes in another script: texts in one language are near each other
whatever they are about.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial, reduce
from math import log1p
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memoriter.folding import fold_name, has_numbers
from memoriter.records import COUNTED_OF_FILE
from memoriter.search._forms import FORM, may_have_codes, query_forms
from memoriter.search._hits import beyond
from memoriter.search._score import ITEM_SHARE, KeywordScore, keyword_score, saturations, vector_weight, weigh
from memoriter.search._terms import link_term, needle, query_terms
from memoriter.types import Filters
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.records import ScoringRow
    from memoriter.search._score import CosineBaseline, Saturations, SearchSettings, WeightedTerms
    from memoriter.store import Passages
    from memoriter.types import QueryLine


FURTHER = (8, 64)
"""Times as many chunks that are looked at when one note crowds out the others, and again if it still does."""
OTHER_SCRIPTS = 8
"""One chunk in so many that are near to a question is in another script than most, if there are any."""


class _Nearest(Protocol):
    def __call__(self, *, limit: int, last: str = "") -> list[int]: ...


class _KeywordSearch(Protocol):
    def __call__(self, *, limit: int) -> Sequence[tuple[int, float]]: ...


class Proposals(NamedTuple):
    """The chunks that the retrievers propose, best first."""

    by_keyword: list[int]
    by_vector: list[int]
    stored: Mapping[int, ScoringRow]
    """These chunks and those beside them, by row."""


def make_room(
    reader: Passages, proposals: Proposals, with_words: _KeywordSearch, nearest: _Nearest, *, limit: int
) -> Proposals:
    """Return the proposals with room for other notes and other scripts than those that have most places.

    Args:
        reader: the index.
        proposals: what the retrievers propose at first.
        with_words: finds so many chunks with the words of the query.
        nearest: returns so many chunks near to the query, those in a script, if one is named, after all others.
        limit: chunks from each retriever.
    """
    by_keyword, by_vector, stored = proposals
    if _is_crowded(stored, by_keyword, limit):
        by_keyword = _spread(reader, lambda wanted: [row for row, _ in with_words(limit=wanted)], limit)
        stored = {**stored, **_around(reader, by_keyword)}
    if _is_crowded(stored, by_vector, limit):
        by_vector = _spread(reader, lambda wanted: nearest(limit=wanted), limit)
        stored = {**stored, **_around(reader, by_vector)}
    scripts = Counter([stored[row].script for row in by_vector if row in stored])
    script, places = scripts.most_common(1)[0] if scripts else ("", 0)
    if len(by_vector) >= limit and scripts.total() - places < limit // OTHER_SCRIPTS:
        known = set(by_vector)
        if more := [row for row in nearest(limit=limit // OTHER_SCRIPTS, last=script) if row not in known]:
            stored = {**stored, **_around(reader, more)}
            by_vector = by_vector + [row for row in more if row in stored and stored[row].script != script]
    return Proposals(by_keyword, by_vector, stored)


def _around(reader: Passages, rows: Sequence[int]) -> Mapping[int, ScoringRow]:
    """Return what is stored of chunks and of those beside them, by row."""
    return reader.scoring_rows({row + step for row in rows for step in (-1, 0, 1)})


def _is_crowded(stored: Mapping[int, ScoringRow], rows: Sequence[int], limit: int) -> bool:
    """Return whether one note has more than half of the places, and there may be more proposals."""
    if len(rows) < limit:
        return False
    return max(Counter([stored[row].path for row in rows if row in stored]).values(), default=0) > limit // 2


def _spread(reader: Passages, propose: Callable[[int], list[int]], limit: int) -> list[int]:
    """Return the best `limit` proposals of a retriever, at most half of them from one note if others have as many."""
    chosen = list[int]()
    for wanted in (limit * each for each in FURTHER):
        rows = propose(wanted)
        stored = reader.scoring_rows(rows)
        present = [row for row in rows if row in stored]
        over_limit = beyond([stored[row].path for row in present], limit // 2)
        order = [*sorted(set(range(len(present))).difference(over_limit)), *over_limit]
        chosen = [present[at] for at in sorted(order[:limit])]
        if len(rows) < wanted or len(present) - len(over_limit) >= limit:
            break
    return chosen


MIN_CANDIDATES = 24
"""Least number from each retriever, enough for the default six hits: a search for one hit returns the first of six."""

BEHIND = 2.0
"""Added to the mean cosine of a script, it puts its chunks behind all others: cosines differ by less."""
LONGEST_NAME = 200
"""Characters of the longest query that may be the name of a note."""
MAX_NAME_WORDS = 64
"""Words of a query that are looked at for names of notes."""
MOST_WORDS_OF_A_NAME = 8
"""Words of the longest name that is recognized in a query."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Chunks with their scores from both retrievers. Mappings are by row."""

    scoring_rows: Mapping[int, ScoringRow]
    cosines: Mapping[int, float]
    vector_scores: Mapping[int, float]
    """v of each candidate that has a vector: of the candidate itself and of its best item, if it has items."""
    keyword_scores: Mapping[int, KeywordScore]
    keyword_ranking: Sequence[int]
    """Best first."""
    vector_ranking: Sequence[int]
    """Best first."""
    best_lines: Mapping[int, int]
    """The first line of the best item of each candidate that has vectors of items, 0-based within the chunk."""
    has_vector: bool
    """True if the vector retriever was used."""
    named: AbstractSet[int] = frozenset()
    """The candidates of notes whose name is the whole query."""
    has_unknown_name: bool = False
    """True if the query names something that no chunk contains."""

    @property
    def vector_weight(self) -> float:
        """The weight of the vector score, 0..1, unless the settings fix it."""
        best_coverage = max(map(attrgetter("coverage"), self.keyword_scores.values()), default=0.0)
        return vector_weight(best_coverage, self.itemized_share)

    @property
    def itemized_share(self) -> float:
        """Share of chunks with items that the vector retriever proposed, 0..1; each note counts with a few of them."""
        return self._itemized(self.vector_ranking)

    @property
    def itemized_shares(self) -> dict[str, float]:
        """The same share, 0..1, for each source of the chunks that the vector retriever proposed."""
        rows_by_source: dict[str, list[int]] = {}
        for row in self.vector_ranking:
            if row in self.scoring_rows:
                rows_by_source.setdefault(self.scoring_rows[row].source, []).append(row)
        return {source: self._itemized(rows) for source, rows in rows_by_source.items()}

    def _itemized(self, rows: Sequence[int]) -> float:
        """Return the share of chunks with items; a note counts with a few chunks, so that none outweighs the others."""
        present = [row for row in rows if row in self.scoring_rows]
        chunks = Counter([self.scoring_rows[row].path for row in present])
        itemized = Counter([self.scoring_rows[row].path for row in present if row in self.best_lines])
        counted = {path: min(count, COUNTED_OF_FILE) for path, count in chunks.items()}
        of_notes = [itemized[path] / chunks[path] * counted[path] for path in itemized]
        return sum(of_notes) / sum(counted.values()) if counted else 0.0

    def retrievers(self, row: int) -> tuple[str, ...]:
        """Return the names of the retrievers that proposed a candidate."""
        rankings = (("vector", self.vector_ranking), ("keyword", self.keyword_ranking))
        return tuple(name for name, ranking in rankings if row in ranking)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query in the forms that the retrievers need."""

    text: str
    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    """(dims,), unit length; None if the vector retriever is not available."""


@dataclass(frozen=True, slots=True)
class RankedLine:
    """One line of a typed query with its candidates. Mappings are by row."""

    number: int
    """Number among the lines to search for, from 1."""
    line: QueryLine
    candidates: Candidates
    scores: Mapping[int, float]
    """Score of each candidate for this line alone, 0..1, before decay."""
    places: Mapping[int, int]
    """Place in the list of the line, from 1."""
    shares: Mapping[int, float]
    """What each place adds to the sum that orders the hits."""


def gather_by_kind(
    reader: Passages,
    query: ParsedQuery,
    settings: SearchSettings,
    *,
    filters: Filters,
    use_keywords: bool,
    limit: int | None = None,
) -> Candidates:
    """Gather candidates for each kind of source separately, so that no kind takes the places of another.

    Scores that depend on places in a ranking need one ranking of all kinds, so only calibrated scoring separates them.
    `limit` replaces the number of candidates that the settings allow each retriever.
    """
    limit = settings.candidates if limit is None else limit
    gather_filtered = partial(gather, reader, query, settings.background, limit=limit, use_keywords=use_keywords)
    if len(settings.kinds) < 2 or settings.scoring != "calibrated":
        return gather_filtered(filters=filters)
    first, *others = (gather_filtered(filters=replace(filters, sources=frozenset({kind}))) for kind in settings.kinds)
    return reduce(_merge, others, first)


def _merge(one: Candidates, other: Candidates) -> Candidates:
    return replace(
        one,
        scoring_rows={**one.scoring_rows, **other.scoring_rows},
        cosines={**one.cosines, **other.cosines},
        vector_scores={**one.vector_scores, **other.vector_scores},
        keyword_scores={**one.keyword_scores, **other.keyword_scores},
        keyword_ranking=[*one.keyword_ranking, *other.keyword_ranking],
        vector_ranking=[*one.vector_ranking, *other.vector_ranking],
        best_lines={**one.best_lines, **other.best_lines},
        named=one.named | other.named,
    )


def gather(
    reader: Passages,
    query: ParsedQuery,
    baseline: CosineBaseline,
    *,
    limit: int,
    filters: Filters,
    use_keywords: bool = True,
) -> Candidates:
    """Collect the best chunks of both retrievers and score all of them by both."""
    limit = max(limit, MIN_CANDIDATES)
    corpus = reader.corpus()
    weighted, frequency = weigh_query(reader, query.text, query.terms)
    by_keywords = use_keywords and query.terms
    with_words = partial(
        reader.keyword_search,
        list(weighted.weights),
        filters=filters,
        frequency=frequency,
        weights=weighted.weights,
    )
    by_keyword = [row for row, _ in with_words(limit=limit)] if by_keywords else []
    linking = list[int]()
    others: Mapping[str, Sequence[str]] = {}
    if by_keywords and corpus.has_other_names:
        others = reader.other_names(_phrases(query.text))
        weighted, linking = _with_links(reader, others, weighted, limit=limit, filters=filters)
    nearest = partial(_nearest, reader, query.vector, baseline, filters=filters)
    by_vector = nearest(limit=limit)
    stored = reader.scoring_rows({row + step for row in (*by_keyword, *linking, *by_vector) for step in (-1, 0, 1)})
    if len(by_keyword) >= limit or len(by_vector) >= limit:
        proposals = Proposals(by_keyword, by_vector, stored)
        by_keyword, by_vector, stored = make_room(reader, proposals, with_words, nearest, limit=limit)
    by_keyword = list(dict.fromkeys([*by_keyword, *linking]))
    proposed = {*by_keyword, *by_vector}
    both_pass = replace(filters, sources=None).empty  # every neighbour in the same file passes whenever the chunk does
    near_keywords = {row + step for row in by_keyword[: limit // 2] for step in (-1, 1) if both_pass}
    beside = (near_keywords - proposed) & stored.keys()
    proposed |= {row for row in beside if _is_adjacent(stored, row, by_keyword)}
    chosen = {row: each for row, each in stored.items() if row in proposed}
    cosines, scores = _vector_scores(reader, query, baseline, chosen)
    best_items = _best_items(reader, query, baseline, chosen)
    for row, (best, _) in best_items.items():
        scores[row] = ITEM_SHARE * best + (1 - ITEM_SHARE) * scores.get(row, best)
    first = query.text[:1].casefold()  # a file whose name begins with another character needs another name
    alike = {
        row: each.path for row, each in chosen.items() if others or each.path.rpartition("/")[2][:1].casefold() == first
    }
    return Candidates(
        scoring_rows=chosen,
        cosines=cosines,
        vector_scores=scores,
        keyword_scores=_keyword_scores(chosen, stored, weighted) if by_keywords else {},
        keyword_ranking=by_keyword,
        vector_ranking=by_vector,
        best_lines={row: line for row, (_, line) in best_items.items()},
        has_vector=query.vector is not None,
        named=_named(alike, query.text, others) if alike else frozenset(),
        has_unknown_name=weighted.has_unknown_name,
    )


def weigh_query(reader: Passages, text: str, terms: Sequence[str]) -> tuple[WeightedTerms, Mapping[str, int]]:
    """Return the weights of the terms of a query and of the forms of its words, and in how many chunks each is."""
    if not terms:
        return weigh((), {}, chunks=0, mean_length=1.0), {}
    frequency = dict(reader.document_frequency([*terms, FORM]))
    has_forms = frequency[FORM] > 0
    possible: Mapping[str, tuple[str, ...]] = {}
    if has_forms or not text.isascii() or has_numbers(text) or may_have_codes(text):
        possible = query_forms(text)
    forms = {
        term: [form for form in possible[term] if has_forms or not form.startswith(FORM)]
        for term in terms
        if term in possible
    }
    if wanted := {form for each in forms.values() for form in each}:
        frequency |= reader.document_frequency(wanted)
    corpus = reader.corpus()
    return weigh(terms, frequency, chunks=corpus.chunks, mean_length=corpus.mean_length, forms=forms), frequency


def _named(paths: Mapping[int, str], text: str, others: Mapping[str, Sequence[str]]) -> set[int]:
    """Return the rows of the notes, by their paths, that have the whole query as a name: it asks for just these."""
    if len(text) > LONGEST_NAME:
        return set()
    name = fold_name(text)
    names = {name, *others.get(name, ())}
    return {row for row, path in paths.items() if fold_name(path.rpartition("/")[2].rpartition(".")[0]) in names}


def _with_links(
    reader: Passages,
    others: Mapping[str, Sequence[str]],
    weighted: WeightedTerms,
    *,
    limit: int,
    filters: Filters,
) -> tuple[WeightedTerms, list[int]]:
    """Return the terms with the links that stand for some of them, and the rows of the chunks that link so."""
    if not (links := _links(others, weighted)):
        return weighted, []
    hits = reader.keyword_search(list(links), limit=limit, filters=filters, frequency=None, weights=None)
    needles = tuple((needle(link), places) for link, places in links.items())
    return replace(weighted, links=(*weighted.links, *needles)), [row for row, _ in hits]


def _phrases(text: str) -> set[str]:
    """Return the runs of words of a query that may be the name of a note.

    Names are resolved at every search, so that a changed alias takes effect although the linking notes are unchanged.
    """
    words = fold_name(text).split()[:MAX_NAME_WORDS]
    ends = range(1, MOST_WORDS_OF_A_NAME + 1)
    return {" ".join(words[at : at + length]) for at in range(len(words)) for length in ends}


def _links(others: Mapping[str, Sequence[str]], weighted: WeightedTerms) -> dict[str, tuple[int, ...]]:
    """Return the terms of links by other names to a note that the query names, with the positions of that name's terms.

    Args:
        others: the other names of each note that the query names, by the name in the query.
        weighted: the terms of the query.
    """
    positions: dict[str, set[int]] = {}
    for name, names in others.items():
        own = set(query_terms(name))
        places = {place for place, term in enumerate(weighted.terms) if term in own}
        for other in names:
            positions.setdefault(link_term(other), set()).update(places)
    return {link: tuple(sorted(places)) for link, places in positions.items() if places}


def _is_adjacent(stored: Mapping[int, ScoringRow], row: int, by_keyword: Sequence[int]) -> bool:
    """Return whether a chunk is next to one that the keyword retriever proposed, in the same source."""
    return any(
        other in by_keyword and other in stored and stored[other].path == stored[row].path
        for other in (row - 1, row + 1)
    )


def _nearest(
    reader: Passages,
    vector: NDArray[np.float32] | None,
    baseline: CosineBaseline,
    *,
    limit: int,
    filters: Filters,
    last: str = "",
) -> list[int]:
    """Return the rows of the chunks that stand out most from the baseline, best first.

    With `last`, chunks in this script come after all others; there are none if only one script was measured.
    """
    if vector is None:
        return []
    levels = baseline.levels(vector)
    if last:
        if levels is None:
            return []
        mean, deviation = levels.get(last, levels[""])
        levels = {**levels, last: (mean + BEHIND, deviation)}
    matches = reader.vector_search(vector, limit=limit, filters=filters, levels=levels)
    return [row for row, _ in matches]


def _vector_scores(
    reader: Passages, query: ParsedQuery, baseline: CosineBaseline, chosen: Mapping[int, ScoringRow]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the cosine and the score above the baseline of each candidate that has a vector."""
    if query.vector is None or not chosen:
        return {}, {}
    ids, vectors = reader.vectors_at(chosen.keys())
    scripts = [chosen[row].script for row in ids]
    scores = baseline.vector_scores(query.text, query.vector, scripts, vectors)
    cosines = vectors @ query.vector
    return dict(zip(ids, cosines.tolist(), strict=True)), dict(zip(ids, scores.tolist(), strict=True))


def _best_items(
    reader: Passages, query: ParsedQuery, baseline: CosineBaseline, chosen: Mapping[int, ScoringRow]
) -> dict[int, tuple[float, int]]:
    """Return the best item of each candidate that has items: its score above the baseline, and its first line."""
    if query.vector is None or not chosen:
        return {}
    rows, lines, scripts, vectors = reader.item_vectors(chosen.keys())
    if not rows:
        return {}
    scores = baseline.vector_scores(query.text, query.vector, scripts, vectors).tolist()
    best: dict[int, tuple[float, int]] = {}
    for row, score, line in zip(rows, scores, lines, strict=True):
        if row not in best or score > best[row][0]:
            best[row] = score, line
    return best


def _keyword_scores(
    chosen: Mapping[int, ScoringRow], stored: Mapping[int, ScoringRow], weighted: WeightedTerms
) -> dict[int, KeywordScore]:
    """Return the keyword scores of the candidates that contain a term or have a neighbour that does."""
    rows = list(stored)
    by_position = saturations([(stored_row.term_counts, stored_row.length) for stored_row in stored.values()], weighted)
    by_row = {rows[position]: saturation for position, saturation in by_position.items()}

    def neighbour(row: int, step: int) -> Saturations:
        near = by_row.get(row + step)
        return near if near and stored[row + step].path == stored[row].path else {}

    scored = {row + step for row in by_row for step in (-1, 0, 1)} & chosen.keys()
    return {row: keyword_score(by_row.get(row, {}), neighbour(row, -1), neighbour(row, 1), weighted) for row in scored}


def ids_with_words(reader: Passages, question: str, *, limit: int) -> list[int]:
    """Return the ids of up to `limit` chunks with words of a question, the heaviest first."""
    frequency = reader.document_frequency(query_terms(question))
    chunks = reader.corpus().chunks
    weights = {term: log1p(chunks / max(count, 1)) for term, count in frequency.items()}
    found = reader.keyword_search(list(frequency), limit=limit, filters=Filters(), frequency=frequency, weights=weights)
    return [chunk for chunk, _ in found]
