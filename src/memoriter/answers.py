"""Every field of the JSON that memoriter prints and sends: its type, its meaning, and when it is absent.

`TABLES` has a block for each object: its name and a sentence, then one field a line, as `name | type | meaning`, and
where a field can be missing, `| when it is absent`: `if none` if there is nothing to say. A type in square brackets is
another object. Words with `|` between them are the only values of a text, and a `share` is a number from 0 to 1. The
JSON of values (`memoriter.api_json`), the schemas of the OpenAPI document and the page docs/reference/json.md follow;
extensions have tables of their own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from memoriter.values import dataclass

TABLES = """
Reason: A diagnostic: what is wrong, and what to do.
code | text | a stable word; [Errors](errors.md) lists all of them
message | text | the cause, as a sentence
remedy | text | the next step, as a sentence; empty if there is none

Error: The answer of a command that failed, as the object `error` with these fields.
code | text | a stable word
message | text | the cause
remedy | text | the next step; may be empty

Health: Whether the memory could look everywhere.
ok | boolean | true if `reasons` is empty
legs | object | `keyword` and `vector`: whether each retriever works
pending | integer | passages without a vector
generation | integer | number of the state of the index; it grows with every change
reasons | list of [Reason] | what is wrong

SearchResult: The result of a search.
results | list of [Hit] | the passages, best first
outcome | match|weak|none | whether the best hit answers the question
provider | text | provider of the vectors
model | text | model of the vectors
mode | hybrid|keyword|vector | the retrievers that took part
citations | on|off | `on` if snippets end with their source, otherwise `off`
health | [Health] | the state of the memory during the search
fallback | [Fallback] | the provider that should have answered | if that provider answered
understood | object | operators, typed lines or a `time` of the question; `newest`: only days were asked for | if none
reasons | list of [Reason] | why nothing was found | if there are hits or `health` has the cause
truncatedBy | text | the setting that limited the size of the answer | if nothing was cut
timings | object | milliseconds of each stage | without `--explain`
certainty | [Certainty] | what decided between `match` and `weak` | without `--explain`, or if the score alone decided
origin | text | the trusted project that the text comes from; tools and HTTP only | if the notes are the owner's own

Fallback: Which provider failed, and why.
from | text | provider that should have answered
reason | text | why it did not

