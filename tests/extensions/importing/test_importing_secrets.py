"""Secrets in titles, names and groups of an export are in no name and no text of a note."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from exports import SECRET, archive, chatgpt_conversation, written

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Target

TOKEN = f"ghp_{'a1B2' * 9}"


def everything(target: Target) -> str:
    return "\n".join(f"{path}\n{text}" for path, text in target.texts().items())


def test_a_secret_in_the_title_of_a_conversation_is_not_in_the_name_of_its_note(target: Target, tmp_path: Path) -> None:
    talk = chatgpt_conversation() | {"title": "password: hunter2secretXY"}
    target.run("chatgpt", archive(tmp_path / "c.zip", {"conversations.json": json.dumps([talk])}))
    assert "hunter2secret" not in everything(target).casefold()
    (path,) = target.texts()
    assert path.endswith("-password.md")


@pytest.mark.parametrize("field", ["group", "path", "title", "id"])
@pytest.mark.parametrize("secret", [TOKEN, SECRET, "password: hunter2secretXY"])
def test_a_secret_in_a_field_of_a_text_is_nowhere(target: Target, tmp_path: Path, field: str, secret: str) -> None:
    file = written(tmp_path / "x.jsonl", json.dumps({"text": "A fact.", "id": "1", field: f"{secret}"}))
    first = target.run("jsonl", file)
    assert first.records == 1
    assert "A fact." in everything(target)
    assert secret.removeprefix("password: ").casefold() not in everything(target).casefold()
    assert target.run("jsonl", file).present == 1


def test_a_secret_in_the_name_of_a_note_of_a_vault_is_nowhere(target: Target, tmp_path: Path) -> None:
    for name in (f"{TOKEN} one.md", f"{TOKEN} two.md"):
        written(tmp_path / "Vault" / TOKEN / name, f"Fact of {name[-6:]}")
    assert target.run("obsidian", tmp_path / "Vault").records == 2
    assert TOKEN not in everything(target)
    assert target.run("obsidian", tmp_path / "Vault").present == 2
