"""The programs on the page about Python run as shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.hookspecs import AgentEnd, Message
from memoriter.plugins import Installed, load_plugins, services_for

if TYPE_CHECKING:
    import pytest

    from memoriter import Memory

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


def program(words: str) -> str:
    """Return the program of the page that contains these words."""
    (code,) = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if words in code]
    return code


def test_the_program_runs(notes: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORITER_HOME", str(home))
    code = program("ask_the_model")
    prompts = list[str]()

    def ask_the_model(system_prompt: str, before: str, message: str) -> str:
        prompts.append(message)
        return "NO_REPLY"

    names: dict[str, Any] = {"ask_the_model": ask_the_model, "tokens_so_far": 180_000}
    exec(code.replace("~/notes", str(notes)), names)
    assert "PostgreSQL" in names["system_prompt"]
    assert "Osaka" in names["before"]
    assert (len(prompts), names["result"].step) == (2, "nothing_to_store")


def test_the_plugin_runs(memory: Memory) -> None:
    code = program("hookimpl")
    names: dict[str, Any] = {}
    exec(code, names)
    plugin = type("Plugin", (), {name: staticmethod(names[name]) for name in ("recall_sources", "listeners")})
    plugins = load_plugins("memory-core", [Installed("said", plugin)], services_for(memory._assembly))
    (listener,) = plugins.listeners(memory)
    listener.call(AgentEnd("s", (Message("user", "a kettle"), Message("assistant", "yes"))))
    _, source = plugins.recall_sources(memory)
    (passage,) = source.recall("I bought a kettle.", audience="private", deadline_ms=1)
    assert (passage.text, passage.citation, plugins.reasons) == ("a kettle", "said#0", [])
