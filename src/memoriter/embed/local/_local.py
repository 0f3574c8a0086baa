"""A provider and a reranker for a model with any engine, and the prefixes and the pooling of each family of models.

Model files do not state the prefixes; their source is the models' authors. Without its prefixes a model still returns
vectors, but search results are worse, which is easy to miss.
"""

from __future__ import annotations

import math
import re
import threading
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from memoriter.embed._provider import extrapolate_tokens, normalise, utf8_size
from memoriter.errors import BadScores, BadVector, InputRejected, TransientFailure
from memoriter.ids import normalize
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ModelSpec, Role

MOST_TOKENS = 2048
"""Limit for the tokens read of a text, even if the model could read more.

Passages are shorter, and the cost grows faster than the length.
"""
_MARKS = 8
"""Maximum number of tokens that a model adds for start and end."""
Form = Literal["NFC", "NFKC"]
_MOST_CHARACTERS_PER_TOKEN = 16
"""Few pieces in any vocabulary are longer."""
_INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
_SENTENCE = "Represent this sentence for searching relevant passages: {text}"
_PLAIN = "{text}"
_UNKNOWN_BACKGROUND = (0.3, 0.1)
"""A guess, typical of embedding models; a few dozen notes outweigh it."""


class LocalEngine(Protocol):
    """One loaded model. Threads may share it."""

    def count(self, text: str) -> int:
        """Return the number of tokens, including the markers that the model adds."""
        ...

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the model's vector of the text, not normalised. Text over the limit is ignored.

        Raises:
            InputRejected: the model rejects this text.
            ProviderUnavailable: the model no longer responds.
        """
        ...

    def close(self) -> None:
        """Release the model."""
        ...


class RankingEngine(Protocol):
    """One loaded cross-encoder. Threads may share it."""

    def relevance(self, query: str, passage: str) -> float:
        """Return the model's score of a pair. Text over the limit is ignored. Raises EmbeddingError."""
        ...

    def close(self) -> None:
        """Release the model."""
        ...


_Engine = TypeVar("_Engine", LocalEngine, RankingEngine)


