"""What an installation without extras does, and what it says of the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import memoriter
from hook_inputs import hook_input
from memoriter.extras import FRAMEWORKS, PACKAGES, install_command
from memory_env import trust

if TYPE_CHECKING:
    from conftest import Program

SOURCE = Path(memoriter.__file__).parents[1]
CORE = {"onnxruntime"}
"""What an extra needs and every installation has."""
BEYOND = {"httpcore2", "idna", "jsonschema", "onnx", "sentencepiece", "sse_starlette", "truststore"}
"""Packages that only come with an extra, or with the tools of developers."""
ABSENT = sorted({module for modules in PACKAGES.values() for module in modules} - CORE | BEYOND)
MODULES = {
    "agent-framework-core": "agent_framework",
    "google-adk": "google.adk",
    "langgraph-checkpoint": "langgraph.store.base",
    "llama-index-core": "llama_index.core",
    "markdown-it-py": "markdown_it",
    "openai-agents": "agents.memory",
    "pydantic-ai-slim": "pydantic_ai",
    "strands-agents": "strands",
}
"""Packages whose module has another name."""
PROGRAM = f"import sys; sys.modules.update(dict.fromkeys({ABSENT})); from memoriter.cli import main; main()"
QUESTION = "which database did we choose for the ledger?"


def core(program: Program, *words: str, typed: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process that can import no package of an extra."""
    keyless = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment = {**keyless, "HOME": str(program.home), "PYTHONPATH": str(SOURCE), **variables}
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(command, input=typed, env=environment, capture_output=True, encoding="utf-8", check=False)


def configure(program: Program, **settings: Any) -> None:
    content = {"agents": {"defaults": {"memorySearch": settings}}}
    (program.home / "memoriter.json5").write_text(json.dumps(content), encoding="utf-8")


COMMANDS = {
    "mcp": ("mcp", ["mcp"]),
    "mcp over HTTP": ("mcp", ["mcp", "--http", "--port", "0"]),
    "serve": ("serve", ["serve", "--port", "0"]),
    "install": ("mcp", ["install", "claude-code"]),
    "ltm": ("longterm", ["ltm", "list"]),
    "install with TOML": ("mcp", ["install", "codex"]),
    "remove from TOML": ("mcp", ["install", "codex", "--remove"]),
    "install over HTTP": ("serve", ["install", "cursor", "--http"]),
}


IN_TURN = f"""
import json, sys
sys.modules.update(dict.fromkeys({ABSENT}))
from click.testing import CliRunner
from memoriter.cli import main
for words in json.load(sys.stdin):
    done = CliRunner().invoke(main, words)
    print(json.dumps([done.exit_code, done.stdout, done.stderr]))
"""


def test_a_command_without_its_extra_names_the_line_that_installs_it(program: Program) -> None:
    before = sorted(program.home.rglob("*"))
    lines = [[*json_option, *words] for _, words in COMMANDS.values() for json_option in ([], ["--json"])]
    environment = {"PATH": os.environ["PATH"], "HOME": str(program.home), "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN], input=json.dumps(lines), env=environment, capture_output=True, encoding="utf-8"
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == len(lines), done.stderr
    for number, (name, (extra, _)) in enumerate(COMMANDS.items()):
        code, out, err = outcomes[2 * number]
        assert (code, out) == (1, ""), name
        assert f"needs the extra '{extra}'" in err, name
        assert install_command(extra) in err, name
        assert "Traceback" not in err, name
        code, out, err = outcomes[2 * number + 1]
        assert (code, err) == (1, ""), name
        error = json.loads(out)["error"]
        assert error["code"] == "missing_package", name
        assert error["remedy"] == f"Run `{install_command(extra)}`.", name
    assert sorted(program.home.rglob("*")) == before


def test_a_client_without_the_extra_can_still_be_taken_out(program: Program) -> None:
    assert core(program, "install", "cursor", "--remove").returncode == 0


def test_the_bundled_model_answers_without_extras(program: Program) -> None:
    configure(program, provider="bundled")
    done = core(program, "--json", "search", QUESTION)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["mode"], answer["health"]["ok"]) == (0, "hybrid", True)
    assert answer["results"][0]["path"] == "MEMORY.md"


