"""Everything that can be wrong, on every surface: what each says, in one table.

A row breaks something before each question. The question is asked on the command line in words and as JSON, from Python
and through the agent's tool; all four must tell the same state, with the same code and a remedy.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from memoriter import Memory
from memoriter.cli import main
from memoriter.errors import MemoriterError
from memoriter.index import Index
from memoriter.tools import search_tool
from memory_env import QUESTION, MemoryEnv, Outcome, compatible
from servers import KEY, Answer
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from memoriter.types import SearchResult

NOWHERE = "http://127.0.0.1:9/v1"
"""Nobody listens on the port of `discard`."""
KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY")


@dataclass
class Scene:
    """An environment with a complete index, and the four interfaces to search it."""

    env: MemoryEnv
    patch: pytest.MonkeyPatch
    server: CompatibleServer
    words: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    question: str = QUESTION

    @property
    def index(self) -> Path:
        """The index of the settings, which serves unless the file is of another program."""
        found = (self.env.home / "memory").glob("*.sqlite")
        return min((path for path in found if path.name != "ledger.sqlite"), key=lambda path: len(path.name))

    def configure(self, **search: Any) -> None:
        self.env.configure(**{"provider": "fake", **search})

    def narrow(self, **options: Any) -> None:
        """Ask with these options, as each surface calls them."""
        self.options = options
        self.words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]

    def make(self) -> None:
        with Memory.open(self.env.notes) as memory:
            memory.sync()

    def program(self, *words: str) -> Outcome:
        done = CliRunner().invoke(main, ["-w", str(self.env.notes), *words])
        return Outcome(done.exit_code, done.stdout, done.stderr)

    def text(self) -> Outcome:
        return self.program("search", *self.words, "--", self.question)

    def json(self) -> Outcome:
        return self.program("search", "--json", *self.words, "--", self.question)

    def python(self) -> SearchResult | MemoriterError:
        try:
            with Memory.open(self.env.notes) as memory:
                return memory.search(self.question, **self.options)
        except MemoriterError as error:
            return error

    def tool(self) -> dict[str, Any] | None:
        """`None` where there is no memory whose tool could be called."""
        params = {"minScore" if name == "min_score" else name: value for name, value in self.options.items()}
        try:
            memory = Memory.open(self.env.notes)
        except MemoriterError:
            return None
        with memory:
            return json.loads(json.dumps(search_tool(memory, {"query": self.question, **params})))


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    env = MemoryEnv.at(tmp_path)
    for name in ("MEMORITER_WORKSPACE", "MEMORITER_CONFIG", *KEYS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORITER_HOME", str(env.home))
    with CompatibleServer() as server:
        yield Scene(env, monkeypatch, server)


# the troubles: what is done once, and what is done before each question


def sound(scene: Scene) -> None:
    scene.configure()
    scene.make()


def no_key(scene: Scene) -> None:
    scene.configure(provider="openai")


def bad_key(scene: Scene) -> None:
    scene.env.configure(**compatible(scene.server, key="sk-not-this-one"))


def provider_down(scene: Scene) -> None:
    scene.patch.setattr("memoriter.backends._endpoint.SLOW_SECONDS", inf)  # slow or not, it is not paused
    scene.env.configure(**compatible(scene.server))
    scene.make()
    scene.server.down = Answer(503, {"error": {"message": "overloaded"}})


def nobody_there(scene: Scene) -> None:
    scene.configure(provider="openai-compatible", model="m", remote={"baseUrl": NOWHERE, "apiKey": "k"})


def offline(scene: Scene) -> None:
    far = {"baseUrl": "https://vectors.example.org/v1", "apiKey": "k"}
    scene.configure(provider="openai-compatible", model="m", remote=far, offline=True)


def budget_spent(scene: Scene) -> None:
    scene.configure(provider="openai", remote={"apiKey": KEY, "budget": {"tokensPerDay": 1}})


def corrupt(scene: Scene) -> None:
    if not (scene.env.home / "memory").exists():
        sound(scene)
    for log in scene.index.parent.glob("*-wal"):
        log.unlink()
    scene.index.resolve().write_bytes(b"SQLite format 3\0" + b"x" * 40_000)


def cut_short(scene: Scene) -> None:
    if not (scene.env.home / "memory").exists():
        sound(scene)
    for log in scene.index.parent.glob("*-wal"):
        log.unlink()
    os.truncate(scene.index.resolve(), 8192 * 3)


@contextmanager
def locked(scene: Scene) -> Iterator[None]:
    with Index.open(scene.index, clock=time.time) as other, other.lease():
        yield


def changed(scene: Scene) -> None:
    scene.env.write("memory/2026-03-09.md", f"# Heron\n\nThe heron of {time.monotonic_ns()}.\n")


def unwatched(scene: Scene) -> None:
    scene.configure(sync={"onSearch": False})
    scene.make()
    changed(scene)


def half_done(scene: Scene) -> None:
    """Killed after the words were stored and before any vector was."""
    scene.configure()
    killed = """
