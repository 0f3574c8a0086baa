"""Sets of documents and questions with known relevance, read from JSON and reduced to a practical size."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, TypeVar

from memoriter.questions import fields_of, rows_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

T = TypeVar("T")

SEED = 7
MAX_QUESTIONS = 500


@dataclass(frozen=True, slots=True)
class Document:
    """A paragraph, or one turn of a conversation."""

    id: str
    text: str
    group: str = ""
    session: str = ""
    """The file that contains the document; empty for a file of its own."""


@dataclass(frozen=True, slots=True)
class Need:
    """A question with the ids of the documents that answer it."""

    id: str
    text: str
    relevant: frozenset[str]
    kind: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """Documents that are searched together, and the questions about them."""

    name: str
    documents: tuple[Document, ...]
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """One set. A search in one of its pools never returns documents of another."""

    name: str
    lang: str
    documents: tuple[Document, ...]
    needs: tuple[Need, ...]

    @property
    def pools(self) -> tuple[Pool, ...]:
        """One pool for each group of documents."""
        groups = dict.fromkeys(document.group for document in self.documents)
        return tuple(
            Pool(
                group or self.name,
                tuple(document for document in self.documents if document.group == group),
                tuple(need for need in self.needs if need.group == group),
            )
            for group in groups
        )

    def cut(self, paragraphs: int, questions: int | None = None) -> Dataset:
        """Return a sample with at most so many documents and questions, the same sample each time.

        A question is kept if one of the documents that answer it is kept. A set with groups, such as conversations,
        keeps the documents of every group about which a question is kept.

        Args:
            paragraphs: largest number of documents of a set without groups.
            questions: largest number of questions; None: `MAX_QUESTIONS`, or all of a set with groups.
        """
        if any(document.group for document in self.documents):
            return self if questions is None else self._cut_groups(questions)
        questions = MAX_QUESTIONS if questions is None else questions
        draw = random.Random(SEED)  # noqa: S311 (a repeatable sample, not a secret)
        documents = _sample(self.documents, paragraphs, draw)
        kept = {document.id for document in documents}
        needs = [
            Need(need.id, need.text, need.relevant & kept, need.kind, need.group)
            for need in self.needs
            if need.relevant & kept
        ]
        return Dataset(self.name, self.lang, documents, _sample(needs, questions, draw, always=False))

    def _cut_groups(self, questions: int) -> Dataset:
        needs = _sample(self.needs, questions, random.Random(SEED), always=False)  # noqa: S311 (a repeatable sample)
        groups = {need.group for need in needs}
        documents = tuple(document for document in self.documents if document.group in groups)
        return Dataset(self.name, self.lang, documents, needs)


def _sample(items: Sequence[T], count: int, draw: random.Random, *, always: bool = True) -> tuple[T, ...]:
    """Return a random sample of `count` items in their order.

    With `always`, the generator is used even if there are at most `count` items.
    """
    if len(items) <= count and not always:
        return tuple(items)
    return tuple(items[position] for position in sorted(draw.sample(range(len(items)), min(count, len(items)))))


def parse_dataset(value: Any, file: Path) -> Dataset:
    """Return one set, without the questions that have no relevant document. Raises UsageError: it has another shape."""
    where = file.name
    fields = fields_of(value, "docs", "queries", where=where)
    documents = tuple(_parse_document(row, where) for row in rows_of(fields["docs"], where))
    ids = {document.id for document in documents}
    needs = [_parse_need(row, ids, where) for row in rows_of(fields["queries"], where)]
    name = str(fields.get("name", file.stem))
    lang = str(fields.get("lang", ""))
    return Dataset(name, lang, documents, tuple(need for need in needs if need.relevant))


def _parse_document(row: Any, where: str) -> Document:
    fields = fields_of(row, "id", "text", where=where)
    return Document(
        str(fields["id"]), str(fields["text"]), str(fields.get("group", "")), str(fields.get("session", ""))
    )


def _parse_need(row: Any, ids: Collection[str], where: str) -> Need:
    fields = fields_of(row, "id", "text", "relevant", where=where)
    relevant = frozenset(map(str, rows_of(fields["relevant"], where))) & frozenset(ids)
    kind = str(fields.get("type", ""))
    group = str(fields.get("group", ""))
    return Need(str(fields["id"]), str(fields["text"]), relevant, kind, group)
