"""Write the training set of judges from public reading sets, without what judges are measured on.

    python research/judge/prepare.py --sources DIR --exclude FILE... --out train.jsonl

README.md lists the files of DIR. Each line is a question with up to four passages: one that answers it (unless none
does), and near-misses: other sentences of the same paragraph, the best other paragraph by BM25 over the words of our
index, and the answer itself for a question in which a number or a name was exchanged.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.search import analyse, query_terms
from sources import HELD_OUT, Asked, Paragraph, read_all, squad

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SEED = 15
LIMITS = {"squad": 1600, "squad-pt": 1500, "jaquad": 1300, "jsquad-test": 400, "drcd": 1100, "cmrc-trial": 300}
LIMITS |= {"friendsqa": 1200, "molweni": 400, "nqg": 1000, "nq": 600, "selqa": 600, "klue-nli": 600}
"""Questions of each set, at most."""
SHARE_SWAPPED = 0.25
"""Share of the answerable questions that are asked once more with another number or name."""
WIDTHS = {"en": (60, 420), "pt": (60, 420), "ko": (40, 200), "ja": (30, 180), "zh": (25, 150)}
"""Characters of a passage, least and most: as short as an item of a note, or as long as a paragraph."""
VALIDATION = 0.04
COMMON = 300
"""Paragraphs with a word, above which the word does not count for the best other paragraph."""
SHINGLE = 14
"""Characters, without spaces and punctuation, of which a sentence may share few with an evaluation set."""
SHARED = 8
NAME = re.compile(r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)*|[ァ-ヶー]{3,}|《[^》]+》")
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Passage:
    text: str
    label: int
    answer: tuple[int, int] | None = None
    """First character of the answer, and the first after it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--exclude", type=Path, nargs="+", required=True, help="evaluation sets")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    draw = random.Random(SEED)
    excluded = shingles_of_files(options.exclude)
    held_out = options.sources / "squad.json"
    for asked in squad(held_out, "squad", "en", only=HELD_OUT) if held_out.is_file() else ():
        excluded |= shingles("".join(asked.paragraph.sentences))
    chosen = choose(list(read_all(options.sources)), excluded, draw)
    lines = [line for group in groups_by_language(chosen) for line in groups(group, draw)]
    draw.shuffle(lines)
    with options.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    print(dict(Counter(str(line["source"]) for line in lines)))
    print(dict(Counter(str(line["split"]) for line in lines)), sum(len(line["passages"]) for line in lines), "pairs")


def bare(text: str) -> str:
    """Return the letters and digits of a text in lower case."""
    return "".join(character for character in text.casefold() if character.isalnum())


def shingles_of_files(files: Iterable[Path]) -> set[int]:
    """Return the shingles of every text in the evaluation sets."""
    found: set[int] = set()
    for file in files:
        value = json.loads(file.read_text("utf-8"))
        texts = [doc["text"] for doc in value.get("docs", [])] + [query["text"] for query in value.get("queries", [])]
        texts += [part["context"] for article in value.get("data", []) for part in article["paragraphs"]]
        for text in texts:
            found |= shingles(text)
    return found


def shingles(text: str) -> set[int]:
    letters = bare(text)
    return {hash(letters[at : at + SHINGLE]) for at in range(max(1, len(letters) - SHINGLE + 1))}


def is_known(question: str, excluded: set[int]) -> bool:
    """Return whether a question is in an evaluation set."""
    return len(bare(question)) >= SHINGLE and shingles(question) <= excluded


def is_shared(paragraph: Paragraph, excluded: set[int]) -> bool:
    """Return whether a sentence of the paragraph is in an evaluation set."""
    return any(len(shingles(sentence) & excluded) >= SHARED for sentence in paragraph.sentences)


def choose(questions: Sequence[Asked], excluded: set[int], draw: random.Random) -> list[Asked]:
    """Return a sample of each set, without what shares text with an evaluation set."""
    by_source: defaultdict[str, list[Asked]] = defaultdict(list)
    for asked in questions:
        if asked.sentence >= 0:
            by_source[asked.source].append(asked)
    known: dict[Paragraph, bool] = {}
    chosen: list[Asked] = []
    for source, found in by_source.items():
        draw.shuffle(found)
        taken, dropped = 0, 0
        for asked in found:
            if taken == LIMITS[source]:
                break
            if asked.paragraph not in known:
                known[asked.paragraph] = is_shared(asked.paragraph, excluded)
            if known[asked.paragraph] or is_known(asked.text, excluded):
                dropped += 1
                continue
            taken += 1
            chosen.append(asked)
        print(
            f"{source}: {taken} questions, {dropped} left out because they share text with an evaluation set",
            flush=True,
        )
    return chosen


def groups_by_language(questions: Sequence[Asked]) -> list[list[Asked]]:
    by_language: defaultdict[str, list[Asked]] = defaultdict(list)
    for asked in questions:
        by_language[asked.lang].append(asked)
    return list(by_language.values())


