"""Generated notes of a person and an agent, in four languages; a seed always gives the same notes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from benchmarks._vocabulary import TOPICS, Language, Vocabulary, vocabularies
from memoriter.sync import ChunkingSettings, chunks_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEED = 7
FIRST_DAY = date(2019, 1, 1)
LANGUAGES: tuple[Language, ...] = ("en", "ko", "zh", "ja")
SHARES = (0.55, 0.2, 0.13, 0.12)
"""Share of each language among the notes."""
GUEST = 0.15
"""Share of the lines that are in another language than their note."""
CHUNKS_A_NOTE = 10
BULLETS_A_NOTE = 20
WORDS_A_BULLET = 9

_LINKS = (" ", "的", "の")
# A sentence: `{}` is a word of the vocabulary, `#` a number.
_SENTENCES: dict[Language, tuple[str, ...]] = {
    "en": (
        "We decided to move the {} to {} because the {} was too slow.",
        "{} asked about the {}; the answer is in the {} from last week.",
        "The {} failed # times with {}, fixed by restarting the {}.",
        "Call {} about the {} before the #th, they want # euros for the {}.",
        "Note for later: {} and {} do not work together, use {} instead.",
        "Paid # for the {} and the {}, the receipt is with {}.",
        "After lunch with {} it was clear that the {} needs a new {} and at least # days.",
        "The {} of the {} is {}-{}, it must not be changed without asking {}.",
        "TODO: check whether {} still needs the {}, else remove it from the {}.",
    ),
    "ko": (
        "{}은 {} 때문에 다음 주로 미루기로 했다.",
        "{}에서 {} 문제가 #번 생겨서 {}를 다시 시작하니 해결됨.",
        "{} 담당자에게 {} 확인 부탁, 비용은 #만 원.",
        "{}와 {}는 같이 쓰면 안 됨. 대신 {}을 쓰기로 결정.",
        "#일까지 {} 예약하고 {}도 같이 알아보기.",
        "{}의 {}가 생각보다 느려서 {}로 바꿨다.",
    ),
    "zh": (
        "我们决定把{}换成{}，因为{}太慢了。",
        "{}的{}出了#次问题，重启{}以后就好了。",
        "#号之前要给{}打电话确认{}的价格。",
        "{}和{}不能一起用，以后改用{}。",
        "今天付了#元的{}，收据在{}那里。",
        "下周和{}讨论{}，还要准备{}的材料。",
    ),
    "ja": (
        "{}の{}が遅いので、{}に変更することにした。",
        "{}で{}の問題が#回起きたが、{}を再起動したら直った。",
        "#日までに{}へ{}について電話する。",
        "{}と{}は一緒に使えないため、{}を使う。",
        "来週{}と{}の打ち合わせ、資料は{}に置いた。",
        "{}の代金#円を払った。領収書は{}にある。",
    ),
}
_TITLES: dict[Language, tuple[str, ...]] = {
    "en": ("Decisions", "{} and {}", "Open questions about {}", "Meeting with {}", "Errands", "{}"),
    "ko": ("결정", "{} 회의", "{} 할 일", "{}와 {}"),
    "zh": ("决定", "{}会议", "{}的问题", "{}和{}"),
    "ja": ("決定", "{}の会議", "{}のメモ", "{}と{}"),
}


@dataclass(frozen=True, slots=True)
class Note:
    """One file."""

    path: str
    text: str
    chunks: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """The notes of a workspace, and questions about them."""

    notes: tuple[Note, ...]
    questions: tuple[str, ...]

    @property
    def chunks(self) -> int:
        return sum(note.chunks for note in self.notes)

    @property
    def text_bytes(self) -> int:
        return sum(len(note.text.encode()) for note in self.notes)

    def write(self, root: Path) -> None:
        """Write the files."""
        for note in self.notes:
            file = root / note.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(note.text, encoding="utf-8")


def make_corpus(chunks: int, questions: int, *, seed: int = SEED) -> Corpus:
    """Return notes with at least `chunks` chunks; the last note is not cut."""
    generator = NoteGenerator(vocabularies(seed), random.Random(seed))
    notes: list[Note] = []
    count = 0
    while count < chunks:
        note = generator.note(len(notes), items=CHUNKS_A_NOTE)
        notes.append(note)
        count += note.chunks
    return Corpus(tuple(notes), tuple(generator.question() for _ in range(questions)))


def make_small_notes(files: int, *, seed: int = SEED) -> Corpus:
    """Return notes of one chunk each."""
    generator = NoteGenerator(vocabularies(seed), random.Random(seed + 1))
    return Corpus(tuple(generator.note(number, items=1) for number in range(files)), ())


def make_bullets(chunks: int, *, seed: int = SEED) -> Corpus:
    """Return notes of short bullets with at least `chunks` chunks."""
    generator = NoteGenerator(vocabularies(seed), random.Random(seed))
    notes: list[Note] = []
    while sum(note.chunks for note in notes) < chunks:
        notes.append(generator.bullets(len(notes)))
    return Corpus(tuple(notes), ())


class NoteGenerator:
    """A generator of notes and questions."""

    def __init__(self, words: dict[Language, Vocabulary], source: random.Random) -> None:
        self._vocabulary = words
        self._source = source

    def note(self, number: int, *, items: int) -> Note:
        """Return a daily log or a page about a subject, with about one chunk per item."""
        source = self._source
        language = self._language()
        topic = source.randrange(TOPICS)
        path = _path(number)
        count = max(1, round(source.gauss(items, items / 4)))
        text = "\n".join(self._lines(language, topic, count)) + "\n"
        return Note(path, text, len(chunks_of(text, ChunkingSettings())))

    def bullets(self, number: int) -> Note:
        """Return a log of short bullets, of which a chunk has several."""
        source = self._source
        language = self._language()
        topic = source.randrange(TOPICS)
        space = " " if language in {"en", "ko"} else ""
        lines = [f"# {self._fill(source.choice(_TITLES[language]), language, topic)}", ""]
        for _ in range(BULLETS_A_NOTE):
            words = [self._vocabulary[language].draw(source, topic) for _ in range(WORDS_A_BULLET)]
            lines.append(f"- {space.join(words)}")
        text = "\n".join(lines) + "\n"
        return Note(_path(number), text, len(chunks_of(text, ChunkingSettings())))

    def question(self) -> str:
        """Return 3-8 words of one topic, or a part of a sentence, as a person with a vague memory would ask."""
        source = self._source
        language = self._language()
        topic = source.randrange(TOPICS)
        spaced = language in {"en", "ko"}
        count = source.randint(3, 8)
        if source.random() < 0.5:
            words = [self._vocabulary[language].draw(source, topic) for _ in range(count)]
            return (" " if spaced else source.choice(_LINKS)).join(words)
        sentence = self._fill(source.choice(_SENTENCES[language]), language, topic)
        return " ".join(sentence.split()[:count]) if spaced else sentence[: 2 * count]

    def sentence(self) -> str:
        """Return a sentence about some subject."""
        source = self._source
        language = self._language()
        return self._fill(source.choice(_SENTENCES[language]), language, source.randrange(TOPICS))

    def _language(self) -> Language:
        return self._source.choices(LANGUAGES, SHARES)[0]

    def _lines(self, language: Language, topic: int, items: int) -> Iterator[str]:
        source = self._source
        yield f"# {self._fill(source.choice(_TITLES[language]), language, topic)}"
        for number in range(items):
            if number % 4 == 0 and items > 1:
                yield f"\n## {self._fill(source.choice(_TITLES[language]), language, topic)}\n"
            spoken = self._language() if source.random() < GUEST else language
            sentences = source.choices(_SENTENCES[spoken], k=source.choice((2, 3, 4, 6)))
            text = " ".join(self._fill(sentence, spoken, topic) for sentence in sentences)
            yield f"- {text}" if source.random() < 0.8 else f"\n{text}\n"

    def _fill(self, sentence: str, language: Language, topic: int) -> str:
        source = self._source
        parts = sentence.replace("#", str(source.randint(2, 90))).split("{}")
        words = [self._vocabulary[language].draw(source, topic) for _ in parts[1:]]
        return parts[0] + "".join(word + rest for word, rest in zip(words, parts[1:], strict=True))


def _path(number: int) -> str:
    """Return the path of a note; three of four notes are daily logs."""
    day = FIRST_DAY + timedelta(days=number)
    if number % 4:
        return f"memory/{day.isoformat()}.md"
    return f"memory/pages/{number // 400:02d}/page-{number:05d}.md"
