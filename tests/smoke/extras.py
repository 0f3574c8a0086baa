"""Run commands that need an extra: without it, each names the command that adds it; after that command, it works.

extras.py absent         print what the commands of an installation without extras name
extras.py present        run them in an installation with the extras of a server
extras.py add PROGRAM    run the commands that an installed tool names, and see that it keeps what it has
"""

import json
import shlex
import subprocess
import sys
import tempfile
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


def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    # With its input at an end, a server on stdio stops at once.
    return subprocess.run([program, *words], input="", capture_output=True, encoding="utf-8", timeout=120, check=False)


def named_command(program: str, extra: str, words: list[str]) -> str:
    """The command that a message about a missing extra names, as it is pasted into a shell."""
    done = run(program, "--json", *words)
    assert (done.returncode, done.stderr) == (1, ""), done
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "missing_package", error
    command = error["remedy"].removeprefix("Run `").removesuffix("`.")
    assert shlex.split(command)[-1].endswith(f"{extra}]"), command
    return command


def absent() -> None:
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "list", "--format=freeze"], capture_output=True, encoding="utf-8", check=True
    )
    names = {line.partition("==")[0] for line in installed.stdout.splitlines()}
    assert not names & ABSENT_PACKAGES, names & ABSENT_PACKAGES
    for extra, words in NEEDED.items():
        print(named_command(PROGRAM, extra, words))


def present() -> None:
    for words in (["mcp"], ["install", "codex", "--dry-run"], ["install", "cursor", "--http", "--dry-run"]):
        done = run(PROGRAM, *words)
        assert done.returncode == 0, done.stderr
    assert "extras        Installed: mcp, postgres, remote, serve, watch" in run(PROGRAM, "doctor").stdout
    print("with the extras of a server, its commands work")


def add(program: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        export = Path(scratch, "mem0.json")
        export.write_text('[{"id": "1", "memory": "The heater runs on circuit 14."}]', encoding="utf-8")
        needed = {"mcp": ["mcp"], "import": ["import", "mem0", str(export), "--dry-run"]}
        for extra, words in needed.items():
            command = named_command(program, extra, words)
            print(command)
            subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
        for words in needed.values():
            done = run(program, *words)
            assert done.returncode == 0, done


if __name__ == "__main__":
    {"absent": absent, "present": present, "add": add}[sys.argv[1]](*sys.argv[2:])
