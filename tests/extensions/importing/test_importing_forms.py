"""The forms in which programs write the same export, and what the report names that is not imported."""

from __future__ import annotations

import io
import json
import tarfile
from typing import TYPE_CHECKING

import pytest

from exports import (
    FACT,
    SECONDS,
    archive,
    chatgpt_conversation,
    claude_conversation,
    claude_mem,
    database,
    mem0_memory,
    takeout_page,
    written,
)
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Target
    from memoriter.extensions.importing.api import ImportReport

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


HOURS = "\u202f"
"""What Takeout writes between a time and AM or PM."""
ANSWER = f"<p>{FACT}</p><div><ul><li>left</li></ul></div>"
PAGE = (
    ("Gemini Apps", "Prompted&nbsp;Which circuit?<br>And the fan?", f"Mar 14, 2025, 12:30:00{HOURS}PM UTC", ANSWER),
    ("Gemini-Apps", "Eingegebener Prompt: Und jetzt?", "14.03.2025, 23:30:00 MEZ", "<p>Jetzt.</p>"),
    ("Gemini", "말씀하신 내용: 지금은?", "2025. 3. 15. 오후 1:05:00 KST", "<p>지금.</p>"),
    ("Gemini Apps", "Prompted&nbsp;Where?", "3/4/2025, 10:00:00 XYZT", "<p>There.</p>"),
    ("Search", "Searched for&nbsp;heaters", "Mar 14, 2025, 12:30:00 PM UTC", ""),
)


@pytest.mark.parametrize("name", ["Takeout/My Activity/Gemini Apps/MyActivity.html", "Aktivität/Verlauf.html"])
def test_takeout_in_html_is_imported_with_its_times(target: Target, tmp_path: Path, name: str) -> None:
    file = archive(tmp_path / "t.zip", {name: takeout_page(*PAGE), "Takeout/archive_browser.html": "<html></html>"})
    report = target.run("gemini-takeout", file)
    assert (report.records, omitted(report)) == (4, ["Searched for heaters"])
    texts = target.texts()
    first = texts["gemini-takeout/2025-03/2025-03-14.md"]
    assert "**You**, 12:30 UTC: Which circuit?\nAnd the fan?\n" in first
    assert f"**Gemini**:\n\n{FACT}\n\n- left\n" in first
    assert "**You**, 22:30 UTC: Eingegebener Prompt: Und jetzt?" in first
    assert "지금." in texts["gemini-takeout/2025-03/2025-03-15.md"]
    assert "**You**, 3/4/2025, 10:00:00 XYZT: Where?" in texts["gemini-takeout/undated/undated.md"]
    assert target.run("gemini-takeout", file).present == 4


def test_takeout_in_json_is_read_and_its_html_is_not(target: Target, tmp_path: Path) -> None:
    folder = "Takeout/My Activity/Gemini Apps"
    content = {f"{folder}/MyActivity.json": json.dumps([ACTIVITY]), f"{folder}/MyActivity.html": takeout_page(*PAGE)}
    assert target.run("gemini-takeout", archive(tmp_path / "t.zip", dict(content))).records == 1


def test_a_page_of_takeout_that_is_cut_off_or_too_long_is_refused(target: Target, tmp_path: Path) -> None:
    whole = takeout_page(*PAGE[:2])
    file = tmp_path / "MyActivity.html"
    for content, reason in (
        (whole[: whole.index(b"Jetzt.")], "ends within an activity"),
        (whole + b"x" * (33 << 20), "more than 32 MiB"),
    ):
        file.write_bytes(content)
        with pytest.raises(UsageError, match=reason):
            target.run("gemini-takeout", file)
    assert target.texts() == {}


def test_the_pickled_points_of_a_local_qdrant_are_refused_with_what_helps(target: Target, tmp_path: Path) -> None:
    folder = tmp_path / "qdrant"
    collection = folder / "collection" / "mem0"
    with database(collection / "storage.sqlite") as opened:
        opened.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        run = b"cos\nmkdir\n(S'" + str(tmp_path / "ran").encode() + b"'\ntR."
        opened.execute("INSERT INTO points VALUES ('1', ?)", (run,))
    (folder / "meta.json").write_text('{"collections": {"mem0": {}}, "aliases": {}}', encoding="utf-8")
    for export in (folder, collection, collection / "storage.sqlite"):
        with pytest.raises(UsageError, match="pickled Python objects") as refused:
            target.run("mem0", export)
        assert "json.dump()" in str(refused.value.remedy)
    assert not (tmp_path / "ran").exists()


