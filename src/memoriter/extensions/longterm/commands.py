"""`memoriter ltm`: the commands about long-term memories."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import click

from memoriter.api_json import reason_json
from memoriter.cli import (
    DONE,
    FAILED,
    Command,
    CommandGroup,
    GlobalOptions,
    check_trust,
    is_interactive,
    pluralize,
    read_stdin,
    untrusted_notice,
)
from memoriter.errors import UsageError, sentence
from memoriter.extensions.longterm._render import (
    SHORT_ID,
    count_memories,
    found_rows,
    listed_rows,
    memory_line,
    open_long_term,
    restored_lines,
    show_hits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from memoriter.cli import Line, Screen
    from memoriter.extensions.longterm.api import (
        Candidate,
        Category,
        LongTermForgotten,
        LongTermMemories,
        LongTermMemory,
        LongTermStats,
    )

OPENCLAW_FOLDER = "~/.openclaw/memory/lancedb"
LONGEST = 256 << 20
"""Maximum bytes of an export that is imported."""
SEARCH_LIMIT = 5
SEARCH_FLOOR = 0.3
"""Memories that `ltm search` prints, and their lowest score, as in OpenClaw."""
AS_OF = click.option(
    "--as-of",
    metavar="DAY",
    help="As the memories were at the end of this day (UTC): 2026-02-10, yesterday or 7d. Default: now.",
)
CATEGORY = click.Choice(["preference", "fact", "decision", "entity", "other"])
IDS = click.argument("ids", nargs=-1, metavar="[ID]...")
EVERY = click.option("--all", "everything", is_flag=True, help="All candidates.")


@click.group(cls=CommandGroup, name="ltm", section="For agents", invoke_without_command=True)
@click.pass_context
def ltm_command(context: click.Context) -> None:
    """Search and change long-term memories.

        memoriter ltm list
        memoriter ltm search which language do I prefer
        memoriter ltm forget "I prefer tea."

    They are single statements that agents store and recall. They are on if plugins.slots.memory names
    memory-lancedb, and need the extra longterm. Each memory is a line of memory/long-term.md, which you may edit,
    and a row of a LanceDB database. Next: memoriter ltm stats.
    """
    if context.invoked_subcommand is None:
        GlobalOptions.current().screen.text(context.get_help())


@ltm_command.command(cls=Command, name="list")
@click.option("--category", type=CATEGORY, help="Only memories of this category.")
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="At most so many, the newest.")
@AS_OF
def list_(category: str | None, limit: int | None, as_of: str | None) -> None:
    """List long-term memories, the newest last.

        memoriter ltm list
        memoriter ltm list --category decision -n 10 --json
        memoriter ltm list --as-of 2026-02-10

    Each line ends with the id, for memoriter ltm forget. If the settings name a table of OpenClaw (--openclaw, or
    dbPath), its memories are listed, too, and marked; memoriter ltm import copies them. Next: memoriter ltm search.
    """
    from memoriter.extensions.longterm.api import memory_json

    options = GlobalOptions.current()
    screen = options.screen
    with open_long_term(options) as memory:
        table = listed_rows(memory.long_term, as_of)
        known = sorted((*memory.long_term.memories(as_of=as_of), *table.memories), key=lambda each: each.created_at)
        memories = [each for each in known if category in {None, each.category}]
        replaced = memory.long_term.replaced(as_of=as_of)
    shown = memories[-limit:] if limit else memories
    if screen.as_json:
        screen.json([{**memory_json(each, replaced), **table.json_mark(each)} for each in shown])
    else:
        for each in shown:
            screen.show([memory_line(each, replaced, table.marks.get(each.id, ""))])
        if not shown:
            screen.note((("There are no long-term memories" + (f" of {category!r}." if category else "."), ""),))
    table.show_note(screen)


@ltm_command.command(cls=Command, name="search")
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), metavar="N", default=SEARCH_LIMIT, show_default=True)
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="S", default=SEARCH_FLOOR, show_default=True)
@AS_OF
def search(query: tuple[str, ...], *, limit: int, min_score: float, as_of: str | None) -> None:
    """Search long-term memories by meaning and by word.

        memoriter ltm search which language do I prefer
        memoriter ltm search --as-of 2026-02-10 database --json

    The score is 0 for unrelated text and at most 1. A memory that a newer one has replaced is marked. If no
    score is high enough, the nearest memories are printed, with a note. The exit code is 0 in any case. Next:
    memoriter ltm forget ID.
    """
    from memoriter.extensions.longterm.api import NEAREST, hit_json

    options = GlobalOptions.current()
    screen = options.screen
    with open_long_term(options) as memory:
        memories = options.show_egress_notice(memory).long_term
        words = " ".join(query)
        answer = memories.search(words, limit=limit, floor=min_score, as_of=as_of)
        table = found_rows(memories, words, limit=limit, floor=min_score, as_of=as_of)
    hits = sorted((*answer.hits, *table.hits), key=lambda hit: -hit.score)[:limit]
    nearest = [] if hits else sorted((*answer.nearest, *table.nearest), key=lambda hit: -hit.score)[:NEAREST]
    table = replace(table, nearest=tuple(hit for hit in table.nearest if hit in nearest))
    if screen.as_json:
        all_reasons = (*answer.reasons, *table.reasons)
        reasons = {"reasons": [reason_json(each) for each in all_reasons]} if all_reasons else {}
        found, near = (
            [{**hit_json(hit, answer.replaced), **table.json_mark(hit.memory)} for hit in each]
            for each in (hits, nearest)
        )
        screen.json({"memories": found, **({"nearest": near} if near else {}), **reasons})
        return
    show_hits(hits or nearest, screen, answer.replaced, table.marks)
    if nearest:
        screen.note(((f"No score is {min_score:g} or more: these are the nearest memories.", ""),))
    elif not hits:
        screen.note((("No long-term memory fits.", ""),))
    screen.show_diagnostics(answer.reasons)
    table.show_note(screen)


@ltm_command.command(cls=Command, name="store")
@click.argument("text", nargs=-1, required=True)
@click.option("--category", type=CATEGORY, default="other", show_default=True, help="What it is about.")
@click.option("--importance", type=click.FloatRange(0, 1), metavar="I", default=0.7, show_default=True, help="0 to 1.")
@click.option("--supersedes", metavar="ID", default="", help="The older memory that this one replaces.")
def store(text: tuple[str, ...], *, category: Category, importance: float, supersedes: str) -> None:
    """Store one statement of yours.

        memoriter ltm store "I prefer TypeScript to Python." --category preference
        echo "The ledger runs on PostgreSQL." | memoriter ltm store -

    Nothing is stored if a memory says the same. Secrets are replaced by ***. In the folder of a project, the memory is
    yours, too, and agents that work there get it once you trust the folder (memoriter trust). Next: memoriter ltm list.
    """
    from memoriter.extensions.longterm.api import stored_json

    options = GlobalOptions.current()
    screen = options.screen
    statement = read_stdin() if text == ("-",) else " ".join(text)
    with open_long_term(options) as memory:
        check_trust(memory.place, screen)
        untrusted = untrusted_notice(memory.place, screen)
        memories = options.show_egress_notice(memory).long_term
        stored = memories.store(
            statement, origin="owner", importance=importance, category=category, supersedes=supersedes
        )
    if screen.as_json:
        screen.json(stored_json(stored))
        return
    state = f"Already there ({stored.similarity:.2f}): " if stored.existing else "Stored: "
    screen.show([((state, ""), *memory_line(stored.memory))])
    if stored.masked:
        screen.note((("A secret in the text was replaced by ***.", "yellow"),))
    screen.show_diagnostics((*stored.reasons, *untrusted))


@ltm_command.command(cls=Command, name="forget")
@click.argument("what", nargs=-1, required=True, metavar="ID|QUERY...")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.pass_context
def forget(context: click.Context, what: tuple[str, ...], *, yes: bool) -> None:
    """Delete a long-term memory permanently: by its id, or by a query that says what it says.

        memoriter ltm forget 0b4e9c1e-6f1c-4f0e-9d0e-3c1b7f6f2a11
        memoriter ltm forget "I prefer TypeScript to Python." --yes

    It goes from memory/long-term.md, from the index of the notes and from every version of the database. If several
    memories may be meant, they are listed, nothing is deleted, and the exit code is 1. Next: memoriter ltm list.
    """
    from memoriter.extensions.longterm.api import forgotten_memories_json, is_beginning_of_id

    options = GlobalOptions.current()
    screen = options.screen
    words = " ".join(what).strip()
    if not yes:
        if not is_interactive(screen):
            raise UsageError("Confirmation is needed, and nobody can be asked here.", remedy="Add --yes to confirm.")
        click.confirm(f"Delete the memory {words!r} for good?", abort=True, err=True)
    with open_long_term(options) as memory:
        memories = memory.long_term
        receipt = memories.forget_id(words) if is_beginning_of_id(words) else memories.forget(words)
    if screen.as_json:
        screen.json(forgotten_memories_json(receipt))
    else:
        screen.show(list(_receipt_lines(receipt)))
        show_hits(receipt.candidates, screen)
        screen.show_diagnostics(receipt.left)
    context.exit(DONE if receipt.forgotten and not receipt.left else FAILED)


@ltm_command.command(cls=Command, name="stats")
def stats() -> None:
    """Show how many long-term memories there are, where, and whether note and database agree.

        memoriter ltm stats
        memoriter ltm stats --json

    Next: memoriter ltm rebuild, if they differ.
    """
    from memoriter.extensions.longterm.api import stats, stats_json

    options = GlobalOptions.current()
    screen = options.screen
    with open_long_term(options) as memory:
        found = stats(memory.long_term)
    if screen.as_json:
        screen.json(stats_json(found))
        return
    for name, value in stats_rows(found):
        screen.show([((f"{name:<11}", "dim"), (value, ""))])
    screen.show_diagnostics(found.reasons)


@ltm_command.command(cls=Command, name="rebuild")
@click.option("--all", "everything", is_flag=True, help="Compute all vectors again.")
def rebuild(*, everything: bool) -> None:
    """Make the database hold what memory/long-term.md says.

        memoriter ltm rebuild
        rm -r ~/.memoriter/memory/lancedb && memoriter ltm rebuild

    Items that you added, edited or deleted in the note are added, changed or deleted in the database, also after you
    chose another embedding model or deleted the database. Next: memoriter ltm stats.
    """
    from memoriter.extensions.longterm.api import rebuild, rebuilt_json

    options = GlobalOptions.current()
    screen = options.screen
    with open_long_term(options) as memory:
        check_trust(memory.place, screen)
        result = rebuild(options.show_egress_notice(memory).long_term, everything=everything)
    if screen.as_json:
        screen.json(rebuilt_json(result))
        return
    done = f"{result.added} added, {result.changed} changed, {result.removed} removed"
    screen.show([((f"{count_memories(result.memories)}: {done}.", ""),)])
    if result.numbered:
        screen.note(((f"{pluralize(result.numbered, 'item')} of the note got an id.", ""),))


@ltm_command.command(cls=Command, name="export")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    show_default=True,
    help="One JSON object for each memory, or Markdown as in memory/long-term.md.",
)
def export(form: Literal["jsonl", "markdown"]) -> None:
    """Print all long-term memories, without their vectors.

        memoriter ltm export > memories.jsonl
        memoriter ltm export --format markdown > memories.md
        memoriter ltm export | jq -r .text

    Both formats have everything that memoriter ltm import --own needs to restore the memories in another folder of
    notes. Next: memoriter ltm import.
    """
    from memoriter.extensions.longterm.api import export_markdown, export_rows

    options = GlobalOptions.current()
    screen = options.screen
    with open_long_term(options) as memory:
        memories = memory.long_term.memories()
    if form == "markdown":
        screen.text(export_markdown(memories))
        return
    for row in export_rows(memories):
        screen.json_line(row)


@ltm_command.command(cls=Command, name="import")
@click.argument("source", default=OPENCLAW_FOLDER, metavar="[DIR|FILE|-]")
@click.option("--own", is_flag=True, help="The file is your own export: believe it about who wrote and approved what.")
def import_(source: str, *, own: bool) -> None:
    """Copy the memories of an export, or of OpenClaw's plugin.

        memoriter ltm import memories.jsonl --own
        memoriter ltm import memories.md
        memoriter ltm import ~/.openclaw/memory/lancedb

    A file has JSON Lines or Markdown, as memoriter ltm export prints them; - is stdin. A folder has the database of
    OpenClaw, which is only read. Memories keep their ids, times and links; those that are there already are left out,
    so it can be repeated. Without --own, and from OpenClaw, which does not record who wrote a memory, the copies are
    not put before a turn until you approve them. If a line is wrong, nothing is imported. Next: memoriter ltm trust
    review.
    """
    from memoriter.environment import expand_home
    from memoriter.extensions.longterm.api import import_openclaw, import_text

    options = GlobalOptions.current()
    screen = options.screen
    path = expand_home(source)
    is_folder = source != "-" and not path.is_file() and (path.is_dir() or source == OPENCLAW_FOLDER)
    if is_folder and own:
        raise click.UsageError("The option --own is for an export: OpenClaw does not record who wrote a memory.")
    text = "" if is_folder else _read(source, path)
    with open_long_term(options) as memory:
        check_trust(memory.place, screen)
        memories = options.show_egress_notice(memory).long_term
        result = import_openclaw(memories, path) if is_folder else import_text(memories, text, own=own)
    if screen.as_json:
        screen.json({"added": result.added, "present": result.present, "skipped": result.skipped})
        return
    rest = f"{result.present} were there already, {result.skipped} have no text"
    screen.show([((f"{count_memories(result.added)} copied; {rest}.", ""),)])


@ltm_command.command(cls=Command, name="inbox")
def inbox() -> None:
    """List the statements that wait for your decision, the oldest first.

        memoriter ltm inbox
        memoriter ltm inbox --json

    Statements come here if autoCapture is "inbox". They are lines of memory/inbox.md, which you may edit, and are
    dropped after 30 days (inboxDays). Next: memoriter ltm accept, reject or edit.
    """
    from memoriter.extensions.longterm.api import inbox_of

    options = GlobalOptions.current()
    with open_long_term(options) as memory:
        found = inbox_of(memory.long_term)
        waiting = found.read().candidates
    _show(waiting, found.days, options.screen)


@ltm_command.command(cls=Command, name="accept")
@IDS
@EVERY
def accept(ids: tuple[str, ...], *, everything: bool) -> None:
    """Store statements of the inbox as long-term memories.

        memoriter ltm accept 3f2a91c0
        memoriter ltm accept --all

    The beginning of an id is enough. If a statement replaces an older memory, that one is kept and marked.
    Next: memoriter ltm list.
    """
    from memoriter.extensions.longterm.api import candidate_json, inbox_of, stored_json

    options = GlobalOptions.current()
    screen = options.screen
    wanted = _wanted(ids, everything=everything)
    with open_long_term(options) as memory:
        check_trust(memory.place, screen)
        memories = options.show_egress_notice(memory).long_term
        found = inbox_of(memories)
        done = found.accept(wanted, memories)
        days = found.days
    if screen.as_json:
        screen.json(
            [{"candidate": candidate_json(each.candidate, days), **stored_json(each.stored)} for each in done.accepted]
        )
        return
    for each in done.accepted:
        state = "Already there: " if each.stored.existing else "Stored: "
        screen.show([((state, ""), *memory_line(each.stored.memory))])
    if not done.accepted:
        screen.note((("The inbox is empty.", ""),))
    screen.show_diagnostics(done.reasons)


@ltm_command.command(cls=Command, name="reject")
@IDS
@EVERY
def reject(ids: tuple[str, ...], *, everything: bool) -> None:
    """Drop statements of the inbox; the same words are not proposed again.

        memoriter ltm reject 3f2a91c0
        memoriter ltm reject --all

    The beginning of an id is enough. Next: memoriter ltm inbox.
    """
    from memoriter.extensions.longterm.api import inbox_of

    options = GlobalOptions.current()
    wanted = _wanted(ids, everything=everything)
    with open_long_term(options) as memory:
        check_trust(memory.place, options.screen)
        found = inbox_of(memory.long_term)
        dropped = found.reject(wanted)
    _show(dropped, found.days, options.screen, before="Dropped: ")


@ltm_command.command(cls=Command, name="edit")
@click.argument("identifier", metavar="ID")
@click.argument("text", nargs=-1)
@click.option("--category", type=CATEGORY, help="What it is about.")
def edit(identifier: str, text: tuple[str, ...], *, category: Category | None) -> None:
    """Change the words or the category of a statement in the inbox.

        memoriter ltm edit 3f2a91c0 "I prefer TypeScript to Python."
        memoriter ltm edit 3f2a91c0 --category decision

    Next: memoriter ltm accept.
    """
    from memoriter.extensions.longterm.api import candidate_json, inbox_of

    options = GlobalOptions.current()
    screen = options.screen
    if not text and category is None:
        raise click.UsageError("Give the new words, or --category.")
    with open_long_term(options) as memory:
        check_trust(memory.place, screen)
        words = " ".join(text) if text else None
        found = inbox_of(memory.long_term)
        changed = found.edit(identifier, text=words, category=category)
        days = found.days
    if screen.as_json:
        screen.json(candidate_json(changed, days))
        return
    screen.show([(("Changed: ", ""), *_line(changed, days))])


def _wanted(ids: Sequence[str], *, everything: bool) -> Sequence[str]:
    if bool(ids) == everything:
        raise click.UsageError("Give ids as `memoriter ltm inbox` prints them, or --all.")
    return ["all"] if everything else ids


def _show(candidates: Sequence[Candidate], days: float, screen: Screen, *, before: str = "") -> None:
    """Print candidates that are dropped after so many days, each with a word before it."""
    from memoriter.extensions.longterm.api import candidate_json

    if screen.as_json:
        screen.json([candidate_json(each, days) for each in candidates])
        return
    for each in candidates:
        screen.show([((before, ""), *_line(each, days))])
    if not candidates:
        screen.note((("The inbox is empty.", ""),))


def _line(candidate: Candidate, days: float) -> Line:
    until = datetime.fromtimestamp(candidate.expires_at(days), tz=UTC).date().isoformat()
    marks = [f"until {until}", f"score {candidate.score:.2f}"]
    marks += [candidate.origin] * (candidate.origin != "owner")
    marks += [f"replaces {candidate.supersedes[:SHORT_ID]}"] * bool(candidate.supersedes)
    text = " ".join(candidate.text.split())
    return (
        (f"[{candidate.category}] ", "bold"),
        (text, ""),
        (f"  ({', '.join(marks)})  ", "dim"),
        (candidate.id[:SHORT_ID], "dim"),
    )


@ltm_command.command(cls=Command, name="trust")
@click.argument("action", type=click.Choice(["review", "approve", "reject"]))
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation before rejected memories are deleted.")
def trust(action: Literal["review", "approve", "reject"], ids: tuple[str, ...], *, yes: bool) -> None:
    """Show the memories that are not put before a turn, and approve or delete them.

        memoriter ltm trust review
        memoriter ltm trust approve 0b4e9c1e-6f1c-4f0e-9d0e-3c1b7f6f2a11
        memoriter ltm trust reject 0b4e9c1e-6f1c-4f0e-9d0e-3c1b7f6f2a11 --yes

    They are withheld because neither you nor one of your agents wrote them; with the setting trust.agent "ask", also
    what your agents wrote. Agents find all of them when they search. An approval holds for the words of a memory on
    this machine. Rejected memories are deleted for good, as with memoriter ltm forget. Next: memoriter ltm list.
    """
    from memoriter.extensions.longterm.api import inbox_of, memory_json, withheld_memories

    options = GlobalOptions.current()
    screen = options.screen
    if bool(ids) != (action != "review"):
        raise click.UsageError("Give the ids of memories to approve or to reject, and none to review.")
    with open_long_term(options) as memory:
        memories = memory.long_term
        if action == "reject":
            _reject(memories, ids, screen, yes=yes)
            return
        if action == "approve":
            _approve([memories.approve(each) for each in ids], screen)
            return
        withheld = withheld_memories(memories)
        waiting = len(inbox_of(memories).read().candidates)
    if screen.as_json:
        screen.json([memory_json(each) for each in withheld])
        return
    for each in withheld:
        screen.show([memory_line(each)])
    if not withheld:
        screen.note((("No memory is withheld from automatic recall.", ""),))
    if waiting:
        screen.note(((f"{pluralize(waiting, 'candidate')} in the inbox: memoriter ltm inbox.", ""),))


def _approve(approved: Sequence[LongTermMemory], screen: Screen) -> None:
    from memoriter.extensions.longterm.api import memory_json

    if screen.as_json:
        screen.json([memory_json(each) for each in approved])
        return
    for each in approved:
        screen.show([(("Approved: ", ""), *memory_line(each))])


def _reject(memories: LongTermMemories, ids: Sequence[str], screen: Screen, *, yes: bool) -> None:
    """Delete memories after a confirmation. Raises UsageError if an id is unknown; then nothing is deleted."""
    from memoriter.extensions.longterm.api import forgotten_memories_json

    chosen = [memories.named(each) for each in ids]
    if not yes:
        if not is_interactive(screen):
            raise UsageError("Confirmation is needed, and nobody can be asked here.", remedy="Add --yes to confirm.")
        screen.note(*(memory_line(each) for each in chosen))
        click.confirm("Delete this for good?", abort=True, err=True)
    receipts = [memories.forget_id(each.id) for each in chosen]
    if screen.as_json:
        screen.json([forgotten_memories_json(each) for each in receipts])
        return
    for receipt in receipts:
        for each in receipt.forgotten:
            screen.show([(("Gone: ", "green"), *memory_line(each))])
        screen.show([*restored_lines(receipt)])
        screen.show_diagnostics(receipt.left)


def _read(source: str, path: Path) -> str:
    """Return the text of a file or of stdin. Raises UsageError."""
    remedy = "Name a file that `memoriter ltm export` has written, - for stdin, or a folder of OpenClaw."
    try:
        if source == "-":
            content = sys.stdin.buffer.read(LONGEST + 1)
        else:
            with path.open("rb") as opened:
                content = opened.read(LONGEST + 1)
    except OSError as error:
        why = sentence(error.strerror or error)
        raise UsageError(f"The export {source!r} cannot be read: {why}", remedy=remedy) from error
    if len(content) > LONGEST:
        raise UsageError(f"The export {source!r} has more than {LONGEST >> 20} MiB.", remedy="Import it in parts.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"The export {source!r} is not UTF-8: {sentence(error)}", remedy=remedy) from error


def _receipt_lines(receipt: LongTermForgotten) -> Iterator[Line]:
    for memory in receipt.forgotten:
        yield (("Gone: ", "green"), *memory_line(memory))
        rows = "1 row" if receipt.rows == 1 else f"{receipt.rows} rows"
        lines = pluralize(receipt.lines, "line")
        yield ((f"      {lines} of the note, {rows} of the database with all earlier versions", "dim"),)
    yield from restored_lines(receipt)
    if receipt.candidates:
        yield (("Nothing was deleted, because these may be meant. Repeat the command with an id:", ""),)
    elif not receipt.forgotten:
        yield (("Nothing was deleted: no memory says this. Give an id that `memoriter ltm search` prints.", ""),)


def stats_rows(found: LongTermStats) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table of `ltm stats`."""
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(found.by_category.items()))
    yield "memories", f"{found.memories}" + (f" ({kinds})" if kinds else "")
    if found.superseded:
        yield "superseded", str(found.superseded)
    if found.withheld:
        yield "withheld", f"{found.withheld} not put before a turn: memoriter ltm trust review"
    if table := found.openclaw:
        copied = f"{table.missing} not copied: memoriter ltm import {table.folder}" if table.missing else "all copied"
        yield "openclaw", f"{table.folder} ({table.memories:,} in its table, which is only read; {copied})"
    state: Any = found.state
    size = f", {state.bytes / 1e6:.1f} MB" if state and state.bytes else ""
    files = f", {pluralize(state.fragments, 'data file')}{size}" if state else ""
    yield "database", f"{found.database} ({'not read' if found.stored is None else f'{found.stored} stored'}{files})"
    if state:
        yield "search", f"an index of {state.indexed:,} vectors" if found.uses_index else "compares all vectors"
    if found.model:
        yield "model", found.model
    for model, count in found.other_models.items():
        yield "other model", f"{count} with vectors of {model}, which are not used"
