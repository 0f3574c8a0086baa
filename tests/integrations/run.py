"""Test the adapters with the real agent frameworks, and check their types.

`just integrations` does both, with `--types` or `--tests` one of them. Other arguments go to pytest:
`just integrations -k langgraph`.

Each set of frameworks that can be installed together has a file in `requirements/` and an environment in `build/`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from environments import ALONE, ENVIRONMENTS

ROOT = Path(__file__).parents[2]
ADAPTERS = ROOT / "src" / "memoriter" / "integrations"
# Several frameworks leave the connections of their clients open, and CrewAI uses deprecated parts of others.
IGNORED = (
    *("-W", "ignore::ResourceWarning"),
    *("-W", "ignore::DeprecationWarning"),
    *("-W", "ignore:Cannot set an attribute on 'crewai:ImportWarning"),
)
NOTHING_SELECTED = 5
"""The exit code of pytest if no test matches."""


def run(*command: str | Path, **variables: str) -> int:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    return subprocess.run([str(word) for word in command], cwd=ROOT, env=environment, check=False).returncode


def installed(name: str) -> Path:
    """Return the Python of an environment that has exactly what its requirements pin."""
    folder = ROOT / "build" / f"{name}-env"
    python = folder / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    if not python.exists():
        subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(folder)], cwd=ROOT, check=True)
    pinned = ROOT / "requirements" / f"{name}.txt"
    sync = [*uv, "pip", "sync", "--quiet", "--require-hashes", "--python", str(python), str(pinned)]
    subprocess.run(sync, cwd=ROOT, check=True)
    return python


def checked(name: str, python: Path) -> int:
    """Check the types of the adapters of an environment as strictly as those of the other packages."""
    modules = [file for file in sorted(ADAPTERS.glob("*.py")) if ALONE.get(file.stem, ENVIRONMENTS[0]) == name]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["basedpyright"]
    settings = {**project, "include": [str(file) for file in modules], "exclude": [], "extraPaths": [str(ROOT / "src")]}
    file = ROOT / "build" / f"{name}-types.json"
    file.write_text(json.dumps(settings), encoding="utf-8")
    if not modules:
        return 0
    return run(sys.executable, "-m", "basedpyright", "--project", file, "--pythonpath", python)


def main(arguments: list[str]) -> int:
    failed = 0
    selection = [word for word in arguments if word not in {"--types", "--tests"}]
    for name in ENVIRONMENTS:
        python = installed(name)
        if not arguments or "--types" in arguments:
            failed |= checked(name, python)
        if not arguments or "--tests" in arguments or selection:
            tests = ["-m", "pytest", "tests/integrations", *IGNORED, "-n", "2", "--dist", "loadfile", *selection]
            code = run(python, *tests, MEMORITER_INTEGRATIONS=name)
            failed |= code if not (selection and code == NOTHING_SELECTED) else 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
