"""Exports of other programs, in the form that each writes, with invented content.

Every export says `FACT` on `DAY`, and has `SECRET` somewhere. No program documents its export in full. The names of
fields are from these places:

- ChatGPT, conversations: docs/chatgpt-data-export-format.md of github.com/mitkury/chatgpt-export-parser. The canvas:
  published system prompts of ChatGPT, which have the schemas of `canmore` (`name`, `type`, `content`; `updates` with
  `pattern`, `multiple`, `replacement`), and public exporters, which find the id of a document in the next message, in
  `metadata.canvas.textdoc_id`. Custom instructions (`user_editable_context`), lists of memories
  (`model_editable_context`) and saved memories (messages to `bio`): conversations that people published.
- Claude, artifacts: conversations that people published, with calls of `artifacts` (`command`: `create`, `update` or
  `rewrite`; `id`, `type`, `title`, `content`, `old_str`, `new_str`). `memory_files`: notes by authors of importers.
- mem0: `get_all()` of mem0ai 2.2.1, which gives further values as `metadata`, and of 0.1.118, which gives `relations`.
  Its local Qdrant: what qdrant-client writes, a table `points` with pickled objects.
- Google Takeout: the records that public parsers of My Activity are tested with, as JSON and as HTML.
"""

from __future__ import annotations

import json
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

FACT = "The greenhouse heater runs on circuit 14."
DAY = "2025-03-14"
TIME = "2025-03-14T12:30:00Z"
SECONDS = 1_741_955_400.0
"""The same time."""
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
NOTES = {
    "MEMORY.md": f"# Memory\n\n- {FACT}\n",
    f"memory/{DAY}.md": f"# {DAY}\n\n- The token is {SECRET} for now.\n",
    "memory/garden/plants.md": "# Plants\n\n- Basil needs water twice a day.\n",
}


def chatgpt_message(
    key: str, parent: str | None, role: str, *parts: Any, children: Iterable[str] = (), **more: Any
) -> dict[str, Any]:
    content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
    message = {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": SECONDS,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
        **more,
    }
    return {"id": key, "message": message, "parent": parent, "children": list(children)}


def chatgpt_conversation(number: int = 1, question: str = "Which circuit?", answer: str = FACT) -> dict[str, Any]:
    """A conversation whose first answer was repeated: the branch of `a2` is the one that is shown."""
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": ["s1"]},
        chatgpt_message("s1", "root", "system", "", children=["u1"]),
        chatgpt_message("u1", "s1", "user", question, children=["a1", "a2"]),
        chatgpt_message("a1", "u1", "assistant", "I do not know that."),
        chatgpt_message("a2", "u1", "assistant", f"{answer}\ue200cite\ue202turn0search0\ue201", children=["t1"]),
        chatgpt_message("t1", "a2", "tool", "output of a program", children=["u2"]),
        chatgpt_message(
            *("u2", "t1", "user", {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}),
            f"Keep the key {SECRET} in mind.",
            content_type="multimodal_text",
        ),
    ]
    return {
        "title": f"Greenhouse: heater {number}",
        "create_time": SECONDS + number,
        "update_time": SECONDS + number + 60,
        "mapping": {node["id"]: node for node in nodes},
        "moderation_results": [],
        "current_node": "u2",
        "plugin_ids": None,
        "conversation_id": f"67d40000-0000-8000-9000-{number:012}",
        "conversation_template_id": None,
        "gizmo_id": None,
        "is_archived": False,
        "safe_urls": [],
        "default_model_slug": "gpt-5",
        "id": f"67d40000-0000-8000-9000-{number:012}",
    }


def chatgpt(folder: Path) -> Path:
    """The ZIP archive of a data export as of 2026-09."""
    return archive(
        folder / "chatgpt.zip",
        {
            "conversations.json": json.dumps(
                [chatgpt_conversation(1), chatgpt_conversation(2, "And the fan?", "On 15.")]
            ),
            "chat.html": "<html></html>",
            "user.json": json.dumps({"id": "user-x", "email": "someone@example.com"}),
            "message_feedback.json": "[]",
        },
    )


