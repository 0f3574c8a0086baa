"""Sizes, prefixes and limits of the models that services run, from the vendors' pages of 2026; a probe for others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNMEASURED = (0.3, 0.1)
"""Background of a model that has not been measured: a typical value.

`resolve` measures the model, and a large index measures its own background.
"""

PLAIN = "{text}"
_SEARCHING = "Represent this sentence for searching relevant passages: {text}"
_TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
PROBE = (
    "The tomatoes on the balcony need water twice a day in July, otherwise the leaves curl before noon.",
    "We moved the nightly backup to three o'clock because the old slot collided with the report.",
    "Her flight lands in Lisbon on Thursday evening and the rental car is already paid.",
    "The violin teacher asked for slower scales and a looser wrist in the second position.",
    "Invoices above five thousand euros are signed by two people and kept for ten years.",
    "After the marathon his left knee hurt for a week, so the doctor ordered rest and cold packs.",
    "The compiler warns about an unused variable in the parser, which hides the real mistake.",
    "Grandmother's dumplings want cabbage, a little ginger and dough that rested for an hour.",
    "The council voted to close the bridge for lorries until the cracks have been measured.",
    "Jupiter is bright in the east these nights; four of its moons can be seen through binoculars.",
    "The cat sleeps on the router since it is the warmest place in the flat.",
    "In the third chapter the lighthouse keeper finds the letter that his brother never sent.",
)
_LEAST_DEVIATION = 0.02
"""Lower limit, because there are few pairs: with a smaller deviation, a chance similarity would look like a match."""


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """One model, as a service offers it."""

    dimensions: int | None = None
    """Default dimensions of the vectors; None if only the model's response shows them."""
    sizes: tuple[int, int] | None = None
    """Minimum and maximum dimensions that can be requested."""
    max_tokens: int = 8192
    """Maximum tokens of one text, including its prefix."""
    max_inputs: int = 32
    """Maximum texts in one request."""
    max_request_tokens: int = 100_000
    """Maximum tokens in one request."""
    query_template: str = PLAIN
    document_template: str = PLAIN
    """Templates around a text, applied here or, with a `task`, by the service."""
    tasks: tuple[str, str] = ("", "")
    """The service's names for query and document. With them the service adds its own words."""
    unit: bool = True
    """Whether the vendor states that vectors have unit length. We normalise them in any case."""
    background: tuple[float, float] = UNMEASURED


def _row(
    pattern: str, query: str = PLAIN, document: str = PLAIN, tokens: int = 512
) -> tuple[re.Pattern[str], RemoteModel]:
    return re.compile(pattern), RemoteModel(max_tokens=tokens, query_template=query, document_template=document)


# Templates from the models' cards. Dimensions come from the model itself, because servers cut, pad and rename.
_OPEN_MODELS = (
    _row(r"nomic-embed", "search_query: {text}", "search_document: {text}", 2048),
    _row(r"embedding-?gemma", "task: search result | query: {text}", "title: none | text: {text}", 2048),
    _row(r"qwen3-?(?:vl-)?embed", _TASK + "{text}", tokens=32_768),
    _row(r"e5-mistral|e5-large-instruct|gte-qwen", _TASK.replace("Query:", "Query: ") + "{text}"),
    _row(r"(?:^|[-_])e5[-_:]", "query: {text}", "passage: {text}"),
    _row(r"bge-m3", tokens=8192),
    _row(r"bge-(?:small|base|large)-zh", "为这个句子生成表示以用于检索相关文章:{text}"),
    _row(r"bge-(?:small|base|large)|mxbai-embed", _SEARCHING),
    _row(r"snowflake-arctic-embed[-:]?.*(?:v2|2\.0)|arctic-embed2", "query: {text}", tokens=8192),
    _row(r"arctic-embed", _SEARCHING),
    _row(r"jina-embeddings-v5", "Query: {text}", "Document: {text}", 8192),
    _row(r"all-minilm|paraphrase-multilingual", tokens=256),
    _row(r"granite-embedding"),
)


def open_model(name: str) -> RemoteModel | None:
    """Return the properties of a model with open weights, by any of its names on servers, or None."""
    short = name.lower().rpartition("/")[2]
    return next((model for pattern, model in _OPEN_MODELS if pattern.search(short)), None)


def background_of(vectors: NDArray[np.float32]) -> tuple[float, float]:
    """Return the mean and standard deviation of the cosine of two unrelated texts.

    Args:
        vectors: rows of unit length, one for each text of the probe.
    """
    import numpy as np

    above = np.triu_indices(len(vectors), 1)
    cosines = (vectors.astype(np.float64) @ vectors.T.astype(np.float64))[above]
    return round(float(cosines.mean()), 3), round(max(float(cosines.std()), _LEAST_DEVIATION), 3)
