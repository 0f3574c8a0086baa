"""What the owner decided about candidates and memories over HTTP can be taken back, as far as the store allows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from long_term import configure_long_term, long_term_env
from web_client import ApiClient, api_of, token_of_scope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory_env import MemoryEnv
    from serving import Serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    return long_term_env(tmp_path_factory.mktemp("inbox"), inboxDays=7)


@pytest.fixture(scope="module")
def served(env: MemoryEnv) -> Iterator[tuple[Serving, ApiClient]]:
    with api_of(env, "--no-watch") as pair:
        yield pair


def waiting(owner: ApiClient) -> list[dict[str, object]]:
    return owner.get("/ltm/inbox").json()


def test_an_accepted_candidate_that_replaced_a_memory_is_put_back(env: MemoryEnv, owner: ApiClient) -> None:
    old = owner.post("/ltm/store", text="The ledger runs on MySQL.", category="decision").json()["memory"]
    comment = f"<!-- candidate: 11111111-1111-4111-8111-111111111111 0.9 {old['createdAt']} supersedes={old['id']}"
    env.write("memory/inbox.md", f"# Inbox\n\n- [decision] The ledger runs on PostgreSQL. {comment} -->\n")
    before = waiting(owner)
    (accepted,) = owner.post("/ltm/accept", ids=[before[0]["id"]]).json()
    listed = {each["text"]: each for each in owner.get("/ltm/list").json()}
    assert listed["The ledger runs on MySQL."]["supersededBy"] == accepted["memory"]["id"]
    wrong = owner.post("/ltm/restore", **accepted["candidate"], memory=old["id"])
    assert (wrong.status_code, wrong.json()["code"]) == (400, "usage")
    undone = owner.post("/ltm/restore", **accepted["candidate"], memory=accepted["memory"]["id"]).json()
    assert [each["id"] for each in undone["forgotten"]["forgotten"]] == [accepted["memory"]["id"]]
    assert waiting(owner) == before
    assert [(each["text"], each["status"]) for each in owner.get("/ltm/list", category="decision").json()] == [
        ("The ledger runs on MySQL.", "active")
    ]
    owner.post("/ltm/reject", ids=["all"])
    owner.post("/ltm/forget", id=old["id"])


def test_a_rejected_or_edited_candidate_is_put_back_as_it_was(env: MemoryEnv, owner: ApiClient) -> None:
    env.write("memory/inbox.md", "# Inbox\n\n- [fact] I live in Bergen.\n- [preference] I like rain.\n")
    first, second = waiting(owner)
    owner.post("/ltm/edit", id=first["id"], text="I live in Oslo.", category="other")
    owner.post("/ltm/restore", **first)
    owner.post("/ltm/reject", ids=[second["id"]])
    assert "rejected:" in (env.notes / "memory/inbox.md").read_text(encoding="utf-8")
    owner.post("/ltm/restore", **second)
    text = (env.notes / "memory/inbox.md").read_text(encoding="utf-8")
    assert ("rejected:" in text, "Bergen" in text, "Oslo" in text) == (False, True, False)
    assert [(each["text"], each["category"]) for each in waiting(owner)] == [
        ("I live in Bergen.", "fact"),
        ("I like rain.", "preference"),
    ]
    expired = owner.post("/ltm/restore", **{**second, "createdAt": "2020-01-01T00:00:00Z"})
    assert (expired.status_code, "expired" in expired.json()["detail"]) == (400, True)


def test_each_answer_says_when_a_candidate_is_dropped_as_the_inbox_does(env: MemoryEnv, owner: ApiClient) -> None:
    env.write("memory/inbox.md", "# Inbox\n\n- [fact] I live in Bergen.\n- [preference] I like rain.\n")
    first, second = waiting(owner)
    edited = owner.post("/ltm/edit", id=first["id"], text="I live in Oslo.").json()
    (accepted,) = owner.post("/ltm/accept", ids=[edited["id"]]).json()
    (rejected,) = owner.post("/ltm/reject", ids=[second["id"]]).json()
    for each in (first, edited, accepted["candidate"], rejected):
        created, dropped = (datetime.fromisoformat(str(each[name])) for name in ("createdAt", "expiresAt"))
        assert dropped - created == timedelta(days=7)


def test_an_approval_is_withdrawn(env: MemoryEnv, served: tuple[Serving, ApiClient], owner: ApiClient) -> None:
    with ApiClient(served[0].url, token_of_scope(env, "bot", "write")) as bot:
        foreign = bot.post("/ltm/store", text="The bot prefers tabs.", category="preference").json()["memory"]
        refused = bot.post("/ltm/withdraw", id=foreign["id"])
        assert (refused.status_code, refused.json()["code"]) == (403, "scope")
    assert [(each["id"], each["trusted"]) for each in owner.get("/ltm/withheld").json()] == [(foreign["id"], False)]
    assert owner.post("/ltm/approve", id=foreign["id"]).json()["trusted"] is True
    assert owner.get("/ltm/withheld").json() == []
    assert owner.post("/ltm/withdraw", id=foreign["id"]).json()["trusted"] is False
    assert [each["id"] for each in owner.get("/ltm/withheld").json()] == [foreign["id"]]
    own = owner.post("/ltm/store", text="I prefer spaces.").json()["memory"]
    assert owner.post("/ltm/withdraw", id=own["id"]).status_code == 400
    assert [each["id"] for each in owner.get("/ltm/list", origin="token").json()] == [foreign["id"]]
    assert [each["id"] for each in owner.get("/ltm/list", text="SPACES").json()] == [own["id"]]
    assert owner.get("/ltm/list", asOf="2020-01-01").json() == []
    assert owner.get("/ltm/list", asOf="never").status_code == 400


def test_no_row_of_another_principal_is_shown(tmp_path: Path) -> None:
    from memory_env import MemoryEnv

    env = MemoryEnv.at(tmp_path)
    configure_long_term(env, principal="bob")
    with api_of(env, "--no-watch") as (_, bob):
        bob.post("/ltm/store", text="Bob's secret preference is opera.")
        env.write("memory/inbox.md", "- [fact] Bob waits. <!-- candidate: x principal=bob -->\n")
    (env.notes / "memory/long-term.md").unlink()
    configure_long_term(env, principal="alice")
    with api_of(env, "--no-watch") as (server, alice):
        assert alice.get("/ltm/list").json() == alice.get("/ltm/withheld").json() == []
        for path in ("/day", "/days", "/ltm/inbox", "/captures"):
            assert "Bob" not in alice.get(path).text
        with ApiClient(server.url, token_of_scope(env, "bob", "read", "--principal", "bob")) as bob:
            for path in ("/api/v1/day", "/api/v1/captures", "/api/v1/ltm/withheld", "/days", "/memories"):
                answer = bob.http.get(path)
                assert (answer.status_code, answer.json()["code"]) == (403, "principal")
