"""What the page about the chat shows is what happens."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.chat._endpoint import endpoint_of
from memoriter.config import load
from servers import KEY
from servers.talk import Calls, OpenAITalk, Reply

if TYPE_CHECKING:
    from conftest import Program

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "chat.md"
KINDS = ("recalled", "captured", "flushed", "compacted")
DAY = "2026-03-02"
"""Today, on the page."""
SUMMARY = "The ledger is on PostgreSQL 16; 17 is to be tried in March."


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def script(shown: list[str]) -> list[Any]:
    """What the model says in the transcript; after what it said before it writes into the log it is too long."""
    steps = list[Any]()
    for line in shown:
        if line.startswith("tool"):
            tool, words = re.match(r"tool +(\w+)\((.*)\) → ", line).groups()  # type: ignore[union-attr]
            call = Calls(tool, dict(json.loads(f"[{pair}]") for pair in pairs(words)))
            if call.arguments.get("to") == "daily":
                steps[-1] = replace(steps[-1], tokens=1_204)
            steps.append(call)
        elif line.startswith("flushed"):
            steps += [Reply("NO_REPLY"), Reply(SUMMARY)]
        elif not line.startswith((*KINDS, ">", "$")):
            steps.append(Reply(line))
    return steps


def pairs(words: str) -> list[str]:
    return [re.sub(r"^(\w+)=", r'"\1", ', pair) for pair in re.split(r", (?=\w+=)", words)]


def test_the_transcript_is_what_memory_does(program: Program) -> None:
    (shown,) = blocks("text")
    lines = shown.splitlines()
    shutil.rmtree(program.notes)
    shutil.copytree(ROOT / "examples" / "workspace", program.notes)
    with OpenAITalk(*script(lines)) as server:
        entry = {"models": {"providers": {"work": {"baseUrl": server.base_url, "apiKey": KEY}}}}
        (program.home / "memoriter.json5").write_text(json.dumps(entry), encoding="utf-8")
        subprocess.run(program.command("index"), cwd=program.notes, env=program.environment(), check=True, timeout=100)
        done = subprocess.run(
            program.command(*lines[0].removeprefix("$ memoriter ").split()),
            input="".join(f"{line[2:]}\n" for line in lines if line.startswith("> ")),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            cwd=program.notes,
            env=program.environment(),
            timeout=100,
        )
    (today,) = re.findall(r"flushed +1 new in memory/(\S+)\.md", done.stdout)
    happened = done.stdout.replace(today, DAY).splitlines()
    assert happened == [line for line in lines if not line.startswith((">", "$"))]


def test_the_settings_name_services_that_the_chat_speaks_with(tmp_path: Path) -> None:
    (text,) = blocks("json5")
    file = tmp_path / "memoriter.json5"
    file.write_text(text, encoding="utf-8")
    providers = load(file, home=tmp_path, environ={}).settings.models.providers
    found = [endpoint_of(f"{name}/x", None, providers, {"WORK_KEY": "k"}) for name in ("work", "claude")]
    assert [(each.api, each.host, each.api_key) for each in found] == [
        ("openai", "models.example.com", "k"),
        ("anthropic", "claude.example.com", "k"),
    ]
