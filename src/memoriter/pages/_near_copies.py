"""Passages that are nearly the same, as a part of the page Health. They are looked for on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import PROVIDER_FAILURES, UsageError
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memoriter.pages._page import Visit

SIMILARITY = "0.97"
"""The cosine from which passages count as nearly the same, if the address names none."""
MOST_LISTED = 8
"""Passages that are listed for each set at most."""
MOST_SETS = 50
"""Sets that are listed at most."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Passages that are nearly the same."""

    points: Sequence[Mapping[str, Any]]
    more: int
    """Passages that are not listed."""
    similarity: float


async def near_copies(visit: Visit) -> Response:
    """Return the sets of passages that are nearly the same, the largest first."""
    given = visit.parameter("similarity") or SIMILARITY
    picture = await visit.perform("map", similarity=_number(given))
    reasons: Sequence[Mapping[str, str]] = picture["reasons"]
    if not picture["points"]:
        reasons = await _what_prevents_vectors(visit) or reasons
    return await visit.render(
        "health/_copies.html" if visit.fragment == "copies" else "health/copies.html",
        similarity=given,
        reasons=reasons,
        sets=sets_of(picture),
        found=len(picture["duplicates"]),
        compared=len(picture["points"]),
        passages=picture["chunks"],
    )


def sets_of(picture: Mapping[str, Any]) -> list[Copies]:
    """Return the largest sets of passages that are nearly the same, from the answer of the operation `map`."""
    points: Sequence[Mapping[str, Any]] = picture["points"]
    sets: list[Copies] = []
    for each in picture["duplicates"][:MOST_SETS]:
        numbers: Sequence[int] = each["points"]
        first = [points[number] for number in numbers[:MOST_LISTED]]
        sets.append(Copies(first, len(numbers) - len(first), each["similarity"]))
    return sets


async def _what_prevents_vectors(visit: Visit) -> list[Mapping[str, str]]:
    """Return why the provider computes no vectors, such as for want of a key; empty: nothing prevents it."""
    status = await visit.attempt("status")
    reasons: list[Mapping[str, str]] = status["health"]["reasons"] if status else []
    return [reason for reason in reasons if reason["code"] in PROVIDER_FAILURES]


def _number(text: str) -> float:
    """Return a similarity of the address. Raises UsageError."""
    try:
        return float(text)
    except ValueError as error:
        message = f"The similarity {text!r} is not a number."
        raise UsageError(message, remedy="Give a number from 0.5 to 1.") from error
