"""A home of OpenClaw as it looks after some weeks of use, and a fingerprint of everything in it."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

OPENAI_KEY = "sk-test-openai-from-auth-profiles-0123456789"
VOYAGE_KEY = "pa-test-voyage-from-dotenv-0123456789"
MISTRAL_KEY = "mistral-test-from-env-vars-0123456789"
GOOGLE_KEY = "AIza-test-google-from-models-0123456789"
SECRETS = (OPENAI_KEY, VOYAGE_KEY, MISTRAL_KEY, GOOGLE_KEY)

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files (path TEXT PRIMARY KEY, source TEXT NOT NULL DEFAULT 'memory', hash TEXT NOT NULL,
    mtime INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE TABLE chunks (id TEXT PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL DEFAULT 'memory',
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, hash TEXT NOT NULL, model TEXT NOT NULL,
    text TEXT NOT NULL, embedding TEXT NOT NULL, updated_at INTEGER NOT NULL);
CREATE INDEX idx_chunks_path ON chunks(path);
CREATE INDEX idx_chunks_source ON chunks(source);
CREATE TABLE embedding_cache (provider TEXT NOT NULL, model TEXT NOT NULL, provider_key TEXT NOT NULL,
    hash TEXT NOT NULL, embedding TEXT NOT NULL, dims INTEGER, updated_at INTEGER NOT NULL,
    PRIMARY KEY (provider, model, provider_key, hash));
CREATE INDEX idx_embedding_cache_updated_at ON embedding_cache(updated_at);
CREATE VIRTUAL TABLE chunks_fts USING fts5(text, id UNINDEXED, path UNINDEXED, source UNINDEXED, model UNINDEXED,
    start_line UNINDEXED, end_line UNINDEXED);
"""
"""The tables of OpenClaw 2026.2.26, as a run of it leaves them."""

NOTES = {
    "workspace/AGENTS.md": "# AGENTS.md\n\nRead MEMORY.md first.\n",
    "workspace/SOUL.md": "# SOUL.md\n\nYou are calm.\n",
    "workspace/MEMORY.md": "# Long-term memory\n\n- The ledger runs on PostgreSQL because of ACID.\n",
    "workspace/memory/2026-02-10.md": "# 2026-02-10\n\n- Router: Omada ER605, VLAN 10 for IoT devices.\n",
    "workspace/memory/2026-02-11-printer.md": "# Session\n\n- The printer is a Brother HL-L2350DW.\n",
    "workspace/memory/projects/harbour.md": "# Harbour\n\nLaunch party on the pier in May.\n",
    "workspace-work/MEMORY.md": "# Work\n\n- The release train leaves every second Tuesday.\n",
    "workspace-work/memory/2026-02-12.md": "# 2026-02-12\n\n- Standup moved to half past nine.\n",
    "shared/handbook.md": "# Handbook\n\nExpense reports are due on the fifth.\n",
}
SESSION = (
    {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-02-10T09:00:00.000Z", "cwd": "/"},
    {
        "type": "message",
        "id": "a1",
        "timestamp": "2026-02-10T09:00:05.000Z",
        "message": {"role": "user", "content": [{"type": "text", "text": "Where do we keep the spare keys?"}]},
    },
    {
        "type": "message",
        "id": "a2",
        "timestamp": "2026-02-10T09:00:09.000Z",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "In the blue tin by the door."}]},
    },
)
MAIN = """{
  // Written by `openclaw configure`.
  "$include": ["./config/agents.json5", "./config/models.json5"],
  meta: { lastTouchedVersion: "2026.2.26" },
  env: { vars: { MISTRAL_API_KEY: "%(mistral)s" }, shellEnv: { enabled: false } },
  gateway: { port: 18789, mode: "local", auth: { mode: "token", token: "gateway-token" } },
  channels: { telegram: { enabled: true, botToken: "123:abc" } },
  memory: { citations: "auto" },
  plugins: { slots: { memory: "memory-core" }, entries: { telegram: { enabled: true } } },
  session: { dmScope: "main" },
}
"""
AGENTS = """{
  defaults: { $include: "./defaults.json5", model: { primary: "anthropic/claude-opus-4-6" } },
  list: [
    { id: "main", default: true, name: "Main", %(main_workspace)s },
    { id: "work", memorySearch: { query: { maxResults: 3 } } },
    { id: "ghost" },
  ],
}
"""
DEFAULTS = """{
  memorySearch: {
    %(provider)s
    sources: ["memory", "sessions"],
    experimental: { sessionMemory: true },
    extraPaths: ["%(state)s/shared"],
    store: { path: "%(store)s", vector: { enabled: true } },
    sync: { watch: false },
  },
  compaction: { mode: "safeguard", memoryFlush: { enabled: true } },
}
"""
MODELS = """{
  providers: {
    google: { apiKey: "%(google)s", baseUrl: "https://generativelanguage.googleapis.com/v1beta", models: [] },
  },
}
"""


