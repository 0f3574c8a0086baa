"""The page `benchmarks/scale.md` from the figures of `benchmarks.long_term`."""

from __future__ import annotations

from typing import Any

_INTRODUCTION = """# Long-term memories at scale

These figures were measured{date}: {cores} cores of an x86-64 server ({processor}), {memory:.0f} GB,
Python {python}. A load above 2 means that other programs used the machine at the same time, and that times of the
clock are longer than on an idle machine: compare CPU times and ratios. `just bench-longterm` measures them;
[long-term.json](results/long-term.json) contains the same figures. The vectors are made up: {dimensions}
dimensions, around 2,000 topics.

## Tables of different sizes

Each table is filled in batches, compacted, and then used by a new process: it searches for 10 memories among all,
stores single memories on top of them, and erases one memory from every version. The times of searches are those of
vectors that the process has searched for once before. At the end, four new processes store single memories at once,
as four machines would; the run fails if one of these is missing or there twice.
"""
MOST_GROWTH = 0.25
"""Part of the memory after the first thousand single writes by which the process may grow until the last one. What a
merge of small files needs beside it is not bounded by this: it has to rewrite a file of up to a million memories."""
_BUCKET = """The S3 server is SeaweedFS on the same machine. It shares the cores with the benchmark, and its CPU time
is not in the figures. It answers sooner than a bucket in a data centre, so a real bucket has other times. A search with
the index of vectors reads the 200 vectors that it compares and the 10 memories that it returns in more than 200
requests, many at a time.
"""
_EARLIER = """A dash for memory or CPU time stands for what an earlier version of the benchmark did not measure. It
compared all vectors before it stored single memories; now it does so afterwards, when there are dozens of small files.
"""
_ROWS: tuple[tuple[str, str], ...] = (
    ("stored in batches, memories per second", "{filled:,.0f}"),
    ("- CPU time for each", "{fill_cpu_each:.2f} ms"),
    ("first compaction with indexes", "{compaction:.1f} s ({compaction_cpu:.1f} CPU-s)"),
    ("disk", "{disk:,.0f} MB"),
    ("vectors in the index", "{indexed:,}"),
    ("recall@10 against all vectors", "{recall_at_10:.3f}"),
    ("search by meaning, p50 / p99", "{search[0]:,.0f} / {search[1]:,.0f} ms"),
    ("- CPU time", "{search_cpu:.0f} ms"),
    ("- CPU time if all vectors are compared", "{exact_cpu:.0f} ms"),
    ("search by meaning and by word, p50 / p99", "{worded[0]:,.0f} / {worded[1]:,.0f} ms"),
    ("storing one memory, p50 / slowest", "{upsert[0]:,.0f} / {upsert[1]:,.0f} ms"),
    ("- CPU time, merging included", "{upsert_cpu:.0f} ms"),
    ("single memories per second, merging included", "{upserts:.1f}"),
    ("most data files meanwhile", "{fragments}"),
    ("four processes at once: one memory, p50 / slowest", "{met[0]:,.0f} / {met[1]:,.0f} ms"),
    ("- memories per second in all", "{together:.1f}"),
    ("erasing one memory from every version", "{forget:.1f} s"),
    ("memory of the process that searches and stores", "{working:,.0f} MB"),
    ("- if it also compares all vectors", "{peak:,.0f} MB"),
    ("memory of the process that fills and indexes", "{fill_peak:,.0f} MB"),
    ("load of the machine", "{load:.0f}"),
)


def page(figures: dict[str, Any]) -> str:
    """Return the page in Markdown."""
    machine = figures["machine"]
    date = f" on {figures['date']}" if figures.get("date") else ""
    parts = {name: machine[name] for name in ("cores", "processor", "python")}
    lines = [_INTRODUCTION.format(date=date, memory=machine["memory_gb"], dimensions=384, **parts)]
    scales = sorted(figures["scales"], key=lambda each: (each["place"] == "S3", each["size"]))
    if any(each["place"] == "S3" for each in scales):
        lines.append(_BUCKET)
    if any("working" not in each for each in scales):
        lines.append(_EARLIER)
    if scales:
        lines.append("| | " + " | ".join(f"{each['size']:,}, {each['place']}" for each in scales) + " |")
        lines.append("|---|" + "---|" * len(scales))
        for title, form in _ROWS:
            lines.append(f"| {title} | " + " | ".join(_cell(form, each) for each in scales) + " |")
    lines += [
        "",
        "## One by one",
        "",
        "Each memory is stored by a call of its own in one process. The maxima until then:",
        "",
    ]
    lines.append(
        "| memories | data files | versions | disk | memory of the process | during merges | CPU time for each |"
    )
    lines.append("|---|---|---|---|---|---|---|")
    lines += [
        f"| {each['count']:,} | {each['fragments']} | {each['versions']} | {each['disk']:.0f} MB "
        f"| {each['resident']:.0f} MB | {each['peak']:.0f} MB | {each['cpu']:.0f} ms |"
        for each in figures["upserts"]
    ]
    holds = "holds" if grown_by(figures) <= MOST_GROWTH else "does not hold"
    lines += [
        "",
        (
            f"From the first row to the last, the memory of the process grows by {grown_by(figures):.0%}. "
            f"The bound of {MOST_GROWTH:.0%} {holds}.\n"
            "A merge of small files rewrites the file that it adds them to, so it needs more memory the larger the\n"
            "table is, and gives it back afterwards."
        ),
    ]
    return "\n".join(lines)


def _cell(form: str, figures: dict[str, Any]) -> str:
    """Return a cell of the table; a dash: the figure was not measured."""
    known = {name: value for name, value in figures.items() if name != "disk" or value}
    try:
        return form.format(**known, fill_cpu_each=1000 * figures["fill_cpu"] / figures["size"])
    except KeyError:
        return "-"


def grown_by(figures: dict[str, Any]) -> float:
    """Return the part by which the process that stores one by one has grown since the first mark."""
    return figures["upserts"][-1]["resident"] / figures["upserts"][0]["resident"] - 1
