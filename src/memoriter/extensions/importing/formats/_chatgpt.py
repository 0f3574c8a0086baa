"""The data export of ChatGPT: `conversations.json`, or `conversations-000.json` and so on, also inside its ZIP archive.

A conversation is a tree of messages, because a message can be edited and an answer repeated. The branch that ChatGPT
shows, from `current_node` up to the root, becomes the note. What the user and the assistant wrote is kept; system
messages, calls of tools and their output are not. Exceptions are the documents of the canvas, which calls of the tool
`canmore` write and change, the facts that calls of the tool `bio` saved, the custom instructions, and what ChatGPT
remembered when the last conversation of the export began.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.extensions.importing._json import lists, mapping, named, objects, parsed
from memoriter.extensions.importing._records import Entry, Format, LeftOut, Page, Record, id_of, moment, text_of
from memoriter.extensions.importing.formats._conversation import (
    Document,
    Documents,
    Turn,
    attached,
    conversation,
    fenced,
    lowered,
    omitted,
    replaced,
)
from memoriter.ids import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files

_FILE = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json", re.IGNORECASE)
_CITATION = re.compile("\ue200([^\ue201\ue202]*)\ue202?([^\ue201]*)\ue201|[\ue200-\ue2ff]")
"""References to web pages, files and things, in characters of private use: the kind, and what belongs to it."""
_SPEAKERS = {"user": "You", "assistant": "ChatGPT"}
_QUOTED = re.compile(r"```(.*)```", re.DOTALL)
"""Custom instructions in the sentences that ChatGPT puts around them."""
_INSTRUCTIONS = (
    ("About you", "about_user_message", "user_profile"),
    ("How ChatGPT answers", "about_model_message", "user_instructions"),
)
"""For each part of the custom instructions: its heading, and its field in the metadata and in the content."""
_LONGEST_BRANCH = 100_000


class ChatGpt(Format):
    """Conversations with ChatGPT."""

    name = "chatgpt"
    read_as = "data export as of 2026-09"

    def read(self, files: Files) -> Iterator[Record]:
        names = [name for name in files.names if _FILE.fullmatch(name)]
        if not names and len(files.names) == 1 and files.names[0].lower().endswith(".json"):
            names = list(files.names)
        if not names:
            message = f"The export {files.title!r} has no conversations.json."
            raise UsageError(message, remedy="Give the ZIP archive that ChatGPT sent, or its conversations.json.")
        reading = _Reading(_account(files))
        for name in names:
            for found in objects(files, name, "item"):
                yield from reading.conversation(found)
        yield from reading.rest()


def _account(files: Files) -> str:
    """Return the id of the account, or an empty text."""
    users = (user for name in named(files, "user.json") for user in objects(files, name, ""))
    return next((text_of(user.get("id")) for user in users), "")


class _Reading:
    """One export while it is read."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._omitted = Counter[str]()
        self._instructions = set[str]()
        self._memory: tuple[float, str] = (0.0, "")
        """The time of the last conversation that began with a list of what ChatGPT remembers, and the list."""

    def conversation(self, found: dict[str, Any]) -> Iterator[Record]:
        nodes = mapping(found.get("mapping"))
        name = found.get("conversation_id") or found.get("id")
        identifier = id_of(name, found.get("title"), found.get("create_time"))
        title = text_of(found.get("title")).strip() or "Untitled conversation"
        at = moment(found.get("create_time"))
        if not nodes:
            yield LeftOut(title, "it has no messages")
            return
        branch = _branch(nodes, text_of(found.get("current_node")))
        text = conversation(filter(None, map(_turn, branch)))
        yield Page(identifier, title, text, at) if text else LeftOut(title, "it has no text of you or ChatGPT")
        yield from self._canvas(branch).pages(f"canvas {identifier}")
        for message in branch:
            content = mapping(message.get("content"))
            if content.get("content_type") == "user_editable_context":
                yield from self._custom_instructions(message, content)
            elif content.get("content_type") == "model_editable_context":
                time = at.timestamp() if at else 0.0
                if (listed := text_of(content.get("model_set_context")).strip()) and time >= self._memory[0]:
                    self._memory = (time, listed)
            elif message.get("recipient") == "bio" and (fact := _text(content).strip()):
                yield Entry(id_of(message.get("id"), fact), fact, moment(message.get("create_time")) or at, "memories")

    def rest(self) -> Iterator[Record]:
        """Yield what belongs to all conversations."""
        time, listed = self._memory
        if listed:
            key = " ".join(filter(None, ["what ChatGPT remembers", self._account]))
            yield Page(key, "What ChatGPT remembers", listed, moment(time or None), f"memories/{key}")
        yield from omitted(self._omitted)

    def _custom_instructions(self, message: dict[str, Any], content: dict[str, Any]) -> Iterator[Record]:
        """Yield custom instructions, which every conversation repeats, once for each text."""
        written = mapping(mapping(message.get("metadata")).get("user_context_message_data"))
        parts = list[str]()
        for heading, key, wrapped in _INSTRUCTIONS:
            quoted = _QUOTED.search(text_of(content.get(wrapped)))
            text = text_of(written.get(key)) or (quoted[1] if quoted else text_of(content.get(wrapped)))
            parts += [f"# {heading}\n\n{lowered(text.strip())}"] if text.strip() else []
        text = "\n\n".join(parts)
        if text and text not in self._instructions:
            self._instructions.add(text)
            key = content_hash(text)[:16]
            yield Page(f"custom instructions {key}", "Custom instructions", text, path=f"instructions/{key}")

    def _canvas(self, branch: list[dict[str, Any]]) -> Documents:
        """Return the documents of the canvas. The message after a call names the document."""
        documents = Documents()
        for message, answer in zip(branch, [*branch[1:], {}], strict=True):
            recipient = text_of(message.get("recipient"))
            at = moment(message.get("create_time"))
            if not recipient.startswith(("canmore.create", "canmore.update")):
                continue
            content = mapping(message.get("content"))
            call = mapping(parsed(text_of(content.get("text")) or "".join(map(text_of, lists(content.get("parts"))))))
            key = text_of(mapping(mapping(answer.get("metadata")).get("canvas")).get("textdoc_id"))
            if recipient.startswith("canmore.create"):
                if text := text_of(call.get("content")):
                    kind, _, language = text_of(call.get("type")).partition("/")
                    title = text_of(call.get("name")).strip() or "Canvas"
                    document = Document(title, text, language if kind == "code" else None, at)
                    documents[key or id_of(message.get("id"), text)] = document
                else:
                    self._omitted["documents of the canvas that cannot be read"] += 1
            elif (found := documents.named(key)) is None or not _update(found, lists(call.get("updates"))):
                self._omitted["changes to documents of the canvas"] += 1
        return documents


