"""Our settings give what OpenClaw's gave, for every recorded configuration that both accept."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from memoriter.config import Configuration, MemorySearch, agent_name, expand, in_home, index_path, load
from memoriter.config._section import Section, file_name
from memoriter.errors import ConfigError
from memoriter.extensions.longterm.settings import KEY as LONG_TERM
from memoriter.extensions.longterm.settings import LongTerm, LongTermEntry
from memoriter.extensions.qmd.api import QmdPlan, plan_qmd
from memoriter.extensions.qmd.settings import KEY as QMD
from memoriter.extensions.qmd.settings import QmdScope, QmdSettings

HOME = Path("/home/user")
STATE = HOME / ".openclaw"
ENVIRON = {"HOME": str(HOME), "MY_KEY": "envkey"}


def configured(tmp_path: Path, cfg: object) -> Configuration:
    file = tmp_path / "openclaw.json"
    file.write_text(json.dumps(cfg), encoding="utf-8")
    return load(file, home=STATE, environ={**ENVIRON, "OPENCLAW_CONFIG_PATH": str(file)})


def as_openclaw(value: Any) -> Any:
    """A section with OpenClaw's names, without what is unset."""
    if isinstance(value, Section):
        items = {file_name(item.name): as_openclaw(getattr(value, item.name)) for item in fields(value)}
        return {key: item for key, item in items.items() if item is not None and item != {}}
    return [as_openclaw(item) for item in value] if isinstance(value, tuple | list) else value


def search_as_openclaw(search: MemorySearch, cfg: Any, agent_id: str) -> Any:
    """The settings in the shape that OpenClaw gives them, without the keys that only we have."""
    if not search.enabled:
        return None
    shape = as_openclaw(search)
    ours = {
        "offline": shape,
        "sessionPaths": shape,
        "clientMemories": shape,
        "engine": shape["store"]["vector"],
        "maxBytes": shape["cache"],
    }
    ours |= {
        "scoring": shape["query"],
        "deadlineMs": shape["query"],
        "rerank": shape["query"],
        "budget": shape["remote"],
        "background": shape["sync"],
    }
    for key, section in ours.items():
        section.pop(key)
    shape["chunking"].pop("strategy", None)
    shape["extraPaths"] = [entry["path"] for entry in shape["extraPaths"]]
    own = {"workspace": STATE / "w", "own_workspace": STATE / "w", "home": STATE, "user_home": HOME}
    shape["store"]["path"] = str(index_path(search, agent_id, **own))
    shape["local"] = shape.get("local", {})
    shape["query"]["hybrid"] |= {
        "vectorWeight": 0.7 if search.query.hybrid.vector_weight is None else search.query.hybrid.vector_weight,
        "textWeight": 0.3 if search.query.hybrid.text_weight is None else search.query.hybrid.text_weight,
    }
    if not any("maxEntries" in written.get("cache", {}) for written in written_searches(cfg)):
        shape["cache"].pop("maxEntries")
    remote = search.provider in {"auto", "openai", "gemini", "voyage", "mistral"}
    if not remote and not (search.remote.base_url or search.remote.api_key or search.remote.headers):
        shape.pop("remote")
    return shape


def written_searches(cfg: Any) -> list[Any]:
    agents = cfg.get("agents") or {}
    places = [agents.get("defaults") or {}, *(agents.get("list") or [])]
    return [place.get("memorySearch") or {} for place in places]


@pytest.mark.vectors("resolveMemorySearchConfig")
def test_search_settings_are_merged_and_clamped_as_openclaw_does(tmp_path: Path, case: Any, agree: Any) -> None:
    parameters = case["input"]
    search = configured(tmp_path, parameters["cfg"]).search_for(parameters["agentId"])
    assert agree(search_as_openclaw(search, parameters["cfg"], parameters["agentId"]), case["output"])


def test_the_cache_has_a_limit_where_openclaw_has_none() -> None:
    assert MemorySearch().cache.max_entries == 50_000


def test_weights_that_nobody_gives_stay_unset_so_that_the_measured_one_holds() -> None:
    hybrid = Configuration().search_for("main").query.hybrid
    assert (hybrid.vector_weight, hybrid.text_weight) == (None, None)


def plan_as_openclaw(plan: QmdPlan) -> dict[str, Any]:
    sessions = {
        "enabled": plan.sessions_enabled,
        "exportDir": None if plan.export_dir is None else str(plan.export_dir),
        "retentionDays": plan.retention_days,
    }
    collections = [
        {"name": each.name, "path": str(each.path), "pattern": each.pattern, "kind": each.kind}
        for each in plan.collections
    ]
    return {
        "command": plan.command,
        "searchMode": plan.search_mode,
        "collections": collections,
        "includeDefaultMemory": plan.include_default_memory,
        "sessions": {key: value for key, value in sessions.items() if value is not None},
        "update": {file_name(item.name): getattr(plan.schedule, item.name) for item in fields(plan.schedule)},
        "limits": {file_name(item.name): getattr(plan.limits, item.name) for item in fields(plan.limits)},
        "mcporter": {"enabled": plan.mcporter, "serverName": plan.server_name, "startDaemon": plan.start_daemon},
        "scope": scope_as_openclaw(plan.scope),
    }