def test_hooks_answer_without_extras(program: Program) -> None:
    trust(program.home, program.workspace)
    typed = hook_input("claude-code", "user-prompt", cwd=program.workspace, prompt=QUESTION)
    done = core(program, "hook", "user-prompt", typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    assert "PostgreSQL" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_a_service_without_its_extra_leaves_the_words_and_names_the_line(program: Program) -> None:
    configure(program, provider="openai", remote={"apiKey": "a-key"})
    done = core(program, "--json", "search", QUESTION)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["mode"], answer["results"][0]["path"]) == (0, "keyword", "MEMORY.md")
    assert install_command("remote") in done.stdout


def test_auto_ignores_a_key_while_no_service_can_be_asked(program: Program) -> None:
    configure(program, provider="auto")
    done = core(program, "--json", "status", OPENAI_API_KEY="a-key")
    assert json.loads(done.stdout)[0]["provider"] == "bundled"


def test_notes_are_watched_without_events_and_the_watcher_says_what_would_help(program: Program) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", PROGRAM, "--json", "watch"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, encoding="utf-8") as watching:
        assert watching.stdout is not None
        polling = next(event for event in map(json.loads, watching.stdout) if event["kind"] == "polling")
        watching.terminate()
    assert install_command("watch") in json.dumps(polling)


def test_doctor_names_the_extras_that_are_there(program: Program) -> None:
    configure(program, provider="none")
    bare = core(program, "--json", "doctor")
    (finding,) = [each for each in json.loads(bare.stdout)["findings"] if each["check"] == "extras"]
    everything = ", ".join(PACKAGES)
    assert finding["message"] == f"Installed: none. Not installed: {everything}."
    assert finding["remedy"] == f"To add one, run `{install_command('import')}`."
    (finding,) = [each for each in program("--json", "doctor").json["findings"] if each["check"] == "extras"]
    assert finding == {
        "check": "extras",
        "state": "good",
        "message": f"Installed: {everything}. Not installed: none.",
        "remedy": "",
    }


LIBRARY = """
from memoriter.errors import MissingPackage
for attempt in ("from memoriter.mcp_server import server_of", "from memoriter.mcp_server import serve"):
    try:
        exec(attempt)
    except ImportError as error:
        assert isinstance(error, MissingPackage), error
        print(error.message, error.remedy)
"""


def test_the_library_says_the_same() -> None:
    command = [sys.executable, "-c", f"import sys; sys.modules.update(dict.fromkeys({ABSENT}))\n{LIBRARY}"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.count("The MCP server needs the extra 'mcp'") == 2
    assert done.stdout.count(f"Run `{install_command('mcp')}`.") == 2


ADAPTERS = """
import importlib, sys
from memoriter.errors import MissingPackage
from memoriter.extras import FRAMEWORKS
sys.modules.update(dict.fromkeys(name for names in FRAMEWORKS.values() for name in names))
for name in sys.argv[1:]:
    try:
        importlib.import_module(f"memoriter.integrations.{name}")
    except MissingPackage as error:
        print(error.remedy)
"""


def test_an_adapter_without_its_framework_names_the_line_that_installs_it() -> None:
    files = sorted((SOURCE / "memoriter" / "integrations").glob("[!_]*.py"))
    names = [file.stem for file in files]
    command = [sys.executable, "-c", ADAPTERS, *names]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
    extras = [name.replace("_", "-") for name in names]
    assert extras
    assert done.stdout.splitlines() == [f"Run `{install_command(extra)}`." for extra in extras]


def test_extras_and_their_messages_are_those_of_the_package_metadata() -> None:
    metadata = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared: dict[str, list[str]] = metadata["optional-dependencies"]

    def modules(extra: str) -> set[str]:
        names = set[str]()
        for requirement in declared[extra]:
            name, inner = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()  # type: ignore[union-attr]
            if name == "memoriter":
                names |= {module for part in inner.split(",") for module in modules(part)}
            else:
                names.add(MODULES.get(name, name.replace("-", "_")))
        return names

    assert {extra: modules(extra) for extra in declared if extra != "all"} == {
        extra: set(packages) for extra, packages in {**PACKAGES, **FRAMEWORKS}.items()
    }
    assert modules("all") == {module for packages in PACKAGES.values() for module in packages}
    assert not modules("all") & {re.split(r"[^\w-]", each)[0] for each in metadata["dependencies"]} - CORE
