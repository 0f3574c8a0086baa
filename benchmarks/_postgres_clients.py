"""Clients that search one store at the same time, each a process; the request comes from stdin."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from queue import Empty
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks._memory_process import peak_mb
from benchmarks._postgres_fill import open_store
from benchmarks._prepared_notes import questions
from benchmarks._search_process import ANYWHERE, CANDIDATES, DEPTH
from benchmarks._vectors import WordVectors
from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.search import SearchSettings, query_terms, rank
from memoriter.sync import background_of
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

    import numpy as np
    from numpy.typing import NDArray

    from benchmarks._search_process import Question
    from memoriter.store import Store
    from memoriter.types import Hit

_T = TypeVar("_T")
FOLDER = "memory/pages/"
"""A folder that has a quarter of the passages."""
_WARM_UP = 3
_WAIT_SECONDS = 600
_ROUNDING = 1e-6


def main() -> None:
    request = json.load(sys.stdin)
    asked = questions(request["questions"])
    figures = _alone(request, asked) if request["clients"] == 0 else _together(request, asked)
    json.dump(figures, sys.stdout)


def _together(request: dict[str, Any], asked: list[Question]) -> dict[str, Any]:
    """Return all times in ms, searches per second, and CPU ms of the clients for each search."""
    context = multiprocessing.get_context("fork")
    clients = request["clients"]
    ready = context.Barrier(clients)
    results = context.Queue()
    processes = [
        context.Process(target=_client, args=(request, asked, number, ready, results)) for number in range(clients)
    ]
    for process in processes:
        process.start()
    answers = list[dict[str, Any]]()
    while len(answers) < clients:
        try:
            answers.append(results.get(timeout=1.0))
        except Empty:
            if failed := [process.exitcode for process in processes if process.exitcode]:
                raise SystemExit(f"{len(failed)} of {clients} clients failed; see above.") from None
    for process in processes:
        process.join()
    times = [each for answer in answers for each in answer["ms"]]
    seconds = max(answer["seconds"] for answer in answers)
    return {
        "ms": times,
        "per_second": len(times) / seconds,
        "cpu_ms": 1000 * sum(answer["cpu"] for answer in answers) / len(times),
        "peak_mb": max(answer["peak_mb"] for answer in answers),
    }


def _client(
    request: dict[str, Any], asked: list[Question], number: int, ready: Barrier, results: Queue[dict[str, Any]]
) -> None:
    """Search again and again for the time of the request, at least once."""
    try:
        store = _patiently(lambda: open_store(request["kind"], request["place"], request["name"]))
        settings = _patiently(lambda: SearchSettings(background=background_of(store, WordVectors.spec)))
        mine = asked[number % len(asked) :] + asked[: number % len(asked)]
        for text, vector in mine[:_WARM_UP]:
            _patiently(lambda: search(store, text, vector, settings))  # noqa: B023 (runs at once)
        ready.wait(_WAIT_SECONDS)
        times = list[float]()
        began = time.perf_counter()
        cpu = time.process_time()
        while not times or time.perf_counter() - began < request["seconds"]:
            text, vector = mine[len(times) % len(mine)]
            start = time.perf_counter()
            _patiently(lambda: search(store, text, vector, settings))  # noqa: B023 (runs at once)
            times.append(1000 * (time.perf_counter() - start))
        taken = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "peak_mb": peak_mb()}
        results.put({"ms": times, **taken})
        store.close()
    except BaseException:
        ready.abort()
        raise


def search(store: Store, text: str, vector: NDArray[np.float32], settings: SearchSettings) -> tuple[Hit, ...]:
    """Return the hits as `Memory.search` finds them: all that is read is of one state of the index."""
    return store.at_one_state(lambda state: rank(state, text, vector, settings, filters=ANYWHERE, now=0.0))


def _patiently(act: Callable[[], _T]) -> _T:
    """Return the result of a call, and repeat it while the server is too busy to give a connection in time.

    Its message is the same as that of a server that is down, so that is only known once the time is over.
    """
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            return act()
        except (IndexBusy, IndexUnavailable):
            if time.monotonic() > deadline:
                raise


def _alone(request: dict[str, Any], asked: list[Question]) -> dict[str, Any]:
    """Return the ms of each retriever, recall@`DEPTH` and the hits, of as many questions as there is time for."""
    store = open_store(request["kind"], request["place"], request["name"])
    settings = SearchSettings(background=background_of(store, WordVectors.spec))
    times = {part: list[float]() for part in ("vectors", "filtered", "words")}
    hits = list[Any]()
    recalls = {part: list[float]() for part in ("vectors", "filtered")}
    began = time.perf_counter()
    floors = zip(request["floors"][""], request["floors"][FOLDER], strict=True)
    for (text, vector), bounds in zip(asked, floors, strict=True):
        for part, floor in zip(recalls, bounds, strict=True):
            filters = Filters(path=FOLDER) if part == "filtered" else ANYWHERE
            nearest = [row for row, _ in store.vector_search(vector, limit=DEPTH, filters=filters, levels=None)]
            near = sum(cosine >= floor - _ROUNDING for cosine in store.cosines(vector, nearest).values())
            recalls[part].append(near / DEPTH)
            start = time.perf_counter()
            store.vector_search(vector, limit=CANDIDATES, filters=filters, levels=None)
            times[part].append(1000 * (time.perf_counter() - start))
        start = time.perf_counter()
        store.keyword_search(query_terms(text), limit=CANDIDATES, filters=ANYWHERE, frequency=None, weights=None)
        times["words"].append(1000 * (time.perf_counter() - start))
        ranked = search(store, text, vector, settings)
        hits.append([(hit.path, hit.start_line, round(hit.score, 6)) for hit in ranked])
        if time.perf_counter() - began > request["patience"]:
            break
    recall, filtered_recall = (sum(shares) / len(shares) for shares in recalls.values())
    found = {"recall": recall, "filtered_recall": filtered_recall, "hits": hits, "engine": store.engine}
    store.close()
    return {**times, **found}


if __name__ == "__main__":
    main()
