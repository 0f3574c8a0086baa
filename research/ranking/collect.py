"""Write what the engine knows of the candidates of each question, for `experiments.py`.

    python research/ranking/collect.py --cache CACHE --out candidates.jsonl SETS…

SETS are files or folders with sets of notes (docs/evaluation.md), CACHE the folder of `memoriter eval --cache`, whose
indexes and vectors are used again. Each line has one question with its candidates in the order of the engine, from
the ranking that a search makes; only the minimum score is left out.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.app import read_environment
from memoriter.backends._builtin import BuiltinBackend
from memoriter.backends._calibrating import certainty_of, stored_calibration
from memoriter.evals import VectorStore, load_sets, notes_workspace
from memoriter.evals._pool import question_key
from memoriter.search import clean_query, rank
from memoriter.search._cosine_baseline import script_of
from memoriter.search._pipeline import Trace, _raw_scores
from memoriter.search._score import ZERO_SCORE, keyword_score, saturations, weigh
from memoriter.search._terms import analyse, members, pack, query_terms
from memoriter.types import Filters, Query
from memoriter.workspace import items_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoriter.evals import EvalQuestion, NotesSet
    from memoriter.memory import Memory

KEPT = 40
"""Candidates that are written of each question."""
FEEDBACK, FEEDBACK_TERMS = 3, 20
"""Passages and terms of RM3 (Abdul-Jaleel et al. 2004, "UMass at TREC 2004")."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    env = read_environment()
    sets = load_sets(options.sets).notes
    asked = {question.text for notes in sets for question in (*notes.answerable, *notes.unanswerable)}
    cleaned = {question_key(clean_query(text)): clean_query(text) for text in asked}
    store = VectorStore("bundled", options.cache, env.home / "models")
    vectors = store.vectors(cleaned, "query", lambda _: None)
    with options.out.open("w", encoding="utf-8") as out:
        for notes in sets:
            with notes_workspace(notes, options.cache, "bundled", env) as (open_memory, _), open_memory() as memory:
                memory.sync()
                for row in rows_of(notes, memory, vectors):
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(notes.name, flush=True)


