"""The data export of Claude: `conversations.json`, projects and memories, also inside its ZIP archives.

Conversations, artifacts in their last state and the documents of projects become notes, and so does what Claude
remembers of conversations. The thinking of the model, other calls of tools and their results are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.extensions.importing._json import is_list, lists, mapping, objects
from memoriter.extensions.importing._records import Format, LeftOut, Page, Record, id_of, moment, text_of
from memoriter.extensions.importing.formats._conversation import (
    Document,
    Documents,
    Turn,
    attached,
    conversation,
    fenced,
    literal,
    omitted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoriter.extensions.importing._files import Files

_CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json", re.IGNORECASE)
_PROJECTS = re.compile(r"(?:.*/)?(?:projects\.json|projects/[^/]+\.json)", re.IGNORECASE)
_MEMORIES = re.compile(r"(?:.*/)?(?:memories\.json|memories/[^/]+\.json)", re.IGNORECASE)
_DESIGNS = re.compile(r"(?:.*/)?design_chats/[^/]+\.json", re.IGNORECASE)
_PARTS = r"[^/]+\.zip"
"""Names of the archives inside an export of several."""
_UNSUPPORTED = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")
"""What Claude writes in place of calls of tools."""
_SPEAKERS = {"human": "You", "assistant": "Claude"}
_LANGUAGES = {
    "text/html": "html",
    "image/svg+xml": "svg",
    "application/vnd.ant.mermaid": "mermaid",
    "application/vnd.ant.react": "jsx",
}
"""The languages of artifacts of some kinds; code names its own."""


class Claude(Format):
    """Conversations, projects and memories of Claude."""

    name = "claude"
    read_as = "data export as of 2026-09"
    inner = _PARTS

    def read(self, files: Files) -> Iterator[Record]:
        conversations = [name for name in files.names if _CONVERSATIONS.fullmatch(name)]
        projects = [name for name in files.names if _PROJECTS.fullmatch(name)]
        memories = [name for name in files.names if _MEMORIES.fullmatch(name)]
        others = [*projects, *memories]
        if not conversations and not others and len(files.names) == 1 and files.names[0].lower().endswith(".json"):
            conversations = list(files.names)
        if not conversations and not others:
            message = f"The export {files.title!r} has no conversations.json."
            raise UsageError(message, remedy="Give the ZIP archive that Claude sent, or its conversations.json.")
        changes = Counter[str]()
        for name in conversations:
            for found in objects(files, name, "item"):
                yield _conversation(found)
                yield from _artifacts(found, changes)
        yield from omitted(changes)
        titles = dict[str, str]()
        for name in projects:
            for found in objects(files, name, "item" if is_list(files, name) else ""):
                titles[text_of(found.get("uuid"))] = text_of(found.get("name")).strip()
                yield from _project(found)
        for name in memories:
            for found in objects(files, name, "item" if is_list(files, name) else ""):
                yield from _memories(found, titles)
        yield from (LeftOut(name, "it is a chat about a design") for name in files.names if _DESIGNS.fullmatch(name))


def _conversation(found: dict[str, Any]) -> Record:
    identifier = id_of(found.get("uuid"), found.get("name"), found.get("created_at"))
    title = text_of(found.get("name")).strip() or "Untitled conversation"
    text = conversation(filter(None, map(_turn, _branch(found))))
    if not text:
        return LeftOut(title, "it has no text")
    return Page(identifier, title, text, moment(found.get("created_at")))


def _branch(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that lead to the last one, without those that an edit or a new answer replaced.

    An export lists the messages of all branches. If it does not say which message follows which, all are returned.
    """
    messages = [mapping(each) for each in lists(found.get("chat_messages"))]
    known = {text_of(each.get("uuid")): each for each in messages}
    parents = [text_of(each.get("parent_message_uuid")) for each in messages]
    roots = [parent for parent in parents if parent not in known]
    if len(set(roots)) != 1 or len(roots) == len(messages) or roots.count("") > 1:
        return messages
    leaves = [each for each in messages if text_of(each.get("uuid")) not in parents]
    if not leaves:
        return messages
    path = list[dict[str, Any]]()
    current = text_of(max(leaves, key=_written).get("uuid"))
    while found_message := known.pop(current, None):
        path.append(found_message)
        current = text_of(found_message.get("parent_message_uuid"))
    return path[::-1]


def _written(message: dict[str, Any]) -> float:
    at = moment(message.get("created_at"))
    return at.timestamp() if at else 0.0


