"""One form of words for the index, queries, phrases, tags, texts to forget and marked words, in every script."""

from __future__ import annotations

import unicodedata
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoriter import Memory
from memoriter.folding import clean, contains, fold, fold_tag, holds_phrase
from memoriter.search import analyse, marker_of, query_terms, terms_and_forms
from memoriter.search._forms import query_forms
from memoriter.search._language import read_question
from memoriter.types import Query
from memoriter.workspace import read_note

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TODAY = date(2026, 2, 10)

SAMPLES = {
    "Latin": "notebook",
    "Vietnamese": "phở",
    "Polish": "łódź",
    "Icelandic": "þórður",
    "Turkish": "ışık",
    "Greek": "τετράδιο",
    "Cyrillic": "тетрадь",
    "Ukrainian": "їжак",
    "Georgian": "რვეული",
    "Armenian": "տետր",
    "Hebrew": "מחברת",
    "Yiddish": "העפט",
    "Arabic": "دفتر",
    "Persian": "کتابچه",
    "Urdu": "کاپی",
    "Syriac": "ܟܬܒܐ",
    "Thaana": "ފޮތް",
    "N'Ko": "ߞߊߟߊ",
    "Ethiopic": "ደብተር",
    "Hindi": "किताब",
    "Marathi": "वही",
    "Nepali": "कापी",
    "Bengali": "খাতা",
    "Gurmukhi": "ਕਾਪੀ",
    "Gujarati": "નોટબુક",
    "Odia": "ଖାତା",
    "Tamil": "குறிப்பேடு",
    "Telugu": "పుస్తకం",
    "Kannada": "ಪುಸ್ತಕ",
    "Malayalam": "പുസ്തകം",
    "Sinhala": "පොත",
    "Thai": "สมุดบันทึก",
    "Lao": "ປຶ້ມບັນທຶກ",
    "Khmer": "សៀវភៅ",
    "Burmese": "မှတ်စု",
    "Tibetan": "དེབ",
    "Mongolian": "ᠳᠡᠪᠲᠡᠷ",
    "Cherokee": "ᎪᏪᎵ",
    "Tifinagh": "ⴰⴷⵍⵉⵙ",
    "Javanese": "ꦧꦸꦏꦸ",
    "Balinese": "ᬩᬸᬓᬸ",
    "Chinese": "笔记本",
    "Japanese": "ノート",
    "Hiragana": "ちょうめん",
    "Korean": "공책",
    "Adlam": "𞤣𞤫𞤬𞤼𞤫𞤪𞤫",
    "Chakma": "𑄝𑄬𑄭",
}
"""A word in each of more than forty scripts and languages."""
OTHERS = {  # another word, which differs only in vowel signs, tones or letters that make it another word
    "राम": "रोम",
    "কাল": "কলা",
    "பால்": "பல்",
    "ไม่": "ไม้",
    "發生": "發展",
    "ਮੇਲ": "ਮੀਲ",
    "കാല്": "കല്",
    "မာ": "မီ",
    "ភាសា": "ភិសា",
    "мой": "мои",
    "کل": "گل",
    "ガス": "カス",
    "ދަރި": "ދިރި",
    "ลาว": "ลิว",
}
SAME = [
    # Arabic, Persian and Hebrew
    ("مُحَمَّد", "محمد"), ("أحمد", "احمد"), ("إلى", "الي"), ("مدرسة", "مدرسه"), ("کتاب", "كتاب"), ("ســلام", "سلام"),
    ("آسمان", "اسمان"), ("شَلوم", "شلوم"), ("שָׁלוֹם", "שלום"), ("می‌خواهم", "میخواهم"), ("ٱلكتاب", "الكتاب"),
    # Chinese and Japanese
    ("資料庫", "资料库"), ("頭髮", "头发"), ("以後", "以后"), ("裡面", "里面"), ("裏面", "里面"), ("著名", "着名"),
    # scripts of India
    ("हिन्दी", "हिंदी"), ("बाज़ार", "बाजार"), ("चाँद", "चांद"), ("ക്ഷൻ", "ക്ഷന്"), ("উৎসব", "উত্সব"),
    # Latin letters
    ("Łódź", "lodz"), ("Ørsted", "orsted"), ("Đorđe", "dorde"), ("Þór", "thor"), ("Straße", "STRASSE"),
    ("Æsir", "aesir"), ("Œuvre", "oeuvre"), ("Ħamrun", "hamrun"), ("ɓala", "bala"), ("İstanbul", "ISTANBUL"),
    ("ışık", "isik"), ("DİYARBAKIR", "diyarbakır"), ("phở", "pho"), ("Azərbaycan", "azerbaycan"), ("ɛdɔ", "edo"),
    ("Eŋgland", "england"),
    # Thai and Lao: the two parts of a vowel around a tone mark
    ("นํ้า", "น้ำ"), ("ນໍ້າ", "ນ້ຳ"),
    # width and digits
    ("ＦＵＬＬ", "full"), ("ｶﾞｽ", "ガス"), ("ﬁle", "file"), ("٢٠٢٤", "2024"), ("۱۲۵۰", "1250"), ("१२५०", "1250"),
    # punctuation and invisible characters
    ("e‑mail", "e-mail"), ("e−mail", "e-mail"), ("don’t", "don't"), ("donʼt", "don't"),
    ("co\u00adoperate", "cooperate"),
    ("data\u200bbase", "database"), ("zero\u2060width", "zerowidth"), ("ක්\u200dෂ", "ක්ෂ"), ("a\ufe0fb", "ab"),
    # numbers
    ("1,250", "1250"), ("1.250", "1250"), ("1 250", "1250"), ("1\u00a0250", "1250"), ("1\u202f250", "1250"),
    ("1'250", "1250"), ("1’250", "1250"), ("12,34,567", "1234567"), ("1.250.000", "1250000"), ("1,250.50", "1250.50"),
    ("1.250,50", "1250.50"), ("12,50", "12.50"), ("٢٬٥٠٠", "2500"),
    ("+49 30 1234567", "+49301234567"), ("+49 (0)30 123456", "+4930123456"), ("(030) 123 45 67", "0301234567"),
    ("030/1234567", "0301234567"), ("555-123-4567", "5551234567"), ("06.12.34.56.78", "06 12 34 56 78"),
    ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
    ("GB29 NWBK 6016 1331 9268 19", "GB29NWBK60161331926819"),
    ("FR14 2004 1010 0505 0001 3M02 606", "FR1420041010050500013M02606"), ("NO93 8601 1117 947", "NO9386011117947"),
    ("4111 1111 1111 1111", "4111111111111111"), ("978-3-16-148410-0", "9783161484100"),
    ("138 0013 8000", "13800138000"), ("98765 43210", "9876543210"),
    ("00340434 1612 3456 7890", "00340434161234567890"),
    ("900101-1234567", "9001011234567"), ("123.456.789-09", "12345678909"), ("012.345.678-90", "01234567890"),
    ("12.345.678/0001-95", "12345678000195"), ("12/345/67890", "1234567890"),
]  # fmt: skip
DIFFERENT = [
    ("1250", "12,500"), ("1250", "125"), ("12.5", "125"), ("3.14", "314"),
    ("192.168.1.10", "192168110"), ("192.168.1.0/24", "19216810/24"),
    ("10.0.0.1-10.0.0.20", "10001-100020"), ("100000-150000", "100000150000"), ("12.03.-14.03.2024", "12031403-2024"),
]  # fmt: skip


