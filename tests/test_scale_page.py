"""benchmarks/scale.md is what the kept figures give, and its calculation continues the line through them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from benchmarks import scale_page
from benchmarks._postgres_forecast import Node, Slopes, first_limit, need, slopes_of
from hypothesis import given
from hypothesis import strategies as st

NODE = Node()


def measured(passages: int, *, disk: int, vectors: int, search: float) -> dict[str, Any]:
    clients = [{"clients": 1, "cpu_ms": search}]
    figures = {"bytes": {"chunks": disk, "vectors": vectors}, "clients": clients, "cpu_ms_per_passage": 2.0}
    return {"passages": passages, "postgres": figures}


SMALL = measured(10_000, disk=20_000_000, vectors=15_000_000, search=50.0)
LARGE = measured(110_000, disk=220_000_000, vectors=165_000_000, search=150.0)
SLOPES = Slopes(10_000, 110_000, 3_500.0, 1_500.0, 150.0, 0.001, 2.0)


def test_the_page_and_its_picture_are_what_the_figures_in_the_repository_give() -> None:
    assert scale_page.PAGE.read_text(encoding="utf-8") == scale_page.page(), "Run `python -m benchmarks.scale_page`."
    picture = (scale_page.RESULTS / "postgres.svg").read_text(encoding="utf-8")
    assert picture == scale_page.picture()
    assert ET.fromstring(picture).tag.endswith("svg")


def test_the_slopes_are_those_between_the_two_largest_sizes() -> None:
    tiny = measured(100, disk=10**9, vectors=0, search=10**6)
    assert slopes_of([LARGE, tiny, SMALL]) == SLOPES
    assert slopes_of([LARGE]) is None


def test_a_search_among_the_measured_passages_takes_the_measured_time() -> None:
    assert SLOPES.searching(110_000) == 150.0
    assert SLOPES.searching(10_000) == pytest.approx(50.0)
    assert SLOPES.searching(10_000_000) == pytest.approx(150.0 + 9_890.0)


def test_ten_million_passages_in_one_memory_need_servers_for_their_searches() -> None:
    found = need(SLOPES, 10_000_000, of_one=10_000_000, node=NODE)
    assert (found.disk_gb, found.read_gb) == (35.0, 15.0)
    # 50 searches per second of 10.04 CPU seconds, with 60% of 32 cores: 502 / 19.2
    assert found.nodes == {"disk": 1, "memory": 1, "CPU": 27, "partitions": 1}
    assert (found.all_nodes, found.breaks_first) == (27, "CPU")
    assert found.store_hours == pytest.approx(10_000_000 * 2 / 3_600_000)


def test_many_small_memories_need_servers_for_their_partitions() -> None:
    found = need(SLOPES, 1_000_000_000, of_one=100_000, node=NODE)
    assert found.nodes == {"disk": 2, "memory": 16, "CPU": 1, "partitions": 10}
    assert found.breaks_first == "memory"
    assert need(SLOPES, 1_000_000_000, of_one=100_000, node=replace(NODE, partitions=100)).breaks_first == "partitions"


@given(
    passages=st.integers(1_000, 10**10),
    disk=st.floats(100, 1e5),
    search=st.floats(0, 0.1),
    whole=st.booleans(),
)
def test_the_first_limit_is_where_a_second_server_is_needed(
    passages: int, disk: float, search: float, whole: bool
) -> None:
    slopes = replace(SLOPES, disk_bytes=disk, search_ms_per_passage=search)
    name, most = first_limit(slopes, of_one=None if whole else 100_000, node=NODE)
    assert most >= 0
    for count, enough in ((int(most * 0.99), True), (int(most * 1.01) + 1, False)):
        found = need(slopes, count, of_one=max(count, 1) if whole else 100_000, node=NODE)
        assert (found.nodes[name] <= 1) is enough
        if enough:
            assert found.all_nodes <= 1
    assert need(slopes, passages, of_one=100_000, node=NODE).all_nodes >= 1
