"""Search for inputs that break a promise: `just fuzz MINUTES [TARGET …]`.

    python tests/fuzz/run.py 10 chunks secrets

Each target runs in a process of its own for the given minutes, as many at once as there are processors (`--jobs`).
Where atheris is installed, it mutates inputs by the coverage that they reach; elsewhere, and for the targets that are
too slow to follow their coverage, hypothesis mutates those of the corpus. An input that fails is added to
`tests/fuzz/corpus/<target>`, where the test suite repeats it from then on.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import importlib.util
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz_targets import Target

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))
CORPUS = HERE / "corpus"
KEPT = HERE.parents[1] / ".fuzz"
"""Inputs that reached new code, kept from one run to the next; not part of the repository."""
NAMES = sorted(folder.name for folder in CORPUS.iterdir())
LONGEST = 4096
"""Bytes of an input."""
HANGS = 60
"""Seconds after which an input counts as one that hangs."""
FAILED = 77
BLIND = {"index", "messages"}
"""Targets that take tens of milliseconds for an input, and several times that when their coverage is followed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("minutes", type=float, help="for each target")
    parser.add_argument("targets", nargs="*", help=f"default: all ({', '.join(NAMES)})")
    parser.add_argument("--engine", choices=("atheris", "hypothesis"), default=None, help="for all targets")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets at once")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.targets or NAMES
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"unknown target {unknown[0]!r}, choose from: {', '.join(NAMES)}")
    if options.inside:
        with_engine = {"atheris": run_atheris, "hypothesis": run_hypothesis}[options.engine]
        return with_engine(names[0], options.minutes * 60)
    engines = {name: options.engine or engine_of(name) for name in names}
    print(f"{len(names)} targets, {options.minutes:g} minutes each", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        codes = list(pool.map(lambda name: started(name, engines[name], options.minutes), names))
    return FAILED if any(codes) else 0


def engine_of(name: str) -> str:
    """Return what looks for the inputs of a target, unless the command line says."""
    return "atheris" if name not in BLIND and importlib.util.find_spec("atheris") else "hypothesis"


def started(name: str, engine: str, minutes: float) -> int:
    """Run one target in a process of its own, and print what it found."""
    command = [sys.executable, str(HERE / "run.py"), str(minutes), name, "--engine", engine, "--inside"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    lines = (done.stderr + done.stdout).splitlines()
    tried = [line.split()[1] for line in lines if line.startswith(("stat::number_of_executed_units", "inputs:"))]
    print(
        f"{name}, {engine}: {'failed' if done.returncode else 'nothing found'} in {' '.join(tried) or 'some'} inputs",
        flush=True,
    )
    if done.returncode:
        noise = ("INFO:", "#", "stat::", "WARNING: Failed to find function")
        print("\n".join([line for line in lines if not line.startswith(noise)][-60:]), flush=True)
    return done.returncode


def run_atheris(name: str, seconds: float) -> int:
    """Mutate inputs by coverage. atheris ends the process itself."""
    import atheris

    with atheris.instrument_imports(include=["memoriter"]):
        target = loaded(name)
    (KEPT / name).mkdir(parents=True, exist_ok=True)
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds:.0f}", f"-timeout={HANGS}", f"-max_len={LONGEST}", "-rss_limit_mb=4096"]
    options += ["-print_final_stats=1", f"-artifact_prefix={CORPUS / name}/found-"]
    atheris.Setup([sys.argv[0], str(KEPT / name), str(CORPUS / name), *options], target)
    atheris.Fuzz()
    return 0


def run_hypothesis(name: str, seconds: float) -> int:
    """Mutate the inputs of the corpus blindly, and keep the smallest one that fails."""
    from hypothesis import HealthCheck, Phase, given, settings

    from fuzz_inputs import inputs

    target = loaded(name)
    tried = 0
    end = time.monotonic() + seconds
    failing = bytearray()

    @settings(
        max_examples=1_000,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(inputs(CORPUS / name))
    def attempt(data: bytes) -> None:
        nonlocal tried
        tried += 1
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            target(data)
        except BaseException:
            failing[:] = data
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()

    try:
        while time.monotonic() < end:
            attempt()
    except BaseException:
        file = CORPUS / name / f"found-{hashlib.sha256(failing).hexdigest()[:16]}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(failing)
        print(f"written: {file}")
        raise
    finally:
        print(f"inputs: {tried}", flush=True)
    return 0


def loaded(name: str) -> Target:
    """The function of a target; what it imports is imported now."""
    from fuzz_targets import TARGETS

    return TARGETS[name]


if __name__ == "__main__":
    sys.exit(main())
