"""What ten million passages and more would need of PostgreSQL servers, from the slopes of the measured sizes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (10_000_000, 100_000_000, 1_000_000_000)
ONE_MEMORY_OF = 100_000
"""Passages of each memory, where the passages belong to many."""


@dataclass(frozen=True, slots=True)
class Node:
    """The server that the calculation assumes, and the work it must do."""

    cores: int = 32
    memory_gb: float = 128.0
    cached: float = 0.75
    """The share of its memory that holds what searches read."""
    disk_gb: float = 4_000.0
    filled: float = 0.7
    """The share of its disk that may be full."""
    busy: float = 0.6
    """The share of its CPU time that searches may use."""
    searches: float = 50.0
    """Searches per second in all."""
    partitions: int = 1_000
    """Memories, each with partitions of its own, that one server holds before planning and connections grow slow."""


@dataclass(frozen=True, slots=True)
class Slopes:
    """What one more passage costs, between the two largest measured sizes."""

    smaller: int
    larger: int
    disk_bytes: float
    read_bytes: float
    """Bytes that a search may read: vectors and indexes."""
    search_ms: float
    """CPU ms of one search at the larger size."""
    search_ms_per_passage: float
    store_ms: float
    """CPU ms to store a passage, at the larger size."""

    def searching(self, passages: int) -> float:
        """Return the CPU ms of a search among so many passages of one memory."""
        return max(self.search_ms + self.search_ms_per_passage * (passages - self.larger), 0.0)


def slopes_of(sizes: list[dict[str, Any]]) -> Slopes | None:
    """Return the slopes, or None with fewer than two sizes."""
    if len(sizes) < 2:
        return None
    first, last = sorted(sizes, key=lambda each: each["passages"])[-2:]
    more = last["passages"] - first["passages"]

    def slope(figure: Callable[[dict[str, Any]], float]) -> float:
        return (figure(last["postgres"]) - figure(first["postgres"])) / more

    return Slopes(
        first["passages"],
        last["passages"],
        slope(lambda each: sum(each["bytes"].values())),
        slope(lambda each: sum(size for name, size in each["bytes"].items() if is_read(name))),
        last["postgres"]["clients"][0]["cpu_ms"],
        max(0.0, slope(lambda each: each["clients"][0]["cpu_ms"])),
        last["postgres"]["cpu_ms_per_passage"],
    )


def is_read(relation: str) -> bool:
    """Return whether searches read pages all over a table or index: vectors, their graphs, indexes of the others."""
    return relation.startswith(("vectors", "graph")) or relation.endswith(("_idx", "_pkey"))


@dataclass(frozen=True, slots=True)
class Need:
    """What a number of passages needs."""

    passages: int
    disk_gb: float
    read_gb: float
    search_ms: float
    store_hours: float
    """CPU hours to store everything once, embedding not included."""
    nodes: dict[str, int]
    """The servers that each limit demands."""

    @property
    def all_nodes(self) -> int:
        return max(self.nodes.values())

    @property
    def breaks_first(self) -> str:
        """The limit that demands most servers."""
        return max(self.nodes, key=lambda name: self.nodes[name])


def need(slopes: Slopes, passages: int, *, of_one: int, node: Node) -> Need:
    """Return what passages need, if each memory has `of_one` of them."""
    disk = slopes.disk_bytes * passages / 1e9
    read = slopes.read_bytes * passages / 1e9
    search = slopes.searching(of_one)
    nodes = {
        "disk": ceil(disk / (node.disk_gb * node.filled)),
        "memory": ceil(read / (node.memory_gb * node.cached)),
        "CPU": ceil(node.searches * search / 1000 / (node.cores * node.busy)),
        "partitions": ceil(passages / of_one / node.partitions),
    }
    return Need(passages, disk, read, search, slopes.store_ms * passages / 3_600_000, nodes)


def first_limit(slopes: Slopes, *, of_one: int | None, node: Node) -> tuple[str, int]:
    """Return which limit one server reaches first when passages are added, and at how many passages.

    Args:
        slopes: the slopes.
        of_one: the passages of each memory; None: one memory has all.
        node: the server.
    """
    limits = {
        "disk": node.disk_gb * node.filled * 1e9 / slopes.disk_bytes,
        "memory": node.memory_gb * node.cached * 1e9 / slopes.read_bytes,
    }
    if of_one is None:
        most_ms = 1000 * node.cores * node.busy / node.searches
        if slopes.search_ms_per_passage > 0:
            limits["CPU"] = max(slopes.larger + (most_ms - slopes.search_ms) / slopes.search_ms_per_passage, 0.0)
    else:
        limits["partitions"] = float(node.partitions * of_one)
    name = min(limits, key=lambda each: limits[each])
    return name, int(limits[name])
