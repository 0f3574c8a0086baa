"""Classic scoring is OpenClaw's, number for number."""

from __future__ import annotations

import pytest

from memoriter.search._classic import (
    classic_path_date,
    classic_start,
    classic_tokens,
    is_classic_evergreen,
    merge,
    query_words,
    text_score,
)
from memoriter.search._hits import jaccard, mmr_order, mmr_score
from memoriter.search._score import age_in_days, decay, decay_rate, is_evergreen
from memoriter.times import path_date


@pytest.mark.vectors("bm25RankToScore")
def test_the_text_score_of_a_rank(case, agree):
    assert agree(text_score(case["input"]), case["output"])


@pytest.mark.vectors("buildFtsQuery")
def test_the_words_of_a_query_are_quoted_and_joined_by_and(case):
    words = query_words(case["input"])
    assert (" AND ".join(f'"{word}"' for word in words) or None) == case["output"]


@pytest.mark.vectors("calculateTemporalDecayMultiplier")
def test_the_decay_of_an_age(case, agree):
    assert agree(decay(case["input"]["ageInDays"], case["input"]["halfLifeDays"]), case["output"])


@pytest.mark.vectors("toDecayLambda")
def test_the_rate_of_a_half_life(case, agree):
    assert agree(decay_rate(case["input"]), case["output"])


@pytest.mark.vectors("computeMMRScore")
def test_the_marginal_relevance_of_an_item(case, agree):
    parameters = case["input"]
    assert agree(mmr_score(parameters["relevance"], parameters["maxSimilarity"], parameters["lambda"]), case["output"])


@pytest.mark.vectors("jaccardSimilarity")
def test_the_similarity_of_two_sets(case, agree):
    assert agree(jaccard(set(case["input"]["a"]), set(case["input"]["b"])), case["output"])


@pytest.mark.vectors("mmrTokenize")
def test_the_tokens_that_items_are_compared_by(case):
    assert classic_tokens(case["input"]) == set(case["output"])


@pytest.mark.vectors("mmrRerank")
def test_the_order_of_maximal_marginal_relevance(case):
    items = case["input"]["items"]
    config = case["input"].get("config", {})
    order = list(range(len(items)))
    if config.get("enabled"):
        contents = [classic_tokens(item["content"]) for item in items]
        order = mmr_order([item["score"] for item in items], contents, lambda_=config.get("lambda", 0.7))
    assert [items[position]["id"] for position in order] == case["output"]


@pytest.mark.vectors("mergeHybridResults")
def test_both_legs_are_merged_by_weight(case, agree):
    parameters = case["input"]
    weights = parameters["vectorWeight"], parameters["textWeight"]
    rows = {item["id"]: item for item in (*parameters["keyword"], *parameters["vector"])}
    words = {item["id"]: item["snippet"] for item in parameters["keyword"] if item["snippet"]}
    scores = merge(
        {item["id"]: item["vectorScore"] for item in parameters["vector"]},
        {item["id"]: item["textScore"] for item in parameters["keyword"]},
        weights,
    )
    half_life = parameters.get("temporalDecay", {}).get("halfLifeDays", 30)
    if parameters.get("temporalDecay", {}).get("enabled"):
        scores = {
            key: value * _classic_decay(rows[key], half_life, parameters["nowMs"], {}) for key, value in scores.items()
        }
    order = sorted(scores, key=lambda key: -scores[key])
    snippets = {key: words.get(key, rows[key]["snippet"]) for key in order}
    if parameters.get("mmr", {}).get("enabled"):
        contents = [classic_tokens(snippets[key]) for key in order]
        order = [
            order[i]
            for i in mmr_order([scores[key] for key in order], contents, lambda_=parameters["mmr"].get("lambda", 0.7))
        ]
    shape = ("path", "startLine", "endLine", "source")
    rendered = [
        {**{name: rows[key][name] for name in shape}, "score": scores[key], "snippet": snippets[key]} for key in order
    ]
    assert agree(rendered, case["output"])


@pytest.mark.vectors("applyTemporalDecayToHybridResults")
def test_hits_fade_with_the_age_of_their_files(case, agree):
    parameters = case["input"]
    config = parameters.get("temporalDecay", {})
    changed = parameters.get("file_mtimes_ms", {})
    factors = [
        _classic_decay(item, config.get("halfLifeDays", 30), parameters["nowMs"], changed)
        if config.get("enabled")
        else 1.0
        for item in parameters["results"]
    ]
    faded = [
        item | {"score": item["score"] * factor} for item, factor in zip(parameters["results"], factors, strict=True)
    ]
    assert agree(faded, case["output"])


def _classic_decay(item, half_life, now_ms, changed_ms):
    changed = changed_ms.get(item["path"])
    start = classic_start(item["path"], item["source"], None if changed is None else changed / 1000)
    return 1.0 if start is None else decay(age_in_days(start, now_ms / 1000), half_life)


@pytest.mark.vectors("parseMemoryDateFromPath")
def test_the_day_that_a_path_names(case):
    day = classic_path_date(case["input"])
    assert (f"{day.isoformat()}T00:00:00.000Z" if day else None) == case["output"]


@pytest.mark.vectors("isEvergreenMemoryPath")
def test_which_files_never_fade(case):
    assert is_classic_evergreen(case["input"]) == case["output"]


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2026-02-10.md", "2026-02-10"),
        ("memory/2026-02-10-router.md", "2026-02-10"),
        ("memory/work/2026-02-10.md", "2026-02-10"),
        ("memory/2026-02-10/standup.md", "2026-02-10"),
        ("memory/work/2026-02-10_retro.md", "2026-02-10"),
        ("../notes/2024-02-29.md", "2024-02-29"),
        ("memory/2026-02-30.md", None),
        ("memory/2026-2-1.md", "2026-02-01"),
        ("memory/2026-2.md", None),
        ("memory/12026-02-10.md", None),
        ("MEMORY.md", None),
    ],
)
def test_unlike_openclaw_a_dated_note_may_lie_anywhere_and_have_a_slug(path, day):
    found = path_date(path)
    assert (found and found.isoformat()) == day


def test_unlike_openclaw_a_dated_note_in_a_folder_fades():
    assert is_classic_evergreen("memory/work/2026-02-10.md")
    assert not is_evergreen("memory/work/2026-02-10.md")
