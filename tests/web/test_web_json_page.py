"""docs/json.md has every field that the operations of the HTTP API answer with, and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from json_fields import check, type_of_answer
from long_term import long_term_env
from memoriter.web import OPERATIONS
from web_client import api_of

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

QUESTION = "which database for the ledger"


@pytest.mark.slow
def test_the_answers_of_operations_are_those_of_the_page(tmp_path: Path) -> None:
    env = long_term_env(tmp_path)
    env.write("memory/inbox.md", "# Inbox\n\n- [fact] I live in Bergen.\n- [preference] I like rain.\n")
    env.write("MEMORY.md", "# Decisions\n\n- We chose PostgreSQL for the ledger because of ACID.\n")
    answered = set[str]()

    def said(name: str, response: httpx2.Response) -> Any:
        assert response.status_code == 200, response.text
        answer = response.json()
        check(answer, type_of_answer(next(each.answer for each in OPERATIONS if each.name == name)))
        answered.add(name)
        return answer

    with api_of(env, "--no-watch") as (_, owner):
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
        said("status", owner.get("/status", deep=True))
        memory = said("storeMemory", owner.post("/ltm/store", text="I prefer tea to coffee."))["memory"]
        said("listMemories", owner.get("/ltm/list"))
        said("searchMemories", owner.post("/ltm/search", query="tea or coffee"))
        said("memoryStats", owner.get("/ltm/stats"))
        said("rebuildMemories", owner.post("/ltm/rebuild"))
        said("approveMemory", owner.post("/ltm/approve", id=memory["id"]))
        first, second = said("inbox", owner.get("/ltm/inbox"))
        edited = said("editCandidate", owner.post("/ltm/edit", id=first["id"], text="I live in Oslo."))
        said("acceptCandidates", owner.post("/ltm/accept", ids=[edited["id"]]))
        said("rejectCandidates", owner.post("/ltm/reject", ids=[second["id"]]))
        said("forgetMemory", owner.post("/ltm/forget", id=memory["id"]))
        for refused in (
            owner.get("/get", path="../outside.md"),
            owner.post("/search", query=7),
            owner.post("/replace", path="MEMORY.md", text="# New\n", expected="0" * 64),
        ):
            check(refused.json(), "[Problem]")
    assert {each.name for each in OPERATIONS if each.name != "events"} - answered == set()
