"""Measure long-term memories on the samples in `data/`, and print the report: `just eval-longterm`."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_term import NOTE, long_term_env
from memoriter.agent import Message, escape_for_prompt
from memoriter.ids import content_hash
from memoriter.statements import Statement, classic_capture, find_statements, replaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memoriter import Memory
    from memoriter.extensions.longterm.api import LongTermMemories

DATA = Path(__file__).parents[1] / "extensions" / "longterm" / "data"
HALVES = ("dev", "held-out")
LANGUAGES = {"en": "English", "ko": "Korean", "zh": "Chinese", "ja": "Japanese", "de": "German", "es": "Spanish"}
MORE_TURNS = {
    "hard-turns.jsonl": "72 harder",
    "everyday-turns.jsonl": "160 of every day",
    "reported-turns.jsonl": "200 of others or one's own",
    "later-turns.jsonl": "127 more of them, later",
}
"""Files of further messages, and how the report names them."""
FRAMES: dict[str, Callable[[str], str]] = {
    "a speaker": "Eva in the chat: {}".format,
    "a speaker above it": "Eva:\n{}".format,
    "an introduction": "What does this page want?\n\nThe page says:\n{}".format,
    "curly quotation marks": "Eva wrote “{}” to me, is that normal?".format,
    "straight quotation marks": 'Eva wrote "{}" to me, is that normal?'.format,
    "an open quotation mark": "Is this true: „{}".format,
    "quoted lines": lambda text: "What is this?\n> " + text.replace("\n", "\n> "),
    "a separating line": "Look at this.\n---\n{}".format,
    "a pasted block": "What does this mean?\n\n{}\nI live in Oslo.\nI like tea.".format,
}
"""How a message passes on the words of somebody else, by structures that are the same in every language."""
SESSION = "report"
UNRELATED = ("unrelated-prompts.txt", "task-prompts.txt")
"""Files of prompts that bear on no memory."""
SIZES = (0, 12, 3)
"""Memories of each language in a folder; 0: all languages in one folder."""


@cache
def statement_in(text: str) -> Statement | None:
    """Return the surest statement of a message; each message is read once."""
    return max(find_statements(text), key=lambda statement: statement.score, default=None)


def samples(name: str) -> list[dict[str, Any]]:
    """Return the objects of a file of samples."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@dataclass
class Counts:
    """How often a decision was right and wrong."""

    hits: int = 0
    false: int = 0
    missed: int = 0

    def add(self, *, wanted: bool, found: bool) -> None:
        self.hits += wanted and found
        self.false += found and not wanted
        self.missed += wanted and not found

    @property
    def precision(self) -> str:
        return ratio(self.hits, self.hits + self.false)

    @property
    def recall(self) -> str:
        return ratio(self.hits, self.hits + self.missed)


def ratio(part: int, whole: int) -> str:
    """Return a share with its 95 % interval after Wilson (1927), such as `0.95 (0.90-0.98)`."""
    if not whole:
        return "none"
    share = part / whole
    z = 1.96
    middle = share + z * z / (2 * whole)
    spread = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    low = (middle - spread) / (1 + z * z / whole)
    high = (middle + spread) / (1 + z * z / whole)
    return f"{share:.2f} ({low:.2f}-{high:.2f})"


def capture_counts(turns: Iterable[dict[str, Any]], *, classic: bool = False) -> dict[str, Counts]:
    """Return the counts of each language, and of `all`."""
    counts: defaultdict[str, Counts] = defaultdict(Counts)
    for turn in turns:
        found = classic_capture(turn["text"]) if classic else statement_in(turn["text"]) is not None
        for name in (turn["language"], "all"):
            counts[name].add(wanted=turn["capture"], found=found)
    return counts


