"""The tools of the original, replayed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memoriter.api_json import hit_json, with_footer
from memoriter.config import Configuration, MemorySearch, Place
from memoriter.tools import GET, SEARCH, chat_kind, citations_on, clamped, tools_for
from memoriter.types import Health, Hit, SearchResult
from memoriter.workspace import ExtraPath, Workspace

PLACE = Place(Path("/notes"), "-w")


@pytest.mark.vectors("shouldIncludeCitations")
def test_citations_are_shown_where_the_original_shows_them(case: Any) -> None:
    assert citations_on(case["input"]["mode"], case["input"].get("sessionKey")) is case["output"]


@pytest.mark.vectors("deriveChatTypeFromSessionKey")
def test_a_session_key_names_the_same_kind_of_chat(case: Any) -> None:
    assert chat_kind(case.get("input")) == case["output"]


@pytest.mark.vectors("decorateCitations")
def test_a_snippet_gets_the_same_footer(case: Any, agree: Any) -> None:
    expected = [{key: value for key, value in hit.items() if key != "extra"} for hit in case["output"]]
    found = [hit_json(hit_of(hit), citations=case["input"]["include"]) for hit in case["input"]["results"]]
    assert agree(found, expected)


@pytest.mark.vectors("clampResultsByInjectedChars")
def test_as_many_characters_are_given_as_by_the_original(case: Any) -> None:
    hits = [hit_of(hit) for hit in map(whole, case["input"]["results"])]
    kept = clamped(hits, case["input"]["budget"], citations=False)
    assert kept == tuple(hit_of(hit) for hit in map(whole, case["output"]))


def whole(hit: dict[str, Any]) -> dict[str, Any]:
    return {"startLine": 1, "endLine": 1, "source": "memory", "snippet": "", **hit}


def hit_of(hit: dict[str, Any]) -> Hit:
    return Hit(hit["path"], hit["startLine"], hit["endLine"], hit["score"], hit["snippet"], hit["source"])


@dataclass
class Recorded:
    """A memory that finds what the original found; how it ranks is tested elsewhere."""

    output: dict[str, Any]
    configuration: Configuration = field(default_factory=Configuration)
    settings: MemorySearch = field(default_factory=MemorySearch)
    place: Place = PLACE

    def search(self, query: str, **_: Any) -> SearchResult:
        assert query.strip()
        hits = tuple(hit_of({**hit, "snippet": without_footer(hit)}) for hit in self.output["results"])
        health = Health({"keyword": True, "vector": True})
        provider, model, mode = (self.output[key] for key in ("provider", "model", "mode"))
        return SearchResult(hits, "match", provider, model, mode, health)

    def authors(self, path: str) -> list[str]:
        return [""] * sum(1_000 for hit in self.output["results"] if hit["path"] == path)


def without_footer(hit: dict[str, Any]) -> str:
    return (
        hit["snippet"].removesuffix(with_footer("", hit["citation"]).strip("\n"))
        if "citation" in hit
        else hit["snippet"]
    )


@pytest.mark.vectors("memorySearchTool")
def test_memory_search_answers_in_the_same_shape(case: Any, agree: Any) -> None:
    if case["output" if "output" in case else "error"] == "tool not created":
        assert tools_for(MemorySearch(enabled=False)) == ()
        return
    parameters = case["input"]
    answer = SEARCH.run(
        Recorded(case.get("output", {})), parameters["params"], session_key=parameters.get("sessionKey")
    )
    if "error" in case:
        assert (answer["results"], bool(answer["error"])) == ([], True)
    elif more_than_none(parameters["params"]):
        shared = {key: answer[key] for key in ("results", "provider", "model", "mode")}
        assert agree(shared, {key: case["output"][key] for key in shared})


def more_than_none(params: dict[str, Any]) -> bool:
    return float(params.get("maxResults", 1)) >= 1


def test_citations_say_whether_they_are_on_and_not_what_is_configured() -> None:
    output = {"results": [], "provider": "openai", "model": "small", "mode": "hybrid"}
    keys = ("agent:main:main", "agent:main:slack:group:1")
    answers = [SEARCH.run(Recorded(output), {"query": "x"}, session_key=key)["citations"] for key in keys]
    assert answers == ["on", "off"]


@pytest.mark.parametrize("count", [0, -1])
def test_a_number_of_results_below_one_is_refused_and_does_not_drop_the_last_hits(count: int) -> None:
    answer = SEARCH.run(Recorded({}), {"query": "x", "maxResults": count})
    assert answer["results"] == []
    assert answer["error"] == "The parameter maxResults is not valid: input should be greater than or equal to 1."


@dataclass
class Notes:
    """A memory that is only read."""

    workspace: Workspace
    configuration: Configuration = field(default_factory=Configuration)
    settings: MemorySearch = field(default_factory=MemorySearch)
    place: Place = PLACE

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Any:
        return self.workspace.read(path, start=start, lines=lines)

    def sources(self) -> Any:
        return self.workspace.scan().sources


@pytest.fixture
def notes(tmp_path: Path, recorded: Any) -> Notes:
    for name, text in recorded("e2eWorkspace")["workspace_files"].items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return Notes(Workspace(tmp_path, [ExtraPath("notes")]))


@pytest.mark.vectors("memoryGetTool")
def test_memory_get_reads_the_same_lines(case: Any, notes: Notes, agree: Any) -> None:
    params = case["input"]["params"]
    root = str(notes.workspace.root)
    if "path" in params and isinstance(params["path"], str):
        params = {**params, "path": params["path"].replace("@WS@", root)}
    answer = GET.run(notes, params)
    if "error" in case or case["output"].get("disabled"):
        assert {key: answer[key] for key in ("text", "disabled")} == {"text": "", "disabled": True}
        assert answer["error"]
    else:
        assert bool(answer.pop("reasons", None)) == (not answer["text"])  # the original leaves that to be guessed
        assert agree(answer, case["output"])


def test_a_refusal_says_which_path_and_why(notes: Notes) -> None:
    answer = GET.run(notes, {"path": "other/x.md"})
    assert answer["path"] == "other/x.md"
    assert answer["error"].startswith("The path 'other/x.md' is refused: ")