Certainty: [How certain](../search.md#how-sure-it-is) it is that the first hit answers.
value | number | the sum of its score, its meaning score, and a share of what the judge says
threshold | number | the value that a match exceeds

Hit: One passage.
path | text | the note, relative to the folder of notes
startLine | integer | first line, from 1
endLine | integer | last line, inclusive
score | share | 0 to 1; it does not depend on the other hits
snippet | text | the beginning of the passage, at most 700 characters, and its source if `citations` is `on`
source | text | `memory` for notes, `sessions` for transcripts
citation | text | path and lines, such as `MEMORY.md#L3-L5` | with citations turned off
heading | list of text | the headings above the passage | if none
date | text | the day of the note | if none
changed | text | the day (UTC) of the last change of its file | if the note has a day
outsideTime | boolean | true: it is not of the time that the question names | if none
answerLines | list of integer | first and last line that most likely answer | if the judge did not read the passage
author | text | who wrote it, such as `agent, 2026-02-10`; tools and HTTP only | if only the owner did
explain | [Explanation] | how the score was computed | without `--explain`
text | text | the whole passage; command line and HTTP only | in the answers of tools

Explanation: How a hit got its score.
legs | list of text | the retrievers that proposed the passage
terms | list of text | words of the question that the passage contains
cosine | number or null | cosine of the question and the passage; null without a vector
vector | number or null | the cosine above the background, as a share of a perfect match
keyword | number | the score of the words, 0 to 1
coverage | number | share of the weight of the words that the passage contains
saturation | number | how often the words occur, 0 to 1
neighbours | number | what neighbouring passages contribute
raw | number | weighted sum of both retrievers
calibrated | number | `raw`, mapped to 0 to 1
decay | number | factor for the age of the note
rank | integer | place before the reranker | if no reranker read the passage
reranked | integer | place in the order of the reranker | if no reranker read the passage
relevance | number | the score of the reranker | if no reranker read the passage
lines | list of [LineScore] | what each line of a typed query contributed | for a plain question

LineScore: The part of one line of a typed query.
line | integer | number of the line, from 1
kind | text | `lex`, `vec` or `hyde`
score | number | score of the passage for this line
place | integer or null | place in the list of the line; null if its score is too low
share | number | what the place adds to the order of hits

Unavailable: The answer of `memory_search` if the memory could not be searched.
results | list | empty
disabled | boolean | true; the name that OpenClaw uses | after a wrong parameter
unavailable | boolean | true | after a wrong parameter
error | text | the cause
warning | text | what the model must not conclude | after a wrong parameter
action | text | the next step
code | text | a stable word

Excerpt: Lines of a note.
path | text | the note
text | text | the lines
truncated | boolean | true: the text was cut at the limit of size | if none
reasons | list of [Reason] | why the text is empty | if none
hash | text or null | hash of the whole note, for `replace`; HTTP only | on the command line and for tools
origin | text | the trusted project that the text comes from; tools and HTTP only | if the notes are the owner's own

Refusal: The answer of `get` for a path that is not memory.
path | text | the path that was asked for
text | text | empty
disabled | boolean | true; the name that OpenClaw uses
error | text | the cause and the remedy
code | text | a stable word, mostly `path_refused`

Appended: Where an entry was written.
path | text | the note
startLine | integer | first line of the entry
endLine | integer | last line of the entry
citation | text | path and lines
existing | boolean | true: the same text was already there, and nothing was written | if none
health | [WriteHealth] | whether the next search finds it

AgentEntry: The answer of `memory_append`: the fields of [Appended], and how it went.
written | boolean | false: the same text was already there
path | text | the note
startLine | integer | first line of the entry
endLine | integer | last line of the entry
citation | text | path and lines
existing | boolean | true: the same text was already there, and nothing was written | if none
health | [WriteHealth] | whether the next search finds it
findable | boolean | whether `memory_search` finds it from now on
reason | text | why it is not found yet | if none

NotWritten: The answer of `memory_append` if nothing was written.
written | boolean | false
error | text | the cause
action | text | the next step

WriteHealth: Whether the next search finds what was written.
ok | boolean | true if `reasons` is empty
reasons | list of [Reason] | why the next search may not find it

IndexReport: What a run of indexing did.
agent | text | the agent | if the configuration has one agent
files | integer | files in the index
added | integer | new files
changed | integer | changed files
removed | integer | files that are gone
chunks | integer | passages in the index
embedded | integer | vectors that were computed
cached | integer | passages whose vectors were known already, and vectors copied from other memories
failed | integer | passages that the model refused
seconds | number | duration
pending | integer | passages that still wait for a vector
unread | integer | changed files that there was no time to read
reasons | list of [Reason] | what was wrong during the run
health | [Health] | the state of the index after the run | if none

Estimate: What `index --dry-run` would do.
dryRun | boolean | true
files | integer | files that are memory
added | integer | new files
changed | integer | changed files
removed | integer | files that are gone
chunks | integer | passages of new and changed files
tokens | integer | tokens to embed, approximately
price | number or null | US dollars; null if the price is unknown
priceSeen | text | year and month of the price; may be empty
seconds | number or null | expected duration; null if it was not measured
skipped | list of [Skipped] | paths that are left out

Skipped: A path that is not memory.
path | text | the path
reason | text | [a stable word](errors.md#paths-that-are-left-out)
message | text | the cause

Started: The answer of `index --background`.
started | boolean | false if a run was already under way
log | text | file of the log

WatchEvent: One event of `watch`; each is one line.
kind | text | `waiting`, `watching`, `polling`, `indexed`, `trouble`, `recovered`, `joined`, `missing` or `stopped`
time | text | ISO 8601, UTC
folders | integer | number of watched folders | for other events than the beginning
report | [IndexReport] | what was indexed | for other events than `indexed`
reason | [Reason] | the cause | if none

Status: The state of one agent's memory. The command prints a list of these.
agent | text | the agent
workspace | text | folder of notes
workspaceReason | text | why this folder
trust | text | `owner`, `trusted` or `untrusted`
layout | text | `notes` or `openclaw`: which files are memory
index | text | file of the index
indexBytes | integer | its size
files | integer | indexed files
chunks | integer | indexed passages
sources | list of [Source] | counts for each kind of source
vectors | integer | passages with a vector
pending | integer | passages that wait for a vector
failed | integer | passages that the model refused
stale | integer | notes that changed since they were indexed
provider | text | provider of the vectors
model | text | model of the vectors
dimensions | integer | numbers in one vector
vectorEngine | text | engine that compares vectors
scoring | text | `calibrated`, `classic` or `rrf`
backend | text | `builtin` or `qmd`
leavesMachine | boolean | true if text is sent over the network
endpoint | text | where text is sent; empty if it stays
keySource | text | where the key comes from; never the key
background | [Background] or null | cosine of unrelated passages; null before it is measured
health | [Health] | the state of the memory
skipped | list of [Skipped] | paths that are left out
notices | list of [Reason] | files of other users, settings without effect | if none
lastAttempt | [Attempt] | the last attempt to reach the service | if none
indexing | [Run] | the run in the background | if none
indexReason | text | why the index is not in its usual place | if none
oversampling | integer | vectors compared exactly for each result | if all are compared
recall | number | the share of the nearest vectors that is found, as measured on a sample | if all are compared
canaries | list of [Canary] | test searches | without `--deep`
reranker | [Reranker] | the reranker of the settings | if none
longTermMemories | integer | number of long-term memories | if none
sidecar | [Sidecar] | the program that answers searches | with the builtin engine alone

Source: Counts of one kind of source.
kind | text | `memory` or `sessions`
files | integer | indexed files
chunks | integer | indexed passages

Background: The cosine of unrelated passages.
mean | number | its mean
deviation | number | its standard deviation

Attempt: An attempt to reach a service.
time | text | ISO 8601, UTC
ok | boolean | whether it succeeded
reason | [Reason] | why it failed | if none

Run: A process that indexes in the background.
pid | integer | number of the process
since | text | ISO 8601, UTC
stage | text | `read`, `embed` or `download`; empty at the beginning
done | integer | finished steps
total | integer | all steps

Canary: One test search.
citation | text | the passage
query | text | its rarest words
found | boolean | whether the search found it
lost | list of text | the retrievers that did not

Reranker: The reranker of the settings.
provider | text | service or kind of model
model | text | its model
endpoint | text | where passages are sent; empty if they stay
keySource | text | where the key comes from; never the key
leavesMachine | boolean | true if passages are sent over the network

Sidecar: The program that answers searches.
name | text | `qmd`
answering | text | the engine that answers at present
binary | text | path of the program
version | text | its version; may be empty
transport | text | how it is asked
mode | text | its search mode
home | text | folder of its index
documents | integer or null | documents at its last update
vectors | integer or null | documents with vectors
pending | integer or null | documents without vectors
collections | list of [Collection] | the folders that it searches
lastUpdate | text | ISO 8601, UTC | before the first update
lastEmbed | text | ISO 8601, UTC | before the first vectors
lastErrorAt | text | ISO 8601, UTC | if none
reason | [Reason] | why the builtin engine answers | if none
lastError | [Reason] | why its last run failed | if none

Collection: A folder that QMD searches.
name | text | name of the collection
path | text | its folder
pattern | text | pattern of its files
files | integer or null | files at the last update
missing | boolean | true if the folder does not exist

WhyNot: Why a search does not find a passage.
query | text | the question
citation | text | the lines that were asked about
passage | text | the passage with these lines; empty if there is none
found | boolean | whether a hit has these lines
place | integer or null | place of that hit
hits | integer | number of hits
stage | text or null | the stage that lost the passage
stages | list of [Stage] | every stage, in order
score | number or null | the score of the passage
lastScore | number or null | the score of the last hit
candidacy | [Candidacy] | how near it came to being a candidate | if the search did not get that far
explain | [Explanation] | how the score was computed | if none
fix | [Fix] | the smallest change that brings it back | if it is found, or no change helps
remedy | text | what else helps | if none
reasons | list of [Reason] | what was wrong with the memory
eval | [Effect] | what the change does to your own questions; command line only | without a fix or a file of questions
added | boolean | true: the question was added to that file; command line only | without `--add`

Stage: One stage of a search.
stage | text | its name
status | text | `passed`, `lost`, `warned` or `not_reached`
message | text | what happened

Candidacy: How near a passage came to being a candidate.
limit | integer | passages that each retriever proposes
keyword | integer or null | place in the order of the keyword retriever
vector | integer or null | place in the order of the vector retriever
depth | integer | places that were looked at
missing | list of text | words of the question that the passage does not have

Fix: The smallest change that brings a passage back.
changes | list of [Change] | settings with other values
leaveOut | list of text | filters to leave out
verified | boolean | true if a search with the change found the passage
place | integer or null | its place in that search

Change: One setting with another value.
key | text | as `config set` takes it
now | any | the value in force
value | any | the other value
option | text | the option of `search` that does the same | if none

Effect: What a change of settings does to your own questions.
file | text | the file of questions
questions | integer | questions in it
answered | integer | questions that were answered before
gained | list of text | questions that are answered only with the change
lost | list of text | questions that are answered only without it

ForgetPlan: What `forget --dry-run` would delete.
dryRun | boolean | true
notes | list of [Removal] | lines of notes
transcripts | list of text | transcripts
indexed | list of text | files whose copies in the index go
journaled | integer | changes in the journal whose copy of the text is erased
kept | list of text | files that stay
unfinished | boolean | whether an earlier run was interrupted
unreached | list of [Reason] | where the text may still be
recovered | list of [Reason] | what was finished first of writes whose process was killed

Receipt: What `forget` deleted.
notes | list of [Removal] | lines of notes
transcripts | list of text | transcripts
journaled | integer | changes in the journal whose copy of the text was erased
kept | list of text | files that stayed
index | [CompactReport] or null | what was removed from the index; null if it was not reached
left | list of [Reason] | the steps that remain
unreached | list of [Reason] | where the text may still be
recovered | list of [Reason] | what was finished first of writes whose process was killed

StoreCopy: What a copy of an index holds, and how it was checked.
agent | text or null | the agent, if several are served
dryRun | boolean | whether nothing was copied
files | integer | files in the copy
chunks | integer | their chunks
vectors | integer | vectors of all models, also unused ones
models | integer | models that have vectors
copied | integer | vectors that the copy did not have before
waiting | integer | texts without a vector, in both
questions | integer | questions that were asked of both
different | list of text | those with other hits or scores
seconds | number | duration
setting | text | the setting that chooses the store
value | text | its value for the copy
switched | boolean | whether it was set
file | text or null | where it was set

StoredIndex: An index of `store list`.
name | text | the workspace and the agent on a server, or the name of the file; what `store drop` takes
owner | text or null | the role of the server that owns it; null for a file
passages | integer or null | passages; null if it cannot be read now
vectors | integer or null | vectors of all models, also unused ones; null if it cannot be read now
bytes | integer or null | size on disk; null if it cannot be read now
changedAt | text or null | when it was last indexed, in UTC; null if that is unknown

DroppedIndex: An index that was deleted.
dropped | [StoredIndex] | the index as it was

Removal: Passages of one note.
path | text | the note
whole | boolean | whether the file itself is removed
passages | list of [Passage] | its passages

Passage: Lines of a note.
startLine | integer | first line
endLine | integer | last line
text | text | the lines

CompactReport: What making the index smaller did.
bytesBefore | integer | size before
bytesAfter | integer | size after
vectors | integer | vectors that were removed
unused | integer | unused vectors that were kept
damaged | list of text | damaged indexes that had been set aside
damagedBytes | integer | their size
damagedRemoved | boolean | whether they were removed
seconds | number | duration
reasons | list of [Reason] | writes whose process was killed: those that were finished, and those that wait

Captures: The records of conversations.
captures | list of [Capture] | the records

Capture: One record of a conversation.
id | text | eight hexadecimal digits
day | text | the day
client | text | the program, such as `claude-code`
kind | text | `summary` or `prompts`
citation | text | path and lines
path | text | the note
startLine | integer | first line
endLine | integer | last line
text | text | its lines

UndoneCaptures: The answer of the operation that removes a record.
captures | list of [Capture] | the removed records
receipts | list of [Receipt] | one for each of them, the last record first

History: Changes of notes.
changes | list of [NoteChange] | the newest first; for a line, the one that it is from, if the journal knows it
replaced | list of text | the lines in whose place a line came | unless a line is asked for
damaged | integer | lines of the journal that cannot be read
dropped | integer | changes that were dropped because they were old or there was no room

NoteChange: One change of a note.
id | text | ten hexadecimal digits; a commit of Git has its own
at | text | when it was made or, for other programs, seen
path | text | the note
citation | text | the note, with the lines that were added if they are in one place
who | text | `owner`, the author as in marks, or empty: another program, such as an editor
act | text | such as `append`, `remove`, `forget`, `tidy`, `undo`; `seen`: by another program; `found`: as first seen
session | text | the conversation | if none
state | text | `done`, `failed`, or `unknown`: the process was killed meanwhile
removed | list of text | the lines that went
added | list of text | the lines that came
of | list of text | the changes that it took back | if none

NoteDifference: A note now, and as it was.
path | text | the note
lines | list of text | the difference in the unified format

TakenBack: What taking changes back did, or would do.
dryRun | boolean | whether nothing was changed
changes | list of [NoteChange] | the changes
notes | list of [NoteWithout] | the notes that change
conflicts | list of [Conflict] | changes of which something stays, because others changed their lines since
unknown | list of [NoteChange] | changes that stay, because the journal does not know the note since

NoteWithout: A note without some changes.
path | text | the note
removed | list of text | the lines that go
numbers | list of integer | the number of each
restored | list of text | the lines that come back
changes | list of text | the changes, by their ids

Conflict: A change whose lines were changed since.
change | [NoteChange] | the change
now | list of text | the lines of the note now

Tidy: What would make the notes shorter or truer.
proposals | list of [Proposal] | nothing of them is done yet
reasons | list of [Reason] | why the language model did not compare all statements

Proposal: A change of notes that is proposed.
id | text | the same whenever the same statements are proposed
kind | merge|move|outdated | whether statements are repeated, last, or were changed by a later one
reason | text | the same, as a sentence
removed | list of [Statement] | the statements that go
kept | [Statement] | the statement that stays | if none of them stays
added | text | what comes into the long-term memory | if nothing does

Statement: A sentence of a note.
citation | text | its lines
text | text | the sentence
author | text | who wrote it; empty: the owner

Cost: What was spent at services.
days | list of [Spending] | the newest day first
today | [Spent] | the sum of today (UTC)
budget | [Budget] | the daily limit

Spending: What one model cost on one day.
day | text | the day (UTC)
provider | text | the service
model | text | the model
calls | integer | requests
tokens | integer | tokens
unpriced | integer | tokens with an unknown price
dollars | number | US dollars

Spent: The sum of today.
tokens | integer | tokens
dollars | number | US dollars

Budget: The daily limit.
tokensPerDay | integer or null | tokens; null: no limit
dollarsPerDay | number or null | US dollars; null: no limit

Checks: The result of `doctor`.
ok | boolean | whether nothing is broken
findings | list of [Finding] | one for each check

Finding: One check of `doctor`.
check | text | what was checked
state | text | `good`, `note` or `broken`
message | text | the result
remedy | text | the next step; may be empty

Settings: The result of `config show`: one field for each setting, with its key as the name.

SettingValue: One setting of `config show`.
value | any | its value; keys and passwords are masked
from | [Origin] | where the value comes from

Origin: Where a value comes from.
kind | text | such as `default` or `file`
path | text | the file | if none
line | integer | the line in the file | if none

Setting: The result of `config get`.
key | text | the full key
value | any | its value; keys and passwords are masked
from | [Origin] | where the value comes from

SettingChanged: The result of `config set` and `config unset`.
key | text | the full key
file | text | the file
changed | boolean | whether the file was changed

ConfigCheck: The result of `config check`.
ok | boolean | false if there is a mistake
files | list of text | the files that were read | if there is a mistake
ignored | list of text | keys that are OpenClaw's own | if there is a mistake
warnings | list of [Reason] | settings without effect and similar | if there is a mistake
error | [Error] | the mistake | if none

Installation: The result of `install`.
client | text | the client
dryRun | boolean | whether nothing was written
workspace | text or null | the notes that the client will open; null with `--http` or `--remove`, or if unknown
files | list of [InstalledFile] | the files of the client

InstalledFile: One file of a client.
file | text | its path
outcome | text | `created`, `changed`, `unchanged` or `deleted`
diff | text | the change, as a unified diff
backup | text or null | the copy of the earlier file
holdsToken | boolean | true: the file contains the token | if none

TrustedFolder: One folder of `trust --list`.
folder | text | its path
state | text | `trusted`, `missing` or `replaced` by another folder

Trusting: One folder that `trust` was called with.
folder | text | its path
trusted | boolean | true | with `--remove`
removed | boolean | whether it had been trusted | without `--remove`

Token: The result of `token`.
token | text | the owner's token
file | text or null | its file; null if it comes from `MEMORITER_TOKEN`

NewToken: The result of `token create`.
name | text | the name
scope | text | `metrics`, `read`, `write` or `admin`
principal | text | the principal; may be empty
workspace | text | absolute path of the only workspace whose server accepts it | if any server does
also | list of text | absolute paths of further workspaces | if none
expiresAt | text | ISO 8601, UTC; servers refuse it from then on | if none
token | text | the token, which is printed only once

ListedToken: One token of `token list`.
name | text | the name
scope | text | `metrics`, `read`, `write` or `admin`
createdAt | text | ISO 8601, UTC
expiresAt | text | ISO 8601, UTC; servers refuse it from then on | if none
lastUsedAt | text | ISO 8601, UTC; within a minute | if no server has accepted it yet
principal | text | the principal | if none
workspace | text | absolute path of the only workspace whose server accepts it | if any server does
also | list of text | absolute paths of further workspaces | if none
perSecond | number | requests per second over a longer time
atOnce | integer or null | requests that run at the same time; null: any number
bytesPerMinute | integer or null | bytes of requests and answers per minute; null: any number

Revoked: The result of `token revoke`.
revoked | [ListedToken] | the token

Serving: What `serve` prints when it listens.
url | text | address of the server
mcp | text | address for MCP clients
watching | boolean | whether it indexes notes while they change
open | text | link for a browser | if no link could be made, or with `--log-format json`

Part: A part of the memory after it was tried.
name | text | `builtin`, `vector search`, `qmd`, `plugins` or `memory-lancedb`
works | boolean | whether it works
message | text | what it is, or why it does not work
remedy | text | the next step | if none
code | text | the code of the problem | if none

Map: The passages in two dimensions.
points | list of [MapPoint] | passages with a vector; of more than 2,000 passages, a sample
groups | list of [MapGroup] | groups of similar passages, the largest first
duplicates | list of [NearDuplicates] | passages that are nearly the same, the largest set first
chunks | integer | passages in the index
vectors | integer | passages with a vector
similarity | number | the cosine from which passages count as nearly the same
variance | list of share | the share of the differences that each axis shows, 0 to 1
reasons | list of [Reason] | why there is nothing to show

MapPoint: A passage and its place.
citation | text | path and lines
path | text | the note
startLine | integer | first line, from 1
text | text | its beginning, in one line of at most 160 characters
x | number | −1 to 1
y | number | −1 to 1, on the same scale
group | integer | position of its group in `groups`, from 0
heading | list of text | the headings above the passage

MapGroup: Passages whose vectors are near to one centre.
size | integer | passages
centre | integer | position in `points` of the passage that is nearest to the centre
files | list of [GroupFile] | up to three files, those with most of the passages first

GroupFile: A file of a group.
path | text | the note
passages | integer | its passages in the group

NearDuplicates: Passages that are nearly the same.
points | list of integer | positions in `points`, from 0
similarity | number | the lowest cosine of the pairs that connect them

Days: The days of a year that have notes.
year | integer | the year
years | list of integer | years with notes, the present year and the one that was asked for
today | text | the present day in the owner's time zone
days | list of [DayCounts] | the days, in order

DayCounts: How much was written on a day.
day | text | the day
paths | list of text | its notes
lines | integer | lines that are not blank
captures | integer | records of conversations
others | integer | entries that somebody else wrote, records included

Day: What was written, captured and recalled on a day.
day | text | the day
notes | list of [DayNote] | the notes of the day
changed | list of text | notes without a day that were last changed on it
captures | list of [Capture] | the records of conversations in its notes
recalled | list of [Recalled] | the conversations that used the notes on it last

DayNote: A note of a day.
path | text | the note
text | text | its text
lines | integer | lines that are not blank
truncated | boolean | whether `text` was cut at the limit of size
others | list of [MarkedEntry] | entries that somebody else wrote

MarkedEntry: Lines with a mark of who wrote them.
origin | text | the words of the mark
startLine | integer | first line
endLine | integer | last line

Recalled: A conversation that used the notes.
session | text | the client's id of the conversation
audience | text | `private` or `shared`: whether others read it
context | boolean | whether it began with the context of the notes
passages | integer | passages that were put before its turns since it began or was last compacted
at | text | when this last changed; ISO 8601, UTC

Files: The files that are memory.
files | list of [File] | a part of the files, by their paths
total | integer | number of all files
next | text | the value of `after` for the next part | in the last part

File: One file.
path | text | the note
source | text | `memory` or `sessions`
bytes | integer | its size
changedAt | text | ISO 8601, UTC

Replaced: The result of `replace`.
path | text | the note
hash | text | hash of the new text
marked | boolean | whether the text was written with marks of its author
health | [WriteHealth] | whether the next search finds it

Problem: A refusal of the HTTP API (RFC 9457).
type | text | a URN with the code
title | text | the name of the status
status | integer | the status
detail | text | the cause
code | text | [a stable word](http.md#refusals)
remedy | text | the next step
errors | list of [FieldError] | the wrong fields | for other refusals than `usage`
needed | text | the scope that is needed | for other refusals than `scope`
limit | requests|at_once|bytes|streams | the limit of the caller | for other refusals than `rate`
path | text | the note | for other refusals than `write_conflict`
text | text or null | its present text | for other refusals than `write_conflict`
hash | text or null | its present hash | for other refusals than `write_conflict`
truncated | boolean | true: `text` was cut | if none

FieldError: One wrong field of a request.
field | text | its name
message | text | what is wrong

Progress: How far an indexing run is that a request started.
stage | text | `read`, `embed` or `download`
done | integer | parts that are done
total | integer | all parts; 0 if their number is unknown

Changed: The index changed, and no event `indexed` reports it.
version | text | a name of its content, the same for all servers of the memory; after each change, another one

Reset: Events are missing, so the client must read the state again.
cause | text | `missed`: the server no longer keeps them; `restarted`: they were of another run of the server
events | integer | how many are missing | after `restarted`
"""
Schema = dict[str, Any]
IN_HTTP = frozenset({"in the answers of tools", "on the command line and for tools"})
"""The words about fields that are never absent from an answer of the HTTP API."""
TYPES: dict[str, Schema] = {
    "any": {},
    "text": {"type": "string"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "object": {"type": "object"},
    "list": {"type": "array"},
}
"""The JSON schemas of simple types."""


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field of an object."""

    name: str
    type: str
    meaning: str
    absent: str = ""
    """When it is absent; empty: never."""


@dataclass(frozen=True, slots=True)
class ObjectTable:
    """One object."""

    name: str
    text: str
    fields: tuple[FieldRow, ...]


@cache
def fields_of(name: str, tables: str = "") -> tuple[FieldRow, ...]:
    """Return the fields of an object of an extension's tables, or of `TABLES` if these do not have it.

    Only its block is read, because most commands print few objects.
    """
    start = f"\n{name}: "
    _, _, block = (tables if start in tables else TABLES).partition(start)
    return _read_block(name, block.partition("\n\n")[0]).fields


def objects_of(*texts: str) -> dict[str, ObjectTable]:
    """Return the objects in tables by their names. A later block with a known name adds fields to its object."""
    found = dict[str, ObjectTable]()
    for block in (block for text in texts for block in text.strip().split("\n\n")):
        name, _, rest = block.partition(": ")
        table = _read_block(name, rest)
        known = found.get(name)
        found[name] = table if known is None else replace(known, fields=(*known.fields, *table.fields))
    return found


def _read_block(name: str, block: str) -> ObjectTable:
    sentence, *rows = block.splitlines()
    return ObjectTable(name, sentence, tuple(FieldRow(*row.split(" | ")) for row in rows))


def schemas_of(tables: dict[str, ObjectTable]) -> dict[str, Schema]:
    """Return the JSON schemas of objects in answers of the HTTP API; their members may become more at any time."""
    return {name: _object_schema(table) for name, table in tables.items() if table.fields}


def _object_schema(table: ObjectTable) -> Schema:
    rows = [row for row in table.fields if not row.meaning.endswith("command line only")]
    required = [row.name for row in rows if not row.absent or row.absent in IN_HTTP]
    return {
        "type": "object",
        "properties": {row.name: schema_of(row.type) for row in rows},
        "required": required,
    }


def schema_of(type_text: str) -> Schema:
    """Return the JSON schema of a type in the tables.

    >>> schema_of("list of text"), schema_of("integer or null")
    ({'type': 'array', 'items': {'type': 'string'}}, {'anyOf': [{'type': 'integer'}, {'type': 'null'}]})
    """
    if type_text.startswith("list of "):
        return {"type": "array", "items": schema_of(type_text.removeprefix("list of "))}
    if " or " in type_text:
        return {"anyOf": [schema_of(kind) for kind in type_text.split(" or ")]}
    if type_text == "null":
        return {"type": "null"}
    if type_text.startswith("["):
        return {"$ref": f"#/components/schemas/{type_text.strip('[]')}"}
    return {"type": "string", "enum": type_text.split("|")} if "|" in type_text else TYPES[type_text]