class _LoadedOnce(Generic[_Engine]):
    """A model that is loaded at the first use, and again at the first use after `close`."""

    def __init__(self, load: Callable[[], _Engine]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._engine: _Engine | None = None

    def _loaded(self) -> _Engine:
        with self._lock:
            if self._engine is None:
                self._engine = self._load()
            return self._engine

    def close(self) -> None:
        """Release the model."""
        with self._lock:
            engine = self._engine
            self._engine = None
        if engine is not None:
            engine.close()


class LocalProvider(_LoadedOnce[LocalEngine]):
    """Embeds texts one after another, so that no vector depends on other texts.

    The model uses several threads for each text.
    """

    def __init__(self, spec: ModelSpec, form: Form, load: Callable[[], LocalEngine]) -> None:
        """Prepare the provider without loading the model; `form` is the Unicode normalization before the tokenizer."""
        super().__init__(load)
        self.spec = spec
        self._form: Form = form

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        import numpy as np

        rows = np.empty((len(texts), self.spec.dimensions), np.float32)
        if not texts:
            return rows
        engine = self._loaded()
        for position, text in enumerate(texts):
            vector = engine.embed(self._model_input(text, role))
            if vector.shape != rows.shape[1:]:
                raise BadVector(f"The model gave {vector.size} dimensions instead of {self.spec.dimensions}.")
            rows[position] = vector
        unit, usable = normalise(rows)
        if not usable.all():
            raise InputRejected("The model gives this text a vector that is zero or not finite.")
        return unit

    def count_tokens(self, text: str) -> int:
        template = self.spec.document_template
        size = utf8_size(text)
        if size + utf8_size(template) + _MARKS <= self.spec.max_tokens:
            # No tokenizer makes more tokens than there are bytes, so an estimate is enough.
            return size // 3 + len(template) // 4 + 2
        tokens = self._loaded().count(self._model_input(text, "document"))
        return extrapolate_tokens(tokens, text, most_characters(self.spec.max_tokens))

    def hint_batch_size(self, chunks: int) -> None:
        """Do nothing: the model is the same for one text and for many."""

    def _model_input(self, text: str, role: Role) -> str:
        template = self.spec.query_template if role == "query" else self.spec.document_template
        return template.replace("{text}", prepare_text(text, self._form, self.spec.max_tokens))


class LocalReranker(_LoadedOnce[RankingEngine]):
    """Scores passages one after another, so that no score depends on other passages."""

    def __init__(self, service: str, load: Callable[[], RankingEngine], clock: Callable[[], float]) -> None:
        """Prepare the reranker without loading the model; `clock` returns monotonic seconds."""
        super().__init__(load)
        self.service = service
        """The name of the model, for messages."""
        self._clock = clock

    def scores(self, query: str, passages: Sequence[str], *, seconds: float) -> list[float]:
        """Return the relevance of each passage; larger is better. The seconds do not include loading the model.

        Raises EmbeddingError: the model cannot be loaded, refuses a text, or took too long.
        """
        engine = self._loaded()
        deadline = self._clock() + seconds
        question = prepare_text(query, "NFC", MOST_TOKENS)
        scores: list[float] = []
        for passage in passages:
            if self._clock() >= deadline:
                raise TransientFailure(
                    f"The reranker {self.service} read {len(scores)} of {len(passages)} passages in {seconds:g} s.",
                    remedy="Set memorySearch.query.rerank.candidates lower, or choose a smaller model.",
                )
            score = engine.relevance(question, prepare_text(passage, "NFC", MOST_TOKENS))
            if not math.isfinite(score):
                raise BadScores(f"The reranker {self.service} gave a score that is not a finite number.")
            scores.append(score)
        return scores


def prepare_text(text: str, form: Form, most_tokens: int) -> str:
    """Return the beginning of the text, normalised and no longer than the model could read.

    NUL becomes a space, lone surrogates become U+FFFD. With NFKC, runs of white space become one space, because models
    trained on NFKC were trained on that as well.
    """
    text = text[: most_characters(most_tokens)].replace("\0", " ")
    if not text.isascii():
        text = normalize(form, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return " ".join(text.split()) if form == "NFKC" else text


def most_characters(most_tokens: int) -> int:
    """Return how many characters to read, so that a huge text costs no more than a large one."""
    return most_tokens * _MOST_CHARACTERS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class Family:
    """Models that are used in the same way."""

    name: str
    pattern: str
    """Pattern for the words of the model's names, joined by `-`. If it is empty, only the architecture counts."""
    architectures: frozenset[str] = frozenset()
    """Architectures of this family only."""
    query: str = _PLAIN
    document: str = _PLAIN
    pooling: str = "mean"
    """Used if the file does not state a pooling."""
    background: tuple[float, float] = _UNKNOWN_BACKGROUND
    """Mean and standard deviation of the cosine of unrelated texts, used until the notes themselves are measured."""


# The first match counts, so specific families come before general ones.
FAMILIES = (
    Family(
        "embeddinggemma",
        "embedding-?gemma",
        frozenset({"gemma-embedding", "gemma3-embedding"}),
        query="task: search result | query: {text}",
        document="title: none | text: {text}",
    ),
    Family(
        "qwen3-embedding",
        "qwen3-(vl-)?embedding",
        query=f"Instruct: {_INSTRUCTION}\nQuery:{_PLAIN}",
        pooling="last",
    ),
    Family(
        "nomic-embed-text",
        "nomic-embed",
        frozenset({"nomic-bert", "nomic-bert-moe"}),
        query="search_query: {text}",
        document="search_document: {text}",
    ),
    Family("e5-mistral", "e5-mistral", query=f"Instruct: {_INSTRUCTION}\nQuery: {_PLAIN}", pooling="last"),
    Family("e5-instruct", "e5-.*instruct", query=f"Instruct: {_INSTRUCTION}\nQuery: {_PLAIN}"),
    # Measured with multilingual-e5-small in 4 bits; bundled/_bundled.py has the figures by language.
    Family("e5", "e5", query="query: {text}", document="passage: {text}", background=(0.81, 0.025)),
    Family("bge-m3", "bge-m3", pooling="cls"),
    Family(
        "bge-zh",
        "bge-(small|base|large)-zh",
        query="为这个句子生成表示以用于检索相关文章：{text}",
        pooling="cls",
    ),
    Family("bge-en", "bge-(small|base|large)(-en)?", query=_SENTENCE, pooling="cls"),
    Family("bge", "bge", pooling="cls"),
    Family("arctic-embed-2", "arctic-embed-[ml]-v2", query="query: {text}", pooling="cls"),
    Family("arctic-embed", "arctic-embed", query=_SENTENCE, pooling="cls"),
    Family("mxbai-embed", "mxbai-embed", query=_SENTENCE, pooling="cls"),
    Family("granite-embedding", "granite-embedding", pooling="cls"),
    # all-MiniLM-L6-v2 in 8 bits: English paragraphs .02 ± .10, English conversations .32 ± .14.
    Family("minilm", "minilm", background=(0.1, 0.11)),
    Family("gte", "gte-(small|base|large)"),
)
PLAIN = Family("plain", "")


def family_of(architecture: str, *names: str) -> Family:
    """Return the family of a model, by its architecture or else by its names; `PLAIN` if nothing matches."""
    words = "-".join(re.findall(r"[a-z0-9]+", " ".join(names).lower()))
    by_architecture = next((family for family in FAMILIES if architecture in family.architectures), None)
    return by_architecture or next(
        (family for family in FAMILIES if family.pattern and re.search(rf"(^|-)({family.pattern})(-|$)", words)), PLAIN
    )
