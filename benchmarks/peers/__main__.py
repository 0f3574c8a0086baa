"""`python -m benchmarks.peers`: `memoriter eval run`, with other programs on the same notes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.peers import PEERS, PeerRun
from memoriter.app import read_environment
from memoriter.cli import Command
from memoriter.extensions.evals.commands import run

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = click.Option(
    ["--peer", "names"],
    multiple=True,
    required=True,
    type=click.Choice([*PEERS]),
    help="Compare with this program on the same notes, if it is installed; may be repeated.",
)
MODEL = click.Option(
    ["--peer-model", "model_file"],
    type=click.Path(exists=True, dir_okay=False, path_type=Path, resolve_path=True),
    metavar="FILE",
    help="The embedding model as a GGUF file, for `--peer qmd`.",
)


def compare(names: Sequence[str], model_file: Path | None, **options: Any) -> None:
    """Measure how well searches of memoriter and of other programs find known answers, and what they cost."""
    assert run.callback
    run.callback(**options, programs=partial(_programs, tuple(dict.fromkeys(names)), model_file))


def _programs(
    names: tuple[str, ...], model_file: Path | None, scratch: Path, config: Path | None, provider: str
) -> PeerRun:
    env = read_environment()
    return PeerRun(names, provider, env.home / "models", scratch, env.environ, model_file, config)


own = {parameter.name for parameter in Command("run").params}
main = Command(
    "python -m benchmarks.peers",
    callback=compare,
    params=[NAMES, MODEL, *(each for each in run.params if each.name not in own)],
    help=compare.__doc__,
)

if __name__ == "__main__":
    main()