def cases(pairs: list[tuple[str, str]]) -> list[object]:
    return [pytest.param(one, other, id=f"{one!a}={other!a}") for one, other in pairs]


@pytest.mark.parametrize(("one", "other"), cases(SAME))
def test_two_ways_to_write_a_word_are_one_word_everywhere(one: str, other: str) -> None:
    for written, asked in ((one, other), (other, one)):
        assert set(query_terms(asked)) <= set(analyse(f"x {written} y"))
        assert holds_phrase("", f"x {written} y", asked)
        assert holds_phrase("", f"x ({written}), y", asked)
        assert contains(f"x {written} y", asked)
        marker = marker_of(asked)
        assert marker is not None
        assert "".join(text for text, marked in marker.parts(f"= {written} =") if marked) == written


@pytest.mark.parametrize(("one", "other"), [("LEDG-142", "LEDG142"), ("12-AB-345", "12ab345"), ("v1_beta", "V1-beta")])
def test_an_identifier_is_one_word_with_and_without_separators(one: str, other: str) -> None:
    for written, asked in ((one, other), (other, one)):
        assert query_terms(asked)[0] in analyse(f"x {written} y")
        assert holds_phrase("", f"x ({written}) y", asked)
        assert contains(f"x {written} y", asked)
    assert holds_phrase("", "LEDG-142", "142")
    assert contains("LEDG-142", "142")
    assert not holds_phrase("", "LEDG-1421", "LEDG142")


