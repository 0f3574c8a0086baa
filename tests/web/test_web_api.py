"""Each operation of the HTTP API answers as the command line does, and refuses what it must."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.discovery import TokenFile
from memoriter.ids import bytes_hash
from web_client import BASE, ApiClient, api_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx2

    from memory_env import MemoryEnv
    from serving import Serving

QUESTION = "Why did we choose PostgreSQL for the ledger?"


def problem(response: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The problem of a refusal, whose form is that of RFC 9457."""
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    body = response.json()
    assert (body["status"], body["code"], body["type"]) == (status, code, f"urn:memoriter:problem:{code}")
    assert body["detail"].endswith((".", "?"))
    assert body["remedy"].endswith(".")
    return body


@pytest.mark.slow
def test_a_search_finds_the_same_as_the_command(env: MemoryEnv, owner: ApiClient) -> None:
    answer = owner.post("/search", query=QUESTION).json()
    printed = env.run("search", QUESTION, "--json").json
    assert answer["results"] == printed["results"]
    assert {key: answer[key] for key in ("outcome", "mode", "provider")} == {
        key: printed[key] for key in ("outcome", "mode", "provider")
    }


def test_a_time_in_the_question_and_words_in_the_limits_are_understood(owner: ApiClient) -> None:
    answer = owner.post("/search", query="which router in February 2026").json()
    time = {"words": "in February 2026", "since": "2026-02-01", "until": "2026-02-28"}
    assert answer["understood"] == {"text": "which router in February 2026", "time": time}
    assert "outsideTime" not in answer["results"][0]
    assert answer["results"][0]["date"] == "2026-02-10"
    unread = owner.post("/search", query="which router in February 2026", since="any").json()
    assert "understood" not in unread
    listed = owner.post("/search", query="", on="February 2026").json()
    assert [hit["path"] for hit in listed["results"]] == ["memory/2026-02-10.md"]
    assert listed["understood"] == {"newest": True}
    problem(owner.post("/search", query="", since="any"), 400, "query")


def test_a_search_takes_the_limits_of_the_command(owner: ApiClient) -> None:
    assert owner.post("/search", query=QUESTION, path="memory/work").json()["results"] == []
    assert len(owner.post("/search", query="the", maxResults=1, minScore=0).json()["results"]) <= 1
    refused = problem(owner.post("/search", query=QUESTION, since="never"), 400, "usage")
    assert "not a day" in refused["detail"]


def test_a_score_is_explained(owner: ApiClient) -> None:
    answer = owner.post("/explain", query=QUESTION).json()
    assert "PostgreSQL".lower()[:8] in " ".join(answer["results"][0]["explain"]["terms"]).lower()
    assert answer["timings"]["total"] >= 0


def test_a_passage_that_is_not_found_is_explained(owner: ApiClient) -> None:
    answer = owner.post("/why-not", query=QUESTION, citation="memory/2026-02-10.md").json()
    assert (answer["found"], answer["stage"] is None) == (False, False)


def test_files_are_listed_in_parts(owner: ApiClient) -> None:
    first = owner.get("/files", limit=2).json()
    rest = owner.get("/files", after=first["next"]).json()
    listed = [each["path"] for part in (first, rest) for each in part["files"]]
    assert listed[:4] == sorted(listed)[:4]
    assert "memory/work/style.md" in listed
    assert "next" not in rest


def test_a_note_is_read_with_the_hash_of_all_of_it(env: MemoryEnv, owner: ApiClient) -> None:
    answer = owner.get("/get", path="memory/2026-02-10.md", **{"from": 3, "lines": 1}).json()
    whole = (env.notes / "memory/2026-02-10.md").read_bytes()
    assert answer == {
        "path": "memory/2026-02-10.md",
        "text": "The Omada ER605 keeps VLAN 10 for the printers.",
        "hash": bytes_hash(whole),
    }
    missing = owner.get("/get", path="memory/never.md").json()
    assert (missing["text"], missing["hash"], missing["reasons"][0]["code"]) == ("", None, "no_such_note")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../home/token",
        "memory/../../home/token",
        "..\\home\\token",
        "memory/\x00.md",
        "~/token",
        "a\nb.md",
    ],
)
def test_no_path_leads_out_of_the_notes(env: MemoryEnv, owner: ApiClient, path: str) -> None:
    token = (env.home / "token").read_text(encoding="ascii").strip()
    read = owner.get("/get", path=path)
    written = owner.post("/replace", path=path, text="planted", expected=None)
    for response in (read, written):
        problem(response, 403, "path_refused")
        assert token not in response.text


