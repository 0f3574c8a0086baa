"""The page Map: the passages in two dimensions, computed on request, with groups and near duplicates as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import PROVIDER_FAILURES, UsageError
from memoriter.pages._page import Page, PageRoute
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memoriter.pages._page import Visit

SIMILARITY = "0.97"
"""The cosine from which passages count as nearly the same, if the address names none."""
MOST_LISTED = 8
"""Passages that are listed for each group and each set of duplicates at most."""
MOST_SETS = 50
"""Sets of near duplicates that are listed at most."""
SIZE = 1_000
MARGIN = 20
"""The side of the picture and its margin, in units of the SVG."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A passage in the picture."""

    x: int
    y: int
    group: int
    label: str
    """Its citation and the beginning of its text."""
    path: str
    line: str


@dataclass(frozen=True, slots=True)
class Listed:
    """Passages with something in common."""

    title: str
    points: Sequence[Mapping[str, Any]]
    more: int
    """Passages that are not listed."""


async def show(visit: Visit) -> Response:
    """Return the page, with the map if the address asks for it."""
    given = visit.parameter("similarity")
    picture = await visit.perform("map", similarity=_number(given)) if given else None
    if picture is not None and not picture["points"]:
        picture |= {"reasons": await _what_prevents_vectors(visit) or picture["reasons"]}
    template = "map/_picture.html" if visit.fragment == "picture" else "map/page.html"
    return await visit.render(
        template,
        similarity=given or SIMILARITY,
        picture=picture,
        dots=[] if picture is None else [_dot(point) for point in picture["points"]],
        groups=[] if picture is None else groups_of(picture),
        duplicates=[] if picture is None else duplicates_of(picture),
        shown="" if picture is None else shown_text(picture),
        side=SIZE,
    )


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


def _dot(point: Mapping[str, Any]) -> Dot:
    scale = SIZE / 2 - MARGIN
    x = round(SIZE / 2 + point["x"] * scale)
    y = round(SIZE / 2 - point["y"] * scale)
    label = f"{point['citation']}: {point['text']}"
    return Dot(x, y, point["group"], label, point["path"], str(point["startLine"]))


def shown_text(picture: Mapping[str, Any]) -> str:
    """Return how much of the memory and of its variance the picture shows, as sentences."""
    points = len(picture["points"])
    chunks = picture["chunks"]
    vectors = picture["vectors"]
    sample = f"{points:,} of {chunks:,} passages are drawn"
    if points < vectors:
        sample += f", a regular sample of the {vectors:,} with a vector; duplicates among the others are missed"
    elif vectors < chunks:
        sample += ", which are those with a vector"
    first, second = picture["variance"]
    lost = "Places far apart differ; places side by side may still differ in what is not shown."
    return (
        f"{sample}. The two directions show {first + second:.1%} of the variance of the vectors "
        f"({first:.1%} across, {second:.1%} up). {lost}"
    )


def groups_of(picture: Mapping[str, Any]) -> list[Listed]:
    """Return the groups with their first passages, the one nearest to the centre first."""
    points: Sequence[Mapping[str, Any]] = picture["points"]
    listed: list[Listed] = []
    for number, group in enumerate(picture["groups"]):
        members = [point for point in points if point["group"] == number]
        centre: Mapping[str, Any] = points[int(group["centre"])]
        heading = " › ".join(centre["heading"]) or centre["path"]
        others: list[Mapping[str, Any]] = [point for point in members if point is not centre]
        first = [centre, *others][:MOST_LISTED]
        size = f"{group['size']:,} passage{'' if group['size'] == 1 else 's'}"
        listed.append(Listed(f"Group {number + 1}: {size} around “{heading}”", first, group["size"] - len(first)))
    return listed


def duplicates_of(picture: Mapping[str, Any]) -> list[Listed]:
    """Return the largest sets of passages that are nearly the same."""
    points: Sequence[Mapping[str, Any]] = picture["points"]
    listed: list[Listed] = []
    for each in picture["duplicates"][:MOST_SETS]:
        numbers: Sequence[int] = each["points"]
        title = f"{len(numbers)} passages, cosine at least {each['similarity']:.3f}"
        first = [points[number] for number in numbers[:MOST_LISTED]]
        listed.append(Listed(title, first, len(numbers) - len(first)))
    return listed


PAGE = Page("Map", "Look at clusters and duplicates among the passages.", (PageRoute("/map", show),), place=60)
