"""The rules of OpenClaw's QMD backend, replayed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.config import QmdScope, load
from memoriter.errors import ConfigError
from memoriter.sidecar import scope_allows, session_scope

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
    return load(file, home=tmp_path, environ={}).settings.memory.qmd.scope


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
