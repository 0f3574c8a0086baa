"""What each command, tool and event answers with, and whether a real answer has the fields of `memoriter.answers`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memoriter.answers import TABLES, ObjectTable, objects_of
from memoriter.extensions.importing.commands import TABLES as IMPORT_TABLES
from memoriter.extensions.longterm._json import TABLES as LONG_TERM_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = """
search | [SearchResult]
day | [SearchResult]
recent | [SearchResult]
get | [Excerpt], or [Refusal]
why-not | [WhyNot]
remember | [Appended]
index | [IndexReport]; [Estimate] with `--dry-run`; [Started] with `--background`; a list for several agents
watch | [WatchEvent] in each line
capture list | [Captures]
capture undo | [Receipt], or [ForgetPlan] with `--dry-run`
history | [History]
diff | list of [NoteDifference]
undo | [TakenBack]
rollback | [TakenBack]
review | [History]
forget | [Receipt], or [ForgetPlan] with `--dry-run`
tidy | [Tidy]
import | [ImportReport]; [Imports] with `--list`; [ImportUndone] with `--undo`
export | [Exported]
serve | [Serving]; with `--link`, only `open`
token | an object [Token]
token create | [NewToken]
token list | list of [ListedToken]
token revoke | [Revoked]
install | [Installation]
trust | list of [Trusting]; list of [TrustedFolder] with `--list`
ltm list | list of [Memory]
ltm search | [FoundMemories]
ltm store | [StoredMemory]
ltm forget | [ForgottenMemories]
ltm stats | [MemoryStats]
ltm rebuild | [Rebuilt]
ltm export | nothing of its own: JSON Lines for `ltm import`, also without `--json`
ltm import | [Imported]
ltm inbox | list of [Candidate]
ltm accept | list of [Accepted]
ltm reject | list of [Candidate]
ltm edit | [Candidate]
ltm trust | list of [Memory]; list of [ForgottenMemories] with `reject`
status | list of [Status]
doctor | [Checks]
cost | [Cost]
compact | [CompactReport]
store copy | [StoreCopy]; with several agents, a list
store list | list of [StoredIndex]
store drop | [DroppedIndex]
config show | [Settings] of [SettingValue]
config get | [Setting]
config set | [SettingChanged]
config unset | [SettingChanged]
config check | [ConfigCheck]
config path | a line of text, also with `--json`
init | a line of text, also with `--json`
mcp | messages of MCP; the tools are below
hook | what the client of the hook expects
eval run | [the report of an evaluation](../../benchmarks/evaluation.md)
eval tune | [the settings that were tried](../../benchmarks/evaluation.md)
"""
TOOLS = """
memory_search | [SearchResult], or [Unavailable]
memory_get | [Excerpt], or [Refusal]
memory_append | [AgentEntry], or [NotWritten]
"""
EVENTS = """
ready | an object without fields
progress | [Progress]
idle | an object without fields
indexed | [IndexReport] after a request; [WatchEvent] after a change of a note
changed | [Changed]
watching | [WatchEvent]
polling | [WatchEvent]
waiting | [WatchEvent]
trouble | [WatchEvent]
recovered | [WatchEvent]
joined | [WatchEvent]
missing | [WatchEvent]
stopped | [WatchEvent]
reset | [Reset]
"""
"""The data of each event of the HTTP API, by the name of the event."""
OBJECTS = objects_of(TABLES, LONG_TERM_TABLES, IMPORT_TABLES)
NAME = re.compile(r"\[([A-Z]\w+)\](?!\()")
"""The name of an object in a type."""
TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "share": (int, float),
    "object": (dict,),
    "list": (list,),
}


def type_of_answer(answer: str) -> str:
    """Return the type, as in the tables, of an answer of an operation."""
    return re.sub(r"[A-Z]\w+", r"[\g<0>]", answer)


def linked(text: str, page: str = "") -> str:
    """Return a type as the reference shows it, with a link to each object on a page; empty: this page."""
    short = re.sub(r"list of (\[?\w+\]?)", r"\1[]", text).replace(" or null", "/null")
    return NAME.sub(lambda match: f"[{match[1]}]({page}#{match[1].lower()})", short)


def differences(value: Any, type_text: str, place: str) -> Iterator[str]:
    """Yield what a real value has that the page does not say, and the other way round."""
    if type_text == "any":
        return
    if isinstance(value, list):
        inner = type_text.removeprefix("list of ")
        if inner == type_text != "list":
            yield f"{place}: a list instead of {type_text}"
        for number, item in enumerate(value):
            yield from differences(item, inner, f"{place}[{number}]")
        return
    kind, _, null = type_text.partition(" or ")
    if value is None:
        if null != "null":
            yield f"{place}: null instead of {type_text}"
    elif name := NAME.fullmatch(kind):
        yield from differences_of_object(value, OBJECTS[name[1]], place)
    elif "|" in kind:
        if value not in kind.split("|"):
            yield f"{place}: {value!r} instead of {type_text}"
    elif not isinstance(value, TYPES[kind]) or (kind != "boolean" and isinstance(value, bool)):
        yield f"{place}: {value!r} instead of {type_text}"


def differences_of_object(value: Any, table: ObjectTable, place: str) -> Iterator[str]:
    """Yield the same for an object."""
    if not isinstance(value, dict):
        yield f"{place}: {value!r} instead of {table.name}"
        return
    rows = {row.name: row for row in table.fields}
    yield from (f"{place}.{name} is not on the page" for name in value.keys() - rows.keys())
    yield from (f"{place}.{row.name} is missing" for row in table.fields if not row.absent and row.name not in value)
    for name in value.keys() & rows.keys():
        yield from differences(value[name], rows[name].type, f"{place}.{name}")


def check(value: Any, type_text: str) -> None:
    """Assert that a real value has the fields that the page gives its type, and no others."""
    assert list(differences(value, type_text, type_text)) == []


def check_event(name: str, data: Any) -> None:
    """Assert that the data of an event of the HTTP API have the fields of one of its objects on the page."""
    (answer,) = [line.split(" | ")[1] for line in EVENTS.strip().split("\n") if line.startswith(f"{name} |")]
    names = NAME.findall(answer)
    found = {each: list(differences(data, f"[{each}]", name)) for each in names}
    assert [] in found.values() if names else data == {}, (name, data, found)
