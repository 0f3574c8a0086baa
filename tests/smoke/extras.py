"""Run the commands that need an extra: without it each of them names the line that installs it, with it they work."""

import subprocess
import sys
from pathlib import Path

PROGRAM = str(Path(sys.executable).parent / "memoriter")
NEEDED = {
    "mcp": ["mcp"],
    "serve": ["serve", "--port", "0"],
}
ABSENT_PACKAGES = {"mcp", "uvicorn", "starlette", "httpx2", "watchfiles", "tomlkit", "onnx", "sentencepiece"} | {
    "Jinja2",
    "nh3",
}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    # With its input at an end, a server on stdio stops at once.
    return subprocess.run([PROGRAM, *words], input="", capture_output=True, encoding="utf-8", timeout=120, check=False)


def absent() -> None:
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "list", "--format=freeze"], capture_output=True, encoding="utf-8", check=True
    )
    names = {line.partition("==")[0] for line in installed.stdout.splitlines()}
    assert not names & ABSENT_PACKAGES, names & ABSENT_PACKAGES
    print(f"{len(names - {'pip', 'setuptools'})} packages without extras")
    for extra, words in NEEDED.items():
        done = run(*words)
        assert done.returncode == 1, done
        assert f'pip install "memoriter[{extra}]"' in done.stderr, done.stderr
        assert "Traceback" not in done.stderr, done.stderr


def present() -> None:
    for words in (["mcp"], ["install", "codex", "--dry-run"], ["install", "cursor", "--http", "--dry-run"]):
        done = run(*words)
        assert done.returncode == 0, done.stderr
    assert "extras        Installed: mcp, postgres, remote, serve, watch" in run("doctor").stdout
    print("with the extras of a server, its commands work")


if __name__ == "__main__":
    {"absent": absent, "present": present}[sys.argv[1]]()