KANA = [("ひらがな", "ヒラガナ"), ("らーめん", "ラーメン"), ("ｶﾞｽ", "がす"), ("データ", "でーた")]
ARTICLES = [
    ("كتاب", "الكتاب"), ("كتاب", "والكتاب"), ("بالكتاب", "كتاب"), ("للكتاب", "الكتاب"), ("مكتبة", "المكتبة"),
    ("ספר", "הספר"), ("והספר", "ספר"), ("מחברת", "במחברת"), ("המחברת", "למחברת"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), cases(KANA))
def test_kana_are_found_in_both_scripts(one: str, other: str) -> None:
    for written, asked in ((one, other), (other, one)):
        assert holds_phrase("", f"x {written} y", asked)
        assert contains(f"x {written} y", asked)
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), cases([*KANA, *ARTICLES, ("0x1F", "1f")]))
def test_kana_articles_and_hexadecimal_numbers_are_other_forms_of_a_word(one: str, other: str) -> None:
    for written, asked in ((one, other), (other, one)):
        forms = query_forms(asked)
        written_terms = set(analyse(f"x {written} y"))
        assert all({term, *forms.get(term, ())} & written_terms for term in query_terms(asked))
        marker = marker_of(asked)
        assert marker is not None
        assert "".join(text for text, marked in marker.parts(f"= {written} =") if marked) == written


@pytest.mark.parametrize(("written", "asked"), [("مانيا", "ألمانيا"), ("له", "الله"), ("1f", "f1"), ("ガス", "かす")])
def test_another_word_is_no_form_of_a_word(written: str, asked: str) -> None:
    forms = query_forms(asked)
    assert not {form for term in query_terms(asked) for form in (term, *forms.get(term, ()))} & set(analyse(written))


SEPARATED = [
    ("e-mail", "email"), ("O'Brien", "OBrien"), ("U.S.A", "USA"), ("Hawai'i", "Hawaii"), ("1_000", "1000"),
    ("می خواهم", "می‌خواهم"), ("نمی دانم", "نمیدانم"), ("کتاب ها", "کتابها"), ("کتاب های", "کتاب‌های"),
    ("LH 454", "LH454"), ("5 kg", "5kg"), ("SW1A 1AA", "SW1A1AA"), ("AB 12 CDE", "AB12CDE"), ("об'єкт", "обєкт"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), cases(SEPARATED))
def test_phrases_and_texts_to_forget_hold_for_words_with_and_without_separators(one: str, other: str) -> None:
    for written, asked in ((one, other), (other, one)):
        assert holds_phrase("", f"the ({written}), of", asked)
        assert holds_phrase("", f"the {written} of", f"the {asked} of")
        assert contains(f"the {written} of", asked)
        assert not holds_phrase("", f"x{written} of", asked)
        marker = marker_of(asked)
        assert marker is not None
        assert "".join(text for text, marked in marker.parts(f"= {written} =") if marked) == written


@pytest.mark.parametrize(("one", "other"), cases([*OTHERS.items(), *DIFFERENT]))
def test_another_word_is_found_by_nothing(one: str, other: str) -> None:
    for written, asked in ((one, other), (other, one)):
        assert not set(query_terms(asked)) <= set(analyse(f"x {written} y"))
        assert not holds_phrase("", f"x {written} y", asked)
        assert not contains(f"x {written} y", asked)


@pytest.mark.parametrize("word", [pytest.param(word, id=name) for name, word in SAMPLES.items()])
def test_a_word_of_every_script_is_found_in_every_form(word: str) -> None:
    forms = {word, word.upper(), *(unicodedata.normalize(form, word) for form in ("NFC", "NFD", "NFKC", "NFKD"))}
    forms.add("\u2060".join(word))
    for written in forms:
        note = f"one {written} two"
        assert set(query_terms(word)) <= set(analyse(note))
        assert holds_phrase("", note, word)
        assert contains(note, word)
        marker = marker_of(word)
        assert marker is not None
        marked = "".join(text for text, is_marked in marker.parts(note) if is_marked)
        assert marked.replace("\u2060", "") == written.replace("\u2060", "")
    assert read_note("a.md", f"text #{word}\n").tags == (fold_tag(word),)
    assert read_question(Query(f"tag:{word} question"), TODAY).filters.tags == frozenset({word})
    assert read_question(Query(f"-{word} question"), TODAY).filters.without == (word,)


texts = st.text(
    st.sampled_from([*"".join(SAMPLES.values()), *" -'’.,12050+()\u00ad\u200b\u0301\u0327İıßŁǅﬁ١൯"]), max_size=40
)