def _update(document: Document, updates: list[Any]) -> bool:
    """Apply the changes to a document that can be applied, and return whether all could."""
    done = 0
    for each in map(mapping, updates):
        new = text_of(each.get("replacement"))
        text = replaced(document.text, text_of(each.get("pattern")), new, every=each.get("multiple") is True)
        if text is not None:
            document.text = text
            done += 1
    return bool(updates) and done == len(updates)


def _branch(nodes: dict[str, Any], current: str) -> list[dict[str, Any]]:
    """Return the messages from the root to a node, or to the last leaf if the node is unknown."""
    if current not in nodes:
        current = next((key for key in reversed(nodes) if not lists(mapping(nodes[key]).get("children"))), "")
    path = list[dict[str, Any]]()
    passed = set[str]()
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
    text = _CITATION.sub(_cited, _text(mapping(message.get("content"))))
    text = "\n\n".join(filter(None, [text, attached(lists(mapping(message.get("metadata")).get("attachments")))]))
    return Turn(_SPEAKERS[role], text, moment(message.get("create_time")))


def _cited(match: re.Match[str]) -> str:
    """Return the words of a reference that ChatGPT shows in the sentence: the name of a thing, or a link."""
    if match[1] == "entity":
        values = lists(parsed(match[2]))
        if len(values) > 1:
            return text_of(values[1])
        return "" if match[2].startswith("[") else match[2]
    words, _, address = (match[2] or "").partition("\ue202")
    is_link = match[1] == "url" and re.fullmatch(r"https?://[^\s()<>]+", address)
    return f"[{words}]({address})" if is_link else ""


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
