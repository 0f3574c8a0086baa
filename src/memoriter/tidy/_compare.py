"""Whether two statements say the same, or the newer one another value of the same thing (pure functions).

Words decide. The vectors of statements and the judge do not tell `Ben is allergic to peanuts` from `Ben is allergic to
hazelnuts` any better than from a paraphrase, so statements in other words are left alone.
"""
# ruff: noqa: E501 - tables of words, each language on a line

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoriter.folding import fold
from memoriter.journal import same_ends
from memoriter.search import analyse, query_terms
from memoriter.statements import find_statements, may_be_kept, reading_of, subjects, switches
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.statements import Reading

Lasting = Literal["decision", "preference", "entity", "remember"]

_LABELS = {
    "decision": r"(?:final )?decisions?|decided|entscheidung|beschluss|beschlossen|entschieden|결정|决定|決定|decisi[oó]n|decidido",
    "preference": r"preferences?|vorliebe|präferenz|선호|偏好|preferencia",
    "remember": r"(?:please )?remember|note(?: to self)?|reminder|fyi|important|(?:bitte )?merke?n?|wichtig|notiz|nicht vergessen|기억해|기억|메모|중요|잊지 말 것|记住|備註|备注|注意|重要|recuerda|recordar|nota|importante|no olvidar",
}
_LABELLED: tuple[Lasting, ...] = ("decision", "preference", "remember")
_LABEL = re.compile(
    r"\s*(?:"
    + "|".join(
        rf"\[(?P<{kind}_tag>{words})\][:：]?|(?P<{kind}>{words})(?:[:：]| that\b| daran,? dass\b)"
        for kind, words in _LABELS.items()
    )
    + r")\s*",
    re.IGNORECASE,
)
"""A word at the beginning that says what kind of statement follows."""
_OF_USER = re.compile(
    r"\b(?:the )?user(?:'s)? (?:prefers?|likes?|dislikes?|hates?|loves?|wants? (?:all|every)|always|never|does(?: not|n't) (?:like|want))\b"
    r"|\b(?:nutzer|benutzer)(?:in)? (?:bevorzugt|mag|möchte (?:immer|nie)|hasst)\b|사용자.{0,40}(?:선호|좋아|싫어)"
    r"|用户.{0,20}(?:喜欢|偏好|讨厌)|\busuari[oa] (?:prefiere|odia|siempre|nunca)\b",
    re.IGNORECASE,
)
"""What an agent writes about the preferences of its owner."""
_ONE_DAY = re.compile(
    r"\b\d{1,2}[:.]\d{2}\b|\b\d{1,2}\s?(?:am|pm|o'clock|uhr)\b|\d{1,2}\s?시(?!간)|[\d一二三四五六七八九十两]{1,3}点|\ba las? \d"
    r"|\b(?:today|tonight|tomorrow|yesterday|(?:this|next|last) (?:week|weekend|month|morning|afternoon|evening|monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b"
    r"|\b(?:heute|gestern|morgen(?! früh)|übermorgen|(?:diese|nächste|letzte)[rsn]? (?:woche|monat|wochenende))\b"
    r"|오늘|내일|어제|이번 주|다음 주|지난주|今天|明天|昨天|这周|本周|下周|上周|\b(?:hoy|ayer|esta (?:semana|tarde|noche)|(?<!la )mañana)\b",
    re.IGNORECASE,
)
"""A time of day, or a day near the one of the note."""
_PASSING = re.compile(
    r"\b(?:is|are|ist|sind|est[áa]n?) (?:\w+ )?(?:ill|sick|away|late|busy|tired|down|broken|offline|online|stuck|pending|waiting|ready|done|red|green|open|closed|full|empty|on (?:holiday|vacation|leave|time)|cold|hot|warm|windy|rainy|sunny|working|running out|out of"
    r"|krank|unterwegs|spät|beschäftigt|müde|kaputt|offen|fertig|im urlaub|kalt|leer|voll|enferm[oa]|ocupad[oa]|cansad[oa]|rot[oa]|de vacaciones|list[oa])(?![\w-])"
    r"|아프|바쁘|피곤|고장|휴가|춥|덥|[았었였했왔갔됐났]다|生病|出差|忙|累|坏了|休假|了[。.]?$",
    re.IGNORECASE,
)
"""States that end soon, and what has happened."""
_DANGLING = re.compile(
    r"^(?:it|this|that|these|those|they|he|she|das|dies|es|er|sie|eso|esto|그것|이것|이건|그건|这|那|它)(?:\b|(?<=[가-힣\u4e00-\u9fff]))"
    r"|\b(?:it|this|that|them|these|those|him|dabei|damit|dazu|eso|esto)[.!]?$|(?:그것|이것|그걸|이걸|它)[^\s]?\s?\S{0,6}$",
    re.IGNORECASE,
)
"""A word that means something outside of the statement, which is not clear in another note."""
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|probably|should|could|might|vielleicht|wahrscheinlich|sollten?|könnten?|quizás?|tal vez|debería)\b"
    r"|아마|也许|可能|或许",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(?:[,;(]|[，；（]|\s[–—-]\s|\s(?:because|since|weil|porque|ya que)\b)", re.IGNORECASE)
"""What separates a statement from more about it."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_HANGUL = re.compile(r"[가-힣]")
_UNIT = re.compile(r"[零〇一二两三四五六七八九十百千万]+|[a-z0-9]+|[^\W\d_]")
_WORD = re.compile(r"\w+")
_CAPITALISED = re.compile(r"\b[^\W\d_a-z]\w*")
LEAST_LETTERS = 12
"""Letters that two words need."""
LONGEST_VALUE = 3
"""Words of a value at most."""
LONGEST_UNSPACED_VALUE = 8
"""Characters of a value at most, in a script without spaces."""


class Key(NamedTuple):
    """Two statements with an equal key say the same."""

    terms: frozenset[str]
    order: tuple[str, ...]
    """The terms whose order matters: names and, in scripts without capitals, all."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a statement, as they are compared."""

    bare: str
    """The statement without a label such as `Decision:`."""
    label: Lasting | None
    key: Key
    head: Key | None
    """The key of what is before its first clause; None: it has no more clauses, or too few words before."""
    loose: frozenset[str]
    """Its words or, in a script without spaces, its characters: two statements of one form share most of them."""
    subjects: tuple[str, ...]
    """As of `statements.subjects`."""

    @property
    def telling(self) -> bool:
        """Whether there are enough words to compare."""
        return is_telling(self.key)


def words_of(text: str) -> Words:
    """Return the words of a statement."""
    match = _LABEL.match(text)
    bare = text[match.end() :] if match else text
    groups = match.groupdict() if match else {}
    label: Lasting | None = next((kind for kind in _LABELLED if groups.get(kind) or groups.get(f"{kind}_tag")), None)
    clause = _CLAUSE.search(bare)
    head = _key(bare[: clause.start()]) if clause else None
    folded = fold(bare)
    loose = frozenset(folded if _UNSPACED.search(bare) else _WORD.findall(folded))
    return Words(bare, label, _key(bare), head if head and is_telling(head) else None, loose, subjects(bare))


def is_telling(key: Key) -> bool:
    """Return whether a key has enough words to compare: three, or two long ones."""
    return len(key.terms) >= 3 or (len(key.terms) == 2 and len("".join(key.terms)) >= LEAST_LETTERS)


def _key(text: str) -> Key:
    terms = [term for term in analyse(text) if term not in _IGNORED]
    if _HANGUL.search(text) or _UNSPACED.search(text):
        order = tuple(terms)
    else:
        content = set(query_terms(text))
        names = {term for word in _CAPITALISED.findall(text) for term in analyse(word)}
        order = tuple(term for term in terms if term in content and (term in names or term[0].isdigit()))
    return Key(frozenset(terms), order)


_IGNORED_OF = {
    "English": "a an the is are was were be been am s that please",
    "German": "der die das den dem des ein eine einen einem einer ist sind war bin dass bitte",
    "Spanish": "el la los las un una es son está están que por favor",
}
_IGNORED = frozenset(word for words in _IGNORED_OF.values() for word in words.split())
"""Words that make no difference to what a statement says."""


def lasting(text: str, words: Words) -> Lasting | None:
    """Return why a statement of a day is worth keeping for longer; None: it may be about that day."""
    if _ONE_DAY.search(text) or _DANGLING.search(words.bare):
        return None
    if words.label:
        return words.label
    if _OF_USER.search(text):
        return "preference"
    for each in find_statements(text) if may_be_kept(text) else ():
        if each.score >= 0.95:
            return "remember"
        if each.category != "fact" and each.category != "other":  # noqa: PLR1714 (the type checker reads it)
            return each.category
    return None


def is_state(text: str) -> bool:
    """Return whether a statement says how something is, not what has happened nor what will soon be otherwise."""
    if _ONE_DAY.search(text) or _PASSING.search(text) or _UNSURE.search(text):
        return False
    reading = reading_of(text)
    ends_with_verb = bool(reading.verb) and reading.words.endswith(reading.verb) and not _HANGUL.search(text)
    return bool(reading.topic) and not reading.past and not ends_with_verb  # "before work" has no predicate


def replaced_value(older: Words, newer: Words, *, sure: bool) -> bool:
    """Return whether a newer statement gives another value to the same thing.

    Args:
        older: the older statement.
        newer: the newer one. Unless it says that something is so now, only a number may differ.
        sure: whether the older one is meant for longer than a day. Numbers in daily notes are often those of a log.
    """
    old = older.bare
    new = newer.bare
    if len(older.subjects) > 1 and len(newer.subjects) > 1 and switches(old, new):  # both name a tool
        return True
    if 2 * len(older.loose & newer.loose) < min(len(older.loose), len(newer.loose)):
        return False
    before = reading_of(old)
    after = reading_of(new)
    if before.past or after.past or after.additive or before.negative != after.negative:
        return False
    if _ONE_DAY.search(old) or _ONE_DAY.search(new) or _PASSING.search(new):
        return False
    value = _other_value(old, new, before, after)
    if value is None:
        return False
    if not any(map(str.isdigit, "".join(value[0]))):
        return after.changed
    return sure and (after.changed or (bool(before.topic) and before.topic == after.topic))


def _other_value(old: str, new: str, before: Reading, after: Reading) -> tuple[Sequence[str], Sequence[str]] | None:
    """Return what stands in the one place in which two statements differ, if it is behind their subject."""
    unspaced = _UNSPACED.search(new) is not None
    one = _units(before.words, unspaced=unspaced)
    two = _units(after.words, unspaced=unspaced)
    start, end = same_ends(one, two)
    first = one[start : len(one) - end]
    second = two[start : len(two) - end]
    longest = LONGEST_UNSPACED_VALUE if unspaced else LONGEST_VALUE
    if not first or not second or max(len(first), len(second)) > longest or set(first) & set(second):
        return None
    if start < (1 if _HANGUL.search(new) else 2) or 2 * (start + end) < max(len(one), len(two)):
        return None
    return (first, second) if _shape(first, old) == _shape(second, new) != "words" else None


def _units(words: str, *, unspaced: bool) -> list[str]:
    """Return the words of a statement or, in a script without spaces, its characters."""
    return _UNIT.findall(words) if unspaced else words.split()


def _shape(units: Sequence[str], text: str) -> Literal["number", "name", "letters", "words"]:
    """Return what a value looks like: only numbers and names are compared, or any letters of a script without capitals."""
    if any(map(str.isdigit, "".join(units))):
        return "number"
    if _UNSPACED.search(text) or _HANGUL.search(text):
        return "letters"
    capitalised = {word.lower() for word in _CAPITALISED.findall(text)}
    return "name" if any(unit in capitalised for unit in units) else "words"