@given(texts)
@example("1,250.50 DE89 3704 0044 0532 0130 00")
@example("\u0301\u00ad\u0e38")
def test_folding_again_changes_nothing_and_terms_are_those_of_the_composed_text(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert clean(clean(text)) == clean(text)
    assert analyse(unicodedata.normalize("NFD", text)) == analyse(unicodedata.normalize("NFC", text))


@given(texts, texts, texts)
def test_marked_words_are_parts_of_the_text_in_its_order(before: str, word: str, after: str) -> None:
    text = before + word + after
    if (marker := marker_of(word)) is not None:
        assert "".join(part for part, _ in marker.parts(text)) == text
        spans = marker.spans(text)
        assert all(start < end for start, end in spans)
        assert all(end < start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.parametrize("sep", [" ", "-", "/", ".", "(", ")", "+", ",", "'", "1", "0"])
def test_the_time_to_fold_numbers_grows_with_their_length(sep: str) -> None:
    from time import process_time

    def seconds(count: int) -> float:
        started = process_time()
        fold(f"12{sep}" * count)
        return process_time() - started

    short = max(min(seconds(2_000) for _ in range(3)), 0.002)
    assert min(seconds(16_000) for _ in range(3)) < 8 * 4 * short  # the square would be 64 times as long


QUOTES = [("„", "“"), ("“", "”"), ("«", "»"), ("»", "«"), ('"', '"')]


@pytest.mark.parametrize(("opening", "closing"), QUOTES)
def test_quotation_marks_of_every_language_make_a_phrase(opening: str, closing: str) -> None:
    read = read_question(Query(f"{opening}der genaue Satz{closing} Wort"), TODAY)
    assert read.filters.phrases == ("der genaue Satz",)


FORMS = [
    ("German", "Die Häuser in der Straße wurden im Herbst renoviert.", "Haus"),
    ("German", "Die Bücher und Karten sind bei den Nachbarn.", "Buch"),
    ("French", "Les clés de la voiture sont dans les tiroirs.", "clé"),
    ("Spanish", "Hablamos con el médico de la casa en marzo.", "hablar"),
    ("Italian", "Le chiavi delle macchine sono nella cucina.", "macchina"),
    ("Portuguese", "Falamos com o médico e não com a família.", "falar"),
    ("Dutch", "De boeken van het huis liggen niet in de keukens.", "boek"),
    ("Swedish", "Bilarna och husen ligger inte i skogen, det är så.", "bil"),
    ("Danish", "Nøglerne til bilen og husene ligger ikke på bordet.", "hus"),
    ("Finnish", "Talossa on kaksi huonetta ja se ei ole pieni.", "talo"),
    ("Hungarian", "A kulcsok nem a konyhában vannak, és az ajtók is.", "kulcs"),
    ("Romanian", "Mașinile sunt în oraș și nu pe stradă.", "mașina"),
    ("Turkish", "Evlerin anahtarları mutfakta ve bu kapıda değil.", "anahtar"),
    ("Catalan", "Les taules són a la cuina amb els documents.", "taula"),
    ("Russian", "Мы подписали договоры с новыми поставщиками.", "договор"),
    ("Greek", "Τα κλειδιά του αυτοκινήτου είναι στην κουζίνα.", "κλειδί"),
    ("Arabic", "كان في المكتب مع المهندسون الذي كتب", "مهندس"),
    ("Hindi", "किताबें मेज पर हैं और चाबी रसोई में है।", "किताब"),
    ("Tamil", "இந்த வீட்டில் ஒரு மேசை உள்ள அறை என்று", "வீடு"),
    ("Nepali", "किताबहरू टेबलमा छन् र साथीहरू पनि आए।", "किताब"),
]


@pytest.mark.parametrize(("note", "word"), [pytest.param(note, word, id=name) for name, note, word in FORMS])
def test_another_form_of_a_word_is_found_in_the_language_of_the_note(note: str, word: str) -> None:
    terms, forms = terms_and_forms(note)
    (asked,) = query_terms(word)
    assert asked not in terms
    assert set(query_forms(word)[asked]) & set(forms)
    marker = marker_of(word)
    assert marker is not None
    assert marker.spans(note)


def test_an_umlaut_is_found_as_two_letters_and_only_there() -> None:
    _, forms = terms_and_forms("Call Müller at Jørgensen")
    assert {"~mueller", "~joergensen"} <= set(forms)
    assert set(query_forms("Mueller")["mueller"]) & set(forms)
    assert "mueller" in query_forms("Müller")["muller"]
    _, english = terms_and_forms("the poet and the value of a blue pot")
    assert english == []


def keyword_settings(folder: Path) -> Path:
    settings = folder / "settings.json5"
    settings.write_text('{agents: {defaults: {memorySearch: {provider: "none"}}}}', encoding="utf-8")
    return settings


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    notes = {
        "exact.md": "Das Haus ist am See, und wir haben die Bilder.\n",
        "form.md": "Die Häuser sind am See, und wir haben die Bilder.\n",
        "numbers.md": "The invoice 4711 costs 1,250 euro. Call +49 30 1234567 about LEDG-142.\n",
        "other.md": "The invoice 4712 costs 12,500 euro.\n",
        "hindi.md": "#काम राम का घर\n",
        "rome.md": "रोम में घर\n",
    }
    (tmp_path / "notes").mkdir()
    for name, text in notes.items():
        (tmp_path / "notes" / name).write_text(text, encoding="utf-8")
    with Memory.open(tmp_path / "notes", config=keyword_settings(tmp_path), home=tmp_path / "home") as opened:
        yield opened


def test_the_word_itself_is_a_better_match_than_another_form_of_it(memory: Memory) -> None:
    for word, best, second in (("Haus", "exact.md", "form.md"), ("Häuser", "form.md", "exact.md")):
        hits = memory.search(word, min_score=0).hits
        assert [hit.path for hit in hits] == [best, second]
        assert hits[0].score > hits[1].score


@pytest.mark.parametrize(
    "number", ["1250", "1.250", "1 250", "4711", "LEDG142", "ledg-142", "+49301234567", "+49 30 123 4567"]
)
def test_a_number_is_found_however_it_is_separated(memory: Memory, number: str) -> None:
    result = memory.search(f"invoice {number}")
    assert result.hits[0].path == "numbers.md"
    assert result.outcome == "match"


@pytest.mark.parametrize(
    "number", ["125", "4713", "1251", "12500.5", "LEDG-143", "LEDG143", "+49 30 7654321", "DE89 3704 0044 0532 0130 00"]
)
def test_a_number_that_no_note_has_is_no_match(memory: Memory, number: str) -> None:
    assert memory.search(f"invoice {number}").outcome != "match"


JOINED = [
    *[("e-mail", "email"), ("co-operate", "cooperate"), ("well‐being", "wellbeing"), ("U.S.A.", "USA"), ("z.B.", "zB")],
    *[("O'Brien", "OBrien"), ("Hawai'i", "Hawaii"), ("м’ята", "мята"), ("1_000_000", "1000000")],
    *[("00:1A:2B:3C:4D:5E", "001A2B3C4D5E"), ("001a.2b3c.4d5e", "001A2B3C4D5E"), ("0-8044-2957-X", "080442957X")],
    *[("LH 454", "LH454"), ("B-AB 1234", "BAB1234"), ("AB 12 CDE", "AB12CDE"), ("SW1A 1AA", "sw1a1aa")],
    *[("DE 123 456 789", "DE123456789"), ("1Z 999 AA1 01 2345 6784", "1Z999AA10123456784"), ("5 kg", "5kg")],
    *[
        ("500 GB", "500gb"),
        ("LH\u00a0455", "LH455"),
        ("7\u202fkg", "7kg"),
        ("65 180539 W 003", "65180539W003"),
        ("DEUT DE FF 500", "DEUTDEFF500"),
    ],
]


def test_words_and_identifiers_are_found_with_and_without_their_separators(tmp_path: Path) -> None:
    notes = [f"- The entry {written} is here.\n" for pair in JOINED for written in pair]
    (tmp_path / "notes").mkdir()
    for number, text in enumerate(notes):
        (tmp_path / "notes" / f"n{number:02}.md").write_text(text, encoding="utf-8")
    with Memory.open(tmp_path / "notes", config=keyword_settings(tmp_path), home=tmp_path / "home") as memory:
        for number, asked in enumerate(written for pair in JOINED for written in pair):
            found = {hit.path for hit in memory.search(asked, min_score=0, max_results=60).hits}
            assert {f"n{number:02}.md", f"n{number ^ 1:02}.md"} <= found, asked
        assert memory.search("the entry LH 457").outcome != "match"
        assert memory.search("the entry 501GB").outcome != "match"


def test_a_tag_and_a_word_with_vowel_signs_are_found_and_no_other(memory: Memory) -> None:
    assert [hit.path for hit in memory.search("राम", min_score=0).hits] == ["hindi.md"]
    assert [hit.path for hit in memory.search("घर", tags=["काम"], min_score=0).hits] == ["hindi.md"]
    assert [hit.path for hit in memory.search('घर "राम"', operators=True, min_score=0).hits] == ["hindi.md"]