def claude_conversation(number: int = 1, answer: str = FACT) -> dict[str, Any]:
    def message(key: str, sender: str, *texts: str, **more: Any) -> dict[str, Any]:
        content = [
            {"start_timestamp": TIME, "stop_timestamp": TIME, "type": "text", "text": text, "citations": []}
            for text in texts
        ]
        thinking = {"type": "thinking", "thinking": "hidden thoughts", "start_timestamp": TIME}
        return {
            "uuid": f"{key}-{number}",
            "text": "\n".join(texts),
            "content": [thinking, *content] if sender == "assistant" else content,
            "sender": sender,
            "created_at": TIME,
            "updated_at": TIME,
            "attachments": [],
            "files": [],
            **more,
        }

    attached = {"file_name": "plan.txt", "file_size": 9, "file_type": "txt", "extracted_content": "# Plan\n```\nx\n```"}
    return {
        "uuid": f"0d0d0d0d-0000-4000-8000-{number:012}",
        "name": f"Heater {number}",
        "summary": "",
        "created_at": TIME,
        "updated_at": TIME,
        "account": {"uuid": "acc"},
        "chat_messages": [
            message("h", "human", f"My key is {SECRET}. Which circuit?", attachments=[attached]),
            message("a", "assistant", answer, "# Next\n\nCheck the fuse."),
        ],
    }


def claude(folder: Path) -> Path:
    """The ZIP archive of a data export as of 2026-09."""
    project = {
        "uuid": "11111111-2222-4333-8444-555555555555",
        "name": "Garden",
        "description": "All about the garden.",
        "prompt_template": "Answer briefly.",
        "created_at": TIME,
        "docs": [{"uuid": "doc-1", "filename": "soil.md", "content": "Soil is loam.", "created_at": TIME}],
    }
    memories = [
        {
            "conversations_memory": "Grows tomatoes.",
            "project_memories": {project["uuid"]: "Loam."},
            "account_uuid": "acc",
        }
    ]
    return archive(
        folder / "claude.zip",
        {
            "conversations.json": json.dumps([claude_conversation(1), claude_conversation(2, "Circuit 15.")]),
            "projects.json": json.dumps([project]),
            "memories.json": json.dumps(memories),
            "users.json": json.dumps([{"uuid": "acc", "full_name": "Someone"}]),
        },
    )


def gemini_takeout(folder: Path) -> Path:
    """An archive of Google Takeout as of 2026-09, in JSON or HTML: here in JSON."""

    def activity(title: str, answer: str | None, time: str = TIME, header: str = "Gemini Apps") -> dict[str, Any]:
        shown = {"safeHtmlItem": [{"html": answer}]} if answer else {}
        controls = ["Gemini Apps Activity"]
        return {
            "header": header,
            "title": title,
            "time": time,
            "products": [header],
            "activityControls": controls,
        } | shown

    activities = [
        activity("Prompted And the fan?", "<p>On <b>15</b>.</p><ul><li>left</li><li>right</li></ul>"),
        activity(f"Prompted My key is {SECRET}. Which circuit?", f"<p>{FACT}</p>", "2025-03-14T12:31:00.123Z"),
        activity("Used an app", None, "2025-03-15T08:00:00Z"),
        activity("Searched for heaters", "<p>x</p>", header="Search"),
    ]
    path = "Takeout/My Activity/Gemini Apps/MyActivity.json"
    return archive(folder / "takeout.zip", {path: json.dumps(activities), "Takeout/archive_browser.html": "<html/>"})


def gemini_takeout_html(folder: Path) -> Path:
    """An archive of Google Takeout as of 2026-09, in JSON or HTML: here in HTML."""
    hours = "\u202f"  # between a time and AM or PM
    page = takeout_page(
        ("Gemini Apps", "Prompted&nbsp;And the fan?", f"Mar 14, 2025, 12:30:00{hours}PM UTC", "<p>On <b>15</b>.</p>"),
        (
            "Gemini Apps",
            f"Prompted&nbsp;My key is {SECRET}. Which circuit?",
            f"Mar 14, 2025, 12:31:00{hours}PM UTC",
            f"<p>{FACT}</p>",
        ),
        ("Search", "Searched for&nbsp;heaters", f"Mar 14, 2025, 12:32:00{hours}PM UTC", ""),
    )
    path = "Takeout/My Activity/Gemini Apps/MyActivity.html"
    return archive(folder / "takeout.zip", {path: page, "Takeout/archive_browser.html": "<html/>"})


def takeout_page(*cells: tuple[str, str, str, str]) -> bytes:
    """Return a page of activities: the product, the title, the time and the answer of each."""
    style = "<style>" + ".mdl-x{color:#000}" * 20_000 + "</style>"
    whole = "".join(
        f'<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">'
        f'<div class="header-cell mdl-cell mdl-cell--12-col"><p class="mdl-typography--title">{product}<br></p></div>'
        f'<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1">{title}<br>{time}<br>{answer}</div>'
        '<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1 mdl-typography--text-right"></div>'
        '<div class="content-cell mdl-cell mdl-cell--12-col mdl-typography--caption"><b>Products:</b><br>'
        f"&emsp;{product}<br></div></div></div>"
        for product, title, time, answer in cells
    )
    return f'<html><head>{style}</head><body><div class="mdl-grid">{whole}</div></body></html>'.encode()


