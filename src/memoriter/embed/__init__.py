"""Text to vectors: providers behind one Protocol, the choice between them, and batches of texts; and rerankers."""

from typing import TYPE_CHECKING

from memoriter.embed._choice import (
    Choice,
    ProviderSettings,
    ServiceConfig,
    choose,
    choose_fallback,
    model_place,
    price_of,
    price_row,
    provider_choices,
)
from memoriter.embed._provider import (
    EmbeddingProvider,
    EmbedsWithin,
    SendsTexts,
    cosine,
    group_by_budget,
    max_input_tokens,
    normalise,
    split_within,
)
from memoriter.embed._registry import (
    ProviderContext,
    batch_of,
    open_choice,
    open_provider,
    provider_names,
    question_centres,
    refusal_of,
    spec_at_hand,
    spec_of,
)
from memoriter.embed.local import is_model_uri
from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.embed._batches import Embedded, embed_in_batches
    from memoriter.embed._rerank import Judge, Reranker, RerankSettings, choose_reranker, open_reranker
    from memoriter.embed.remote.batch import BatchJob, BatchRules, Collected, batch_vendors

__all__ = [
    "BatchJob",
    "BatchRules",
    "Choice",
    "Collected",
    "Embedded",
    "EmbeddingProvider",
    "EmbedsWithin",
    "Judge",
    "ProviderContext",
    "ProviderSettings",
    "RerankSettings",
    "Reranker",
    "SendsTexts",
    "ServiceConfig",
    "batch_of",
    "batch_vendors",
    "choose",
    "choose_fallback",
    "choose_reranker",
    "cosine",
    "embed_in_batches",
    "group_by_budget",
    "is_model_uri",
    "max_input_tokens",
    "model_place",
    "normalise",
    "open_choice",
    "open_provider",
    "open_reranker",
    "price_of",
    "price_row",
    "provider_choices",
    "provider_names",
    "question_centres",
    "refusal_of",
    "spec_at_hand",
    "spec_of",
    "split_within",
]


# Import the modules for batches, rerankers and remote services at first use, since most searches need none.
__getattr__ = lazy_names(
    __name__,
    {
        "_batches": "Embedded embed_in_batches",
        "_rerank": "Judge RerankSettings Reranker choose_reranker open_reranker",
        "remote.batch": "BatchJob BatchRules Collected batch_vendors",
    },
)