import os, signal
from memoriter.embed import _fake
_fake.FakeProvider.embed = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
"""
    shutil.rmtree(scene.env.home / "memory", ignore_errors=True)
    assert scene.env.run("index", before=killed).exit_code == -9


def vectors_waiting(scene: Scene) -> None:
    scene.configure(sync={"onSearch": False})
    scene.make()
    with Memory.open(scene.env.notes) as memory:
        memory.remember("Kiwi is the favourite fruit.")


def no_notes(scene: Scene) -> None:
    scene.configure()
    shutil.rmtree(scene.env.notes)
    scene.env.notes.mkdir()


def blank_notes(scene: Scene) -> None:
    no_notes(scene)
    scene.env.write("MEMORY.md", "\n")


def no_workspace(scene: Scene) -> None:
    scene.configure()
    shutil.rmtree(scene.env.notes)


def wrong_setting(scene: Scene) -> None:
    scene.configure(qerry={"minScore": 0.2})


def index_is_a_folder(scene: Scene) -> None:
    sound(scene)
    index = scene.index
    index.unlink()
    index.mkdir()


def folder_is_a_file(scene: Scene) -> None:
    scene.configure(store={"path": str(scene.env.home / "shelf" / "index.sqlite")})
    (scene.env.home / "shelf").write_text("not a folder", encoding="utf-8")


def read_only(scene: Scene) -> None:
    folder = scene.env.home / "shelf"
    folder.mkdir()
    folder.chmod(0o500)
    scene.configure(store={"path": str(folder / "index.sqlite")})


def turned_off(scene: Scene) -> None:
    scene.configure(enabled=False)


def nothing_near(scene: Scene) -> None:
    sound(scene)
    scene.question = "zzyzx qwfpg"


def too_strict(scene: Scene) -> None:
    sound(scene)
    scene.narrow(min_score=0.99)


def words_unknown(scene: Scene) -> None:
    scene.configure(provider="none")
    scene.question = "zzyzx qwfpg"


def only_signs(scene: Scene) -> None:
    scene.configure(provider="none")
    scene.question = "?!"


def elsewhere(scene: Scene) -> None:
    sound(scene)
    scene.narrow(path="memroy/work")


def no_question(scene: Scene) -> None:
    sound(scene)
    scene.question = " "


def nothing(scene: Scene) -> None:
    del scene


def changed_and_locked(scene: Scene) -> AbstractContextManager[Any]:
    changed(scene)
    return locked(scene)


HEALTH = {
    # what is wrong        is made by       then, each time      code                    mode       its remedy names
    "nothing": (sound, nothing, "", "hybrid", ""),
    "no key": (no_key, nothing, "provider_unavailable", "keyword", "OPENAI_API_KEY"),
    "bad key": (bad_key, nothing, "unauthorised", "keyword", "Check the key"),
    "provider overloaded": (provider_down, nothing, "transient", "keyword", "Try again later"),
    "provider not there": (nobody_there, nothing, "provider_unavailable", "keyword", "Start the server"),
    "offline": (offline, nothing, "provider_unavailable", "keyword", "memorySearch.provider"),
    "budget spent": (budget_spent, nothing, "over_budget", "keyword", "memorySearch.remote.budget"),
    "index corrupt": (sound, corrupt, "index_quarantined", "hybrid", "memoriter index"),
    "index cut short": (sound, cut_short, "index_quarantined", "hybrid", "memoriter index"),
    "locked": (sound, locked, "", "hybrid", ""),
    "locked and stale": (sound, changed_and_locked, "stale", "hybrid", "done"),
    "stale": (unwatched, nothing, "stale", "hybrid", "memoriter index"),
    "killed in the middle": (nothing, half_done, "", "hybrid", ""),
    "vectors pending": (vectors_waiting, nothing, "vectors_pending", "hybrid", "memoriter index"),
    "no notes": (no_notes, nothing, "no_notes", "keyword", "memoriter remember"),
    "blank notes": (blank_notes, nothing, "no_text", "keyword", "memoriter remember"),
}
"""There is an answer, and `health` says how good it is."""

REASONS = {
    # what is asked        is made by       code               mode       its remedy names
    "nothing near": (nothing_near, "below_min_score", "hybrid", "--min-score"),
    "too strict": (too_strict, "below_min_score", "hybrid", "--min-score"),
    "no word known": (words_unknown, "no_term_known", "keyword", "other words"),
    "no word at all": (only_signs, "no_words", "keyword", "other words"),
    "no such path": (elsewhere, "filtered_out", "hybrid", "--path"),
}
"""There are notes, and nothing is found: `reasons` says why."""

ERRORS = {
    # what is wrong        is made by       code         exit code  its remedy names
    "no question": (no_question, "query", 2, "at least one word"),
    "no workspace": (no_workspace, "workspace", 2, "-w"),
    "wrong setting": (wrong_setting, "config", 2, "memoriter config check"),
    "index is a folder": (index_is_a_folder, "index", 1, "memorySearch.store.path"),
    "its folder is a file": (folder_is_a_file, "index", 1, "memorySearch.store.path"),
    "read-only folder": (read_only, "index", 1, "memorySearch.store.path"),
    "turned off": (turned_off, "disabled", 1, "memorySearch.enabled"),
}
"""There is no answer."""


def answers_after(scene: Scene, each: Callable[[Scene], AbstractContextManager[Any] | None] = nothing) -> Answers:
    """The answers of all surfaces, with everything broken anew for each."""
    found: list[Any] = []
    for ask in (scene.text, scene.json, scene.python, scene.tool):
        with each(scene) or nullcontext():
            found.append(ask())
    text, plain, python, tool = found
    assert "Traceback" not in text.out + text.err + plain.out + plain.err
    assert text.exit_code == plain.exit_code
    return Answers(text, plain.json, python, tool)


@dataclass(frozen=True)
class Answers:
    """What each surface said."""

    text: Outcome
    json: Any
    python: Any
    tool: Any

    def agree(self, mode: str, outcome: str) -> None:
        """All are answers, in the same state."""
        assert not isinstance(self.python, MemoriterError), self.python
        assert (self.python.mode, self.python.outcome) == (mode, outcome)
        for found in (self.json, self.tool):
            assert (found["mode"], found["outcome"]) == (mode, outcome), found["health"]
            assert found["health"]["legs"] == {"keyword": True, "vector": mode == "hybrid"}
            assert found["health"]["ok"] == (not found["health"]["reasons"])
            assert found["results"] or found["health"]["reasons"] or found["reasons"]
        assert self.text.exit_code == 0
        assert ("Nothing in your notes answers this." in self.text.out) == (outcome == "none")


def plain(reasons: Any) -> list[dict[str, str]]:
    return [{"code": reason.code, "message": reason.message, "remedy": reason.remedy} for reason in reasons]


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("trouble", HEALTH)
def test_every_surface_answers_and_says_what_is_wrong(scene: Scene, trouble: str) -> None:
    once, each, code, mode, remedy = HEALTH[trouble]
    once(scene)
    answers = answers_after(scene, each)
    outcome = "none" if code in {"no_notes", "no_text"} else "weak" if code == "vectors_pending" else "match"
    answers.agree(mode, outcome)
    for reasons in (
        answers.json["health"]["reasons"],
        plain(answers.python.health.reasons),
        answers.tool["health"]["reasons"],
    ):
        if not code:
            assert {reason["code"] for reason in reasons} <= {"index_busy"}
            continue
        (mine,) = [reason for reason in reasons if reason["code"] == code]
        assert mine["message"]
        assert remedy in mine["remedy"]
        assert all(reason["remedy"] for reason in reasons)
    assert remedy in answers.text.err


@pytest.mark.matrix
@pytest.mark.parametrize("question", REASONS)
def test_every_surface_says_why_it_found_nothing(scene: Scene, question: str) -> None:
    once, code, mode, remedy = REASONS[question]
    once(scene)
    answers = answers_after(scene)
    answers.agree(mode, "none")
    assert answers.json["reasons"] == answers.tool["reasons"] == plain(answers.python.reasons)
    (mine,) = [reason for reason in answers.json["reasons"] if reason["code"] == code]
    assert remedy in mine["remedy"]
    assert all(reason["message"] in answers.text.out for reason in answers.json["reasons"])
    assert all(reason["remedy"] in answers.text.out for reason in answers.json["reasons"])


@pytest.mark.matrix
@pytest.mark.parametrize("question", ["nothing near", "too strict"])
def test_the_lower_score_that_is_advised_shows_something_on_every_surface(scene: Scene, question: str) -> None:
    REASONS[question][0](scene)
    (reason,) = scene.json().json["reasons"]
    scene.narrow(min_score=float(reason["remedy"].partition("--min-score ")[2].split()[0]))
    answers = answers_after(scene)
    assert answers.json["results"]
    assert answers.tool["results"]
    assert answers.python.results
    assert answers.text.out.startswith("1. ")


@pytest.mark.matrix
@pytest.mark.parametrize("trouble", ERRORS)
def test_every_surface_fails_in_the_same_words(scene: Scene, trouble: str) -> None:
    once, code, exit_code, remedy = ERRORS[trouble]
    if once is read_only and hasattr(os, "geteuid") and os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    once(scene)
    answers = answers_after(scene)
    error = answers.json["error"]
    assert (error["code"], remedy in error["remedy"], bool(error["message"])) == (code, True, True), error
    assert (answers.text.exit_code, answers.text.out) == (exit_code, "")
    assert answers.text.err.startswith(f"Error: {error['message']}")
    assert error["remedy"] in answers.text.err
    assert isinstance(answers.python, MemoriterError)
    assert answers.python.code == code
    if trouble == "no workspace":  # a program has no option -w
        assert repr(str(scene.env.notes)) in answers.python.message
        assert "-w" not in answers.python.message
    else:
        assert (answers.python.message, answers.python.remedy) == (error["message"], error["remedy"])
    if answers.tool is not None:
        asks_again = code == "query"
        assert (answers.tool["results"], bool(answers.tool["error"])) == ([], True)
        assert answers.tool["code"] == ("usage" if asks_again else code)
        assert answers.tool["action"].endswith(error["remedy"]) or asks_again
        assert bool(answers.tool.get("unavailable")) != asks_again


def test_a_status_before_the_first_index_says_that_nothing_is_indexed_and_not_that_there_are_no_notes(
    scene: Scene,
) -> None:
    scene.configure()
    (state,) = scene.program("status", "--json").json
    assert [reason["code"] for reason in state["health"]["reasons"]] == ["not_indexed"]
    assert (state["files"], state["stale"]) == (0, 4)
    scene.program("index")
    changed(scene)
    (state,) = scene.program("status", "--json").json
    assert (state["health"]["ok"], state["stale"]) == (True, 1)
    assert "1 changed and not indexed yet" in scene.program("status").out


def test_searching_that_is_turned_off_is_told_by_the_status_and_notes_are_still_read_and_written(scene: Scene) -> None:
    turned_off(scene)
    (state,) = scene.program("status", "--json").json
    assert "disabled" in [reason["code"] for reason in state["health"]["reasons"]]
    assert scene.program("get", "MEMORY.md").exit_code == 0
    assert scene.program("remember", "Tea.").exit_code == 0


def test_a_note_that_is_written_where_no_search_looks_says_so(scene: Scene) -> None:
    sound(scene)
    assert scene.program("remember", "Tea.", "--json").json["health"] == {"ok": True, "reasons": []}
    scene.env.write(".memoryignore", "memory/20*\n")
    health = scene.program("remember", "Coffee.", "--json").json["health"]
    assert (health["ok"], [reason["code"] for reason in health["reasons"]]) == (False, ["left_out"])
    assert "no search finds it" in scene.program("remember", "Cocoa.").err
    scene.question = "Cocoa"
    assert "Cocoa" not in scene.text().out


def test_a_note_is_found_by_the_next_search_of_another_process_where_searches_do_not_look_at_the_files(
    scene: Scene,
) -> None:
    scene.configure(sync={"onSearch": False})
    scene.make()
    assert scene.program("remember", "The heron stands by the lock.", "--json").json["health"]["ok"]
    scene.question = "heron lock"
    assert "The heron stands by the lock." in scene.text().out