def test_a_link_below_the_notes_is_not_followed(env: MemoryEnv, owner: ApiClient, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("The door code is Brumsel.", encoding="utf-8")
    (env.notes / "memory" / "linked.md").symlink_to(secret)
    assert "Brumsel" not in owner.get("/get", path="memory/linked.md").text
    problem(owner.post("/replace", path="memory/linked.md", text="x", expected=None), 403, "path_refused")
    assert secret.read_text(encoding="utf-8") == "The door code is Brumsel."


@pytest.mark.parametrize("path", ["memory/.git/hooks.md", "memory/node_modules/a.md", "memory/drafts/pitch.md"])
def test_a_file_that_an_ignore_rule_leaves_out_is_not_written(env: MemoryEnv, owner: ApiClient, path: str) -> None:
    env.write(".memoryignore", "memory/drafts/\n")
    env.write("memory/drafts/pitch.md", "# Mine\n")

    for expected in (None, bytes_hash(b"# Mine\n")):
        problem(owner.post("/replace", path=path, text="planted", expected=expected), 403, "path_refused")
    assert (env.notes / "memory" / "drafts" / "pitch.md").read_text(encoding="utf-8") == "# Mine\n"
    assert not (env.notes / "memory" / ".git").exists()


def test_a_name_that_the_file_system_refuses_is_named_as_in_citations(env: MemoryEnv, owner: ApiClient) -> None:
    refused = problem(
        owner.post("/replace", path=f"memory/{'x' * 300}.md", text="# X\n", expected=None), 403, "path_refused"
    )
    assert str(env.notes) not in refused["detail"]


def test_a_written_note_is_named_as_in_citations(owner: ApiClient) -> None:
    written = owner.post("/replace", path="memory/deep/../named.md", text="# New\n", expected=None).json()
    assert written["path"] == owner.get("/get", path="memory/named.md").json()["path"] == "memory/named.md"


def test_an_entry_is_added_once(owner: ApiClient) -> None:
    first = owner.post("/append", text="We ship on Friday.", to="long-term").json()
    again = owner.post("/append", text="We ship on Friday.", to="long-term").json()
    assert again == {**first, "existing": True}
    problem(owner.post("/append", text="   "), 400, "usage")


def test_a_note_that_has_changed_is_not_overwritten(env: MemoryEnv, owner: ApiClient) -> None:
    path = "memory/2026-03-05.md"
    file = env.notes / "memory/2026-03-05.md"
    read = owner.get("/get", path=path).json()
    file.write_text(read["text"] + "\nA line of an editor.\n", encoding="utf-8")
    conflict = problem(owner.post("/replace", path=path, text="# Mine\n", expected=read["hash"]), 409, "write_conflict")
    assert (conflict["path"], conflict["text"]) == (path, file.read_text(encoding="utf-8"))
    assert conflict["hash"] == bytes_hash(file.read_bytes())
    done = owner.post("/replace", path=path, text=conflict["text"] + "And mine.\n", expected=conflict["hash"]).json()
    assert (done["path"], done["hash"]) == (path, bytes_hash(file.read_bytes()))
    assert file.read_text(encoding="utf-8").endswith("A line of an editor.\nAnd mine.\n")


def test_a_note_is_created_only_if_there_is_none(env: MemoryEnv, owner: ApiClient) -> None:
    assert owner.post("/replace", path="memory/new.md", text="# New\n", expected=None).status_code == 200
    conflict = problem(owner.post("/replace", path="memory/new.md", text="# X\n", expected=None), 409, "write_conflict")
    assert conflict["text"] == "# New\n"
    gone = problem(owner.post("/replace", path="memory/no.md", text="x", expected="0" * 64), 409, "write_conflict")
    assert (gone["text"], gone["hash"]) == (None, None)
    assert not (env.notes / "memory/no.md").exists()


def test_the_hash_of_a_replaced_note_is_that_of_its_file_whatever_the_text_has(
    env: MemoryEnv, owner: ApiClient
) -> None:
    for number, text in enumerate(("# Plain\n", "# NUL \0\n", "# Half \ud83d of a pair\n", "# \r\n🙂")):
        path = f"memory/odd-{number}.md"
        body = json.dumps({"path": path, "text": text, "expected": None}).encode()
        done = owner.http.post(f"{BASE}/replace", content=body, headers={"content-type": "application/json"})
        file = env.notes / path
        if done.status_code == 200:
            assert done.json()["hash"] == bytes_hash(file.read_bytes())
        else:
            assert (done.status_code, file.exists()) == (400, False), done.text


def test_a_note_that_is_no_utf_8_cannot_be_replaced_by_what_was_read_of_it(env: MemoryEnv, owner: ApiClient) -> None:
    (env.notes / "memory" / "latin.md").write_bytes("# Caf\xe9\n".encode("latin-1"))
    assert owner.get("/get", path="memory/latin.md").json()["hash"] is None


def test_status_and_index_answer_as_the_commands_do(env: MemoryEnv, owner: ApiClient) -> None:
    assert owner.post("/index").json()["failed"] == 0
    assert owner.post("/index", dryRun=True).json()["dryRun"] is True
    status = owner.get("/status").json()
    assert (status["workspace"], status["stale"]) == (str(env.notes), 0)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "query"),
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"query": 1}', "query"),
        (b'{"query": "a", "unknown": 1}', "unknown"),
        (b'{"query": "a", "maxResults": "3"}', "maxResults"),
        (b'{"query": "a", "maxResults": 0}', "maxResults"),
        (b'{"query": "a", "minScore": NaN}', "not JSON"),
        (b'{"query": "\\ud800"}', "not JSON"),
        (b'{"query": "\xff"}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_body_that_is_wrong_is_refused_with_the_field(owner: ApiClient, body: bytes, said: str) -> None:
    response = owner.http.post(f"{BASE}/search", content=body, headers={"Content-Type": "application/json"})
    assert said in problem(response, 400, "usage")["detail"]


def test_parameters_in_a_url_are_checked(owner: ApiClient) -> None:
    for query in ("", "path=a.md&from=0", "path=a.md&from=1.5", "path=a.md&lines=x", "path=a.md&path=b.md", "p=1"):
        problem(owner.http.get(f"{BASE}/get?{query}"), 400, "usage")
    refused = problem(owner.get("/status", deep="yes"), 400, "usage")
    assert [each["field"] for each in refused["errors"]] == ["deep"]


def test_other_methods_types_and_paths_are_refused(owner: ApiClient) -> None:
    assert problem(owner.get("/search"), 405, "method")["remedy"] == "Send POST."
    assert owner.get("/search").headers["allow"] == "POST"
    problem(owner.http.post(f"{BASE}/search", content=b"query=a"), 415, "media_type")
    for path in ("/nowhere", "/ltm", "/search/", "//search"):
        problem(owner.http.get(f"{BASE}{path}"), 404, "not_found")


def test_a_long_body_is_refused(owner: ApiClient) -> None:
    content = b'{"query": "' + b"a" * (4 << 20) + b'"}'
    response = owner.http.post(f"{BASE}/search", content=content, headers={"Content-Type": "application/json"})
    problem(response, 413, "too_large")


def test_long_term_memories_that_are_off_are_said_to_be(owner: ApiClient) -> None:
    for response in (owner.get("/ltm/list"), owner.get("/ltm/inbox"), owner.post("/ltm/store", text="I prefer tea.")):
        assert "plugins.slots.memory" in problem(response, 409, "config")["detail"]


def test_the_progress_of_indexing_is_an_event_without_text(
    env: MemoryEnv, server: Serving, owner: ApiClient, client: Callable[[str | None], ApiClient]
) -> None:
    env.many(30, "eventful")
    events: list[dict[str, Any]] = []
    with owner.http.stream("GET", f"{BASE}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(lines) == "event: ready"
        indexer = client(server.token)
        indexing = threading.Thread(target=lambda: indexer.post("/index"))
        indexing.start()
        for line in lines:
            if line.startswith("event: "):
                events.append({"event": line.removeprefix("event: ")})
            elif line.startswith("data: ") and events:
                events[-1]["data"] = json.loads(line.removeprefix("data: "))
                if events[-1]["event"] == "indexed":
                    break
        indexing.join()
    # `changed` is of a note that a search of another test has indexed.
    assert {each["event"] for each in events} - {"changed"} == {"progress", "indexed"}
    assert events[-1]["data"]["added"] >= 30
    assert "eventfulword" not in json.dumps(events)


@pytest.mark.slow
def test_a_change_of_a_watched_note_is_an_event(env: MemoryEnv, tmp_path: Path) -> None:
    from memory_env import MemoryEnv as Env

    watched = Env.at(tmp_path)
    watched.configure(provider="none")
    with api_of(watched) as (_, client), client.http.stream("GET", f"{BASE}/events") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: ready"
        watched.write("memory/2026-03-06.md", "# Later\n\nThe watcher sees this.\n")
        seen = next(line for line in lines if line == "event: indexed")
    assert seen


@pytest.mark.slow
def test_a_stream_of_events_ends_with_the_server_or_the_token(tmp_path: Path) -> None:
    from memory_env import MemoryEnv as Env

    env = Env.at(tmp_path)
    env.configure(provider="none")
    file = TokenFile(env.home)
    token = file.create("short-lived", "read", now=0.0)
    with api_of(env, "--no-watch") as (server, owner), ApiClient(server.url, token) as reader:
        with reader.http.stream("GET", f"{BASE}/events") as stream:
            lines = stream.iter_lines()
            assert next(lines) == "event: ready"
            file.revoke("short-lived")
            owner.post("/index")
            assert "event: indexed" not in [*lines]
        with owner.http.stream("GET", f"{BASE}/events") as stream:
            lines = stream.iter_lines()
            assert next(lines) == "event: ready"
            assert server.end() == 0
            assert [line for line in lines if line.startswith("event")] == []


@pytest.mark.slow
def test_long_term_memories_are_stored_found_approved_and_forgotten(tmp_path: Path) -> None:
    from long_term import long_term_env

    env = long_term_env(tmp_path)
    env.write("memory/inbox.md", "# Inbox\n\n- [fact] I live in Bergen.\n- [preference] I like rain.\n")
    with api_of(env, "--no-watch") as (_, owner):
        stored = owner.post("/ltm/store", text="I prefer tea to coffee.", category="preference").json()
        assert (stored["stored"], stored["memory"]["origin"]) == (True, "owner")
        identifier = stored["memory"]["id"]
        assert owner.post("/ltm/store", text="I prefer tea to coffee.").json()["stored"] is False
        found = owner.post("/ltm/search", query="tea or coffee").json()["memories"]
        assert [each["id"] for each in found] == [identifier]
        first, second = owner.get("/ltm/inbox").json()
        edited = owner.post("/ltm/edit", id=first["id"], text="I live in Oslo.").json()
        (accepted,) = owner.post("/ltm/accept", ids=[edited["id"]]).json()
        assert accepted["memory"]["text"] == "I live in Oslo."
        assert [each["id"] for each in owner.post("/ltm/reject", ids=[second["id"]]).json()] == [second["id"]]
        assert owner.get("/ltm/inbox").json() == []
        assert [each["text"] for each in owner.get("/ltm/list").json()] == [
            "I prefer tea to coffee.",
            "I live in Oslo.",
        ]
        assert owner.post("/ltm/rebuild").json()["memories"] == 2
        assert owner.get("/ltm/stats").json()["memories"] == 2
        problem(owner.post("/ltm/approve", id="nobody"), 400, "usage")
        problem(owner.post("/ltm/forget"), 400, "usage")
        assert [each["id"] for each in owner.post("/ltm/forget", id=identifier).json()["forgotten"]] == [identifier]


def test_the_parts_of_the_memory_are_tried(owner: ApiClient) -> None:
    parts = owner.get("/parts").json()
    assert [(part["name"], part["works"]) for part in parts] == [("builtin", True), ("plugins", True)]


def test_the_cost_is_that_of_the_command(env: MemoryEnv, owner: ApiClient) -> None:
    assert owner.get("/cost", days=7).json() == env.run("--json", "cost", "--days", "7").json
    problem(owner.get("/cost", days=0), 400, "usage")


def test_a_map_without_vectors_has_the_reason(owner: ApiClient) -> None:
    owner.post("/index")
    answer = owner.get("/map", similarity=0.9).json()
    assert (answer["points"], answer["similarity"]) == ([], 0.9)
    assert [reason["code"] for reason in answer["reasons"]] == ["no_vectors"]
    problem(owner.get("/map", similarity=2), 400, "usage")
