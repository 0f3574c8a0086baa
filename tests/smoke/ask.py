"""Ask the command line a question about a workspace, and hold its answer against the files.

The command is the installed one beside this Python, unless the arguments after the workspace say how to run it.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

QUESTION = "which database did we choose for the ledger?"


def main(workspace: Path, program: list[str]) -> None:
    run(program, workspace, "index")  # on a slow machine, the first search would not compute all vectors
    answer = json.loads(run(program, workspace, "--json", "search", QUESTION))
    assert answer["outcome"] == "match", answer
    assert answer["health"]["ok"], answer["health"]
    places = {f"{hit['path']}#L{hit['startLine']}": cited(workspace, hit) for hit in answer["results"][:3]}
    right = [place for place, lines in places.items() if "PostgreSQL" in lines]
    assert right, places
    print(f"CPython {platform.python_version()}: {right[0]} answers {QUESTION!r} ({answer['mode']})")


def run(program: list[str], workspace: Path, *words: str) -> str:
    command = [*program, "-w", str(workspace), *words]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def cited(workspace: Path, hit: dict[str, Any]) -> str:
    """The lines that a result points at, read from the file itself."""
    lines = (workspace / hit["path"]).read_text(encoding="utf-8").splitlines()
    return "\n".join(lines[hit["startLine"] - 1 : hit["endLine"]])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or [str(Path(sys.executable).parent / "memoriter")])
