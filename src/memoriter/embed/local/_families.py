"""What model files do not state: the prefixes and the pooling of each family of models. Pure.

The source is the models' authors. Without its prefixes a model still returns vectors, but search results are worse,
which is easy to miss.
"""

from __future__ import annotations

import re

from memoriter.values import dataclass

_INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
_SENTENCE = "Represent this sentence for searching relevant passages: {text}"
_PLAIN = "{text}"
_UNKNOWN_BACKGROUND = (0.3, 0.1)
"""A guess, typical of embedding models; a few dozen notes outweigh it."""


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