def mem0_memory(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"892db2ae-06d9-49e5-8b3e-{number:012}",
        "memory": text,
        "hash": "b8bc",
        "metadata": None,
        "created_at": "2025-03-14T05:30:00.000001-07:00",
        "updated_at": None,
        "user_id": "gardener",
        **more,
    }


def mem0(folder: Path) -> Path:
    """What `get_all` of mem0ai 2.2.1 returns."""
    memories = [mem0_memory(1, FACT), mem0_memory(2, f"Has the key {SECRET}"), mem0_memory(3, "Likes basil")]
    return written(folder / "mem0.json", json.dumps({"results": memories}))


def mem0_history(folder: Path) -> Path:
    """`history.db` of mem0ai 2.2.1 with a memory that changed, and one that was deleted."""
    file = folder / "history.db"
    with database(file) as opened:
        opened.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,"
            " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        rows = [
            ("h1", "m1", None, "The heater is broken", "ADD", TIME, None, 0),
            ("h2", "m2", None, f"Key {SECRET}", "ADD", TIME, None, 0),
            ("h3", "m1", "The heater is broken", FACT, "UPDATE", "2025-03-20T08:00:00+00:00", TIME, 0),
            ("h4", "m3", None, "Likes mint", "ADD", TIME, None, 0),
            ("h5", "m3", "Likes mint", None, "DELETE", None, None, 1),
        ]
        opened.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", rows)
    return file


CLAUDE_MEM = (
    {"id": 1, "memory_session_id": "s", "project": "greenhouse", "type": "discovery", "title": "Heater wiring"}
    | {"subtitle": "It has a fuse", "narrative": f"{FACT} Token {SECRET}.", "facts": '["The fuse is slow", "16 A"]'}
    | {"text": None, "created_at": TIME, "created_at_epoch": 1_741_955_400_000}
)
CLAUDE_MEM_SUMMARY = {"id": 1, "memory_session_id": "s", "project": "greenhouse", "request": "Find the circuit"} | {
    "learned": "It is number 14.",
    "created_at": TIME,
}


def claude_mem(folder: Path) -> Path:
    """A database with the tables of claude-mem 13.25.3, and those of their columns that are read."""
    file = folder / "claude-mem.db"
    with database(file) as opened:
        opened.execute(
            "CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project"
            " TEXT NOT NULL, text TEXT, type TEXT NOT NULL, created_at TEXT NOT NULL, created_at_epoch INTEGER,"
            " title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT);"
            "CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT,"
            " request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT,"
            " created_at TEXT);"
            "CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT, prompt_number"
            " INTEGER, prompt_text TEXT, created_at TEXT)"
        )
        for table, row in (("observations", CLAUDE_MEM), ("session_summaries", CLAUDE_MEM_SUMMARY)):
            names = ", ".join(row)
            opened.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
        opened.execute("INSERT INTO user_prompts VALUES (1, 's', 1, 'Which circuit?', ?)", (TIME,))
    return file


def claude_mem_json(folder: Path) -> Path:
    """What the script `export-memories` of claude-mem 13.25.3 writes."""
    exported = {"exportedAt": TIME, "query": "", "observations": [CLAUDE_MEM], "sessions": []}
    exported |= {"summaries": [CLAUDE_MEM_SUMMARY], "prompts": [{"id": 1, "prompt_text": "Which?", "created_at": TIME}]}
    return written(folder / "claude-mem.json", json.dumps(exported, indent=2))


def openclaw(folder: Path) -> Path:
    """The home of OpenClaw 2026.2.26, with two workspaces."""
    home = folder / "openclaw"
    write_notes(home / "workspace", NOTES | {"AGENTS.md": "# Rules\n"})
    write_notes(home / "workspace-work", {"MEMORY.md": "# Work\n\n- The desk is oak.\n"})
    written(home / "memory" / "lancedb" / "memories.lance" / "data.bin", "x")
    written(home / "openclaw.json", "{}")
    return home


def basic_memory(folder: Path) -> Path:
    """A project of basic-memory 0.24.1."""
    project = folder / "basic-memory"
    front = "---\ntitle: Heater\ntype: note\npermalink: house/heater\ntags:\n- power\n---\n"
    body = f"\n# Heater\n\n## Observations\n- [fact] {FACT} #power\n- [key] {SECRET}\n"
    write_notes(
        project,
        {
            "house/Heater.md": f"{front}{body}\n## Relations\n- part_of [[Greenhouse]]\n",
            f"daily/{DAY}.md": "- Watered the basil.\n",
        },
    )
    return project