def scope_as_openclaw(scope: QmdScope) -> Any:
    shape = as_openclaw(scope)
    return shape if scope.rules else {key: value for key, value in shape.items() if key != "rules"}


def workspace(configuration: Configuration, agent_id: str) -> Path:
    return STATE / in_home(configuration.workspace_for(agent_id) or "workspace", HOME)


@pytest.mark.vectors("resolveMemoryBackendConfig")
def test_the_qmd_back_end_gets_openclaws_defaults_and_collections(tmp_path: Path, case: Any, agree: Any) -> None:
    cfg = json.loads(json.dumps(case["input"]["cfg"]))
    agent_id = case["input"]["agentId"]
    qmd = cfg.get("memory", {}).get("qmd") or {}
    mode = qmd.get("searchMode")
    if mode not in {None, "search", "vsearch", "query"}:
        with pytest.raises(ConfigError, match=r"qmd\.searchMode must be 'search', 'vsearch' or 'query'"):
            configured(tmp_path, cfg)
        del qmd["searchMode"]
    configuration = configured(tmp_path, cfg)
    memory = configuration.settings.memory
    shape: dict[str, Any] = {"backend": memory.backend, "citations": memory.citations}
    if memory.backend == "qmd":
        place = workspace(configuration, agent_id)
        qmd_settings = configuration.extension(QMD, QmdSettings)
        shape["qmd"] = plan_as_openclaw(plan_qmd(qmd_settings, agent_id, workspace=place, user_home=HOME))
    expected = dict(case["output"])
    if "qmd" in expected and not expected["qmd"]["scope"].get("rules", True):
        expected["qmd"]["scope"].pop("rules")
    assert agree(shape, expected)


def long_term(tmp_path: Path, config: Any) -> LongTerm:
    cfg = {"plugins": {"entries": {"memory-lancedb": {"config": config}}}}
    return configured(tmp_path, cfg).extension(LONG_TERM, LongTermEntry).config


def parsed(found: LongTerm) -> dict[str, Any]:
    """What OpenClaw's plugin makes of the same settings: its own model and folder where none is given."""
    embedding = found.embedding
    return {
        "embedding": {
            "provider": "openai",
            "model": embedding.model or "text-embedding-3-small",
            "apiKey": expand(embedding.api_key or "", ENVIRON),
        },
        "dbPath": found.db_path or str(STATE / "memory" / "lancedb"),
        "autoCapture": found.auto_capture,
        "autoRecall": found.auto_recall,
        "captureMaxChars": found.capture_max_chars,
    }


def takes_more(config: Any) -> bool:
    """Configurations that OpenClaw refuses and we accept: no key, another provider or model, keys of later versions."""
    if config is None:
        return True
    if not isinstance(config, dict) or set(config) - KNOWN:
        return False
    embedding = config.get("embedding", {})
    if not isinstance(embedding, dict) or set(embedding) - EMBEDDING:
        return False
    fits = all(isinstance(config.get(key, kind()), kind) for key, kind in TYPES.items())
    chars = config.get("captureMaxChars", 500)
    texts = all(isinstance(embedding.get(key, ""), str) for key in ("apiKey", "provider", "model", "baseUrl"))
    known_variable = "${" not in embedding.get("apiKey", "") if texts else False
    in_range = isinstance(chars, int | float) and 100 <= chars < 10_001
    return fits and in_range and texts and known_variable


TYPES = {"dbPath": str, "autoCapture": bool, "autoRecall": bool}
KNOWN = {*TYPES, "embedding", "captureMaxChars", "recallMaxChars", "customTriggers"}
EMBEDDING = {"apiKey", "model", "provider", "baseUrl", "dimensions"}


@pytest.mark.vectors("lancedbConfigParse")
def test_long_term_settings_read_as_openclaws_plugin_reads_them(tmp_path: Path, case: Any, agree: Any) -> None:
    config = case.get("input")
    if "output" in case:
        assert agree(parsed(long_term(tmp_path, config)), case["output"])
    elif takes_more(config):
        assert isinstance(long_term(tmp_path, config), LongTerm)
    else:
        with pytest.raises(ConfigError):
            parsed(long_term(tmp_path, config))


def test_long_term_memories_need_no_key_of_their_own(tmp_path: Path) -> None:
    assert long_term(tmp_path, {"embedding": {}}).embedding.api_key is None


def test_long_term_memories_may_use_any_provider_and_model(tmp_path: Path) -> None:
    embedding = long_term(tmp_path, {"embedding": {"provider": "voyage", "model": "voyage-4-large"}}).embedding
    assert (embedding.provider, embedding.model) == ("voyage", "voyage-4-large")


def test_an_agents_name_can_never_leave_the_folder_of_the_indexes() -> None:
    assert agent_name("../../etc/passwd") == "etc-passwd"
