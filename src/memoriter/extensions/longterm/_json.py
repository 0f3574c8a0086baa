"""The JSON about long-term memories: every field, as in `memoriter.answers.TABLES`, and the form of each result."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from memoriter.api_json import iso_time, json_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.extensions.longterm._records import Candidate, LongTermMemory
    from memoriter.extensions.longterm._results import LongTermForgotten, LongTermHit, LongTermStats, Rebuilt, Stored

TABLES = """
Memory: A long-term memory.
id | text | its identifier
text | text | the statement
category | text | its category
importance | share | 0 to 1
createdAt | text | ISO 8601, UTC
origin | text | who wrote it, such as `owner` or `agent`
trusted | boolean | whether it may be put before a turn
status | text | `active` or `superseded`
supersededBy | text | identifier of the newer memory | if none
supersedes | text | identifier of the older memory | if none
session | text | the conversation that it comes from | if none
span | [Span] | the place in that conversation | if none
score | number | similarity to the question | outside of searches
inOpenClaw | boolean | true: it is only in the table of OpenClaw | if none

Span: A place in a conversation.
speaker | text | who said it
message | integer | number of the message
start | integer | first character
end | integer | end of the characters

FoundMemories: The result of a search in long-term memories.
memories | list of [Memory] | the memories, best first
nearest | list of [Memory] | the three best below the lowest score | if there are memories above it, or none at all
reasons | list of [Reason] | what was wrong | if none

StoredMemory: The result of storing a memory.
stored | boolean | false if a similar memory was there already
memory | [Memory] | the memory
similarity | number | similarity to the memory that was there | if none
masked | boolean | true: a secret was masked | if none
reasons | list of [Reason] | what was wrong | if none

ForgottenMemories: The result of forgetting memories.
forgotten | list of [Memory] | the deleted memories
lines | integer | deleted lines of the note
rows | integer | deleted rows of the database
restored | list of [Memory] | what a deleted memory had replaced, and what is current again | if none
candidates | list of [Memory] | the memories that may be meant | if it is clear
left | list of [Reason] | the steps that remain | if none

MemoryStats: The state of the long-term memories.
memories | integer | number of memories
byCategory | object | counts for each category
byOrigin | object | counts for each origin
superseded | integer | memories that were replaced
withheld | integer | memories that are not put before a turn
stored | integer | rows of the database
database | text | its place
model | text | model of its vectors
principal | text | whose memories they are
openclaw | [OpenClawTable] | OpenClaw's table that the settings name | if none
fragments | integer | parts of the table | if there is no database yet
versions | integer | versions of the table | if there is no database yet
bytes | integer or null | size of the table; null in a bucket | if there is no database yet
indexed | integer | rows in the vector index | if there is no database yet
usesIndex | boolean | whether searches use it | if there is no database yet
otherModels | object | memories in the database with vectors of other models, by model | if none
reasons | list of [Reason] | what was wrong | if none

OpenClawTable: The table of OpenClaw's plugin, which is only read.
folder | text | its folder
memories | integer | its entries with text
missing | integer | those of them that the note does not have

Rebuilt: The result of `ltm rebuild`.
memories | integer | number of memories
added | integer | rows added
changed | integer | rows changed
removed | integer | rows removed
numbered | integer | lines that got an identifier

Imported: The result of `ltm import`.
added | integer | memories that were copied
present | integer | memories that were there already
skipped | integer | entries without text

Candidate: A statement in the inbox.
id | text | its identifier
text | text | the statement
category | text | its category
score | number | how sure the capture is
createdAt | text | ISO 8601, UTC
expiresAt | text | when it is dropped
origin | text | who said it
supersedes | text | identifier of the memory that it replaces | if none
session | text | the conversation that it comes from | if none
span | [Span] | the place in that conversation | if none

Accepted: A statement of the inbox that was stored: the fields of [StoredMemory], and the statement.
candidate | [Candidate] | the statement
stored | boolean | false if a similar memory was there already
memory | [Memory] | the memory
similarity | number | similarity to the memory that was there | if none
masked | boolean | true: a secret was masked | if none
reasons | list of [Reason] | what was wrong | if none

RestoredCandidate: A statement that waits in the inbox again.
candidate | [Candidate] | the statement
forgotten | [ForgottenMemories] | the memory that it had become, which was forgotten | if the request named none

Day: of the long-term memories.
memories | list of [Memory] | the long-term memories of the day
candidates | list of [Candidate] | the statements of the day that wait in the inbox
longTerm | [Reason] | why there are no long-term memories | if none
"""

_json_of = partial(json_of, tables=TABLES)


def memory_json(memory: LongTermMemory, replaced: Mapping[str, str] | None = None) -> dict[str, Any]:
    answer = _json_of("Memory", memory)
    newer = (replaced or {}).get(memory.id)
    if newer and memory.status == "superseded":
        answer["supersededBy"] = newer
    return answer


def hit_json(hit: LongTermHit, replaced: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a memory that a search found, with its score."""
    return {**memory_json(hit.memory, replaced), "score": round(hit.score, 4)}


def stored_json(stored: Stored) -> dict[str, Any]:
    similarity = {"similarity": round(stored.similarity, 4)} if stored.existing else {}
    answer = _json_of("StoredMemory", stored, without={"similarity"})
    return {"stored": not stored.existing, **answer, **similarity}


def forgotten_memories_json(receipt: LongTermForgotten) -> dict[str, Any]:
    """Return the receipt of forgetting, or the candidates."""
    candidates = {"candidates": [hit_json(hit) for hit in receipt.candidates]} if receipt.candidates else {}
    return {**_json_of("ForgottenMemories", receipt, without={"candidates"}), **candidates}


def rebuilt_json(rebuilt: Rebuilt) -> dict[str, Any]:
    return _json_of("Rebuilt", rebuilt)


def stats_json(stats: LongTermStats) -> dict[str, Any]:
    answer = _json_of("MemoryStats", stats, without={"usesIndex"})
    state = stats.state
    if state is None:
        return answer
    of_state = _json_of("MemoryStats", state, without={"memories"})
    return {**answer, **of_state, "bytes": state.bytes, "usesIndex": stats.uses_index}


def candidate_json(candidate: Candidate, days: float) -> dict[str, Any]:
    """Return a candidate that is dropped after so many days."""
    answer = _json_of("Candidate", candidate, without={"expiresAt"})
    return {**answer, "expiresAt": iso_time(candidate.expires_at(days))}