@dataclass(frozen=True)
class OpenClawHome:
    """OpenClaw's state folder in a user's home."""

    user_home: Path

    @property
    def state(self) -> Path:
        return self.user_home / ".openclaw"

    @property
    def config(self) -> Path:
        return self.state / "openclaw.json"

    def index(self, agent: str = "main") -> Path:
        """Return OpenClaw's own index of an agent."""
        return self.state / "memory" / f"{agent}.sqlite"

    @classmethod
    def make(
        cls, user_home: Path, *, provider: str = "fake", store: str = "~/.openclaw/memory/{agentId}.sqlite"
    ) -> OpenClawHome:
        """Create the home; `provider` is written into the configuration unless it is empty."""
        home = cls(user_home)
        state = home.state
        values = {
            "mistral": MISTRAL_KEY,
            "google": GOOGLE_KEY,
            "main_workspace": 'identity: { emoji: "🦞" }',
            "provider": f'provider: "{provider}",' if provider else "",
            "state": str(state),
            "store": store,
        }
        files = {
            "openclaw.json": MAIN % values,
            "config/agents.json5": "{ agents: " + AGENTS % values + "}",
            "config/defaults.json5": DEFAULTS % values,
            "config/models.json5": "{ models: " + MODELS % values + "}",
            ".env": f"# keys\nexport VOYAGE_API_KEY='{VOYAGE_KEY}'\nEMPTY=\n",
            "agents/main/agent/auth-profiles.json": json.dumps(
                {
                    "version": 1,
                    "profiles": {
                        "anthropic:default": {"type": "token", "provider": "anthropic", "token": "sk-ant-x"},
                        "openai:default": {"type": "api_key", "provider": "openai", "key": OPENAI_KEY},
                    },
                }
            ),
            "agents/main/sessions/sessions.json": json.dumps({"agent:main:main": {"sessionId": "s1", "updatedAt": 1}}),
            "agents/main/sessions/s1.jsonl": "".join(json.dumps(line) + "\n" for line in SESSION),
            "agents/work/agent/auth-profiles.json": json.dumps({"version": 1, "profiles": {}}),
            "agents/work/sessions/sessions.json": "{}",
            "credentials/telegram-allowFrom.json": '{"version": 1, "allowFrom": ["1"]}',
            "cron/jobs.json": '{"version": 1, "jobs": []}',
            "memory/lancedb/memories.lance/_versions/1.manifest": "LANC",
            **NOTES,
        }
        for name, text in files.items():
            file = state / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            file.chmod(0o644 if name.startswith(("workspace", "shared")) else 0o600)
        for agent in ("main", "work"):
            write_index(home.index(agent), agent)
        state.chmod(0o700)
        return home

    def fingerprint(self) -> dict[str, tuple[str, int, int]]:
        """Return the hash, the mode and the time of change of every file, and the mode of every folder."""
        found: dict[str, tuple[str, int, int]] = {}
        for folder, _, names in os.walk(self.state):
            path = Path(folder)
            found[f"{path.relative_to(self.user_home)}/"] = ("", path.stat().st_mode, 0)
            for name in names:
                file = path / name
                status = file.lstat()
                content = str(file.readlink()).encode() if file.is_symlink() else file.read_bytes()
                key = str(file.relative_to(self.user_home))
                found[key] = (hashlib.sha256(content).hexdigest(), status.st_mode, status.st_mtime_ns)
        return found


def write_index(path: Path, agent: str) -> None:
    """Create an index as OpenClaw leaves it: a rollback journal, no application id, one vector for each chunk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    vector = json.dumps([0.6, 0.8, 0.0])
    text = "- Router: Omada ER605, VLAN 10 for IoT devices."
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        meta = {"model": "text-embedding-3-small", "provider": "openai", "chunkTokens": 400, "chunkOverlap": 80}
        connection.execute("INSERT INTO meta VALUES ('memory_index_meta_v1', ?)", (json.dumps(meta),))
        connection.execute("INSERT INTO files VALUES ('memory/2026-02-10.md', 'memory', 'h', 1770000000000, 60)")
        connection.execute(
            "INSERT INTO chunks VALUES (?, 'memory/2026-02-10.md', 'memory', 1, 3, 'h', 'm', ?, ?, 1)",
            (f"id-{agent}", text, vector),
        )
        connection.execute(
            "INSERT INTO chunks_fts VALUES (?, ?, 'memory/2026-02-10.md', 'memory', 'm', 1, 3)", (text, f"id-{agent}")
        )
        connection.execute("INSERT INTO embedding_cache VALUES ('openai', 'm', 'k', 'h', ?, 3, 1)", (vector,))
        connection.commit()
    path.chmod(0o600)