def memsearch(folder: Path) -> Path:
    """The folder of a project, as the plugins of memsearch 0.4.23 write it."""
    project = folder / "project" / ".memsearch"
    day = f"# {DAY}\n\n## Session 12:30\n\n### 12:30\n<!-- session:abc turn:def transcript:t.jsonl -->\n- {FACT}\n"
    write_notes(project, {f"memory/{DAY}.md": f"{day}- Key {SECRET}\n", "PROJECT.md": "# Project\n\n- A greenhouse.\n"})
    return project


def obsidian(folder: Path) -> Path:
    """A vault of Obsidian 1.x."""
    vault = folder / "Vault"
    front = f"---\naliases: [Warmth]\ntags: [power]\ncreated: {DAY}\n---\n"
    write_notes(
        vault,
        {
            ".obsidian/app.json": "{}",
            "House/Heater.md": f"{front}\n# Heater\n\n{FACT} See [[Fan|the fan]] and ![[plan.png]].\n",
            "House/Fan.md": f"#cooling\n\nThe fan has the key {SECRET}.\n",
            "House/plan.png": "x",
        },
    )
    return vault


NOTION_IDS = tuple(f"{number:032x}" for number in (0xA1, 0xB2, 0xC3))


def notion(folder: Path) -> Path:
    """Notion's export as Markdown & CSV as of 2026-09: archives in an archive, a page, one below it, and a database."""
    house, heater, table = (f"{name} {key}" for name, key in zip(("House", "Heater", "Tools"), NOTION_IDS, strict=True))
    link = f"{house.replace(' ', '%20')}/{heater.replace(' ', '%20')}.md"
    pages = {
        f"Export/{house}.md": f"# House\n\n[Heater]({link}) and [the web](https://example.com/a.md)\n",
        f"Export/{house}/{heater}.md": f"# Heater\n\nTags: power\n\n{FACT} Key {SECRET}.\n",
        f"Export/{table}.csv": "\ufeffName,Place\nSaw,shed\n",
        f"Export/{table}_all.csv": "\ufeffName,Place\nSaw,shed\nDrill,attic | left\n",
        f"Export/{house}/image.png": "x",
    }
    inner = archive(folder / "inner.zip", pages).read_bytes()
    return archive(folder / "notion.zip", {"ExportBlock-1-Part-1.zip": inner})


def jsonl(folder: Path) -> Path:
    """A file with one JSON object in each line."""
    lines = [
        {"id": "one", "text": FACT, "date": DAY},
        {"text": f"Key {SECRET}", "created_at": SECONDS * 1000},
        {"id": "page", "title": "Basil", "text": "Water it.", "tags": ["plants"], "path": "garden/basil.md"},
        {"id": "empty", "text": " "},
    ]
    return written(folder / "texts.jsonl", "\n".join(map(json.dumps, lines)) + "\n")


EXPORTS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "openclaw": ("openclaw", openclaw),
    "mem0": ("mem0", mem0),
    "mem0 history": ("mem0", mem0_history),
    "basic-memory": ("basic-memory", basic_memory),
    "memsearch": ("memsearch", memsearch),
    "claude-mem": ("claude-mem", claude_mem),
    "claude-mem JSON": ("claude-mem", claude_mem_json),
    "chatgpt": ("chatgpt", chatgpt),
    "claude": ("claude", claude),
    "gemini-takeout": ("gemini-takeout", gemini_takeout),
    "gemini-takeout HTML": ("gemini-takeout", gemini_takeout_html),
    "obsidian": ("obsidian", obsidian),
    "notion": ("notion", notion),
    "jsonl": ("jsonl", jsonl),
}
"""By name: the format, and what writes an export into a folder. Its docstring names the version or date of the form."""


def archive(file: Path, content: dict[str, str | bytes]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, text in content.items():
            opened.writestr(zipfile.ZipInfo(name, (2025, 3, 14, 12, 30, 0)), text, zipfile.ZIP_DEFLATED)
    return file


def written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def write_notes(folder: Path, notes: dict[str, str]) -> None:
    for name, text in notes.items():
        written(folder / name, text)


def database(file: Path) -> closing[apsw.Connection]:
    """A new database, which is closed at the end of the block."""
    file.parent.mkdir(parents=True, exist_ok=True)
    return closing(apsw.Connection(str(file)))
