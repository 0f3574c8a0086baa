"""An environment whose agents have long-term memories, with the deterministic provider `fake`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import json5

from memory_env import MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path

NOTE = "memory/long-term.md"


def configure_long_term(
    env: MemoryEnv, slot: str | list[str] = "memory-lancedb", *, provider: str = "fake", **config: Any
) -> None:
    """Write the configuration: the memory slot, the provider, and the settings of the plugin."""
    settings = {
        "agents": {"defaults": {"memorySearch": {"provider": provider}}},
        "plugins": {"slots": {"memory": slot}, "entries": {"memory-lancedb": {"config": config}}},
    }
    env.config.write_text(json5.dumps(settings), encoding="utf-8")


def long_term_env(folder: Path, slot: str | list[str] = "memory-lancedb", **config: Any) -> MemoryEnv:
    """Return an environment with long-term memories."""
    env = MemoryEnv.at(folder)
    configure_long_term(env, slot, **config)
    return env
