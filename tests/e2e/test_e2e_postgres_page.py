"""What docs/server.md shows of PostgreSQL is what its commands print, on a real server; as a program, this writes it.

The command line of benchmarks/scale.md, which is on that page too, puts the example workspace on a server.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path

import pytest

from indexed_examples import indexed_examples
from memoriter import Memory
from memoriter.environment import host_name
from postgres_server import postgres_dsn
from start_pages import ROOT, Shell, results, rewritten, without_fractions

PAGE = ROOT / "docs" / "server.md"
BLOCK = re.compile(r'(?ms)^```(console) title="with a database"\n(.*?)^```$')
DATABASE = f"page_{os.getpid()}"
SHOWN_SERVER = "db.example.com/notes:memoriter"
SHOWN_HOST = "laptop"
COMMAND = re.compile(r"(?m)^(?:\$ )?(?:cd \S+ && )?(memoriter config set store\.driver postgres && .*)$")
QUESTIONS = [ROOT / "tests" / "e2e" / f"{name}.json" for name in ("questions", "unanswerable")]
SCORE_DIFFERENCE = 1e-3


def shell_with_a_database(folder: Path) -> Shell:
    """Return a shell whose DATABASE_URL names a new database of the server for tests."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    given = postgres_dsn()
    with psycopg.connect(given, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE}".encode())
        connection.execute(f"CREATE DATABASE {DATABASE}".encode())
    address = make_conninfo(given, dbname=DATABASE)
    host = conninfo_to_dict(address).get("host", "")
    shown = {
        f"{host}/{DATABASE}:memoriter": SHOWN_SERVER,
        f"{SHOWN_SERVER}/{host_name()}:": f"{SHOWN_SERVER}/{SHOWN_HOST}:",
    }
    return Shell(folder, {"DATABASE_URL": address}, shown)


def answers_of(workspace: Path, home: Path) -> list[list[tuple[str, int, int, float]]]:
    """Return the hits of every question about the example workspace: path, first and last line, score."""
    questions = [each["question"] for file in QUESTIONS for each in json.loads(file.read_text(encoding="utf-8"))]
    with Memory.open(workspace, home=home) as memory:
        found = [memory.search(question).hits for question in questions]
    return [[(hit.path, hit.start_line, hit.end_line, hit.score) for hit in hits] for hits in found]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_one_command_line_puts_the_example_workspace_on_postgresql_with_the_same_answers(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = indexed_examples(tmp_path_factory)
    shell = shell_with_a_database(tmp_path)
    for step, printed in results(PAGE, shell, BLOCK):
        assert without_fractions(printed) == without_fractions(step.shown), step.command
    monkeypatch.setenv("DATABASE_URL", shell.environment["DATABASE_URL"])
    on_server = answers_of(shell.folder / "examples" / "workspace", shell.folder / ".memoriter")
    on_disk = answers_of(examples.workspace, examples.home(tmp_path / "home of an index on disk"))
    assert sum(map(len, on_disk)) > 100
    assert [[hit[:3] for hit in hits] for hits in on_server] == [[hit[:3] for hit in hits] for hits in on_disk]
    pairs = [
        (ours[3], theirs[3])
        for pair in zip(on_server, on_disk, strict=True)
        for ours, theirs in zip(*pair, strict=True)
    ]
    assert max(abs(ours - theirs) for ours, theirs in pairs) < SCORE_DIFFERENCE


@pytest.mark.slow
def test_what_the_page_lets_an_administrator_run_is_enough_for_a_user_without_other_rights(tmp_path: Path) -> None:
    import psycopg
    from psycopg.conninfo import make_conninfo

    user = f"page_user_{os.getpid()}"
    statements, *_ = re.findall(r"(?ms)^```sql\n(.*?)^```", PAGE.read_text(encoding="utf-8"))
    address = shell_with_a_database(tmp_path).environment["DATABASE_URL"]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(re.sub(r"\bmemoriter\b", user, statements).encode())
    store = {"driver": "postgres", "postgres": {"dsn": make_conninfo(address, user=user), "schema": user}}
    settings = tmp_path / "settings.json5"
    settings.write_text(json.dumps({"memorySearch": {"provider": "none", "store": store}}), encoding="utf-8")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("- The ledger listens on port 7431.\n", encoding="utf-8")
    with Memory.open(notes, home=tmp_path / "home", config=settings) as memory:
        assert [hit.path for hit in memory.search("which port does the ledger use?").hits] == ["MEMORY.md"]


def test_both_pages_have_the_same_command_line() -> None:
    assert only_command(PAGE) == only_command(ROOT / "benchmarks" / "scale.md")


def only_command(page: Path) -> str:
    """Return the command line of a page that puts a workspace on a server, as it is in the workspace."""
    (command,) = COMMAND.findall(page.read_text(encoding="utf-8"))
    return command


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        written = rewritten(PAGE, shell_with_a_database(Path(scratch).resolve()), BLOCK)
    PAGE.write_text(written, encoding="utf-8")
