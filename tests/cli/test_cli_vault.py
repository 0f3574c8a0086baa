"""A vault of Obsidian is a memory as it is: `memoriter -w VAULT search` answers, and nothing in the vault changes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from memoriter.cli import main
from vault import DELETED, DRAWING, FIRST_DAY, TITLES, daily_note, write_vault
from vault_texts import KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Program

SOURCES = Path(__file__).parents[2] / "src"


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    """Return the hash and the time of change of every file."""
    return {
        str(file.relative_to(folder)): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in folder.rglob("*")
        if file.is_file()
    }


def place(known: Any) -> str:
    return f"{known.folder}/{known.title}.md"


def paths(answer: Any) -> list[str]:
    return list(dict.fromkeys(hit["path"] for hit in answer["results"]))


def noise_in(answer: Any) -> list[str]:
    """Return the hits that show front matter, encoded data, or a file that is no note."""
    words = ("excalidraw-plugin:", "cssclass:", "```compressed-json", "```base64", "base64,", DELETED)
    return [hit["citation"] for hit in answer["results"] if any(word in hit["snippet"] for word in words)]


@dataclass
class Vault:
    """A vault and the command, which is told nothing but the folder."""

    folder: Path
    home: Path

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home)}

    def installed(self, *words: str) -> Any:
        """Run the command as it is installed, in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "memoriter", "-w", str(self.folder), *words, "--json"],
            capture_output=True,
            encoding="utf-8",
            env=self.environ | {"PYTHONPATH": str(SOURCES)},
            cwd=self.home,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def search(self, *words: str) -> Any:
        """Search in this process: dozens of new ones would each load the model first."""
        with chdir(self.home):
            done = CliRunner().invoke(
                main,
                ["-w", str(self.folder), "search", *words, "--json"],
                env=dict.fromkeys(os.environ) | self.environ,
            )
        assert done.exit_code == 0, done.stderr
        answer = json.loads(done.stdout)
        assert noise_in(answer) == [], words
        return answer

    def first(self, question: str) -> str:
        return next(iter(paths(self.search(question))), "")


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """Make the vault of 344 notes and search it for the first time; it has to stay as it is."""
    vault = Vault(tmp_path_factory.mktemp("notes") / "vault", tmp_path_factory.mktemp("home"))
    write_vault(vault.folder)
    before = fingerprint(vault.folder)
    first = vault.installed("search", "who must not get penicillin?")
    assert noise_in(first) == []
    if not first["health"]["ok"]:  # a slow machine; the answer says what to do
        assert {reason["remedy"] for reason in first["health"]["reasons"]} == {"Run `memoriter index`."}
        vault.installed("index")
    yield vault
    assert fingerprint(vault.folder) == before


def test_a_small_vault_is_found_by_title_without_its_drawings_and_is_not_changed(
    program: Program, tmp_path: Path
) -> None:
    (program.home / "memoriter.json5").write_text(
        '{agents: {defaults: {memorySearch: {provider: "none"}}}}', encoding="utf-8"
    )
    vault = tmp_path / "vault"
    write_vault(vault, notes=30)
    before = fingerprint(vault)
    for folder, title in TITLES[::8]:
        answer = program("-w", str(vault), "search", title, "--json").json
        assert f"{folder}/{title}.md" in paths(answer)[:3]
        assert noise_in(answer) == []
    assert paths(program("-w", str(vault), "search", "hinge sketch", "--json").json)[0] == DRAWING
    assert program("-w", str(vault), "search", "zeppelin hangar", "--json").json["results"] == []
    assert program("-w", str(vault), "status", "--json").json[0]["files"] == 30
    assert fingerprint(vault) == before


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_installed_command_answers_as_the_command_in_this_process(vault: Vault) -> None:
    question = KNOWN[0].question
    answers = [vault.installed("search", question), vault.search(question)]
    for answer in answers:
        answer.pop("timings", None)
    assert answers[0] == answers[1]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_title_of_a_vault_finds_its_note(vault: Vault) -> None:
    found = {title: paths(vault.search(title))[:3] for _, title in TITLES}
    assert [title for folder, title in TITLES if f"{folder}/{title}.md" not in found[title]] == []
    assert sum(found[title][0] == f"{folder}/{title}.md" for folder, title in TITLES) >= 20


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_facts_inside_the_notes_of_a_vault_are_the_first_hits(vault: Vault) -> None:
    missed = [known.question for known in KNOWN if vault.first(known.question) != place(known)]
    assert len(missed) <= 1, missed


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_some_questions_in_another_language_find_their_note_and_wrong_answers_are_rarely_called_a_match(
    vault: Vault,
) -> None:
    answers = [(place(known), vault.search(known.foreign)) for known in KNOWN if known.foreign]
    right = [path for path, answer in answers if path in paths(answer)[:3]]
    wrong = [path for path, answer in answers if answer["outcome"] == "match" and path not in paths(answer)[:3]]
    assert len(right) >= 9
    assert len(wrong) <= 1, wrong


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_days_and_tags_of_a_vault_restrict_a_search(vault: Vault) -> None:
    first = daily_note(FIRST_DAY)
    logged = next(line for line in (vault.folder / first).read_text("utf-8").splitlines() if line.startswith("- 8:"))
    assert paths(vault.search(logged[7:], "--on", FIRST_DAY.isoformat())) == [first]
    november = vault.search("since:2025-11-01 until:2025-11-30 배추")["results"]
    assert november[0]["path"] == "Familie/김장 준비.md"
    assert {hit["date"][:7] for hit in november} == {"2025-11"}
    assert vault.search("coconut milk", "--on", "2024-02-29")["outcome"] == "none"

    recipes = paths(vault.search("vinegar and milk tag:recipe", "--min-score", "0"))
    assert set(recipes) == {f"{known.folder}/{known.title}.md" for known in KNOWN if "recipe" in known.tags}
    plans = paths(vault.search("goals and customers", "--tag", "work", "--min-score", "0"))
    assert set(plans) == {f"{known.folder}/{known.title}.md" for known in KNOWN if "work/plan" in known.tags}
    assert all(path.startswith("Daily/") for path in paths(vault.search("photos tag:todo")))
