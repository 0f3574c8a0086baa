"""`python -m benchmarks.peers.refusals FILE...`: which questions without an answer each program refuses to answer.

A program is asked as it is installed, with its own lowest score, where `benchmarks.peers` asks for all hits. It refuses
a question if it returns nothing; memoriter does if it calls nothing a match. The files are sets of notes.
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
    from collections.abc import Mapping, Sequence

    from benchmarks.peers._endpoint import Endpoint
    from benchmarks.peers._peer import Peer

LIMIT = 10
PROVIDER = "bundled"


def refused_by_memoriter(notes: Path, home: Path, questions: Sequence[str]) -> list[bool]:
    """Return for each question whether memoriter calls nothing a match."""
    with Memory.open(notes, home=home) as memory:
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


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--peer", "names", multiple=True, type=click.Choice([*PEERS]), help="A program; may be repeated.")
@click.option("--peer-model", "model", type=click.Path(exists=True, path_type=Path, resolve_path=True))
@click.option("--near-misses", is_flag=True, help="Ask only the questions without an answer.")
def main(files: Sequence[Path], names: Sequence[str], model: Path | None, *, near_misses: bool) -> None:
    env = read_environment()
    refused: dict[tuple[str, bool], list[bool]] = {}
    with serve_embeddings(PROVIDER, env.home / "models") as endpoint:
        for file in files:
            with TemporaryDirectory() as folder:
                scratch = Path(folder)
                questions, answered = read_set(file, scratch / "notes")
                asked = [
                    (text, has) for text, has in zip(questions, answered, strict=True) if not (near_misses and has)
                ]
                texts = [text for text, _ in asked]
                for name in ("memoriter", *names):
                    state = scratch / name
                    state.mkdir()
                    if name == "memoriter":
                        outcomes = refused_by_memoriter(scratch / "notes", state, texts)
                    else:
                        copy = shutil.copytree(scratch / "notes", state / "notes")
                        place = PeerPlace(copy, state, endpoint.url, model, env.environ, endpoint.dimensions)
                        outcomes = refused_by(as_installed(PEERS[name]), place, endpoint, texts)
                    for (_, has), outcome in zip(asked, outcomes, strict=True):
                        refused.setdefault((name, has), []).append(outcome)
                    click.echo(f"{file.stem}: {name} refuses {sum(outcomes)} of {len(outcomes)}", err=True)
    click.echo("| program | near-misses refused | answerable refused |\n|---|---|---|")
    for name in ("memoriter", *names):
        counts = [refused.get((name, has), []) for has in (False, True)]
        cells = " | ".join(f"{sum(each)} of {len(each)}" if each else "-" for each in counts)
        click.echo(f"| {name} | {cells} |")


if __name__ == "__main__":
    main()
