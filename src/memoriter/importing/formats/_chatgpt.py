"""The data export of ChatGPT: `conversations.json`, or `conversations-000.json` and so on, also inside its ZIP archive.

A conversation is a tree of messages, because a message can be edited and an answer repeated. The branch that ChatGPT
shows, from `current_node` up to the root, becomes the note. What the user and the assistant wrote is kept; system
messages, calls of tools and their output are not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.importing._json import lists, mapping, objects
from memoriter.importing._records import LeftOut, Page, Record, id_of, moment, text_of
from memoriter.importing.formats._conversation import Omitted, Turn, attached, conversation, fenced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.importing._files import Files

_FILE = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json", re.IGNORECASE)
_CITATION = re.compile("\ue200[^\ue201]*\ue201|[\ue200-\ue2ff]")
"""References to web pages and files, in characters of private use."""
_SPEAKERS = {"user": "You", "assistant": "ChatGPT"}
_CONTEXTS = {
    "user_editable_context": "custom instructions",
    "model_editable_context": "lists of what ChatGPT remembers of you",
}
_LONGEST_BRANCH = 100_000


class ChatGpt:
    """Conversations with ChatGPT."""

    name = "chatgpt"
    read_as = "data export as of 2026-09"
    owned = False
    in_place = False
    local_ids = False
    inner = ""

    def read(self, files: Files, *, own: bool) -> Iterator[Record]:
        del own
        names = [name for name in files.names if _FILE.fullmatch(name)]
        if not names and len(files.names) == 1 and files.names[0].lower().endswith(".json"):
            names = list(files.names)
        if not names:
            message = f"The export {files.title!r} has no conversations.json."
            raise UsageError(message, remedy="Give the ZIP archive that ChatGPT sent, or its conversations.json.")
        omitted = Omitted()
        for name in names:
            for found in objects(files, name, "item"):
                yield _page(found, omitted)
        yield from omitted.records()


def _page(found: dict[str, Any], omitted: Omitted) -> Record:
    nodes = mapping(found.get("mapping"))
    identifier = id_of(found.get("conversation_id") or found.get("id"), found.get("title"), found.get("create_time"))
    title = text_of(found.get("title")).strip() or "Untitled conversation"
    if not nodes:
        return LeftOut(title, "it has no messages")
    branch = _branch(nodes, text_of(found.get("current_node")))
    for kind in filter(None, map(_omitted, branch)):
        omitted.add(kind)
    text = conversation(filter(None, map(_turn, branch)))
    if not text:
        return LeftOut(title, "it has no text of the user or the assistant")
    return Page(identifier, title, text, moment(found.get("create_time")))


def _branch(nodes: dict[str, Any], current: str) -> list[dict[str, Any]]:
    """Return the messages from the root to a node, or to the last leaf if the node is unknown."""
    if current not in nodes:
        current = next((key for key in reversed(nodes) if not lists(mapping(nodes[key]).get("children"))), "")
    path, passed = list[dict[str, Any]](), set[str]()
    while current in nodes and current not in passed and len(path) < _LONGEST_BRANCH:
        passed.add(current)
        node = mapping(nodes[current])
        path.append(mapping(node.get("message")))
        current = text_of(node.get("parent"))
    return path[::-1]


def _turn(message: dict[str, Any]) -> Turn | None:
    role = text_of(mapping(message.get("author")).get("role"))
    hidden = mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") is True
    if role not in _SPEAKERS or hidden or text_of(message.get("recipient")) not in {"", "all"}:
        return None
    text = _CITATION.sub("", _text(mapping(message.get("content"))))
    text = "\n\n".join(filter(None, [text, attached(lists(mapping(message.get("metadata")).get("attachments")))]))
    return Turn(_SPEAKERS[role], text, moment(message.get("create_time")))


def _omitted(message: dict[str, Any]) -> str:
    """Return what kind of text of the owner a message has that is no turn of the conversation, or an empty text."""
    if text_of(message.get("recipient")).startswith("canmore.create"):
        return "documents of the canvas"
    return _CONTEXTS.get(text_of(mapping(message.get("content")).get("content_type")), "")


def _text(content: dict[str, Any]) -> str:
    match content.get("content_type"):
        case "text" | "multimodal_text":
            return "\n\n".join(filter(None, map(_part, lists(content.get("parts")))))
        case "code":
            language = text_of(content.get("language"))
            return fenced(text_of(content.get("text")), "" if language == "unknown" else language)
        case _:
            return ""


def _part(part: object) -> str:
    if isinstance(part, str):
        return part.strip()
    values = mapping(part)
    match values.get("content_type"):
        case "audio_transcription":
            return text_of(values.get("text")).strip()
        case "image_asset_pointer":
            return "(an image)"
        case _:
            return ""
