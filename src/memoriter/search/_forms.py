"""Forms of words, in the languages for which Snowball has a stemmer, and the words of a query in a text.

A note gets the stems of its words in its own language beside the words, and a query those of all languages of its
script, so that a query needs no language. A form is a weaker match than the word itself. English, whose stems are the
words of the index, has no others.

The language of a text is the one of which it contains most function words; the lists are at the end of the file.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import chain
from operator import attrgetter
from threading import local
from typing import TYPE_CHECKING, Any, cast

from memoriter.folding import MAY_BE_SPACED, clean, clean_with_places, fold_letters, spaced_words_in
from memoriter.search._terms import parts_of, pieces_of, query_terms, spaced_codes_in, term_of, terms_of, tokenize
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memoriter.search._terms import Token

FORM = "~"
"""The term of every passage that has forms, and the beginning of each form of a word."""
_SHORTEST = 3
"""The fewest letters of a word with forms."""
_SPELLED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
"""What people type for a letter that their keyboard lacks."""
_SPELLED_LETTERS = re.compile("[äöüåøÄÖÜÅØ]")
_TWO_LETTERS = re.compile("ae|oe|ue|aa")
_CODES = re.compile(r"\w[-'.:_]\w|(?<!\w)\w{1,8} \d|\d\w* \w{1,4}(?!\w)")
may_have_codes = _CODES.search
"""Returns whether a query may have words that notes write with other separators, or without, as a match or None."""
_CODE_GROUP = re.compile("[a-z]{1,4}|[0-9]{1,16}|[a-z0-9]{2,4}")
_HEXADECIMAL = re.compile("0x[0-9a-f]{2,16}|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{2,16}")
_KANA = re.compile("[\u3041-\u30fe]")
_HIRAGANA = re.compile("(?=.*[\u3041-\u3096])[\u3041-\u3096\u309d\u309e\u30fc]+")
_KATAKANA = re.compile("(?=.*[\u30a1-\u30f6])[\u30a1-\u30f6\u30fd\u30fe\u30fc]+")
_TO_KATAKANA = {code: code + 0x60 for code in (*range(0x3041, 0x3097), 0x309D, 0x309E)}
_TO_HIRAGANA = {katakana: hiragana for hiragana, katakana in _TO_KATAKANA.items()}
_WITH_ARTICLE = re.compile(
    "[وف]?(?:[بك]?ال|لل)(?P<arabic>[\u0620-\u064a]{3,})|(?:ו|ש|כש)?ה(?P<hebrew>[\u05d0-\u05ea]{3,})"
)
"""A word with an article, and perhaps with another word before it."""
_WITH_PREPOSITION = re.compile("[ובלשכ]([\u05d0-\u05ea]{4,})")
"""A Hebrew word that may have another word before it. מ is left out: too many nouns begin with it."""
_PREFIXES = {
    "arabic": ("ال", "وال", "فال", "بال", "كال", "لل", "و", "ب", "ل"),
    "hebrew": ("ה", "וה", "שה", "כשה", "ו", "ב", "ל", "מ", "ש", "כ", "וב", "ול", "ומ"),
}
"""The article, conjunctions and prepositions that are written as one with the word after them."""
_BARE = {"arabic": re.compile("[\u0620-\u064a]{3,}"), "hebrew": re.compile("[\u05d0-\u05ea]{3,}")}
_HAMZA = re.compile("[وفبكل]?[أإآ]")
"""The beginning of a word whose alef is its own."""
_MOST_GROUPS = 6
"""The most groups of an identifier with spaces between them."""
_MIXED = re.compile("(?=[a-z]*[0-9])(?=[0-9]*[a-z])")
_FOLDED = attrgetter("folded")
_FIRST_TOKENS = 100
"""Tokens of a text that tell its language."""
_MOST_LANGUAGES = 3
"""The most languages that a text may be in, such as Danish and Norwegian."""
_FEWEST_WORDS = 2
"""The fewest function words that tell the language of a text."""


def languages_of(text: str) -> tuple[str, ...]:
    """Return the language of a text by Snowball's name, or those that it may be; empty if its words do not tell."""
    return _languages_of(tokenize(clean(text)))