def groups(questions: Sequence[Asked], draw: random.Random) -> list[dict[str, Any]]:
    """Return the questions of one language with their passages, and some of them with another number or name."""
    neighbours = Neighbours([asked.paragraph.sentences for asked in questions])
    texts = [asked.text for asked in questions]
    lines: list[dict[str, Any]] = []
    for at, asked in enumerate(questions):
        passages = passages_of(asked, draw)
        if asked.source != "klue-nli" and (other := neighbours.best(at, asked.text)) is not None:
            sentence = neighbours.closest_sentence(other, asked.text)
            passages.append(Passage(window(questions[other].paragraph.sentences, sentence, asked, draw), 0))
        split = "validation" if draw_of(asked.paragraph.key) < VALIDATION else "train"
        lines.append(line_of(asked, asked.text, passages, split))
        if asked.answerable and draw.random() < SHARE_SWAPPED:
            swapped = swap(asked, texts, draw)
            if swapped is not None:
                unanswered = [replace(passage, label=0, answer=None) for passage in passages[:2]]
                lines.append(line_of(asked, swapped, unanswered, split))
    return lines


def draw_of(key: str) -> float:
    """Return a number in 0..1 that depends on the key only, so that all questions about an article are together."""
    return random.Random(f"{SEED}/{key}").random()


def line_of(asked: Asked, text: str, passages: Sequence[Passage], split: str) -> dict[str, Any]:
    kept = [asdict(passage) for passage in passages]
    return {"source": asked.source, "lang": asked.lang, "split": split, "question": text, "passages": kept}


def passages_of(asked: Asked, draw: random.Random) -> list[Passage]:
    """Return the passage with the answer, and one or two of the same paragraph without it."""
    sentences = asked.paragraph.sentences
    first = window(sentences, asked.sentence, asked, draw)
    start = first.find(asked.answer) if asked.answer else -1
    answer = (start, start + len(asked.answer)) if asked.answerable and start >= 0 else None
    passages = [Passage(first, int(asked.answerable), answer)]
    rest = [at for at, sentence in enumerate(sentences) if sentence not in first]
    rest = [at for at in rest if not asked.answer or asked.answer not in sentences[at]]
    for at in draw.sample(rest, min(2, len(rest))):
        without = [sentence for other, sentence in enumerate(sentences) if other in rest]
        passages.append(Passage(window(without, without.index(sentences[at]), asked, draw), 0))
    return passages


def window(sentences: Sequence[str], at: int, asked: Asked, draw: random.Random) -> str:
    """Return a sentence with neighbours, up to a random length."""
    least, most = WIDTHS[asked.lang]
    wanted = draw.uniform(least, most)
    first = last = at
    glue = "\n" if asked.source in {"friendsqa", "molweni"} else " "
    while first > 0 or last < len(sentences) - 1:
        grow_back = first > 0 and (last == len(sentences) - 1 or draw.random() < 0.5)
        low, high = (first - 1, last) if grow_back else (first, last + 1)
        if sum(map(len, sentences[low : high + 1])) > wanted:
            break
        first, last = low, high
    return glue.join(sentences[first : last + 1])[: 2 * most]


def swap(asked: Asked, questions: Sequence[str], draw: random.Random) -> str | None:
    """Return the question with a number or name of its passage exchanged; None if it has none."""
    where = " ".join(asked.paragraph.sentences)
    for pattern in (NUMBER, NAME):
        found = [match for match in pattern.finditer(asked.text) if match.start() > 0 or pattern is NUMBER]
        found = [match for match in found if match.group() in where]
        if found:
            match = draw.choice(found)
            other = another(pattern, match.group(), questions, draw)
            if other is not None and other not in where:
                return asked.text[: match.start()] + other + asked.text[match.end() :]
    return None


def another(pattern: re.Pattern[str], value: str, questions: Sequence[str], draw: random.Random) -> str | None:
    """Return another number with as many digits, or a name in another question."""
    if pattern is NUMBER:
        return str(draw.randrange(10 ** (len(value) - 1), 10 ** len(value))) if len(value) < 9 else None
    for _ in range(20):
        found = [match.group() for match in pattern.finditer(draw.choice(questions)) if match.start() > 0]
        if found and found[0] != value:
            return found[0]
    return None


class Neighbours:
    """Paragraphs of one language, ranked for questions by BM25 over the words of the index."""

    def __init__(self, paragraphs: Sequence[Sequence[str]]) -> None:
        self._paragraphs = paragraphs
        self._first = {tuple(sentences): at for at, sentences in reversed(list(enumerate(paragraphs)))}
        self._lists: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: dict[int, int] = {}
        for sentences, at in self._first.items():
            counts = Counter(analyse(" ".join(sentences)))
            self._lengths[at] = counts.total()
            for term, count in counts.items():
                self._lists[term].append((at, count))
        self._mean = sum(self._lengths.values()) / max(1, len(self._lengths))

    def best(self, own: int, question: str) -> int | None:
        """Return the position of the best paragraph that is not the question's own."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in query_terms(question):
            found = self._lists.get(term, ())
            if len(found) > COMMON:
                continue
            rarity = 1 / (1 + len(found)) ** 0.5
            for at, count in found:
                scores[at] += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * self._lengths[at] / self._mean))
        scores.pop(self._first[tuple(self._paragraphs[own])], None)
        return max(scores, key=lambda at: (scores[at], -at)) if scores else None

    def closest_sentence(self, at: int, question: str) -> int:
        """Return the sentence of a paragraph that shares most words with a question."""
        terms = set(query_terms(question))
        shared = [len(terms & set(analyse(sentence))) for sentence in self._paragraphs[at]]
        return shared.index(max(shared))


if __name__ == "__main__":
    main()
