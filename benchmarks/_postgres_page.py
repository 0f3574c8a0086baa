"""The part of `benchmarks/scale.md` on PostgreSQL, and its picture, from the figures of `benchmarks.postgres`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks._plot import Line, drawing
from benchmarks._postgres_forecast import ONE_MEMORY_OF, SIZES, Need, Node, first_limit, need, slopes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PICTURE = "postgres.svg"
COMMAND = (
    "memoriter config set store.driver postgres && memoriter config set store.postgres.dsn '${DATABASE_URL}'"
    " && memoriter index"
)
_TITLES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
_COLOURS = {"sqlite": ("#0969da", "#54aeff", "#0a3069"), "postgres": ("#bc4c00", "#fb8f44", "#762c00")}
_DASHES = ("", "6 3", "2 3")
_INTRODUCTION = """## The index on PostgreSQL

[PostgreSQL](../docs/server.md#keep-the-index-on-postgresql) is for a memory that many hosts share. For one person,
SQLite is faster and needs no server.
In the folder of a workspace, such as `examples/workspace`, this command line puts its index on the server that
`DATABASE_URL` names:

```sh
{command}
```

The answers stay the same; a test runs this line and compares them.

These are the results of one run for each size{date}: {cores} cores of an x86-64 server ({processor}), {memory:.0f} GB,
Python {python}, PostgreSQL on the same machine with `shared_buffers` of {buffers}. Other programs used the machine at
the same time (see the load), so times of the clock are several times what an idle machine needs: compare CPU times,
and both stores of one size. `just bench-postgres` repeats it;
[postgres.json](results/postgres.json) contains the same figures.

Each client is a process of its own on that machine. It searches by meaning and by word, again and again without a
pause; the time to embed the question is not included. The vectors are made up from the words of each text, with
{dimensions} dimensions. CPU times of PostgreSQL are those of the client and of the server together. The last 2,000
passages of each size are stored by the methods that `memoriter index` uses, without splitting and embedding the texts,
and give the rates; the others enter PostgreSQL with `COPY`.
"""
_WHY_OTHER_HITS = """With {sizes} passages, neither store compares all vectors: SQLite compares short codes (`codes`)
first, PostgreSQL follows graphs (`hnsw`). Each misses other candidates among the nearest, as the recall in the table
shows. Both compute the score of a candidate from its stored vector and its words, but two parts of it depend on the
other candidates: the best score among its neighbours in the note, and how much the vector weighs, for which the best
match of the words counts. A candidate that only one store proposes can therefore change the scores and the order of
others. Where both compare all vectors (`exact`), the hits are the same.
"""
DIMENSIONS = 384
RECALL = 0.99
MEASURED_SIZES = (10_000, 100_000, 1_000_000)
"""The sizes of a whole run."""


def page(figures: dict[str, Any]) -> str:
    """Return the part of the page in Markdown, from its heading of the second level on."""
    machine = figures["machine"]
    date = f" on {figures['date']}" if figures.get("date") else ""
    parts = {name: machine[name] for name in ("cores", "processor", "python")}
    text = _INTRODUCTION.format(
        command=COMMAND,
        date=date,
        memory=machine["memory_gb"],
        buffers=figures["settings"]["shared_buffers"],
        dimensions=DIMENSIONS,
        **parts,
    )
    lines = [text, *_table(figures["sizes"]), "", *_notes(figures)]
    if len(figures["sizes"]) > 1:
        lines.append(f"![Time of a search with both stores, by passages and clients](results/{PICTURE})\n")
    lines += [*_replicas(figures["sizes"]), *_forecast(figures["sizes"])]
    return "\n".join(lines)


def _table(sizes: list[dict[str, Any]]) -> Iterator[str]:
    columns = [(each, kind) for each in sizes for kind in _TITLES]
    yield "| passages | " + " | ".join(f"{each['size']:,}, {_TITLES[kind]}" for each, kind in columns) + " |"
    yield "|---|" + "---|" * len(columns)
    stores = [each[kind] for each, kind in columns]
    for position, clients in enumerate(each["clients"] for each in stores[0]["clients"]):
        found = [each["clients"][position] for each in stores]
        name = f"{clients} client{'s' * (clients > 1)}"
        yield _row(f"search, {name}, p50 / p99", [_times(each) for each in found])
        yield _row("- searches per second", [_or_dash(each, "per_second", "{:.1f}") for each in found])
        yield _row("- CPU time", [_or_dash(each, "cpu_ms", "{:.0f} ms") for each in found])
    yield _row("search by meaning alone, p50", [f"{each['vectors']['p50']:,.0f} ms" for each in stores])
    if all("filtered" in each for each in stores):
        yield _row("- in a folder with a quarter of all", [f"{each['filtered']['p50']:,.0f} ms" for each in stores])
    yield _row("search by word alone, p50", [f"{each['words']['p50']:,.0f} ms" for each in stores])
    yield _row("how vectors are compared", [each["engine"] for each in stores])
    yield _row("recall@10 against all vectors", [f"{each['recall']:.3f}" for each in stores])
    if all("filtered_recall" in each for each in stores):
        yield _row("- in that folder", [f"{each['filtered_recall']:.3f}" for each in stores])
    yield _row("stored passages per second", [f"{each['stored_per_second']:,.0f}" for each in stores])
    yield _row("- CPU time for each", [f"{each['cpu_ms_per_passage']:.2f} ms" for each in stores])
    yield _row("disk", [f"{sum(each['bytes'].values()) / 1e6:,.0f} MB" for each in stores])
    yield _row("memory of one client", [f"{each['clients'][0]['peak_mb']:,.0f} MB" for each in stores])
    yield _row("load of the machine", [f"{each['load']:.0f}" for each, _ in columns])


def _row(title: str, cells: list[str]) -> str:
    return f"| {title} | " + " | ".join(cells) + " |"


def _times(found: dict[str, Any]) -> str:
    return f"{found['p50']:,.0f} / {found['p99']:,.0f} ms" if "p50" in found else "not run"


def _or_dash(found: dict[str, Any], name: str, form: str) -> str:
    return form.format(found[name]) if name in found else "-"


def _notes(figures: dict[str, Any]) -> Iterator[str]:
    for each in figures["sizes"]:
        for kind, title in _TITLES.items():
            for found in each[kind]["clients"]:
                if reason := _reason(found):
                    clients = f"{found['clients']} clients of {title} with {each['size']:,} passages"
                    yield f"{clients} were not run: {reason}.\n"
    shares = [f"{each['same_hits']['same']} of {each['same_hits']['questions']}" for each in figures["sizes"]]
    worst = max(each["same_hits"]["largest_score_difference"] for each in figures["sizes"])
    yield (
        f"Both stores give the same hits in the same order for {', '.join(shares)} questions; scores of common hits"
        f" differ by {worst:.6f} at most.\n"
    )
    if approximate := [each for each in figures["sizes"] if "exact" not in {each[kind]["engine"] for kind in _TITLES}]:
        sizes = " and ".join(f"{each['size']:,}" for each in approximate)
        yield _WHY_OTHER_HITS.format(sizes=sizes)
    measured = {each["size"] for each in figures["sizes"]}
    if low := [each for each in figures["sizes"] if each["postgres"]["recall"] < RECALL]:
        sizes = " and ".join(f"{each['size']:,}" for each in low)
        yield f"The recall of PostgreSQL is below the {RECALL} that memoriter aims at with {sizes} passages.\n"
    if left := [f"{size:,}" for size in MEASURED_SIZES if size not in measured]:
        yield f"This run did not measure {' and '.join(left)} passages; `just bench-postgres` does, given the time.\n"


def _reason(found: dict[str, Any]) -> str:
    """Return why clients were not run; empty: they were."""
    if "needed_mb" in found:
        return f"the processes would need {found['needed_mb'] / 1024:,.0f} GB of memory"
    if "needed_seconds" in found:
        return f"one search of each would take {found['needed_seconds']:,.0f} s of both cores"
    return ""


def _replicas(sizes: list[dict[str, Any]]) -> Iterator[str]:
    if copied := [each for each in sizes if "replicas" in each]:
        yield "### Two replicas\n"
        for each in copied:
            found = each["replicas"]
            first = found["equal_before"]
            second = found["equal_after"]
            yield (
                f"With {each['size']:,} passages, `pg_basebackup` made two streaming replicas on the same machine in"
                f" {found['copying_seconds']:.0f} s. Of {found['questions']} questions,"
                f" {' and '.join(map(str, first))} had exactly the answers of the primary, and after a write load"
                f" {' and '.join(map(str, second))}. While {found['written_per_second']:,.0f} passages per second were"
                f" written, a commit was visible on a replica after {found['visible_ms']['p50']:,.0f} ms (p50),"
                f" {found['visible_ms']['p99']:,.0f} ms (p99) and {found['visible_ms']['worst']:,.0f} ms at most, and a"
                f" replica was {found['behind_bytes']['p50'] / 1e3:,.0f} kB (p50) and"
                f" {found['behind_bytes']['worst'] / 1e3:,.0f} kB at most behind in the write-ahead log.\n"
            )


def _forecast(sizes: list[dict[str, Any]]) -> Iterator[str]:
    slopes = slopes_of(sizes)
    node = Node()
    if slopes is None:
        return
    yield "### Ten million passages and more, calculated\n"
    yield (
        "Nothing in this part is measured. It continues the lines through the figures of"
        f" {slopes.smaller:,} and {slopes.larger:,} passages: {slopes.disk_bytes:,.0f} bytes of disk for each passage,"
        f" {slopes.read_bytes:,.0f} of them in vectors and indexes, {slopes.search_ms:,.0f} CPU-ms for a search among"
        f" {slopes.larger:,} and {1e6 * slopes.search_ms_per_passage:,.0f} more for each further million in the same"
        f" memory, {slopes.store_ms:.2f} CPU-ms to store a passage. It assumes:\n"
    )
    yield (
        f"- servers with {node.cores} cores as fast as those of the run, {node.memory_gb:.0f} GB of memory and"
        f" {node.disk_gb / 1000:g} TB of disk, of which searches may use {node.busy:.0%} of the CPU time,"
        f" {node.cached:.0%} of the memory and {node.filled:.0%} of the disk"
    )
    yield "- all vectors and indexes in memory, because a search reads pages all over them"
    yield "- a search that grows along the line, although one through graphs (`hnsw`) grows more slowly"
    yield f"- {node.searches:.0f} searches per second in all, spread evenly"
    yield (
        "- one copy; each replica adds as many servers, and takes its share of the searches"
        f"\n- at most {node.partitions:,} memories on a server, because each has partitions of its own in every table"
    )
    yield (
        "- a memory (a workspace and an agent) lies on one server; where one has too many passages for that, its rows"
        " must be distributed (Citus) by another key: the schema of today is partitioned by memory (`space`) and"
        " does not divide the rows of one. Neither that change nor the merging of partial answers is counted\n"
    )
    yield "| | disk | vectors and indexes | CPU time of a search | servers | most are needed for | storing once |"
    yield "|---|---|---|---|---|---|---|"
    for passages in SIZES:
        yield _needed(f"{passages:,} in one memory", need(slopes, passages, of_one=passages, node=node))
    for passages in SIZES:
        name = f"{passages:,} in memories of {ONE_MEMORY_OF:,}"
        yield _needed(name, need(slopes, passages, of_one=ONE_MEMORY_OF, node=node))
    together, apart = (first_limit(slopes, of_one=of_one, node=node) for of_one in (None, ONE_MEMORY_OF))
    yield (
        f"\nWhat breaks first on one such server: with one memory its {together[0]}, at {together[1]:,} passages; with"
        f" memories of {ONE_MEMORY_OF:,} its {apart[0]}, at {apart[1]:,} passages. Embedding is not included: the model"
        " or service of the configuration does it once for each text."
    )


def _needed(name: str, found: Need) -> str:
    cells = [
        f"{found.disk_gb:,.0f} GB",
        f"{found.read_gb:,.0f} GB",
        f"{found.search_ms:,.0f} ms",
        f"{found.all_nodes:,}",
        found.breaks_first,
        f"{found.store_hours:,.1f} CPU-hours",
    ]
    return _row(name, cells)


def picture(figures: dict[str, Any]) -> str:
    """Return the SVG file: p50 by passages, a curve for each store and number of clients."""
    lines = list[Line]()
    for kind, title in _TITLES.items():
        points = dict[int, list[tuple[int, float]]]()
        for each in figures["sizes"]:
            for found in each[kind]["clients"]:
                if "p50" in found:
                    points.setdefault(found["clients"], []).append((each["size"], found["p50"]))
        for (clients, curve), colour, dashes in zip(points.items(), _COLOURS[kind], _DASHES, strict=False):
            name = f"{title}, {clients} client{'s' * (clients > 1)}"
            lines.append(Line(name, colour, dashes, tuple(sorted(curve))))
    machine = figures["machine"]
    load = max(each["load"] for each in figures["sizes"])
    run = f"{machine['cores']} cores, {figures.get('date', '')}, load of the machine up to {load:.0f}"
    caption = f"p50 of hybrid search, {run}"
    ordered = sorted(lines, key=lambda line: -line.points[-1][1])
    return drawing(ordered, "Time of a search with SQLite and with PostgreSQL", caption)
