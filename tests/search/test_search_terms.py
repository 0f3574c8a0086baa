"""How text becomes terms."""

from __future__ import annotations

from datetime import date

import pytest

from memoriter import Memory
from memoriter.search import analyse, classic_terms, query_terms, script_of, terms_of_day


@pytest.mark.parametrize(
    ("note", "question"),
    [
        ("We settled on databases", "which database?"),
        ("Café and ＦＵＬＬ-width", "cafe full"),
        ("매운 음식을 좋아해", "매운 음식"),
        ("알림이 오면 배포를 멈춘다", "알림 배포"),
        ("민수는 삼천 원을 냈다", "민수에게 얼마?"),
        ("项目数据库选择了 PostgreSQL", "数据库"),
        ("他每天吃药", "药"),
        ("東京のホテルを予約した", "ホテル 東京"),
        ("set memorySearch.query.hybrid to false", "memorySearch.query.hybrid"),
        ("set memorySearch.query.hybrid to false", "hybrid query"),
        ("see foo_bar and HttpClient", "foo_bar client"),
        ("reverted a828e60", "a828e60"),
        ("ticket LEDG-142 is done", "ledg-142"),
        ("the host is 192.0.2.5", "192.0.2.5"),
        ("Zoë’s phone", "zoe"),
        ("вечер", "ВЕЧЕР"),
    ],
)
def test_a_question_meets_its_note_in_every_script(note, question):
    assert set(query_terms(question)) <= set(analyse(note))


def test_decomposed_and_composed_hangul_are_the_same_terms():
    assert analyse("\u1100\u1161\u11a8\u110b\u1167\u11ab 배포") == analyse("각연 배포")


def test_words_that_any_question_has_are_dropped_unless_nothing_else_is_left():
    assert query_terms("what did we say about the ledger?") == ("say", "ledger")
    assert query_terms("what did we do?") == ("what", "did", "we", "do")
    assert query_terms("그게 뭐였지?") != ()


def test_an_identifier_is_one_term_and_its_parts():
    assert analyse("memorySearch.query") == ["memorysearch.query", "memorysearch", "memori", "search", "queri"]
    assert analyse("ER605") == ["er605"]


def test_a_dakuten_is_not_taken_for_an_accent():
    assert analyse("ガス") != analyse("カス")


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("plain words", "latin"),
        ("오늘은 PostgreSQL 배포", "hangul"),
        ("今天讨论了数据库", "han"),
        ("今日はホテルを予約した", "kana"),
        ("сегодня", "cyrillic"),
        ("", "latin"),
        ("12345 !?", "latin"),
    ],
)
def test_the_script_of_a_text_is_that_of_most_of_its_words(text, script):
    assert script_of(text) == script


def test_classic_terms_are_whole_runs_of_letters_and_digits():
    assert classic_terms("Foo_bar, don't 데이터베이스를 Café 10.5") == [
        "foo",
        "bar",
        "don",
        "t",
        "데이터베이스를",
        "cafe",
        "10",
        "5",
    ]


@pytest.mark.parametrize(
    "question",
    [
        "what broke in February?",
        "2월에 뭐가 고장났지?",
        "2月坏了什么？",
        "what broke on 2026-02-10?",
        "what broke in Feb 2026?",
    ],
)
def test_a_question_about_a_month_meets_the_notes_of_that_month(question):
    note = [*analyse("the heater broke"), *terms_of_day(date(2026, 2, 10))]
    date_terms = {term for term in query_terms(question) if term.startswith("@")}
    assert date_terms
    assert date_terms <= set(note)
    assert not date_terms & set(terms_of_day(date(2025, 3, 10)))


@pytest.mark.parametrize("letter", ["ı", "İ", "ſ"])  # a pattern takes them for `i` and `s` if case does not matter
def test_a_month_with_a_letter_of_another_alphabet_is_indexed_and_found_as_a_word(tmp_path, letter):
    month = "Auguſt" if letter == "ſ" else f"apr{letter}l"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text(f"# Trip\n\n- We fly on 5 {month} 2021.\n", encoding="utf-8")
    settings = tmp_path / "settings.json5"
    settings.write_text('{agents: {defaults: {memorySearch: {provider: "none"}}}}', encoding="utf-8")
    with Memory.open(tmp_path / "notes", config=settings, home=tmp_path / "home") as memory:
        assert [hit.path for hit in memory.search(f"5 {month} 2021").hits] == ["MEMORY.md"]


@pytest.mark.parametrize("text", ["we may march on", "the mar file", "a decent plan", "Jan called"])
def test_a_word_that_only_looks_like_a_month_is_a_word(text):
    assert not any(term.startswith("@") for term in analyse(text))


def test_a_date_in_a_question_is_looked_for_as_it_is_written_too():
    assert "2026-02-10" in query_terms("what broke on 2026-02-10?")


def test_irregular_forms_of_a_verb_are_one_term():
    assert query_terms("what did we choose?") == ("choos",)
    assert {"choos"} == set(analyse("chose")) == set(analyse("chosen")) == set(analyse("choosing"))