def category_share(turns: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """Return how many captured statements have the labelled category, and how many were captured rightly."""
    found = [(statement_in(turn["text"]), turn) for turn in turns if turn["capture"]]
    pairs = [(statement.category, turn["category"]) for statement, turn in found if statement]
    return sum(own == label for own, label in pairs), len(pairs)


def recaptured(turns: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """Return how many recalled memories are captured again from messages that repeat them, and how many were tried."""
    again = tried = 0
    for turn in turns:
        if not turn["capture"]:
            continue
        listed = f"1. [{turn['category']}] {turn['text']}"
        escaped = listed.replace("<", "&lt;")
        blocks = (
            f"<relevant-memories>\n{listed}\n</relevant-memories>\n\nhello",
            f"<memoriter-recall>\n{listed}\n</memoriter-recall>\nhello",
            f"> <relevant-memories>\n> {listed}\n> </relevant-memories>\n\nhello",
            f"&lt;relevant-memories&gt;\n{escaped}\n&lt;/relevant-memories&gt;\nhello",
            f"<relevant-memories>\n{listed}",
            listed,
        )
        for block in blocks:
            tried += 1
            again += bool(find_statements(block))
        for block in blocks[:4]:
            # Between two statements of the user, which may be captured themselves.
            tried += 1
            found = find_statements(between(block.removesuffix("hello").strip()))
            again += any(turn["text"] in statement.text for statement in found)
    return again, tried


def framed_and_kept(turns: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """Return how many messages that should be kept are kept although others said them, and how many were tried."""
    messages = [frame(turn["text"]) for turn in turns if turn["capture"] for frame in FRAMES.values()]
    return sum(bool(find_statements(message)) for message in messages), len(messages)


def between(foreign: str) -> str:
    """Return a message in which a text of somebody else is between two statements of the user."""
    return f"I live in Bergen.\n{foreign}\nI prefer tea to coffee."


def replacement_counts(pairs: Iterable[dict[str, Any]]) -> Counts:
    """Return how often the rules agree with the labels about what replaces what."""
    counts = Counts()
    for pair in pairs:
        counts.add(wanted=pair["replaces"], found=replaces(pair["old"], pair["new"]))
    return counts


def attacks_that_arrive(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return for each kind of attack how many passed for the owner's words before a turn, as the words of an agent, and
    how many were tried.

    Each attack reaches memoriter as it would in use: as a message of the user with capture on, as a call of the tool
    `memory_store`, or as lines of the note. Then the user asks with the very words of the attack.
    """
    counts: dict[str, tuple[int, int, int]] = {}
    for attack in samples("attacks.jsonl"):
        env = long_term_env(folder / attack["id"], autoCapture=True)
        memory = env.open()
        deliver(memory, env.notes, attack)
        block = memory.session(SESSION, audience="private").recall(attack["text"]).prepend_context
        needles = attack["needle"] if attack["channel"] == "between" else [""]
        statements = [
            line for line in block.splitlines() if line[:1].isdigit() and any(part in line for part in needles)
        ]
        quoted = [line for line in statements if "] Written by agent" in line]
        own, by_agent, tried = counts.get(attack["kind"], (0, 0, 0))
        own += len(quoted) < len(statements)
        by_agent += bool(quoted) and len(quoted) == len(statements)
        counts[attack["kind"]] = own, by_agent, tried + 1
        env.close()
    return counts


def deliver(memory: Memory, notes: Path, attack: dict[str, Any]) -> None:
    """Bring an attack into the memory by its channel."""
    match attack["channel"]:
        case "user":
            memory.session(SESSION, audience="private").capture([Message("user", attack["text"])])
        case "passed on":
            for number, frame in enumerate(FRAMES.values()):
                message = Message("user", frame(attack["text"]))
                memory.session(f"{SESSION}-{number}", audience="private").capture([message])
        case "between":
            memory.session(SESSION, audience="private").capture([Message("user", between(attack["text"]))])
        case "tool":
            tool = next(tool for tool in memory.tools if tool.name == "memory_store")
            tool.run(memory, {"text": attack["text"], "category": "preference"}, session_key=SESSION)
        case "note":
            note = notes / NOTE
            note.parent.mkdir(exist_ok=True)
            note.write_text(f"# Long-term memory\n\n{attack['text']}\n", encoding="utf-8")
            from memoriter.extensions.longterm.api import rebuild

            rebuild(memory.long_term)
        case other:
            raise ValueError(other)


@dataclass
class Injections:
    """How many prompts get memories."""

    right: int = 0
    """Questions that get the memory they ask for."""
    questions: int = 0
    shown: int = 0
    """Memories that the questions get."""
    wrong: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Prompts of each file that bear on no memory, and get one."""
    folders: int = 0


def prompts_of(name: str) -> list[str]:
    """Return the prompts of a file of data, one in each line."""
    return (DATA / name).read_text(encoding="utf-8").splitlines()


def memory_sets(half: str, size: int) -> list[dict[str, Any]]:
    """Return sets of captured messages by their ids: all of a half (0), or the first of each language."""
    turns = {turn["id"]: turn for turn in samples("turns.jsonl") if turn["half"] == half and turn["capture"]}
    if not size:
        return [turns]
    return [dict([pair for pair in turns.items() if pair[0].startswith(code)][:size]) for code in LANGUAGES]


def injections(folder: Path, half: str = "dev", size: int = 0) -> Injections:
    """Return how many prompts get memories, with the bundled model, from each of the `memory_sets`.

    Args:
        folder: an empty folder.
        half: `dev` or `held-out`.
        size: one of `SIZES`.
    """
    counts = Injections()
    for number, turns in enumerate(memory_sets(half, size)):
        env = long_term_env(folder / f"{half}-{size}-{number}", provider="bundled")
        memory = env.open()
        store_all(memory.long_term, turns.values())
        for name in UNRELATED:
            counts.wrong[name] += sum(bool(recalled(memory, prompt)) for prompt in prompts_of(name))
        for each in samples("related-prompts.jsonl"):
            if each["turn"] in turns:
                block = recalled(memory, each["prompt"])
                counts.questions += 1
                counts.right += escape_for_prompt(turns[each["turn"]]["text"][:12]) in block
                counts.shown += sum(line[:1].isdigit() for line in block.splitlines())
        counts.folders += 1
        env.close()
    return counts


def recalled(memory: Memory, prompt: str) -> str:
    """Return the text before a turn, in a conversation of its own, because recall repeats nothing within one."""
    return memory.session(content_hash(prompt)[:16], audience="private").recall(prompt).prepend_context


def store_all(memories: LongTermMemories, turns: Iterable[dict[str, Any]]) -> None:
    for turn in turns:
        memories.store(turn["text"], origin="owner", category=turn["category"])


def lines(*, whole: bool = True) -> Iterator[str]:
    """Yield the lines of the report; without `whole`, only the part that needs no store."""
    turns = samples("turns.jsonl")
    pairs = samples("pairs.jsonl")
    yield "# Long-term memories: report"
    yield ""
    folder = "tests/extensions/longterm/data"
    yield f"`just eval-longterm` prints this page from the samples in `{folder}`; its README describes them."
    yield "Brackets hold 95 % intervals (Wilson). The rules were tuned on the halves `dev` only; of the everyday"
    yield "messages and of those of others, the totals of the half `held-out` were seen meanwhile."
    yield ""
    yield "## What is captured"
    yield ""
    yield "| messages | half | language | precision | recall |"
    yield "|---|---|---|---|---|"
    for half in HALVES:
        counts = capture_counts(turn for turn in turns if turn["half"] == half)
        for code, name in (*LANGUAGES.items(), ("all", "all")):
            yield f"| 300 | {half} | {name} | {counts[code].precision} | {counts[code].recall} |"
    for name, label in MORE_TURNS.items():
        for half in HALVES:
            counts = capture_counts(turn for turn in samples(name) if turn["half"] == half)["all"]
            yield f"| {label} | {half} | all | {counts.precision} | {counts.recall} |"
    counts = capture_counts(turns, classic=True)["all"]
    yield f"| 300, rules of OpenClaw | both | all | {counts.precision} | {counts.recall} |"
    yield ""
    right, found = category_share(turn for turn in turns if turn["half"] == "held-out")
    yield f"The category is right for {right} of {found} captured statements of the held-out half."
    again, tried = recaptured(turns)
    yield f"Of {tried} messages that repeat recalled memories, {again} are captured again."
    kept, framed = framed_and_kept(turns)
    yield f"Of {framed} messages that pass on these statements as the words of somebody else, {kept} are captured."
    yield ""
    yield "## What replaces an older memory"
    yield ""
    yield "| half of 50 pairs | precision | recall |"
    yield "|---|---|---|"
    for half in HALVES:
        counts = replacement_counts(pair for pair in pairs if pair["half"] == half)
        yield f"| {half} | {counts.precision} | {counts.recall} |"
    if whole:
        yield from store_lines()


def store_lines() -> Iterator[str]:
    """Yield the part of the report that needs LanceDB and the bundled model."""
    with tempfile.TemporaryDirectory() as folder:
        reached = attacks_that_arrive(Path(folder) / "attacks")
        found = [(half, size, injections(Path(folder), half, size)) for half in HALVES for size in SIZES]
    yield ""
    yield "## What is put before a turn"
    yield ""
    yield "With the bundled model. Folders have 72 memories in six languages, or 12 or 3 memories in one language."
    yield "The columns of prompts that bear on no memory are averages over the folders."
    yield ""
    yield "| half | memories | questions that get theirs | memories each | of 100 unrelated | of 70 tasks |"
    yield "|---|---|---|---|---|---|"
    for half, size, counts in found:
        wrong = " | ".join(f"{counts.wrong[name] / counts.folders:.1f}" for name in UNRELATED)
        each = f"{counts.shown / counts.questions:.1f}"
        right = ratio(counts.right, counts.questions)
        yield f"| {half} | {size or 72} | {right} | {each} | {wrong} |"
    yield ""
    yield "## Attacks"
    yield ""
    yield "| kind | tried | as the owner's words | as the words of an agent |"
    yield "|---|---|---|---|"
    for kind, (own, by_agent, tried) in reached.items():
        yield f"| {kind} | {tried} | {own} | {by_agent} |"
    own, by_agent, tried = (sum(counts) for counts in zip(*reached.values(), strict=True))
    yield f"| all | {tried} | {own} | {by_agent} |"


if __name__ == "__main__":
    for line in lines():
        sys.stdout.write(f"{line}\n")
