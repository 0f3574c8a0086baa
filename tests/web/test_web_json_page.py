"""docs/reference/json.md has every field that the operations of the HTTP API answer with, and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from json_fields import check, type_of_answer
from long_term import long_term_env
from memoriter.web import all_operations
from web_client import ApiClient, api_of, token_of_scope

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from memory_env import MemoryEnv

QUESTION = "which database for the ledger"
DAY = "2026-02-10"
COPIED = "# Storage\n\n- The ledger runs on PostgreSQL, version 17, on the machine in the cellar.\n"
NOTES = {
    "memory/inbox.md": "# Inbox\n\n- [fact] I live in Bergen.\n- [preference] I like rain.\n",
    "MEMORY.md": "# Decisions\n\n- We chose PostgreSQL for the ledger because of ACID.\n",
    f"memory/{DAY}.md": (
        f"# {DAY}\n\n- 14:05 Conversation with Claude Code (session 7); what was asked:"
        f" <!-- from: capture 0a1b2c3d (claude-code prompts), {DAY} -->\n  - “Which port has the printer?”\n"
    ),
    "memory/ledger.md": COPIED,
    "memory/ledger-again.md": COPIED,
}


class Answers:
    """The operations that have answered, each with the fields of the page."""

    def __init__(self, env: MemoryEnv, owner: ApiClient) -> None:
        self.env = env
        self.owner = owner
        self.names = set[str]()

    def check(self, name: str, response: httpx2.Response) -> Any:
        assert response.status_code == 200, response.text
        answer = response.json()
        check(answer, type_of_answer(next(each.answer for each in all_operations().values() if each.name == name)))
        self.names.add(name)
        return answer

    def of_notes(self) -> None:
        said = self.check
        owner = self.owner
        said("index", owner.post("/index"))
        check(owner.post("/index", dryRun=True).json(), "[Estimate]")
        said("search", owner.post("/search", query=QUESTION))
        said("explain", owner.post("/explain", query=QUESTION))
        said("whyNot", owner.post("/why-not", query="coffee", citation="MEMORY.md#L3"))
        said("files", owner.get("/files", limit=1))
        note = said("get", owner.get("/get", path="MEMORY.md"))
        text = f"{note['text']}- Tea is in the kitchen.\n"
        said("replace", owner.post("/replace", path="MEMORY.md", text=text, expected=note["hash"]))
        said("append", owner.post("/append", text="The office moved to Lisbon."))

    def of_the_state(self) -> None:
        said = self.check
        owner = self.owner
        said("status", owner.get("/status", deep=True))
        assert said("parts", owner.get("/parts"))
        said("cost", owner.get("/cost"))
        picture = said("map", owner.get("/map", similarity=0.9))
        assert all(picture[name] for name in ("points", "groups", "duplicates"))

    def of_days(self) -> None:
        said = self.check
        owner = self.owner
        assert said("days", owner.get("/days", year=2026))["days"]
        day = said("day", owner.get("/day", day=DAY))
        assert day["notes"][0]["others"]
        assert day["captures"]
        self.env.open().session("agent:main:direct", audience="private").start()
        self.env.close()
        today = said("day", owner.get("/day"))
        assert all(today[name] for name in ("recalled", "memories", "candidates"))
        (record,) = said("captures", owner.get("/captures"))["captures"]
        assert said("undoCapture", owner.post("/captures/undo", id=record["id"]))["receipts"]

    def of_long_term_memories(self, url: str) -> None:
        said = self.check
        owner = self.owner
        memory = said("storeMemory", owner.post("/ltm/store", text="I prefer tea to coffee."))["memory"]
        said("listMemories", owner.get("/ltm/list"))
        said("searchMemories", owner.post("/ltm/search", query="tea or coffee"))
        said("memoryStats", owner.get("/ltm/stats"))
        said("rebuildMemories", owner.post("/ltm/rebuild"))
        with ApiClient(url, token_of_scope(self.env, "bot", "write")) as bot:
            foreign = bot.post("/ltm/store", text="The bot prefers tabs.").json()["memory"]
        assert said("withheldMemories", owner.get("/ltm/withheld"))
        said("approveMemory", owner.post("/ltm/approve", id=foreign["id"]))
        said("withdrawApproval", owner.post("/ltm/withdraw", id=foreign["id"]))
        said("forgetMemory", owner.post("/ltm/forget", id=memory["id"]))

    def of_the_inbox(self) -> None:
        said = self.check
        owner = self.owner
        first, second = said("inbox", owner.get("/ltm/inbox"))
        edited = said("editCandidate", owner.post("/ltm/edit", id=first["id"], text="I live in Oslo."))
        (accepted,) = said("acceptCandidates", owner.post("/ltm/accept", ids=[edited["id"]]))
        known = accepted["memory"]["id"]
        assert said("restoreCandidate", owner.post("/ltm/restore", **edited, memory=known))["forgotten"]
        said("rejectCandidates", owner.post("/ltm/reject", ids=[second["id"]]))
        assert "forgotten" not in said("restoreCandidate", owner.post("/ltm/restore", **second))


@pytest.mark.slow
def test_the_answers_of_operations_are_those_of_the_page(tmp_path: Path) -> None:
    env = long_term_env(tmp_path)
    for path, text in NOTES.items():
        env.write(path, text)
    with api_of(env, "--no-watch") as (server, owner):
        answers = Answers(env, owner)
        answers.of_notes()
        answers.of_the_state()
        answers.of_the_inbox()
        answers.of_long_term_memories(server.url)
        answers.of_days()
        for refused in (
            owner.get("/get", path="../outside.md"),
            owner.post("/search", query=7),
            owner.post("/replace", path="MEMORY.md", text="# New\n", expected="0" * 64),
        ):
            check(refused.json(), "[Problem]")
    assert {each.name for each in all_operations().values() if each.name != "events"} - answers.names == set()