def tgz(file: Path, *members: tuple[str, bytes, bytes]) -> Path:
    with tarfile.open(file, "w:gz") as opened:
        for name, content, kind in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.type = kind
            member.linkname = "/etc/passwd"
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


def test_a_message_of_claude_that_only_calls_tools_is_left_out(target: Target, tmp_path: Path) -> None:
    block = "```\nThis block is not supported on your current device yet.\n```"
    talk = claude_conversation()
    talk["chat_messages"] += [
        {"sender": "assistant", "text": block, "content": [{"type": "tool_use", "name": "web", "input": {"q": "x"}}]},
        {"sender": "assistant", "text": f"Old answer.\n{block}\nDone."},
        {"sender": "human", "text": "See it.", "files": [{"file_name": "plan.png"}], "attachments": []},
    ]
    report = target.run("claude", written(tmp_path / "conversations.json", json.dumps([talk])))
    assert "not supported on your current device" not in target.text
    assert "Old answer." in target.text
    assert "(attached: plan.png)" in target.text
    assert omitted(report) == []


def test_artifacts_of_claude_are_notes_in_their_last_state(target: Target, tmp_path: Path) -> None:
    def call(command: str, identifier: str, **more: str) -> dict[str, object]:
        return {"type": "tool_use", "name": "artifacts", "input": {"command": command, "id": identifier, **more}}

    talk = claude_conversation()
    blocks = [
        call("create", "plan", type="text/markdown", title="Plan", content="# Plan\n\nOne fuse, one heater."),
        call("update", "plan", old_str="One fuse", new_str="Two fuses"),
        call("create", "code", type="application/vnd.ant.code", language="python", title="Script", content="print(1)"),
        call("rewrite", "code", title="Better script", content="print(2)"),
        call("update", "code", old_str="not there", new_str="x"),
        call("update", "unknown", old_str="a", new_str="b"),
    ]
    message = {"sender": "assistant", "text": "", "content": blocks, "created_at": "2025-03-14T12:30:00Z"}
    talk["chat_messages"].append(message)
    report = target.run("claude", written(tmp_path / "conversations.json", json.dumps([talk])))
    texts = target.texts()
    assert "\n# Plan\n\nTwo fuses, one heater.\n" in texts["claude/2025-03/2025-03-14-plan.md"]
    assert "\n```python\nprint(2)\n```\n" in texts["claude/2025-03/2025-03-14-better-script.md"]
    assert omitted(report) == ["changes to artifacts (2)"]


def test_the_files_in_which_claude_remembers_are_notes(target: Target, tmp_path: Path) -> None:
    files = [{"path": "/garden/soil.md", "content": "- Loam.", "updated_at": "2026-01-02T03:04:05Z"}]
    content = {"memories/acc.json": json.dumps({"account_uuid": "acc", "memory_files": files})}
    assert target.run("claude", archive(tmp_path / "memories-000.zip", dict(content))).records == 1
    text = target.texts()["claude/memories/files/garden/soil.md"]
    assert 'title: "What Claude remembers: garden/soil"\ndate: 2026-01-02\n' in text
    assert "- Loam." in text


def chatgpt_with(*messages: dict[str, object], number: int = 1) -> dict[str, object]:
    """A conversation that goes on with these messages of the assistant."""
    talk = chatgpt_conversation(number)
    last = talk["current_node"]
    for place, message in enumerate(messages):
        whole = {"id": f"more-{number}-{place}", "author": {"role": "assistant"}, "create_time": SECONDS, **message}
        talk["mapping"][f"more-{place}"] = {"parent": last, "children": [], "message": whole}
        last = f"more-{place}"
    talk["current_node"] = last
    return talk


