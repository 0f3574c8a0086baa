"""The forms in which programs write the same export, and what the report names that is not imported."""

from __future__ import annotations

import io
import json
import tarfile
from typing import TYPE_CHECKING

import pytest

from exports import FACT, archive, chatgpt_conversation, claude_conversation, mem0_memory, written
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Target
    from memoriter.importing import ImportReport

ACTIVITY = {
    "header": "Gemini-Apps",
    "title": "Eingegebener Prompt: Which circuit?",
    "time": "2025-03-14T12:30:00Z",
    "products": ["Gemini-Apps"],
    "safeHtmlItem": [{"html": f"<p>{FACT}</p>"}],
}


def omitted(report: ImportReport) -> list[str]:
    return [each.name for each in report.reasons]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-16-le"])
@pytest.mark.parametrize("listed", [True, False])
def test_json_may_have_a_byte_order_mark_or_be_in_utf_16(
    target: Target, tmp_path: Path, encoding: str, *, listed: bool
) -> None:
    memories = [mem0_memory(number, f"Fact {number}: größer 漢字 😀" * 200) for number in range(20)]
    text = json.dumps(memories if listed else {"results": memories}, ensure_ascii=False)
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    file = tmp_path / "m.json"
    file.write_bytes(mark + text.encode(encoding))
    assert target.run("mem0", file).records == 20
    assert "größer 漢字 😀" in target.text
    assert "\ufffd" not in target.text


def test_lines_of_json_may_be_in_utf_16(target: Target, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"text": "Größer."}\n{"text": "Two."}\n', encoding="utf-16")
    assert target.run("jsonl", file).records == 2
    assert "Größer." in target.text


def test_takeout_in_another_language_is_recognised_by_its_content(target: Target, tmp_path: Path) -> None:
    folder = "Takeout/Meine Aktivitäten/Gemini-Apps"
    content = {f"{folder}/MeineAktivitäten.json": json.dumps([ACTIVITY]), "Takeout/other.json": '[{"title": "x"}]'}
    assert target.run("gemini-takeout", archive(tmp_path / "t.zip", dict(content))).records == 1
    assert FACT in target.text


def tgz(file: Path, *members: tuple[str, bytes, bytes]) -> Path:
    with tarfile.open(file, "w:gz") as opened:
        for name, content, kind in members:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(content), kind, "/etc/passwd"
            opened.addfile(member, io.BytesIO(content))
    return file


def test_takeout_as_a_compressed_tar_archive_is_imported(target: Target, tmp_path: Path) -> None:
    content = json.dumps([ACTIVITY]).encode()
    file = tgz(tmp_path / "t.tgz", ("Takeout/My Activity/Gemini Apps/MyActivity.json", content, tarfile.REGTYPE))
    assert target.run("gemini-takeout", file).records == 1
    assert FACT in target.text


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (("../x.json", b"[]", tarfile.REGTYPE), "leads out"),
        (("x.json", b"", tarfile.SYMTYPE), "is no plain file"),
        (("x.json", b" " * (17 << 20), tarfile.REGTYPE), "would expand"),
    ],
)
def test_a_tar_archive_that_does_harm_is_refused(
    target: Target, tmp_path: Path, member: tuple[str, bytes, bytes], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason) as refused:
        target.run("gemini-takeout", tgz(tmp_path / "t.tgz", member))
    assert refused.value.remedy


def test_a_tar_archive_that_was_cut_off_is_refused(target: Target, tmp_path: Path) -> None:
    file = tgz(tmp_path / "t.tgz", ("MyActivity.json", json.dumps([ACTIVITY] * 99).encode(), tarfile.REGTYPE))
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(UsageError, match="is broken"):
        target.run("gemini-takeout", file)


def test_a_message_of_claude_that_only_calls_tools_is_left_out_and_artifacts_are_counted(
    target: Target, tmp_path: Path
) -> None:
    block = "```\nThis block is not supported on your current device yet.\n```"
    talk = claude_conversation()
    artifact = {"type": "tool_use", "name": "artifacts", "input": {"command": "create", "content": "# Plan"}}
    talk["chat_messages"] += [
        {"sender": "assistant", "text": block, "content": [artifact]},
        {"sender": "assistant", "text": f"Old answer.\n{block}\nDone."},
        {"sender": "human", "text": "See it.", "files": [{"file_name": "plan.png"}], "attachments": []},
    ]
    report = target.run("claude", written(tmp_path / "conversations.json", json.dumps([talk])))
    assert "not supported on your current device" not in target.text
    assert "Old answer." in target.text
    assert "(attached: plan.png)" in target.text
    assert omitted(report) == ["artifacts (1)"]


def test_what_chatgpt_has_besides_turns_is_counted_and_attachments_are_named(target: Target, tmp_path: Path) -> None:
    talk = chatgpt_conversation()
    nodes = talk["mapping"]
    last = talk["current_node"]
    messages = [
        {"recipient": "canmore.create_textdoc", "content": {"content_type": "text", "parts": ["{}"]}},
        {"content": {"content_type": "user_editable_context", "user_profile": "A gardener"}},
        {"content": {"content_type": "model_editable_context", "model_set_context": "Likes basil"}},
        {
            "content": {"content_type": "text", "parts": ["See it."]},
            "author": {"role": "user"},
            "metadata": {"attachments": [{"name": "plan.pdf"}]},
        },
    ]
    for number, message in enumerate(messages):
        message = {"author": {"role": "assistant"}, **message}  # noqa: PLW2901 - the same message, completed
        nodes[f"more-{number}"] = {"parent": last, "children": [], "message": message}
        last = f"more-{number}"
    talk["current_node"] = last
    report = target.run("chatgpt", written(tmp_path / "conversations.json", json.dumps([talk])))
    assert "(attached: plan.pdf)" in target.text
    assert omitted(report) == [
        "custom instructions (1)",
        "documents of the canvas (1)",
        "lists of what ChatGPT remembers of you (1)",
    ]


def test_metadata_and_relations_of_mem0_are_counted(target: Target, tmp_path: Path) -> None:
    memories = [mem0_memory(1, "Likes tea", metadata={"category": "drinks"}), mem0_memory(2, "Is tall")]
    export = {"results": memories, "relations": [{"source": "a", "relationship": "likes", "target": "tea"}]}
    report = target.run("mem0", written(tmp_path / "m.json", json.dumps(export)))
    assert omitted(report) == ["metadata of memories (1)", "relations (1)"]
