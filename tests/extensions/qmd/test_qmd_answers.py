"""Rules for what QMD is asked and what it prints, for any input."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.errors import QmdUnreadable
from memoriter.extensions.qmd._answers import (
    line_range,
    parse_results,
    parse_status,
    parse_update,
    parse_version,
    rows_of,
)
from memoriter.extensions.qmd._queries import (
    any_word_search,
    arguments_of,
    clean,
    first_search,
    request_of,
    typed_lines,
    word_lines,
)
from memoriter.extensions.qmd._searching import mapped_scores

SEARCH_MODES = st.sampled_from(["search", "vsearch", "query"])
RANKINGS = st.sampled_from(["words", "any_word", "fused", "meaning", "reranked"])


@given(st.text(), SEARCH_MODES, st.booleans(), st.booleans())
def test_no_query_becomes_an_option_or_an_argument_that_cannot_be_passed(
    text: str, mode: str, generates: bool, embeds: bool
) -> None:
    search = first_search(mode, text, generates=generates, embeds=embeds)  # type: ignore[arg-type]
    if search is None:
        return
    words = arguments_of(search)
    assert words.index("--") == len(words) - 2
    assert "\0" not in words[-1]
    words[-1].encode("utf-8")
    lines = words[-1].split("\n")
    assert len(lines) <= 11
    for line in lines if search.command == "typed" else []:
        kind, _, content = line.partition(": ")
        assert kind in {"lex", "vec", "hyde", "intent"}
        assert kind != "lex" or content.count('"') % 2 == 0
        assert kind in {"lex", "intent"} or not any(word.startswith("-") for word in content.split())
    json.dumps(request_of(search)).encode("utf-8")


@given(st.text(max_size=60))
def test_or_lines_are_words_of_the_query(text: str) -> None:
    lines = word_lines(text)
    assert len(lines) <= 10
    assert len({line.text for line in lines}) == len(lines)
    assert all(line.type == "lex" and '"' not in line.text and line.text.strip() for line in lines)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("what is the ledger database", ["ledger", "database"]),
        ("what is it", ["what", "is", "it"]),
        ("where is db-host.example.com", ["db-host.example.com"]),
        ("프린터는 어디에", ["프린", "린터"]),
        ("ledger ledger", ["ledger"]),
        ("?!", []),
    ],
)
def test_a_question_is_reduced_to_its_content_words(text: str, words: list[str]) -> None:
    assert [line.text for line in any_word_search(text).lines] == words


def test_typed_queries_are_recognized_line_by_line() -> None:
    assert typed_lines("lex: a\nsomething else") is None
    lines, intent = typed_lines("\nLEX: router\n\nvec: -how is -it set up\nintent: home network\n") or ((), "")
    assert [(line.type, line.text) for line in lines] == [("lex", "router"), ("vec", "how is it set up")]
    assert intent == "home network"


@given(st.text())
def test_a_clean_query_has_one_line(text: str) -> None:
    assert len(clean(text).splitlines()) <= 1
    assert len(clean(text)) <= 8_000


@given(st.lists(st.floats(0, 1), max_size=30), RANKINGS)
def test_scores_keep_their_order_and_their_range(raw: list[float], ranking: str) -> None:
    ordered = sorted(raw, reverse=True)
    scores = mapped_scores(ordered, ranking)  # type: ignore[arg-type]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_the_only_file_of_a_memory_is_a_good_hit_although_qmd_prints_0() -> None:
    assert mapped_scores([0.0], "words") == [1.0]
    assert mapped_scores([0.19, 0.15], "words") == pytest.approx([1.0, 0.894737])
    assert mapped_scores([1.0, 0.5], "any_word") == pytest.approx([0.6, 0.475])


@given(st.text(), st.text(max_size=20))
def test_whatever_is_printed_gives_results_or_one_kind_of_error(output: str, errors: str) -> None:
    try:
        for row in rows_of(parse_results(output, errors)):
            assert 1 <= row.start_line <= row.end_line
    except QmdUnreadable as error:
        assert error.message.endswith((".", "?", "!", "…"))  # noqa: PT017


@given(
    st.lists(
        st.fixed_dictionaries(
            {"file": st.text()},
            optional={
                "score": st.floats() | st.text(),
                "snippet": st.text(),
                "line": st.integers(),
                "title": st.none(),
            },
        )
    )
)
def test_any_result_has_a_place_and_a_finite_score(items: list[dict[str, object]]) -> None:
    try:
        rows = rows_of(items)
    except QmdUnreadable:
        return
    for row in rows:
        assert row.collection
        assert row.relative
        assert 1 <= row.start_line <= row.end_line
        assert 0 <= row.score < float("inf")


def test_messages_before_the_results_are_skipped() -> None:
    assert parse_results('[qmd] loading the model\n[{"file": "qmd://a/b.md"}]') == [{"file": "qmd://a/b.md"}]


def test_blank_lines_around_a_passage_are_not_cited() -> None:
    (row,) = rows_of(
        [{"file": "qmd://a/b c#1.md", "line": 3, "snippet": "@@ -2,4 @@ (1 before, 1 after)\n\none\ntwo\n"}]
    )
    assert (row.start_line, row.end_line, row.snippet, row.relative) == (3, 4, "one\ntwo", "b c#1.md")
    numbered = {
        "file": "a/b.md",
        "line": 3,
        "snippet": "3: @@ -2,3 @@ (1 before)\n4: \n5: - 7: one\n6: ",
        "context": None,
    }
    (row,) = rows_of([numbered])
    assert (row.start_line, row.end_line, row.snippet) == (3, 3, "- 7: one")


def test_the_range_of_lines_falls_back_on_the_best_line() -> None:
    assert line_range("no header", 12) == (12, 12)
    assert line_range("@@ -0,0 @@", 4) == (1, 1)


def test_reports_of_qmd_are_read() -> None:
    update = "[1/2] notes (**/*.md)\n\nIndexed: 1 new, 2 updated, 3 unchanged, 4 removed\n[2/2] gone (x)\n"
    counts = parse_update(update)
    assert (counts["notes"].files, counts["notes"].removed, list(counts)) == (6, 4, ["notes"])
    assert parse_status("  Total:    2 files indexed\n  Vectors:  0 embedded\n  Pending:  2 need embedding\n") == {
        "documents": 2,
        "vectors": 0,
        "pending": 2,
    }
    assert parse_status("  Total:    2 files\n  Vectors:  5 embedded\n")["pending"] == 0
    assert parse_status("something else") == {}


@pytest.mark.parametrize(
    ("text", "version"), [("qmd 2.8.3 (facd35e)\n", "2.8.3"), ("v2.1.0\n", "2.1.0"), ("usage: qmd", ""), ("", "")]
)
def test_a_version_is_recognized(text: str, version: str) -> None:
    assert parse_version(text) == version
