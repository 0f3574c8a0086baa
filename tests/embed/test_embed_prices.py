"""What a run would cost."""

from __future__ import annotations

import re

import pytest

from memoriter.embed import price_of, price_row
from memoriter.embed.remote._remote import remote_names, vendor_of


@pytest.mark.parametrize(
    ("provider", "model", "batch", "price"),
    [
        ("openai", "text-embedding-3-small", False, 0.02),
        ("openai", "text-embedding-3-small", True, 0.01),
        ("gemini", "gemini-embedding-001", True, 0.075),
        ("mistral", "mistral-embed", True, 0.10),
        ("bundled", "memoriter-e5-small-q4", False, 0.0),
        ("ollama", "nomic-embed-text", False, 0.0),
        ("openai", "a-model-of-somebody-else", False, None),
    ],
)
def test_a_million_tokens_cost_what_the_vendor_says(
    provider: str, model: str, *, batch: bool, price: float | None
) -> None:
    assert price_of(provider, model, 1_000_000, batch=batch) == price


def test_every_price_says_where_and_when_it_was_seen_and_no_batch_costs_more() -> None:
    prices = [row for name in remote_names() for row in vendor_of(name).prices.values()]
    assert len(prices) > 20
    assert all(re.fullmatch(r"20\d\d-\d\d", row.seen) and row.page.startswith("https://") for row in prices)
    assert all(row.batch is None or row.batch < row.plain for row in prices)
    assert price_row("openai", "nothing") is None
