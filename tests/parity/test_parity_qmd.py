"""The rules of OpenClaw's QMD backend, replayed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.config import load
from memoriter.errors import ConfigError, IndexBusy
from memoriter.extensions.qmd.api import cache_key, interleaved, scope_allows, session_scope
from memoriter.extensions.qmd.settings import KEY, QmdScope, QmdSettings
from memoriter.types import Hit
from search_programs import DEAD, QUERY, Parts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.vectors("qmdSessionKey")
def test_a_session_key_has_the_same_channel_and_type_of_chat(case: Any) -> None:
    parts = session_scope(case.get("input"))
    scope = {"normalizedKey": parts.key, "channel": parts.channel, "chatType": parts.chat_type}
    assert {key: value for key, value in scope.items() if value is not None} == case["output"]["scope"]
    assert parts.key == case["output"]["normalized"]


def loaded_scope(tmp_path: Path, scope: Any) -> QmdScope | None:
    """Return the scope as it is read from a file of settings."""
    if scope is None:
        return None
    file = tmp_path / "openclaw.json"
    file.write_text(json.dumps({"memory": {"qmd": {"scope": scope}}}), encoding="utf-8")
    return load(file, home=tmp_path, environ={}).extension(KEY, QmdSettings).scope


def is_readable(scope: Any) -> bool:
    """Return whether each rule is a rule, which the original does not check."""
    rules = (scope or {}).get("rules", [])
    return all(rule is not None and rule.get("action") in {"allow", "deny"} for rule in rules)


@pytest.mark.vectors("isQmdScopeAllowed")
def test_the_same_sessions_may_search(tmp_path: Path, case: Any) -> None:
    scope = case["input"].get("scope")
    if not is_readable(scope):
        with pytest.raises(ConfigError):
            loaded_scope(tmp_path, scope)
        return
    assert scope_allows(loaded_scope(tmp_path, scope), case["input"].get("sessionKey")) is case["output"]


@pytest.mark.vectors("buildQmdCacheKey")
def test_the_same_agents_and_settings_share_a_program(case: Any) -> None:
    assert cache_key(case["input"]["agentId"], case["input"]["config"]) == case["output"]


@pytest.mark.vectors("qmdDiversifyResultsBySource")
def test_notes_and_sessions_take_turns_in_the_same_order(case: Any) -> None:
    hits = [Hit(each["path"], 1, 1, each["score"], "", each["source"]) for each in case["input"]["results"]]
    assert [hit.path for hit in interleaved(hits, case["input"]["limit"])] == case["output"]


@pytest.mark.vectors("FallbackMemoryManager")
def test_a_failed_search_closes_the_program_and_opens_the_engine_once_as_in_the_original(case: Any) -> None:
    script = case["input"]["script"]
    operations = case["input"]["ops"]
    if "search" not in operations or "factory" in script:
        return  # the engine cannot fail to open, and reads need no program
    parts = Parts()
    parts.failure = DEAD if script.get("primarySearch") == "throw" else None
    parts.engine.failure = IndexBusy("fb died.") if script.get("fallbackSearch") == "throw" else None
    for operation, expected in zip(operations, case["output"]["results"], strict=True):
        if operation == "search" and "error" in expected:
            with pytest.raises(IndexBusy):
                parts.backend.search(QUERY)
        elif operation == "search":
            found = parts.backend.search(QUERY)
            assert found.provider == {"P": "qmd", "F": "bundled"}[expected["result"][0]]
            assert (found.fallback is not None) == (expected["result"] == ["F"])
        elif operation == "close":
            parts.backend.close()
    # The engine is there from the start, and is closed in any case.
    elsewhere = {"evict", "factory", "fallback.close"}
    calls = [call for call in case["output"]["calls"] if call not in elsewhere and "read" not in call.lower()]
    assert [call for call in parts.log if call != "fallback.close"] == calls
    assert parts.log.count("fallback.close") == operations.count("close")
    assert len(parts.cache) == (1 if parts.failure is None and "close" not in operations else 0)
