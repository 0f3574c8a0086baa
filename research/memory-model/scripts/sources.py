"""Readers of the public reading sets that judges are trained on, each as questions about paragraphs."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HELD_OUT = ("Normans", "Huguenot", "1973_oil_crisis", "Packet_switching", "Yuan_dynasty", "Islamism", "Warsaw", "Force")
"""Articles of SQuAD 2.0 that no judge is trained on, in any language: their questions measure near-misses."""
SENTENCE_END = re.compile(r"(?<=[。．！？!?\n])|(?<=\.)\s+")


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, or a conversation, in sentences or turns."""

    key: str
    """Article or conversation."""
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """A question about a paragraph."""

    source: str
    lang: str
    text: str
    paragraph: Paragraph
    answer: str
    """The text that answers it, in one of the sentences; empty without an answer."""
    sentence: int
    """The sentence of the answer, or of what looks like one; -1: unknown."""
    answerable: bool
    negatives: tuple[str, ...] = ()
    """Passages that do not answer, if the set names them."""


def read_all(folder: Path) -> Iterator[Asked]:
    """Yield the questions of every set that is in the folder, in a fixed order.

    Raises:
        SystemExit: there is none.
    """
    readers: list[tuple[str, Callable[[Path], Iterator[Asked]]]] = [
        ("squad.json", lambda file: squad(file, "squad", "en", without=HELD_OUT)),
        ("squad-pt.json", lambda file: squad(file, "squad-pt", "pt", without=HELD_OUT)),
        ("jaquad/*.json", lambda file: squad(file, "jaquad", "ja")),
        ("jsquad-test.json", lambda file: squad(file, "jsquad-test", "ja")),
        ("drcd-*.json", lambda file: squad(file, "drcd", "zh")),
        ("cmrc-trial.json", lambda file: squad(file, "cmrc-trial", "zh")),
        ("friendsqa-*.json", friends),
        ("molweni-test.json", molweni),
        ("nqg-src-*.txt", lambda file: sentence_questions(file, file.with_name(file.name.replace("src", "tgt")))),
        ("nq-oracle.jsonl.gz", natural_questions),
        ("selqa-*.json", selqa),
        ("klue-nli-dev.json", inference),
    ]
    found = [(file, reader) for pattern, reader in readers for file in sorted(folder.glob(pattern))]
    if not found:
        names = ", ".join(pattern for pattern, _ in readers)
        raise SystemExit(f"{str(folder)!r} contains none of {names}. README.md says where the sets are.")
    for file, reader in found:
        yield from reader(file)


def sentences_of(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, without empty ones."""
    return tuple(part.strip() for part in SENTENCE_END.split(text) if part and part.strip())


def squad(
    file: Path, source: str, lang: str, without: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> Iterator[Asked]:
    """Yield the questions of a file in the form of SQuAD 1.1 or 2.0, without or only with some articles."""
    for number, article in enumerate(json.loads(file.read_text("utf-8"))["data"]):
        title = article.get("title", str(number))
        if title in without or (only and title not in only):
            continue
        for part in article["paragraphs"]:
            context = part["context"].rpartition("[SEP] ")[2]
            paragraph = Paragraph(f"{source}/{title}", sentences_of(context))
            for question in part["qas"]:
                yield _squad_question(question, paragraph, source, lang)


def _squad_question(question: dict[str, Any], paragraph: Paragraph, source: str, lang: str) -> Asked:
    answerable = not question.get("is_impossible", False)
    found = question.get("answers" if answerable else "plausible_answers") or [{"text": ""}]
    answer = found[0]["text"].strip()
    inside = [at for at, sentence in enumerate(paragraph.sentences) if answer and answer in sentence]
    place = inside[0] if inside else -1
    return Asked(source, lang, question["question"].strip(), paragraph, answer if answerable else "", place, answerable)


def friends(file: Path) -> Iterator[Asked]:
    """Yield the questions of FriendsQA whose answer is in one turn of the conversation."""
    for scene in json.loads(file.read_text("utf-8"))["data"]:
        part = scene["paragraphs"][0]
        turns = [f"{', '.join(one['speakers'])}: {_joined(one['utterance'])}" for one in part["utterances:"]]
        paragraph = Paragraph(f"friendsqa/{scene['title']}", tuple(turns))
        for question in part["qas"]:
            answer = question["answers"][0]
            text = _joined(answer["answer_text"])
            if text and text in turns[answer["utterance_id"]]:
                question_text = _joined(question["question"])
                yield Asked("friendsqa", "en", question_text, paragraph, text, answer["utterance_id"], True)


def _joined(text: str) -> str:
    """Return tokenised English as people write it."""
    text = re.sub(r" ([.,!?;:%)]|n't|'\w+)", r"\1", text.replace("-LRB- ", "(").replace("-RRB-", ")"))
    return text.replace("`` ", '"').replace(" ''", '"').replace(" -- ", "-").strip()


def molweni(file: Path) -> Iterator[Asked]:
    """Yield the questions of Molweni: support chats of many people, with questions that have no answer."""
    for number, chat in enumerate(json.loads(file.read_text("utf-8"))["data"]["dialogues"]):
        turns = tuple(f"{turn['speaker']}: {_joined(turn['text'])}" for turn in chat["edus"])
        paragraph = Paragraph(f"molweni/{number}", turns)
        for question in chat["qas"]:
            asked = _squad_question(question, paragraph, "molweni", "en")
            if asked.sentence >= 0:
                yield Asked(
                    *("molweni", "en", _joined(asked.text)), paragraph, asked.answer, asked.sentence, asked.answerable
                )


def sentence_questions(sentences: Path, questions: Path) -> Iterator[Asked]:
    """Yield questions generated from single sentences of SQuAD 1.1, in lower case."""
    lines = [
        _joined(line) for line in sentences.read_text("utf-8").replace("-lrb- ", "(").replace("-rrb-", ")").splitlines()
    ]
    for at, question in enumerate(questions.read_text("utf-8").splitlines()):
        around = tuple(dict.fromkeys(lines[max(0, at - 12) : at + 12]))
        paragraph = Paragraph(f"nqg/{sentences.stem}/{at // 40}", around)
        yield Asked("nqg", "en", _joined(question), paragraph, "", around.index(lines[at]), True)


def natural_questions(file: Path) -> Iterator[Asked]:
    """Yield questions that people asked a search engine, each with one paragraph that answers it."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            passage = row["ctxs"][0]
            paragraph = Paragraph(f"nq/{passage['title']}", sentences_of(passage["text"]))
            inside = [
                (at, answer)
                for answer in row["answers"]
                for at, sentence in enumerate(paragraph.sentences)
                if answer in sentence
            ]
            if inside:
                yield Asked("nq", "en", row["question"], paragraph, inside[0][1], inside[0][0], True)


def selqa(file: Path) -> Iterator[Asked]:
    """Yield questions about a section of an article, with the sentences that answer them."""
    for row in json.loads(file.read_text("utf-8")):
        if len(row["answers"]) == 1 and len(row["candidates"]) > 2:
            paragraph = Paragraph(f"selqa/{row['article']}", tuple(row["candidates"]))
            yield Asked("selqa", "en", row["question"], paragraph, "", row["answers"][0], True)


def inference(file: Path) -> Iterator[Asked]:
    """Yield Korean statements about a sentence that states them, or does not (contradiction and neutral)."""
    for at, row in enumerate(json.loads(file.read_text("utf-8"))):
        paragraph = Paragraph(f"klue/{at}", (row["premise"],))
        yield Asked("klue-nli", "ko", row["hypothesis"], paragraph, "", 0, row["gold_label"] == "entailment")
