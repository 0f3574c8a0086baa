"""The words for times mean in each language what plain date arithmetic gives, and other texts name no time."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.times import ANY_DAY, Days, asks_for_all, days_named, read_time

if TYPE_CHECKING:
    from collections.abc import Callable

FRIDAY = date(2026, 11, 27)
todays = st.dates(date(1990, 1, 1), date(2090, 12, 31))
written = st.dates(date(1900, 1, 1), date(2099, 12, 31))


def day(offset: int) -> Callable[[date], Days]:
    return lambda today: Days(today + timedelta(offset), today + timedelta(offset))


def week(offset: int) -> Callable[[date], Days]:
    def days(today: date) -> Days:
        monday = today - timedelta(today.isoweekday() - 1) + timedelta(weeks=offset)
        return Days(monday, monday + timedelta(6))

    return days


def whole_month(year: int, month: int) -> Days:
    return Days(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def month(offset: int) -> Callable[[date], Days]:
    def days(today: date) -> Days:
        year = today.year
        number = today.month + offset
        while number < 1:
            year -= 1
            number += 12
        return whole_month(year, number)

    return days


def year(offset: int) -> Callable[[date], Days]:
    return lambda today: Days(date(today.year + offset, 1, 1), date(today.year + offset, 12, 31))


def october(today: date) -> Days:
    return whole_month(today.year if today.month >= 10 else today.year - 1, 10)


def monday(today: date) -> Days:
    found = today - timedelta(1)
    while found.isoweekday() != 1:
        found -= timedelta(1)
    return Days(found, found)


def last_seven(today: date) -> Days:
    return Days(today - timedelta(7), today)


PHRASES: dict[str, dict[str, Callable[[date], Days]]] = {
    "English": {
        "today": day(0), "yesterday": day(-1), "the day before yesterday": day(-2), "3 days ago": day(-3),
        "this week": week(0), "last week": week(-1), "two weeks ago": week(-2), "a week ago": week(-1),
        "this month": month(0), "last month": month(-1), "5 months ago": month(-5),
        "this year": year(0), "last year": year(-1), "in the last 7 days": last_seven, "past seven days": last_seven,
        "last Monday": monday, "on Monday": monday, "in October": october, "on Monday last week": week(-1),
    },
    "German": {
        "heute": day(0), "gestern": day(-1), "vorgestern": day(-2), "vor 3 Tagen": day(-3),
        "diese Woche": week(0), "letzte Woche": week(-1), "vor zwei Wochen": week(-2), "vor einer Woche": week(-1),
        "diesen Monat": month(0), "letzten Monat": month(-1), "vor 5 Monaten": month(-5),
        "dieses Jahr": year(0), "letztes Jahr": year(-1), "in den letzten 7 Tagen": last_seven,
        "letzten Montag": monday, "am Montag": monday, "im Oktober": october,
    },
    "French": {
        "aujourd’hui": day(0), "avant-hier": day(-2), "il y a 3 jours": day(-3),
        "cette semaine": week(0), "la semaine dernière": week(-1), "il y a deux semaines": week(-2),
        "ce mois-ci": month(0), "le mois dernier": month(-1), "il y a 5 mois": month(-5),
        "cette année": year(0), "l'année dernière": year(-1), "ces 7 derniers jours": last_seven,
        "lundi dernier": monday, "en octobre": october,
    },
    "Spanish": {
        "hoy": day(0), "ayer": day(-1), "anteayer": day(-2), "hace 3 días": day(-3),
        "esta semana": week(0), "la semana pasada": week(-1), "hace dos semanas": week(-2),
        "este mes": month(0), "el mes pasado": month(-1), "hace 5 meses": month(-5),
        "este año": year(0), "el año pasado": year(-1), "en los últimos 7 días": last_seven,
        "el lunes pasado": monday, "en octubre": october,
    },
    "Portuguese": {
        "hoje": day(0), "ontem": day(-1), "anteontem": day(-2), "há 3 dias": day(-3), "3 dias atrás": day(-3),
        "esta semana": week(0), "na semana passada": week(-1), "há duas semanas": week(-2),
        "este mês": month(0), "mês passado": month(-1), "há 5 meses": month(-5),
        "este ano": year(0), "ano passado": year(-1), "nos últimos 7 dias": last_seven,
        "segunda-feira passada": monday, "em outubro": october,
    },
    "Russian": {
        "сегодня": day(0), "вчера": day(-1), "позавчера": day(-2), "3 дня назад": day(-3),
        "на этой неделе": week(0), "на прошлой неделе": week(-1), "две недели назад": week(-2),
        "неделю назад": week(-1),
        "в этом месяце": month(0), "в прошлом месяце": month(-1), "5 месяцев назад": month(-5),
        "в этом году": year(0), "в прошлом году": year(-1), "за последние 7 дней": last_seven,
        "в прошлый понедельник": monday, "в понедельник": monday, "в октябре": october,
    },
    "Korean": {
        "오늘": day(0), "어제": day(-1), "그저께": day(-2), "3일 전": day(-3), "사흘은 아니고 3일 전에": day(-3),
        "이번 주": week(0), "지난주": week(-1), "저번주에": week(-1), "2주 전": week(-2), "두 주 전": week(-2),
        "이번 달": month(0), "지난달": month(-1), "5개월 전": month(-5), "다섯 달 전": month(-5),
        "올해": year(0), "작년": year(-1), "재작년": year(-2), "지난 7일": last_seven, "최근 7일간": last_seven,
        "지난 월요일": monday, "월요일에": monday, "10월에": october,
    },
    "Chinese": {
        "今天": day(0), "昨天": day(-1), "前天": day(-2), "3天前": day(-3), "三天前": day(-3),
        "这周": week(0), "本周": week(0), "上周": week(-1), "上个星期": week(-1), "上週": week(-1), "两周前": week(-2),
        "这个月": month(0), "上个月": month(-1), "五个月前": month(-5),
        "今年": year(0), "去年": year(-1), "前年": year(-2), "最近7天": last_seven, "过去七天": last_seven,
        "10月": october, "十月": october,
    },
    "Japanese": {
        "今日": day(0), "昨日": day(-1), "一昨日": day(-2), "3日前": day(-3),
        "今週": week(0), "先週": week(-1), "先々週": week(-2), "2週間前": week(-2),
        "今月": month(0), "先月": month(-1), "5か月前": month(-5), "5ヶ月前": month(-5),
        "今年": year(0), "去年": year(-1), "一昨年": year(-2), "過去7日間": last_seven,
        "前の月曜日": monday, "月曜日に": monday, "10月": october,
    },
}  # fmt: skip
BARE = {"사흘은 아니고 3일 전에"}
"""Phrases that are more than a time, so that they are no value of an option."""
FRAMES = {
    "English": "what did Kim say about tea {}?",
    "German": "was sagte Kim {} über Tee?",
    "French": "qu’est-ce que Kim nous a dit {} ?",
    "Spanish": "¿qué nos dijo Kim {}?",
    "Portuguese": "o que Kim disse {}?",
    "Russian": "что Ким сказал {} о чае?",
    "Korean": "{} 김씨가 차에 대해 뭐라고 했지?",
    "Chinese": "{}小金说了什么?",
    "Japanese": "{}キムさんはお茶について話した？",
}
DATES = {
    "ISO": "{y}-{m:02}-{d:02}",
    "slashes": "{y}/{m}/{d}",
    "dots": "{d}.{m}.{y}",
    "English": "{d} {month} {y}",
    "English, ordinal": "the {d}th of {month}, {y}",
    "American": "{month} {d}, {y}",
    "German": "{d}. {month} {y}",
    "French": "le {d} {month} {y}",
    "Spanish": "el {d} de {month} de {y}",
    "Portuguese": "{d} de {month} de {y}",
    "Russian": "{d} {month} {y} года",
    "Korean": "{y}년 {m}월 {d}일",
    "Chinese": "{y}年{m}月{d}号",
    "Japanese": "{y}年{m}月{d}日",
}
NAMES = {
    "English": "January February March April May June July August September October November December",
    "German": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "French": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "Spanish": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "Portuguese": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "Russian": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
}
MONTHS = {
    "English": "in {month} {y}", "German": "im {month} {y}", "French": "en {month} {y}", "Spanish": "en {month} de {y}",
    "Portuguese": "em {month} de {y}", "Russian": "{month} {y} года", "Korean": "{y}년 {m}월", "Chinese": "{y}年{m}月",
    "Japanese": "{y}年{m}月に",
}  # fmt: skip
YEARS = ("in {y}", "im Jahr {y}", "en {y}", "em {y}", "в {y} году", "{y}년에", "{y}年")
CASES = [(language, phrase) for language, phrases in PHRASES.items() for phrase in phrases]


def filled(form: str, language: str, at: date) -> str:
    names = NAMES.get({"American": "English", "English, ordinal": "English"}.get(language, language), "- " * 12).split()
    return form.format(y=at.year, m=at.month, d=at.day, month=names[at.month - 1])


@pytest.mark.parametrize(("language", "phrase"), CASES)
@given(today=todays)
def test_a_phrase_names_the_days_that_date_arithmetic_gives(language: str, phrase: str, today: date) -> None:
    expected = PHRASES[language][phrase](today)
    if "last week" in phrase and phrase.startswith("on"):
        expected = Days(expected.first, expected.first)
    framed = read_time(FRAMES[language].format(phrase), today)
    assert framed is not None
    assert framed.days == expected
    assert framed.words in FRAMES[language].format(phrase)
    if phrase not in BARE:
        assert days_named(phrase, today) == expected


@given(today=todays)
def test_hier_is_yesterday_in_french_and_here_in_german(today: date) -> None:
    french = read_time("qu’avons-nous décidé hier", today)
    assert french is not None
    assert french.days == day(-1)(today)
    assert read_time("Wo ist hier der Schlüssel?", today) is None


@pytest.mark.parametrize("form", DATES)
@given(at=written, today=todays)
def test_a_written_date_is_read_back(form: str, at: date, today: date) -> None:
    text = filled(DATES[form], form, at)
    named = read_time(f"notes {text}", today)
    assert named is not None
    assert named.days == days_named(text, today) == Days(at, at)


@pytest.mark.parametrize("language", MONTHS)
@given(at=written, today=todays)
def test_a_month_with_its_year_is_read_back(language: str, at: date, today: date) -> None:
    named = read_time(filled(MONTHS[language], language, at), today)
    assert named is not None
    assert named.days == whole_month(at.year, at.month)


@pytest.mark.parametrize("form", YEARS)
@given(at=written, today=todays)
def test_a_year_is_read_back(form: str, at: date, today: date) -> None:
    named = read_time(form.format(y=at.year), today)
    assert named is not None
    assert named.days == Days(date(at.year, 1, 1), date(at.year, 12, 31))


@given(today=todays, at=todays)
def test_a_month_and_a_date_without_a_year_are_the_last_ones_that_are_not_in_the_future(today: date, at: date) -> None:
    months = read_time(f"in {NAMES['English'].split()[at.month - 1]}", today)
    dates = read_time(f"on {NAMES['English'].split()[at.month - 1]} {at.day}", today)
    assert months is not None
    assert dates is not None
    assert months.days.first is not None
    assert months.days.first <= today < months.days.first + timedelta(366)
    assert months.days.first.month == at.month
    assert dates.days.first == dates.days.last
    assert dates.days.first is not None
    assert (dates.days.first.month, dates.days.first.day) == (at.month, at.day)
    assert dates.days.first <= today < dates.days.first + timedelta(366 if (at.month, at.day) != (2, 29) else 4 * 366)


@pytest.mark.parametrize(
    "text",
    [
        "may I borrow the ladder",
        "May called about the march",
        "march on, the second time",
        "Augusta and April met Juno",
        "the last week of the project",
        "version 2024",
        "the 2024 model costs 2026 euros",
        "today's menu",
        "next week",
        "what is planned on Tuesday",
        "what is due in October",
        "on Tuesdays we swim",
        "compare last week with this week",
        "two weeks before 3 May 2024",
        "the rate from 2000 to 2005",
        "10/12/2025",
        "30 February 2025",
        "memory/2025-10-12.md",
        "last-week.md #yesterday @today",
        "die letzte Woche des Projekts",
        "nächste Woche",
        "la última semana del proyecto",
        "오늘날의 기술",
        "다음 주",
        "월요일마다 수영",
        "晚上周会的记录",
        "日本月刊",
        "五月天的歌",
        "哪一年前往俄国",
        "下周",
        "五月雨",
        "来週",
        "土曜日のアルバイト",
        "",
        "“”",
        "İ today",
    ],
)
@given(today=todays)
def test_a_text_that_does_not_certainly_name_one_time_names_none(text: str, today: date) -> None:
    assert read_time(text, today) is None


@given(text=st.text(alphabet=st.characters(exclude_categories=("Nd", "Cs"))), today=todays)
def test_any_text_can_be_read_and_words_found_in_it_are_in_it(text: str, today: date) -> None:
    named = read_time(text, today)
    assert named is None or named.words in text
    days_named(text, today)


def test_a_note_of_several_lines_or_many_words_is_no_question() -> None:
    assert read_time("yesterday we met\nand spoke", FRIDAY) is None
    assert read_time(f"yesterday {'we met ' * 40}", FRIDAY) is None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what changed since last Monday", date(2026, 11, 23), None),
        ("what changed since October", date(2026, 10, 1), None),
        ("decisions before 3 May 2024", None, date(2024, 5, 2)),
        ("decisions after 2023", date(2024, 1, 1), None),
        ("everything until yesterday", None, date(2026, 11, 26)),
        ("seit letzter Woche", date(2026, 11, 16), None),
        ("지난주부터 쓴 것", date(2026, 11, 16), None),
        ("去年以来的决定", date(2025, 1, 1), None),
        ("先月以降のメモ", date(2026, 11, 1), None),
        ("last November", date(2025, 11, 1), date(2025, 11, 30)),
        ("letzten November", date(2025, 11, 1), date(2025, 11, 30)),
        ("last Monday we will remember", date(2026, 11, 23), date(2026, 11, 23)),
        ("in May last year", date(2025, 5, 1), date(2025, 5, 31)),
        ("작년 10월에", date(2025, 10, 1), date(2025, 10, 31)),
        ("上周一", date(2026, 11, 16), date(2026, 11, 16)),
        ("지난주 월요일", date(2026, 11, 16), date(2026, 11, 16)),
        ("先週の月曜日に", date(2026, 11, 16), date(2026, 11, 16)),
        ("25/12/2025", date(2025, 12, 25), date(2025, 12, 25)),
        ("12/25/2025", date(2025, 12, 25), date(2025, 12, 25)),
    ],
)
def test_words_around_a_time_open_its_end_or_choose_a_part(text: str, first: date | None, last: date | None) -> None:
    named = read_time(text, FRIDAY)
    assert named is not None
    assert named.days == Days(first, last)


@pytest.mark.parametrize(
    "text",
    [
        "what did I do last week?",
        "What happened yesterday",
        "show me all notes from October 2025",
        "was habe ich letzte Woche gemacht",
        "qu’est-ce que j’ai fait la semaine dernière ?",
        "¿qué hice la semana pasada?",
        "o que eu fiz na semana passada?",
        "что я делал на прошлой неделе?",
        "지난주에 뭐 했지?",
        "上周我做了什么？",
        "先週何をしましたか？",
    ],
)
def test_a_question_for_everything_of_a_time_has_no_word_left(text: str) -> None:
    named = read_time(text, FRIDAY)
    assert named is not None
    assert asks_for_all(named.rest, named.language)
    assert not asks_for_all(f"{named.rest} Kim", named.language)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("7d", Days(date(2026, 11, 20), date(2026, 11, 20))),
        (" Last  Week ", Days(date(2026, 11, 16), date(2026, 11, 22))),
        ("October", Days(date(2026, 10, 1), date(2026, 10, 31))),
        ("2025-10", Days(date(2025, 10, 1), date(2025, 10, 31))),
        ("2024", Days(date(2024, 1, 1), date(2024, 12, 31))),
        ("monday", Days(date(2026, 11, 23), date(2026, 11, 23))),
        ("2026-02-30", None),
        ("last week or so", None),
        ("since yesterday", None),
        ("99999d 99999d", None),
        ("999999d", None),
        ("soon", None),
    ],
)
def test_a_whole_text_names_days_only_if_nothing_else_is_in_it(text: str, days: Days | None) -> None:
    assert days_named(text, FRIDAY) == days


def test_a_day_is_one_of_some_days_if_it_is_between_their_ends() -> None:
    assert FRIDAY in Days(FRIDAY, FRIDAY)
    assert FRIDAY in ANY_DAY
    assert FRIDAY not in Days(FRIDAY + timedelta(1))
    assert FRIDAY not in Days(None, FRIDAY - timedelta(1))
    assert None not in ANY_DAY