def test_the_canvas_of_chatgpt_becomes_notes_in_their_last_state(target: Target, tmp_path: Path) -> None:
    def call(tool: str, document: str, **values: object) -> list[dict[str, object]]:
        content = {"content_type": "code", "language": "json", "text": json.dumps(values)}
        answer = {"author": {"role": "tool", "name": tool}, "metadata": {"canvas": {"textdoc_id": document}}}
        return [{"recipient": tool, "content": content}, answer]

    def change(document: str, pattern: str, new: str, *, multiple: bool = False) -> list[dict[str, object]]:
        update = {"pattern": pattern, "replacement": new, "multiple": multiple}
        return call("canmore.update_textdoc", document, updates=[update])

    create = "canmore.create_textdoc"
    talk = chatgpt_with(
        *call(create, "d1", name="Plan", type="document", content="# Plan\n\nOne (1) fuse. One heater."),
        *call(create, "d2", name="Script", type="code/python", content="print(1)"),
        *change("d1", r"One \(1\) fuse", "Two fuses"),
        *change("d2", ".*", "print(2)"),
        *change("d1", "(a+)+$", "x"),
        *call(create, "d3", name="Empty"),
    )
    report = target.run("chatgpt", written(tmp_path / "conversations.json", json.dumps([talk])))
    texts = target.texts()
    assert "\n# Plan\n\nTwo fuses. One heater.\n" in texts["chatgpt/2025-03/2025-03-14-plan.md"]
    assert "\n```python\nprint(2)\n```\n" in texts["chatgpt/2025-03/2025-03-14-script.md"]
    assert omitted(report) == [
        "changes to documents of the canvas (1)",
        "documents of the canvas that cannot be read (1)",
    ]


def test_custom_instructions_and_what_chatgpt_remembers_are_notes_once(target: Target, tmp_path: Path) -> None:
    def context(remembered: str) -> list[dict[str, object]]:
        profile = "The user provided the following:\n```A gardener```"
        instructions = {"content_type": "user_editable_context", "user_profile": profile, "user_instructions": "Short."}
        memory = {"content_type": "model_editable_context", "model_set_context": remembered}
        return [{"author": {"role": "user"}, "content": instructions}, {"content": memory}]

    saved = {"recipient": "bio", "content": {"content_type": "text", "parts": ["The user likes basil."]}}
    named = {"content": {"content_type": "text", "parts": ["See it."]}, "author": {"role": "user"}}
    talks = [
        chatgpt_with(*context("1. Likes basil, and mint."), saved, number=2),
        chatgpt_with(*context("1. Likes basil."), named | {"metadata": {"attachments": [{"name": "plan.pdf"}]}}),
    ]
    content = {"conversations.json": json.dumps(talks), "user.json": json.dumps({"id": "user-x"})}
    file = archive(tmp_path / "c.zip", dict(content))
    assert target.run("chatgpt", file, dry_run=True).records == 5
    report = target.run("chatgpt", file)
    assert (report.records, omitted(report)) == (5, [])
    texts = target.texts()
    (instructions,) = [text for path, text in texts.items() if path.startswith("chatgpt/instructions/")]
    assert "# About you\n\nA gardener\n\n# How ChatGPT answers\n\nShort.\n" in instructions
    assert "1. Likes basil, and mint.\n" in texts["chatgpt/memories/what ChatGPT remembers user-x.md"]
    assert "- The user likes basil. <!--" in texts["chatgpt/memories/2025-03/2025-03-14.md"]
    assert "(attached: plan.pdf)" in target.text


def test_metadata_and_relations_of_mem0_are_imported(target: Target, tmp_path: Path) -> None:
    metadata = {"category": "drinks", "rating": 5, "user_id": "x", "none": None}
    memories = [mem0_memory(1, "Likes tea", metadata=metadata, categories=["food", "taste"])]
    relations = [{"source": "alice", "relationship": "likes_a_lot", "target": "tea"}, {"source": "alice"}]
    export = {"results": memories, "relations": relations}
    report = target.run("mem0", written(tmp_path / "m.json", json.dumps(export)))
    assert report.records == 2
    assert "(category: drinks; rating: 5; categories: food, taste)" in target.text
    assert "- alice likes a lot tea <!--" in target.text
    assert [(each.name, each.reason) for each in report.reasons] == [
        ("alice", "it does not name two things and their relation")
    ]