def rows_of(notes: NotesSet, memory: Memory, vectors: Mapping[bytes, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each question of a set."""
    backend = memory.backend
    assert isinstance(backend, BuiltinBackend)
    found: list[Any] = []
    backend.search(Query("start"), observe=lambda index, _, ranking: found.append((index, ranking)))
    index, ranking = found[-1]
    spec = backend.embedding.current.spec
    calibration = stored_calibration(index, spec)
    settings = replace(ranking.settings, min_score=float("-inf"), max_results=10)
    for question in (*notes.answerable, *notes.unanswerable):
        text = clean_query(question.text)
        vector, traces = vectors[question_key(text)], list[Trace]()
        rank(index, text, vector, settings, filters=Filters(), now=0.0, explain=False, trace=traces.append)
        trace = traces[-1]
        candidates = trace.candidates
        assert candidates is not None
        certainty = calibration and certainty_of(calibration, index, text, candidates, settings)
        yield {
            "set": notes.name,
            "id": question.id,
            "text": text,
            "kind": question.kind,
            "lang": question.lang,
            "script": script_of(text),
            "terms": len(query_terms(text)),
            "answers": len(question.answers),
            "places": [[each.start_line, each.end_line] for each in question.answers],
            "certainty": certainty and [certainty.value, certainty.threshold],
            "weight": candidates.vector_weight,
            "candidates": described(index, trace, question, vector=vector, settings=settings),
        }


def described(index: Any, trace: Trace, question: EvalQuestion, *, vector: Any, settings: Any) -> list[dict[str, Any]]:
    """Return what is known of the best candidates, best first."""
    text, candidates = clean_query(question.text), trace.candidates
    assert candidates is not None
    best = [each.row for each in trace.ranked][:KEPT]
    raw, stored = _raw_scores(candidates, settings), index.rows(best)
    expansion, guarded = feedback(trace, text, least=1), feedback(trace, text, least=2)
    items = items_with_scores(index, stored, text, vector, settings)
    nearest = {row: place for place, row in enumerate(candidates.vector_ranking)}
    by_words = {row: place for place, row in enumerate(candidates.keyword_ranking)}
    rows: list[dict[str, Any]] = []
    for row in best:
        chunk, keyword = stored[row].chunk, candidates.keyword_scores.get(row, ZERO_SCORE)
        hit = type("Place", (), {"path": stored[row].path, "start_line": chunk.start_line, "end_line": chunk.end_line})
        rows.append(
            {
                "path": stored[row].path,
                "lines": [chunk.start_line, chunk.end_line],
                "text": chunk.text,
                "heading": list(chunk.heading),
                "script": candidates.scoring_rows[row].script,
                "length": candidates.scoring_rows[row].length,
                "note": any(answer.is_in_note(hit) for answer in question.answers),
                "found": [at for at, answer in enumerate(question.answers) if answer.overlaps(hit)],
                "raw": raw[row],
                "v": candidates.vector_scores.get(row, -1.0),
                "cosine": candidates.cosines.get(row, 0.0),
                **{name: value for name, value in asdict(keyword).items() if name != "matched"},
                "matched": list(keyword.matched),
                "nearest": nearest.get(row, 99),
                "by_words": by_words.get(row, 99),
                "rm3": expansion.get(row, 0.0),
                "rm3_guarded": guarded.get(row, 0.0),
                "items": items.get(row, []),
            }
        )
    return rows


def feedback(trace: Trace, text: str, *, least: int) -> dict[int, float]:
    """Return the share of the feedback terms' weight that each candidate contains, as RM3 without a second query.

    A term's weight is the sum of the scores of the feedback passages that contain it, times its idf among the
    candidates. With `least` 2, only terms that two of the feedback passages contain count.
    """
    candidates = trace.candidates
    assert candidates is not None
    sets = {row: members(each.term_counts) for row, each in candidates.scoring_rows.items()}
    frequency = Counter(term for terms in sets.values() for term in terms)
    known = members(pack(query_terms(text)))
    first = trace.ranked[:FEEDBACK]
    weights: Counter[int] = Counter()
    for each in first:
        for term in sets[each.row] - known:
            if sum(term in sets[other.row] for other in first) >= least:
                weights[term] += max(each.score, 0.0) * math.log(1 + len(sets) / frequency[term])
    chosen = dict(weights.most_common(FEEDBACK_TERMS))
    total = sum(chosen.values()) or 1.0
    return {row: sum(weight for term, weight in chosen.items() if term in terms) / total for row, terms in sets.items()}


def items_with_scores(
    index: Any, stored: Mapping[int, Any], text: str, vector: Any, settings: Any
) -> dict[int, list[dict[str, Any]]]:
    """Return the items of each chunk with their lines, their vector score, and a keyword score of their own."""
    rows, _, scripts, vectors = index.item_vectors(list(stored))
    if not len(rows):
        return {}
    scores = settings.background.vector_scores(text, vector, scripts, vectors).tolist()
    terms, corpus = query_terms(text), index.corpus()
    weighted = weigh(terms, index.document_frequency(terms), chunks=corpus.chunks, mean_length=corpus.mean_length)
    found: dict[int, list[dict[str, Any]]] = {}
    for row in dict.fromkeys(rows):
        chunk = stored[row].chunk
        values = [score for at, score in zip(rows, scores, strict=True) if at == row]
        items = items_of(chunk)
        if len(items) != len(values):
            continue
        texts = [chunk.contextual_item(item) for item in items]
        packed = [(pack(each), len(each)) for each in map(analyse, texts)]
        shares = saturations(packed, weighted) if terms else {}
        found[row] = [
            {
                "lines": [chunk.start_line + item.first, chunk.start_line + item.last],
                "text": texts[at],
                "v": values[at],
                "k": keyword_score(shares.get(at, {}), shares.get(at - 1, {}), shares.get(at + 1, {}), weighted).value
                if terms
                else 0.0,
            }
            for at, item in enumerate(items)
        ]
    return found


if __name__ == "__main__":
    main()