def _turn(message: dict[str, Any]) -> Turn | None:
    speaker = _SPEAKERS.get(text_of(message.get("sender")))
    if speaker is None:
        return None
    blocks = [mapping(block) for block in lists(message.get("content"))]
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    texts = texts if blocks else [text_of(message.get("text"))]
    readable = (_UNSUPPORTED.sub("", text).strip() for text in texts)
    text = "\n\n".join(filter(None, readable))
    given = [mapping(each) for each in lists(message.get("attachments"))]
    bare = [each for each in given if not text_of(each.get("extracted_content")).strip()]
    parts = [*map(_attachment, given), attached([*bare, *lists(message.get("files"))])]
    attachments = "\n\n".join(filter(None, parts))
    return Turn(speaker, "\n\n".join(filter(None, [text.strip(), attachments])), moment(message.get("created_at")))


def _artifacts(found: dict[str, Any], left_out: Counter[str]) -> Iterator[Record]:
    """Yield the artifacts of a conversation in their last state, and count what cannot be applied to them."""
    documents = Documents()
    for message in _branch(found):
        at = moment(message.get("created_at"))
        for block in map(mapping, lists(message.get("content"))):
            call = mapping(block.get("input"))
            if block.get("name") != "artifacts" or not call:
                continue
            key = text_of(call.get("id"))
            text = text_of(call.get("content"))
            known = documents.named(key)
            if text and call.get("command") in {"create", "rewrite"}:
                title = text_of(call.get("title")).strip() or (known.title if known else "Artifact")
                kind = text_of(call.get("type"))
                language = _language(kind, text_of(call.get("language"))) if kind or not known else known.language
                documents[key or id_of(None, title, text)] = Document(title, text, language, at)
                continue
            new = literal(known.text, text_of(call.get("old_str")), text_of(call.get("new_str"))) if known else None
            if known is None or new is None:
                left_out["changes to artifacts"] += 1
            else:
                known.text = new
    yield from documents.pages(f"artifact {id_of(found.get('uuid'), found.get('name'), found.get('created_at'))}")


def _language(kind: str, language: str) -> str | None:
    """Return the language of an artifact of a kind, or None if it is Markdown or plain text."""
    return None if kind in {"", "text/markdown", "text/plain"} else _LANGUAGES.get(kind, language)


def _attachment(found: dict[str, Any]) -> str:
    content = text_of(found.get("extracted_content")).strip()
    name = " ".join(text_of(found.get("file_name")).split()) or "a text"
    return f"Attached: {name}\n\n{fenced(content)}" if content else ""


def _project(found: dict[str, Any]) -> Iterator[Record]:
    project = text_of(found.get("name")).strip() or "Untitled project"
    identifier = id_of(found.get("uuid"), project)
    at = moment(found.get("created_at"))
    parts = [text_of(found.get("description")).strip(), text_of(found.get("prompt_template")).strip()]
    folder = f"projects/{project.replace('/', ' ')} {identifier[:8]}"
    if text := "\n\n".join(filter(None, parts)):
        yield Page(f"project {identifier}", project, text, at, f"{folder}/project")
    for each in map(mapping, lists(found.get("docs"))):
        name = text_of(each.get("filename")).strip() or "document"
        if content := text_of(each.get("content")).strip():
            key = id_of(each.get("uuid"), identifier, name)
            path = f"{folder}/{name.replace('/', ' ').removesuffix('.md')}"
            yield Page(f"document {key}", name, content, moment(each.get("created_at")) or at, path)


def _memories(found: dict[str, Any], titles: Mapping[str, str]) -> Iterator[Record]:
    """Yield what Claude remembers of all conversations, and of each project by its title."""
    account = id_of(found.get("account_uuid"), "account")
    if text := text_of(found.get("conversations_memory")).strip():
        yield Page(f"memory {account}", "What Claude remembers", text, path="memories/conversations")
    for each in map(mapping, lists(found.get("memory_files"))):
        path = text_of(each.get("path")).strip("/")
        text = text_of(each.get("content")).strip()
        if path and text:
            title = f"What Claude remembers: {path.removesuffix('.md')}"
            place = f"memories/files/{path.removesuffix('.md')}"
            yield Page(f"memory {account} file {path}", title, text, moment(each.get("updated_at")), place)
    for project, text in mapping(found.get("project_memories")).items():
        if isinstance(text, str) and text.strip():
            title = f"What Claude remembers of {titles.get(project) or 'a project'}"
            yield Page(f"memory {account} {project}", title, text, path=f"memories/project {project}")
