"""The vectors of a search: one for a question, or one for each line of a typed query that needs one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memoriter.backends._health import WARMING
from memoriter.errors import EmbeddingError, TransientFailure
from memoriter.search import EmbeddedLine, TypedQuery
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._context import BackendContext
    from memoriter.environment import Deadline
    from memoriter.store import Passages, Store
    from memoriter.types import Hit, Query, Role

    Vectors = list[NDArray[np.float32]]
    """Each of them (dims,), unit length."""


def texts_of(query: Query) -> list[tuple[str, Role]]:
    """Return the texts whose vectors a typed query needs, with their roles. A hypothetical answer is a passage."""
    return [(each.text, "document" if each.kind == "hyde" else "query") for each in query.lines if each.kind != "lex"]


def query_vectors(
    context: BackendContext, index: Store, texts: Sequence[tuple[str, Role]], deadline: Deadline, *, hasty: bool
) -> tuple[Vectors | None, Diagnostic | None]:
    """Return the vectors of the texts, all of one model, and a diagnostic if the provider failed or is replaced.

    Args:
        context: the backend.
        index: the open index.
        texts: the texts with their roles; without any, nothing is embedded.
        deadline: the deadline of the search.
        hasty: whether time is short, so that a late response does not count against the provider.

    Returns:
        None instead of the vectors if one of them is not available.
    """
    embedding = context.embedding
    if not texts:
        return [], None
    if embedding.warming:
        return None, WARMING
    while embedding.current.spec is not None and index.vectors():
        if deadline.passed and not all(embedding.knows(*each) for each in texts):
            return None, Diagnostic("deadline", "The deadline left no time for vector search.", "Ask again.")
        try:
            return [embedding.query_vector(text, deadline, role) for text, role in texts], embedding.failed
        except EmbeddingError as error:
            late = hasty and isinstance(error, TransientFailure)
            if late or not embedding.fall_back(error):
                return None, Diagnostic(error.code, error.message, error.remedy)
        # The index must hold the vectors of the model that embeds the query.
        context.follow_provider(index)
    return None, embedding.current.problem or embedding.failed or embedding.paused


def typed_query(query: Query, vectors: Vectors | None) -> TypedQuery:
    """Return the lines of a typed query with their vectors."""
    left = iter(vectors or ())
    return TypedQuery(
        [EmbeddedLine(each, None if each.kind == "lex" else next(left, None)) for each in query.lines], query.intent
    )


def lines_of(reader: Passages, typed: TypedQuery) -> Callable[..., tuple[Hit, ...]]:
    """Return the ranking of a typed query, which takes the settings and the keyword arguments of `rank`."""
    from memoriter.search import rank_lines

    return partial(rank_lines, reader, typed)


def unsearched(query: Query, vectors: Vectors | None, problem: Diagnostic | None) -> Diagnostic | None:
    """Return the diagnostic about the lines that were not searched because there are no vectors.

    None if all were, and if a problem says why there are none.
    """
    kinds = list(dict.fromkeys(each.kind for each in query.lines if each.kind != "lex"))
    if vectors is not None or not kinds or problem is not None:
        return None
    names = " and ".join(f"`{kind}`" for kind in kinds)
    message = f"The lines of the type {names} were not searched, because vector search is not available."
    return Diagnostic("lines_unsearched", message, "Write a `lex` line with words, or run `memoriter doctor`.")
