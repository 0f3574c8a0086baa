"""Prices of the services, in US dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.providers import FREE, SERVICES

if TYPE_CHECKING:
    from memoriter.embed.remote._vendor import Price


def price_row(provider: str, model: str) -> Price | None:
    """Return the known price of a model, or None. Free tiers and discounts of an account are left out."""
    if provider not in SERVICES:
        return None
    from memoriter.embed.remote._remote import vendor_of

    return vendor_of(provider).prices.get(model)


def price_of(provider: str, model: str, tokens: int, *, batch: bool = False) -> float | None:
    """Return US dollars for so many tokens; None if the price is unknown, which is not the same as free.

    The price is the vendor's own: a model of the same name at another address may cost something else.
    """
    if provider in FREE:
        return 0.0
    row = price_row(provider, model)
    if row is None:
        return None
    rate = row.batch if batch and row.batch is not None else row.plain
    return rate * tokens / 1_000_000
