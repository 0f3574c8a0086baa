"""Every setting reaches the part that it configures, or is named as one without effect."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import fields, is_dataclass
from pathlib import Path
from threading import Event
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from memoriter import Memory
from memoriter.app import plugins_of, session_environment_of
from memoriter.config import reference, setting_names, settings_without_effect
from memoriter.errors import ConfigError
from memoriter.extensions.longterm.settings import KEY, LongTermEntry
from memoriter.extensions.qmd.api import QmdBackend
from memoriter.mcp_server._offered import Offered
from setting_effects import CONDITIONS, effect_of, setting_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.journal import Journal

SEARCH = "agents.defaults.memorySearch."
LONG_TERM = "plugins.entries.memory-lancedb."
LONG_TERM_ON = {
    "plugins.slots.memory": ["memory-core", "memory-lancedb"],
    "agents.defaults.memorySearch.provider": "fake",
}
CAPTURING = {**LONG_TERM_ON, f"{LONG_TERM}config.autoCapture": True}
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
INTRODUCTION = """\
# Settings

<!-- Written by `just docs` from the schema. -->

The settings are in `~/.memoriter/memoriter.json5`, a JSON5 file with OpenClaw's keys. `memoriter config path` prints
its path. A folder of notes can have a few of its own in `.memoriter.json5` ([Search](../search.md#choose-the-folder)).

```console
$ memoriter config show --changed
$ memoriter config set query.maxResults 10
$ memoriter config set extraSuffixes .markdown .txt --here
$ memoriter config unset maxResults
```

These commands accept the *short* name of a setting: the shortest end of its name that is enough to find it. `[]` is
each item of a list; the commands set the whole list, by the name before it. `<id>` is a name that you choose. A
setting without a default is not set. *Not yet* is a setting that memoriter accepts without having its feature;
`memoriter config check` names those. In keys, passwords, headers, options of a bucket and connection strings, `${NAME}`
is read from the environment.
"""
GROUPS = (
    (
        SEARCH,
        "Search and indexing",
        "Below `agents.defaults.memorySearch`; for one agent, below `agents.list[].memorySearch`.",
    ),
    (f"{SEARCH}store.postgres.", "PostgreSQL", "Below `agents.defaults.memorySearch.store.postgres`."),
    (f"{SEARCH}query.", "Scores and results", "Below `agents.defaults.memorySearch.query`."),
    (f"{SEARCH}query.rerank.", "Rerankers", "Below `agents.defaults.memorySearch.query.rerank`."),
    (f"{SEARCH}remote.", "Embedding services", "Below `agents.defaults.memorySearch.remote`."),
    (f"{SEARCH}remote.batch.", "Batches", "Below `agents.defaults.memorySearch.remote.batch`."),
    (f"{SEARCH}sync.", "Changes of files", "Below `agents.defaults.memorySearch.sync`."),
    ("agents.", "Agents", "Below `agents`."),
    ("memory.", "Memory in general", "Below `memory`."),
    (
        "memory.qmd.",
        "QMD",
        "Below `memory.qmd`: see [QMD as the search engine](../openclaw.md#qmd-as-the-search-engine).",
    ),
    ("models.", "Model services", "Below `models`."),
    ("plugins.", "Plugins", "Below `plugins`."),
    (f"{LONG_TERM}config.", "Long-term memories", f"Below `{LONG_TERM}config`."),
    (
        "trust.",
        "Trust",
        "Below `trust`: [whose words are put before a turn](../connect.md#what-a-model-sees-of-your-notes).",
    ),
)
"""The beginning of the keys in each part of the page, its heading, and its first line."""
NO_DUMP = {
    f"{SEARCH}store.driver": "it has one value",
    f"{SEARCH}enabled": "test_cli_search.py and test_mcp_off.py",
    f"{SEARCH}sync.onSessionStart": "tests/agent",
    f"{SEARCH}sync.background": "test_cli_background.py",
    f"{SEARCH}sync.watch": "test_cli_serve.py",
    "memory.citations": "test_mcp_off.py and tests/tools",
    "memory.backend": "test_cli_config_effect.py",
}
"""Settings that their user reads itself, and where their effect is tested."""
SERVICE = {f"{SEARCH}provider": "openai", f"{SEARCH}remote.baseUrl": "http://127.0.0.1:9/v1"}
LANGUAGE_MODEL = {"memory.tidy.model": "gpt-x", "memory.tidy.baseUrl": "http://127.0.0.1:9/v1"}
RERANKER = {f"{SEARCH}query.rerank.provider": "compatible"}
SESSIONS = {f"{SEARCH}sources": ["memory", "sessions"], f"{SEARCH}experimental.sessionMemory": True}
QMD_PATH = {"memory.backend": "qmd", "memory.qmd.paths[].path": "/more"}
QMD_RULE = {"memory.backend": "qmd", "memory.qmd.scope.rules[].action": "deny"}
CONTEXTS: dict[str, dict[str, Any]] = {
    f"{SEARCH}remote": SERVICE,
    f"{SEARCH}remote.batch": {**SERVICE, f"{SEARCH}remote.batch.enabled": True},
    f"{SEARCH}remote.batch.enabled": SERVICE,
    f"{SEARCH}local": {f"{SEARCH}provider": "local"},
    f"{SEARCH}sources": {f"{SEARCH}experimental.sessionMemory": True},
    f"{SEARCH}experimental": {f"{SEARCH}sources": ["memory", "sessions"]},
    f"{SEARCH}sessionPaths": SESSIONS,
    f"{SEARCH}extraPaths[].pattern": {f"{SEARCH}extraPaths[].path": "/extra"},
    f"{SEARCH}query.rerank": RERANKER,
    f"{SEARCH}query.hybrid.mmr.lambda": {f"{SEARCH}query.hybrid.mmr.enabled": True},
    f"{SEARCH}query.hybrid.temporalDecay.halfLifeDays": {f"{SEARCH}query.hybrid.temporalDecay.enabled": True},
    LONG_TERM.removesuffix("."): LONG_TERM_ON,
    **{f"{LONG_TERM}config.{name}": CAPTURING for name in ("captureMaxChars", "captureRules", "customTriggers")},
    f"{LONG_TERM}config.autoAcceptScore": {**CAPTURING, f"{LONG_TERM}config.autoCapture": "inbox"},
    "memory.tidy": LANGUAGE_MODEL,
    "memory.tidy.model": {},
    "memory.qmd": {"memory.backend": "qmd"},
    **{f"memory.qmd.paths[].{name}": QMD_PATH for name in ("pattern", "name")},
    **{f"memory.qmd.scope.rules[].match.{name}": QMD_RULE for name in ("channel", "chatType", "keyPrefix")},
    "memory.qmd.scope.rules[].match.rawKeyPrefix": QMD_RULE,
    "memory.qmd.sessions": {"memory.backend": "qmd", "memory.qmd.sessions.enabled": True},
    f"{LONG_TERM}config.inboxDays": {**CAPTURING, f"{LONG_TERM}config.autoCapture": "inbox"},
    "agents.list[]": {"agents.list[].id": "main"},
    "agents.list[].id": {},
}
"""What else must be written, so that a setting acts; the longest key counts."""
VALUES: dict[str, Any] = {
    "agents.defaults.workspace": "{folder}/other",
    "agents.defaults.userTimezone": "Asia/Seoul",
    "agents.list[].id": "work",
    "agents.list[].workspace": "{folder}/other",
    "agents.list[].memorySearch": {"query": {"maxResults": 9}},
    f"{SEARCH}sources": ["sessions"],
    f"{SEARCH}sessionPaths": ["{folder}/transcripts"],
    f"{SEARCH}clientMemories": ["codex"],
    f"{SEARCH}extraPaths[].path": "/extra",
    f"{SEARCH}provider": "none",
    f"{SEARCH}fallback": "bundled",
    f"{SEARCH}remote.baseUrl": "http://127.0.0.1:8/v1",
    f"{SEARCH}remote.headers": {"x-lab": "7"},
    f"{SEARCH}store.vector.engine": "exact",
    f"{SEARCH}chunking.strategy": "lines",
    f"{SEARCH}query.scoring": "rrf",
    f"{SEARCH}query.rerank.provider": "voyage",
    f"{SEARCH}query.rerank.remote.baseUrl": "http://127.0.0.1:8/v1",
    f"{SEARCH}query.rerank.remote.headers": {"x-lab": "7"},
    "memory.layout": "notes",
    "memory.extraSuffixes": [".txt"],
    "memory.dailyNote": "memory/days/%Y-%m-%d.md",
    "memory.qmd.limits.maxInjectedChars": 700,
    **{f"memory.qmd.limits.{name}": 7 for name in ("maxResults", "maxSnippetChars", "timeoutMs")},
    **{f"memory.qmd.update.{name}Ms": 7 for name in ("commandTimeout", "updateTimeout", "embedTimeout")},
    **{f"memory.qmd.update.{name}": "7m" for name in ("interval", "embedInterval")},
    "memory.qmd.sessions.retentionDays": 7,
    "memory.qmd.searchMode": "query",
    "memory.qmd.transport": "mcp",
    "memory.qmd.scope.default": "allow",
    "memory.qmd.scope.rules[].action": "allow",
    "memory.qmd.scope.rules[].match.chatType": "direct",
    "models.providers.<id>.headers": {"x-lab": "7"},
    "models.providers.<id>.baseUrl": "http://127.0.0.1:8/v1",
    "plugins.slots.memory": "none",
    f"{LONG_TERM}config.storageOptions": {"region": "eu"},
    f"{LONG_TERM}config.embedding.baseUrl": "http://127.0.0.1:8/v1",
    f"{LONG_TERM}config.customTriggers": ["remember"],
    f"{LONG_TERM}config.captureRules": "classic",
    "trust.agent": "ask",
}
ROWS = {row.key: row for row in reference()}


def changed(key: str) -> Any:
    """Return a value that differs from the default."""
    default = ROWS[key].default
    if key in VALUES:
        return VALUES[key]
    if isinstance(default, bool):
        return not default
    if isinstance(default, int | float):
        return default / 2 if isinstance(default, float) else default + 1
    return 7 if ROWS[key].type == "whole number" else 0.7 if ROWS[key].type == "number" else "seven"


def tree_of(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the configuration in which the settings have these values; lists have one item."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        at: Any = tree
        steps = key.replace("<id>", "lab").split(".")
        for step in steps[:-1]:
            name = step.removesuffix("[]")
            at = at.setdefault(name, [{}] if step.endswith("[]") else {})
            at = at[0] if isinstance(at, list) else at
        text = json.dumps(value).replace("{folder}", str(folder))
        at[steps[-1]] = json.loads(text)
    return tree


def opened(folder: Path, values: dict[str, Any]) -> Memory:
    file = folder / "settings.json5"
    file.write_text(json.dumps(tree_of({"agents.defaults.workspace": f"{folder}/notes", **values}, folder)))
    return Memory.open(config=file, home=folder / "home")


def plain(value: Any) -> Any:
    """Return a value in a form that compares by content, secrets included."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | frozenset | set):
        return [plain(item) for item in value]
    if isinstance(value, FunctionType):
        return [value.__qualname__, *(plain(cell.cell_contents) for cell in value.__closure__ or ())]
    return value if isinstance(value, str | int | float | bool | Path | None) else type(value).__name__


def parts(memory: Memory) -> dict[str, Any]:
    """Return what the parts of a memory got from the settings."""
    assembly = memory._assembly
    chosen: Any = assembly.backend
    backend: Any = getattr(chosen, "builtin", chosen)
    embedding = backend.embedding
    model = assembly.language_model
    environment = session_environment_of(assembly, plugins_of(assembly), memory, memory.session_started)
    watch: Any = assembly.watch(Event(), print)
    transcripts = assembly.notes.workspace.transcripts
    return {
        "place": str(memory.place.workspace),
        "agent": memory.agent,
        "default": memory.configuration.default_agent,
        "backend": plain(backend.settings),
        "qmd": plain(chosen.plan) if isinstance(chosen, QmdBackend) else None,
        "provider": plain(embedding.settings),
        "reranker": plain(backend.reranking.settings) if backend.reranking else None,
        "language model": [plain(model.name), plain(model.service)] if model else None,
        "budget": plain(embedding.budget),
        "batch": plain(embedding.rules),
        "extra": plain(assembly.notes.workspace._extra_paths),
        "layout": [
            assembly.notes.workspace._chosen_layout,
            assembly.notes.workspace._daily_note,
            assembly.notes.workspace.suffixes,
        ],
        "journal": journal_limits(assembly.notes.workspace.journal),
        "transcripts": plain(transcripts.folders) if transcripts else None,
        "watch": plain(watch.rules),
        "mcp": plain(Offered.by(memory)),
        "long-term": long_term_parts(memory),
        "agents": [
            environment.zone,
            environment.context_chars,
            environment.recall_chars,
            plain(environment.compaction),
            environment.window,
            environment.active,
            environment.capture,
            sorted(environment.allowed),
        ],
    }


def journal_limits(journal: Journal | None) -> Any:
    """Return what the journal of changes got from the settings; None if it is turned off."""
    return None if journal is None else [journal._max_bytes, journal._max_days]


def long_term_parts(memory: Memory) -> Any:
    """Return what the plugin for long-term memories got from the settings; None if the slot does not name it."""
    configuration = memory.configuration
    is_on = configuration.extension(KEY, LongTermEntry).enabled
    if "memory-lancedb" not in configuration.settings.plugins.slots.names or not is_on:
        return None
    plugins = plugins_of(memory._assembly)
    made = plugins.long_term(memory).parts
    sources = [plain(source) for source in plugins.recall_sources(memory) if source.name == "memory-lancedb"]
    heard = [plain(vars(each.call.__self__)) for each in plugins.listeners(memory) if each.name == "memory-lancedb"]
    try:
        store = plain(vars(made.open_store("model", 256)))
    except ConfigError as error:
        store = error.message
    return [made.database, made.principal, made.shared, plain(made.embedding.settings), store, sources, heard]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.startswith(("MEMORITER_", "OPENCLAW_")):
            monkeypatch.delenv(name)
    for name in ("notes", "other", "home", "transcripts", "elsewhere"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def context_of(key: str) -> dict[str, Any]:
    known = [at for at in CONTEXTS if key == at or key.startswith((f"{at}.", at if at.endswith("[]") else f"{at}."))]
    return CONTEXTS[max(known, key=len)] if known else {}


@pytest.mark.parametrize("key", sorted(key for key in ROWS if effect_of(setting_key(key)).kind != "not yet"))
def test_a_setting_that_acts_reaches_its_part(folder: Path, key: str) -> None:
    if key in NO_DUMP:
        return
    context = {name: value for name, value in context_of(key).items() if name != key}
    if key == "agents.list[].default":
        before = parts(opened(folder, {"agents.list": [{"id": "a"}, {"id": "b"}]}))
        after = parts(opened(folder, {"agents.list": [{"id": "a"}, {"id": "b", "default": True}]}))
        assert before != after
        return
    assert parts(opened(folder, context)) != parts(opened(folder, {**context, key: changed(key)}))


@pytest.mark.parametrize("key", sorted(key for key in ROWS if effect_of(setting_key(key)).kind == "not yet"))
def test_a_setting_that_does_nothing_yet_is_named(folder: Path, key: str) -> None:
    memory = opened(folder, {key: changed(key)})
    named = settings_without_effect(memory.configuration)
    assert any(f"{key.split('[]', maxsplit=1)[0]}.".startswith(f"{name}.") for name in named), named
    (notice,) = [notice for notice in memory.notices if notice.code == "settings_without_effect"]
    assert all(name in notice.message for name in named)


@pytest.mark.parametrize(
    "key", ["outputDimensionality", "remote.nonBatchConcurrency", "store.fts.tokenizer", "local.contextSize"]
)
def test_a_setting_of_memory_that_only_openclaw_has_is_named(folder: Path, key: str) -> None:
    memory = opened(folder, {f"{SEARCH}{key}": 7})
    (notice,) = memory.notices
    assert notice.code == "settings_without_effect"
    assert notice.message.startswith(f"{SEARCH}{key.removesuffix('.tokenizer')}: no effect")


def test_every_condition_is_of_a_setting_that_exists() -> None:
    keys = [setting_key(key) for key in ROWS]
    assert [at for at in CONDITIONS if not any(key[: len(at)] == at for key in keys)] == []


def short_key(key: str) -> str:
    """Return the shortest key that `memoriter config set` accepts for a setting."""
    known = list(dict.fromkeys(name.partition("[]")[0] for name in ROWS))
    steps = key.partition("[]")[0].replace("<id>", "NAME").split(".")
    for count in range(1, len(steps) + 1):
        short = ".".join(steps[-count:])
        try:
            names = setting_names(short, known)
        except ConfigError:
            continue
        if names == tuple(steps):
            return short
    raise AssertionError(key)


def condition_of(key: str) -> str:
    """Return what is to be said of when a setting acts; nothing of one that always does."""
    effect = effect_of(setting_key(key))
    if effect.kind == "acts" or effect.condition.startswith("always"):
        return ""
    return f"Acts if {effect.condition}." if effect.kind == "acts when" else "Not yet."


def shared_condition(keys: list[str]) -> str:
    """Return the most frequent condition of the settings of a part; empty if some act without a condition."""
    conditions = [condition_of(key) for key in keys]
    (most, count), *_ = Counter(conditions).most_common()
    return most if count > 1 and all(conditions) else ""


def line(prefix: str, key: str, shared: str) -> str:
    """Return the line of a setting: its name, its short form if that is another, type, default and meaning."""
    row = ROWS[key]
    name = key.removeprefix(prefix)
    short = short_key(key)
    about = [row.type] if short == name or "[]" in name else [f"short `{short}`", row.type]
    about += [] if row.default in (None, "") else [f"default `{json.dumps(row.default)}`"]
    condition = condition_of(key)
    acts = f" *{condition}*" if condition != shared and condition else ""
    description = row.description.rstrip(".").removesuffix("; `${NAME}` is read from the environment")
    return f"- `{name}` ({'; '.join(about)}): {description}.{acts}"


def page() -> str:
    """Return the page of all settings."""
    parts = [INTRODUCTION]
    left = list(ROWS)
    for prefix, title, text in GROUPS:
        inner = [other for other, _, _ in GROUPS if other.startswith(prefix) and other != prefix]
        keys = [key for key in left if key.startswith(prefix) and not key.startswith(tuple(inner))]
        left = [key for key in left if key not in keys]
        shared = shared_condition(keys)
        acts = shared.replace("Acts if", " Unless a line says otherwise, these act if")
        lines = "\n".join(line(prefix, key, shared) for key in keys)
        parts.append(f"## {title}\n\n{text}{acts}\n\n{lines}\n")
    assert left == [], left
    return "\n".join(parts)


def test_the_page_of_settings_is_that_of_the_schema() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "Run `just docs`."


@pytest.mark.parametrize("key", [key for key in ROWS if "[]" not in key])
def test_the_short_form_of_a_setting_means_that_setting(key: str) -> None:
    known = list(dict.fromkeys(name.partition("[]")[0] for name in ROWS))
    assert ".".join(setting_names(short_key(key), known)) == key.replace("<id>", "NAME")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