def terms_and_forms(text: str, otherwise: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Return the terms of a text, and the forms of its words, each once, with the term of passages that have forms.

    Args:
        text: the text.
        otherwise: its languages if its own words do not tell.
    """
    cleaned = clean(text)
    tokens = tokenize(cleaned)
    terms = terms_of(text, tokens)
    languages = tuple(filter(_has_stemmer, _languages_of(tokens) or otherwise))
    if not languages and (cleaned.isascii() or _SPELLED_LETTERS.search(cleaned) is None):
        return terms, []
    forms = dict.fromkeys(form for token in tokens for form in _forms_of(token.text, languages))
    return terms, [FORM, *forms] if forms else []


def _languages_of(tokens: Sequence[Token]) -> tuple[str, ...]:
    found = filter(None, map(_function_words().get, map(_FOLDED, tokens[:_FIRST_TOKENS])))
    counts = Counter(chain.from_iterable(found))
    most = max(counts.values(), default=0)
    languages = tuple(sorted(language for language, count in counts.items() if count == most))
    return languages if most >= _FEWEST_WORDS and len(languages) <= _MOST_LANGUAGES else ()


@lru_cache(maxsize=65_536)
def _forms_of(token: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the forms of a word and of its parts in notes of some languages."""
    words = _parts(token)
    stems = (_form(word, each) for each in languages for word in words if not _is_function_word(word, each))
    return (*stems, *(form for word in words for form in _with_two_letters(word)))


def query_forms(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return the forms of the words of a query that notes may contain instead, by the term of the word."""
    cleaned = clean(text)
    tokens = tokenize(cleaned)
    words = (word for token in tokens for word in _parts(token.text))
    forms = {term_of(word): _possible_forms(word) for word in words}
    others = [(token.terms[0], part) for token in tokens for part in token.parts]
    others += [*_codes_in(tokens), *_spaced_in(cleaned), *_in_other_scripts(tokens), *_hexadecimal(tokens)]
    for term, other in others:
        forms[term] = (*forms.get(term, ()), other)
    return {term: each for term, each in forms.items() if each}


def _spaced_in(cleaned: str) -> Iterator[tuple[str, str]]:
    """Yield the term of each part of a Persian word with a space inside, and the term of the whole word."""
    for start, end, whole in spaced_words_in(cleaned):
        yield from ((token.terms[0], whole) for token in tokenize(cleaned[start:end]) if token.terms)


def _in_other_scripts(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield the terms in hiragana or katakana, each with the same sounds in the other script."""
    for token in tokens:
        if _KANA.search(token.text):
            for term in token.terms:
                if _HIRAGANA.fullmatch(term):
                    yield term, term.translate(_TO_KATAKANA)
                elif _KATAKANA.fullmatch(term):
                    yield term, term.translate(_TO_HIRAGANA)


def _hexadecimal(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield the terms that are hexadecimal numbers, each with or without `0x`."""
    for token in tokens:
        if _HEXADECIMAL.fullmatch(token.folded):
            yield (
                token.folded,
                token.folded.removeprefix("0x") if token.folded.startswith("0x") else f"0x{token.folded}",
            )


def _codes_in(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield the term of each group of an identifier with spaces, and the identifier as it is written without them."""
    words = [token.folded.replace("-", "") for token in tokens]
    groups = [word if _CODE_GROUP.fullmatch(word) else "" for word in words]
    for start in range(len(groups)):
        for end in range(start + 2, min(start + _MOST_GROUPS, len(groups)) + 1):
            code = "".join(groups[start:end])
            if all(groups[start:end]) and _MIXED.match(code):
                yield from ((token.terms[0], code) for token in tokens[start:end])


def _lists(text: str) -> dict[str, list[str]]:
    """Return the words after each `name:` of a text."""
    lists: dict[str, list[str]] = {}
    words: list[str] = []
    for word in text.split():
        if word.endswith(":"):
            words = lists.setdefault(word[:-1], [])
        else:
            words.append(word)
    return lists


def _parts(token: str) -> list[str]:
    """Return the words in a token, in lower case with their accents."""
    return [word.lower() for word in parts_of(token) if len(word) >= _SHORTEST and not word.isnumeric()]


def _is_function_word(word: str, language: str) -> bool:
    return language in _function_words().get(fold_letters(word), ())


@cache
def _has_stemmer(language: str) -> bool:
    import Stemmer

    return language in STEMMED and language in cast("Any", Stemmer).algorithms()


def _with_two_letters(word: str) -> tuple[str, ...]:
    spelled = word.translate(_SPELLED)
    return () if spelled == word else (FORM + fold_letters(spelled),)


@lru_cache(maxsize=4_096)
def _possible_forms(word: str) -> tuple[str, ...]:
    folded = fold_letters(word)
    languages = (each for each, script in STEMMED.items() if _SCRIPTS[script].match(folded) and _has_stemmer(each))
    forms = [_form(word, language) for language in languages]
    forms += _with_prefixes(word, folded)
    if _TWO_LETTERS.search(folded):
        forms.append(FORM + folded)
    if (spelled := word.translate(_SPELLED)) != word:
        forms.append(term_of(spelled))
    return tuple(dict.fromkeys(forms))


def _with_prefixes(word: str, folded: str) -> list[str]:
    """Return an Arabic or Hebrew word without its article, and with what notes may write before it."""
    script = next((script for script, bare in _BARE.items() if bare.fullmatch(folded)), None)
    if script is None:
        return []
    with_article = None if _HAMZA.match(word) else _WITH_ARTICLE.fullmatch(folded)
    stem = with_article[script] if with_article else folded
    forms = [stem, *(prefix + stem for prefix in _PREFIXES[script])]
    if with_preposition := _WITH_PREPOSITION.fullmatch(stem):
        forms += [with_preposition[1], f"ה{with_preposition[1]}"]
    return [form for form in forms if form != folded]


@lru_cache(maxsize=65_536)
def _form(word: str, language: str) -> str:
    return FORM + fold_letters(_stemmer(language)(word))


_per_thread = local()


def _stemmer(language: str) -> Callable[[str], str]:
    """Return one of Snowball's stemmers. Each thread has its own, as the library requires."""
    stemmers: dict[str, Callable[[str], str]] = _per_thread.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        import Stemmer

        stemmers[language] = cast("Any", Stemmer).Stemmer(language).stemWord
    return stemmers[language]


@dataclass(frozen=True, slots=True)
class Marker:
    """The words of a query, as notes may contain them."""

    terms: frozenset[str]
    _known: dict[str, list[tuple[int, int, str]]] = field(
        default_factory=dict[str, list[tuple[int, int, str]]], compare=False, repr=False
    )
    """What `_in_token` has found in each word: the words of passages are few, and come again."""

    def parts(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yield the parts of a text in order, each with whether it is a word of the query."""
        position = 0
        for start, end in self.spans(text):
            if start > position:
                yield text[position:start], False
            yield text[start:end], True
            position = end
        if position < len(text):
            yield text[position:], False

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the start and the end of each word of the query in a text, in order and apart from each other."""
        cleaned, places = clean_with_places(text)
        spans = list[tuple[int, int]]()
        for start, end, _ in self._found(cleaned):
            _add(spans, places[start][0], places[end - 1][1])
        return spans

    def words_in(self, text: str) -> frozenset[str]:
        """Return the terms of the different words of the query that a text contains."""
        return frozenset(term for *_, term in self._found(clean(text)))

    def _found(self, cleaned: str) -> list[tuple[int, int, str]]:
        """Return the start and the end of each word of the query in a clean text, and its term, in order."""
        found = list[tuple[int, int, str]]()
        position = 0
        for token in tokenize(cleaned):
            position = cleaned.index(token.text, position)
            known = self._known.get(token.text)
            if known is None:
                known = self._known[token.text] = list(self._in_token(token))
            for start, end, term in known:
                found.append((position + start, position + end, term))
            position += len(token.text)
        if MAY_BE_SPACED.search(cleaned) or not cleaned.isascii():
            spaced = (*spaced_codes_in(cleaned), *spaced_words_in(cleaned))
            found = sorted([*found, *(each for each in spaced if each[2] in self.terms)])
        return found

    def _in_token(self, token: Token) -> Iterator[tuple[int, int, str]]:
        """Yield the start and the end of each word of the query in a token, and its term."""
        for start, end, term in pieces_of(token):
            if term in self.terms:
                yield start, end, term
            elif form := next((form for form in _all_forms(token.text[start:end]) if form in self.terms), None):
                yield start, end, form


@lru_cache(maxsize=8_192)
def _all_forms(word: str) -> tuple[str, ...]:
    """Return the forms of a word; the words of passages are few, and come again."""
    return tuple(form for forms in query_forms(word).values() for form in forms)


def _add(spans: list[tuple[int, int]], start: int, end: int) -> None:
    """Add a span to those before it, which it extends if they touch."""
    if spans and start <= spans[-1][1]:
        spans[-1] = spans[-1][0], max(end, spans[-1][1])
    else:
        spans.append((start, end))


def marker_of(query: str) -> Marker | None:
    """Return what marks the words of a query; None if no word of it has more than one character."""
    terms = {term for term in query_terms(query) if len(term) > 1}
    if not terms:
        return None
    return Marker(frozenset(terms.union(*(forms for term, forms in query_forms(query).items() if term in terms))))


_LANGUAGES = """
latin: catalan czech danish dutch estonian finnish french german hungarian indonesian italian lithuanian norwegian
    polish portuguese romanian spanish swedish turkish
cyrillic: russian serbian
arabic: arabic persian
armenian: armenian
greek: greek
devanagari: hindi nepali
tamil: tamil
"""
STEMMED = {language: script for script, languages in _lists(_LANGUAGES).items() for language in languages}
"""The script of each language that has forms, if the installed version of the package has its stemmer."""
_SCRIPTS = {
    "latin": re.compile("[a-z]"),
    "cyrillic": re.compile("[\u0400-\u052f]"),
    "arabic": re.compile("[\u0620-\u06d3]"),
    "armenian": re.compile("[\u0531-\u0587]"),
    "greek": re.compile("[\u0370-\u03ff]"),
    "devanagari": re.compile("[\u0900-\u097f]"),
    "tamil": re.compile("[\u0b80-\u0bff]"),
}


@cache
def _function_words() -> Mapping[str, tuple[str, ...]]:
    """Return the languages of each function word, as it is folded."""
    languages: dict[str, list[str]] = {}
    for language, words in _lists(_FUNCTION_WORDS).items():
        for word in dict.fromkeys(map(fold_letters, words)):
            languages.setdefault(word, []).append(language)
    return {word: tuple(each) for word, each in languages.items()}


_FUNCTION_WORDS = """
english: the of and to is that it was for on are with as his they at be this have from or had by but not what all
were we when your can said there an which she do how their if will about then them these so her would has him more
no could my than been who its now did get our you i he in a me just me don't i'm it's only also into
german: der die das den dem des ein eine einen einem einer und oder nicht ist sind war wird wurde mit von für auf zu
im am beim zum zur auch noch wir ich er sie es dass wenn aber nach bei aus als wie was kein keine mein unser haben
hat wird über unter vom bis nur schon sich mehr muss soll
french: le la les un une des du de et est dans pour que qui sur avec pas ne nous vous je il elle ils ce cette ces au
aux son sa ses par plus mais ou où été être sont mon notre leur chez sans tout très fait
spanish: el la los las un una unos de del y que en por para con no se su sus lo es son fue está como más pero ya muy
mi nos hay este esta estos o le al sin sobre cuando desde tiene
italian: il lo la gli le un una di del della dei delle e che è in per con non si su nel nella sono ha era più ma
come anche da dal al alla ci mio questo questa ho i al hanno dopo
portuguese: o a os as um uma de do da dos das e que em no na nos nas por para com não se seu sua é são foi mais mas
como já muito meu ao à pelo pela está tem às isso este ou
catalan: el la els les un una de del dels i que en per amb no es és són ha al als més però com aquest aquesta seva
ens ja molt hi perquè o va
romanian: și de la în cu pe nu este un o care din pentru că se mai sunt a al ale fost am dar sau după către lui ei
ne foarte are lei acest
dutch: de het een en van is dat niet op te zijn met voor aan er om ook maar als bij ik je we wij naar uit nog deze
wordt werd heeft hebben door over tot geen moet onze mijn dan
swedish: och att det som en ett är på av för med den till inte om har han hon vi jag de från eller var men ska kan
när där efter också vid vår min under hos
danish: og at det som en et er på af for med den til ikke om har han hun vi jeg de fra eller var men skal kan når
hvor efter også ved vores min af blev nogle hvad
norwegian: og at det som en et er på av for med den til ikke om har han hun vi jeg de fra eller var men skal kan når
hvor etter også ved vår min ble noen hva eit ei
finnish: ja on ei että se hän oli ovat mutta kun niin kuin tai joka myös ole jos sen tämä me minä olen pitää vain
sitten vielä jo kanssa
estonian: ja on ei et see ta oli kui mis ka aga siis ning mina meie kes mitte oma olen seda veel või
hungarian: a az és hogy nem is egy van volt meg de ez azt csak már ki mint el vagy kell még ha nincs minden után
között azért
indonesian: yang dan di dengan untuk dari ini itu tidak ke pada adalah akan dalam saya kami sudah ada juga atau oleh
karena bisa kita mereka telah
lithuanian: ir yra kad į su iš tai bet kaip buvo ne aš apie nuo po per už jis ji mes tik dar jau ar prie prieš
turkish: ve bir bu da de için ile çok ne olarak var daha gibi ama en mi kadar değil sonra olan ben biz yok ki her o
polish: i w na z nie się do że to jest o jak ale po co tak za od ich dla przez są był był już tylko czy
czech: a je v na se že to s z do jako o ale pro po si jsem by není už k ve bylo když jen jsou
russian: и в не на что с он я как это по но из у за от то мы к для его было быть бы же о все она так уже или если до
нет мой нас
ukrainian: і в не на що з він я як це та але із у за від то ми до для його було бути б же про все вона так уже або
якщо є немає мій
bulgarian: и в не на че с той аз как това по но от у за ние към за му беше да се са е ще тя така вече или ако до
няма ми
serbian: и у не на да с он ја како то по али из за од ми ка је се су за би ће она тако већ или ако до нема мој што
сам
arabic: في من على إلى أن هذا هذه التي الذي عن مع كان لا ما هو هي كل بعد قبل ثم أو قد لم كما بين عند لكن نحن
persian: و در به از که این را با است برای آن یک هم تا بر شد ما من می باید بود کرد های خود اما یا دارد نیست
urdu: کے کی میں ہے اور سے کو کا یہ پر نے کہ ہیں تھا ہم بھی ایک نہیں کیا وہ
hindi: के का की में है और से को पर यह ने कि हैं था हम भी एक नहीं इस जो तो कर मैं मेरा वह लिए थी थे गया
nepali: को मा र छ ले लाई हो यो पनि भने छन् हामी एक गरेको थियो भयो म मेरो त्यो तर छैन
marathi: आहे आणि च्या मध्ये हा ही हे ते या आम्ही नाही होते होता केले माझे मला पण की तो ती
greek: και το να της του η ο οι τα με στο για από που είναι δεν τον την θα σε μας αλλά ένα στην
armenian: և է որ են մի այս նա եմ չի հետ իր համար ու մեր
tamil: ஒரு மற்றும் இந்த என்று அது நான் உள்ள என் இல்லை அந்த நாம் என்ற
"""
