"""`python -m benchmarks.peers.refusals FILE...`: which questions without an answer each program refuses to answer.

A program is asked as it is installed, with its own lowest score, where `benchmarks.peers` asks for all hits. It refuses
a question if it returns nothing, and memoriter, which shows the nearest passages nearly always, if it calls none a
match. The files are sets of notes.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from benchmarks.peers import PEERS
from benchmarks.peers._basic_memory import BasicMemory
from benchmarks.peers._endpoint import serve_embeddings
from benchmarks.peers._measure import INDEX_SECONDS
from benchmarks.peers._peer import ANSWER_SECONDS, PeerPlace
from benchmarks.peers._process import run_program
from benchmarks.peers._programs import OpenClaw
from memoriter import Memory
from memoriter.app import read_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.peers._endpoint import Endpoint
    from benchmarks.peers._peer import Peer

LIMIT = 10
PROVIDER = "bundled"
ALL_NOTES = '{memory: {layout: "notes"}}'
"""The sets have folders that a workspace of an agent would not search."""


def refused_by_memoriter(notes: Path, home: Path, questions: Sequence[str]) -> list[bool]:
    """Return for each question whether memoriter calls nothing a match."""
    config = home.with_suffix(".json5")
    config.write_text(ALL_NOTES, encoding="utf-8")
    with Memory.open(notes, home=home, config=config) as memory:
        memory.sync()
        return [memory.search(question, max_results=LIMIT).outcome != "match" for question in questions]


def refused_by(peer: Peer, place: PeerPlace, endpoint: Endpoint, questions: Sequence[str]) -> list[bool]:
    """Return for each question whether a program returns nothing. Raises PeerFailed."""
    environ = peer.configure(place)
    endpoint.role = "document"
    for command in peer.index(place):
        run_program(command, environ=environ, folder=place.state, timeout=INDEX_SECONDS)
    endpoint.role = "query"
    if (session := peer.session(place, environ)) is not None:
        with session as search:
            return [not search(question, LIMIT) for question in questions]
    commands = [peer.search(place, question, LIMIT) for question in questions]
    runs = [run_program(each, environ=environ, folder=place.state, timeout=ANSWER_SECONDS) for each in commands]
    return [not peer.hits(place, run.output) for run in runs]


def as_installed(peer: Peer) -> Peer:
    """Return a program that keeps its own lowest score."""
    return replace(peer, own_threshold=True) if isinstance(peer, OpenClaw | BasicMemory) else peer


def read_set(file: Path, notes: Path) -> tuple[list[str], list[bool]]:
    """Write the notes of a set into a folder, and return its questions, and whether each has an answer."""
    data: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    for note in data["docs"]:
        target = notes / note["id"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(note["text"], encoding="utf-8")
    return [each["text"] for each in data["queries"]], [not each.get("unanswerable") for each in data["queries"]]


def refused_in(
    file: Path, names: Sequence[str], endpoint: Endpoint, model: Path | None
) -> Iterator[tuple[str, bool, bool]]:
    """Yield the program, whether the question has an answer, and whether it was refused, for all questions of a set."""
    environ = read_environment().environ
    with TemporaryDirectory() as folder:
        scratch = Path(folder)
        questions, answered = read_set(file, scratch / "notes")
        refused = {"memoriter": refused_by_memoriter(scratch / "notes", scratch / "home", questions)}
        for name in names:
            state = scratch / name
            copy = shutil.copytree(scratch / "notes", state / "notes")
            place = PeerPlace(copy, state, endpoint.url, model, environ, endpoint.dimensions)
            refused[name] = refused_by(as_installed(PEERS[name]), place, endpoint, questions)
        for name, outcomes in refused.items():
            yield from ((name, has, outcome) for has, outcome in zip(answered, outcomes, strict=True))


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--peer", "names", multiple=True, type=click.Choice([*PEERS]), help="A program; may be repeated.")
@click.option("--peer-model", "model", type=click.Path(exists=True, path_type=Path, resolve_path=True))
def main(files: Sequence[Path], names: Sequence[str], model: Path | None) -> None:
    """Print the table."""
    refused: dict[str, dict[bool, list[bool]]] = {}
    with serve_embeddings(PROVIDER, read_environment().home / "models") as endpoint:
        for file in files:
            for name, has, outcome in refused_in(file, names, endpoint, model):
                refused.setdefault(name, {False: [], True: []})[has].append(outcome)
    click.echo("| program | near-misses refused | answerable questions refused |\n|---|---|---|")
    for name, counts in refused.items():
        cells = " | ".join(f"{sum(counts[has])} of {len(counts[has])}" for has in (False, True))
        click.echo(f"| {name} | {cells} |")


if __name__ == "__main__":
    main()