def test_an_activity_of_takeout_in_both_forms_is_one_entry(target: Target, tmp_path: Path) -> None:
    title = "Prompted Which  circuit\nfor the heater?"
    activity = ACTIVITY | {"title": title, "time": "2025-03-14T12:30:05.678Z"}
    cell = ("Gemini Apps", title.replace("Prompted ", "Prompted&nbsp;"), "14.03.2025, 13:30:05 MEZ", f"<p>{FACT}</p>")
    target.run("gemini-takeout", written(tmp_path / "MyActivity.json", json.dumps([activity])))
    (tmp_path / "MyActivity.html").write_bytes(takeout_page(cell))
    report = target.run("gemini-takeout", tmp_path / "MyActivity.html")
    assert report.notes == report.records == 0
    assert "".join(target.texts().values()).count(FACT) == 1


def test_the_words_of_references_that_chatgpt_shows_in_a_sentence_stay(target: Target, tmp_path: Path) -> None:
    place = '\ue200entity\ue202["city","Busan","a port"]\ue201'
    link = "\ue200url\ue202the map\ue202https://example.org/m\ue201"
    answer = f"Go to {place} with {link}.\ue200cite\ue202turn0search0\ue201"
    file = written(tmp_path / "conversations.json", json.dumps([chatgpt_conversation(1, "Where?", answer)]))
    target.run("chatgpt", file)
    (text,) = target.texts().values()
    assert "Go to Busan with [the map](https://example.org/m).\n" in text


def test_of_a_conversation_with_claude_the_last_branch_is_kept(target: Target, tmp_path: Path) -> None:
    def message(name: str, parent: str, sender: str, minute: int) -> dict[str, str]:
        time = f"2025-03-14T12:{minute}:00Z"
        return {
            "uuid": name,
            "parent_message_uuid": parent,
            "sender": sender,
            "text": f"says {name}",
            "created_at": time,
        }

    messages = [
        message("q1", "00000000-0000-4000-8000-000000000000", "human", 10),
        message("a1", "q1", "assistant", 11),
        message("a2", "q1", "assistant", 12),
        message("q2", "a2", "human", 13),
    ]
    content = json.dumps([claude_conversation(1) | {"chat_messages": messages}])
    target.run("claude", written(tmp_path / "conversations.json", content))
    (text,) = target.texts().values()
    assert [line for line in text.splitlines() if line.startswith("says ")] == ["says q1", "says a2", "says q2"]


def test_of_a_conversation_with_claude_that_lacks_a_message_all_others_are_kept(target: Target, tmp_path: Path) -> None:
    messages = [
        {"uuid": name, "parent_message_uuid": parent, "sender": "human", "text": f"says {name}"}
        for name, parent in (("q1", None), ("q2", "q1"), ("q3", "not in the export"))
    ]
    content = json.dumps([claude_conversation(1) | {"chat_messages": messages}])
    target.run("claude", written(tmp_path / "conversations.json", content))
    (text,) = target.texts().values()
    assert [line for line in text.splitlines() if line.startswith("says ")] == ["says q1", "says q2", "says q3"]


def test_a_prompt_of_claude_mem_is_in_the_note_of_its_project(target: Target, tmp_path: Path) -> None:
    file = claude_mem(tmp_path)
    with database(file) as opened:
        opened.execute("CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, project TEXT)")
        opened.execute("INSERT INTO sdk_sessions VALUES (1, 's', 'greenhouse')")
    target.run("claude-mem", file)
    assert "**Prompt**: Which circuit?" in target.texts()["claude-mem/greenhouse/2025-03/2025-03-14.md"]


def test_the_report_names_the_design_chats_of_claude(target: Target, tmp_path: Path) -> None:
    content = {"conversations.json": json.dumps([claude_conversation()]), "design_chats/1.json": "{}"}
    report = target.run("claude", archive(tmp_path / "c.zip", dict(content)))
    assert "design_chats/1.json" in omitted(report)
