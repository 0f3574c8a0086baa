"""What services ask for a million tokens, in US dollars."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    plain: float
    batch: float | None
    """Through the vendor's batch interface; None where there is none for embeddings, or we do not use it."""
    page: str
    """Where the vendor says what holds today."""
    seen: str = "2026-05"
    """Year and month as of which the figure is known."""


_OPENAI = "https://developers.openai.com/api/docs/pricing"
_GEMINI = "https://ai.google.dev/gemini-api/docs/pricing"
_VOYAGE = "https://docs.voyageai.com/docs/pricing"
_MISTRAL = "https://mistral.ai/pricing"


def _voyage(plain: float) -> Price:
    return Price(plain, round(plain * 0.67, 4), _VOYAGE)


_PRICES = {
    ("openai", "text-embedding-3-small"): Price(0.02, 0.01, _OPENAI),
    ("openai", "text-embedding-3-large"): Price(0.13, 0.065, _OPENAI),
    ("openai", "text-embedding-ada-002"): Price(0.10, 0.05, _OPENAI),
    ("gemini", "gemini-embedding-001"): Price(0.15, 0.075, _GEMINI),
    ("gemini", "gemini-embedding-2"): Price(0.20, 0.10, _GEMINI),
    ("gemini", "gemini-embedding-2-preview"): Price(0.20, 0.10, _GEMINI),
    ("voyage", "voyage-4-large"): _voyage(0.12),
    ("voyage", "voyage-4"): _voyage(0.06),
    ("voyage", "voyage-4-lite"): _voyage(0.02),
    ("voyage", "voyage-3-large"): _voyage(0.18),
    ("voyage", "voyage-3.5"): _voyage(0.06),
    ("voyage", "voyage-3.5-lite"): _voyage(0.02),
    ("voyage", "voyage-3"): _voyage(0.06),
    ("voyage", "voyage-3-lite"): _voyage(0.02),
    ("voyage", "voyage-code-3"): _voyage(0.18),
    ("voyage", "voyage-code-2"): _voyage(0.12),
    ("voyage", "voyage-finance-2"): _voyage(0.12),
    ("voyage", "voyage-law-2"): _voyage(0.12),
    ("voyage", "voyage-multilingual-2"): _voyage(0.12),
    ("mistral", "mistral-embed"): Price(0.10, None, _MISTRAL),
    ("mistral", "mistral-embed-2312"): Price(0.10, None, _MISTRAL),
    ("mistral", "codestral-embed"): Price(0.15, None, _MISTRAL),
    ("mistral", "codestral-embed-2505"): Price(0.15, None, _MISTRAL),
}
_FREE = frozenset({"bundled", "fake", "local", "onnx", "ollama"})
"""Providers that run where the user says, without a bill of anybody's."""


def price_row(provider: str, model: str) -> Price | None:
    """What is known of a model's price; None when nothing is. Free tiers and discounts of an account are left out."""
    return _PRICES.get((provider, model))


def price_of(provider: str, model: str, tokens: int, *, batch: bool = False) -> float | None:
    """US dollars for so many tokens; None when the price is not known, which is not the same as nothing.

    The price is that of the vendor itself: a model of the same name at another address may cost something else.
    """
    if provider in _FREE:
        return 0.0
    row = price_row(provider, model)
    if row is None:
        return None
    rate = row.batch if batch and row.batch is not None else row.plain
    return rate * tokens / 1_000_000
