"""However a program saves: the index follows, nothing is embedded twice, and at no moment is the note lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from saves import AFTER, BEFORE, NOTE, TRACES, Trace, replay
from watched_workspace import indexed_files, until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OTHERS = {
    "MEMORY.md": "# Anchors\n\nThe anchor is kept in the shed.\n",
    "memory/sub/rope.md": "# Rope\n\nThe rope is made of hemp.\n",
}


def prepared(watched):
    for path, text in {**OTHERS, NOTE: BEFORE}.items():
        watched.write(path, text)
        # Long ago, so that nothing looks half-written.
        os.utime(watched.notes / path, (1_700_000_000, 1_700_000_000))
    memory = watched.open()
    memory.sync()
    watched.watch(memory)
    watched.known = watched.embedded
    watched.embedded = []
    return memory


def followed(watched, memory, act: Callable[[Callable[[], None]], None], keeps: Sequence[str]) -> None:
    """Act while the notes are watched, and see that the index comes to hold what a fresh one holds."""
    lost: list[float] = []
    index = memory._backend.index

    def look() -> None:
        if keeps and not index.files_at(keeps):
            lost.append(time.monotonic())

    act(look)
    fresh = watched.open("fresh")
    before = len(watched.embedded)
    fresh.sync()
    del watched.embedded[before:]

    def same() -> bool:
        look()
        return (
            indexed_files(memory) == indexed_files(fresh)
            and not memory._backend.index.pending()
            and watched.watches[0].settled
        )

    until(same, f"{sorted(indexed_files(memory))} is not {sorted(indexed_files(fresh))}")
    assert lost == []


@pytest.mark.matrix
@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.program)
@pytest.mark.parametrize("pause", [0.0, 0.03], ids=["at once", "slowly"])
def test_a_save_is_followed_and_only_new_text_is_embedded(watched, trace: Trace, pause: float) -> None:
    memory = prepared(watched)
    before = set(watched.known)

    def act(look: Callable[[], None]) -> None:
        def between() -> None:
            look()
            time.sleep(pause)  # the program takes its time

        replay(watched.notes, trace, between)

    followed(watched, memory, act, trace.keeps)
    assert len(watched.embedded) == len(set(watched.embedded)), "embedded twice"
    assert before & set(watched.embedded) == set(), "text that nobody touched was embedded again"
    assert "trouble" not in watched.kinds()


def ran(*words: str, folder: object, typed: str = "") -> None:
    done = subprocess.run(words, cwd=str(folder), input=typed, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sed") is None, reason="sed is not here")
def test_what_sed_edits_in_place_is_followed(watched):
    memory = prepared(watched)
    words = ("sed", "-i.bak", "s/is copper/is enamel by now/", "note.md")
    followed(watched, memory, lambda look: (ran(*words, folder=watched.notes / "memory"), look()), [NOTE])
    assert (watched.notes / NOTE).read_text() == AFTER
    assert len(watched.embedded) == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not here")
def test_what_vim_writes_is_followed(watched):
    memory = prepared(watched)
    script = "%s/is copper/is enamel by now/\nw\n$a\nIt whistles.\n.\nwq\n"
    words = ("vim", "-u", "NONE", "-N", "-es", "--cmd", "set backup backupcopy=no backupdir=.", "note.md")
    followed(watched, memory, lambda look: (ran(*words, folder=watched.notes / "memory", typed=script), look()), [NOTE])
    assert (watched.notes / NOTE).read_text() == AFTER + "It whistles.\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_a_checkout_of_many_notes_and_back_is_followed_and_embeds_only_what_is_new(watched):
    for number in range(40):
        watched.write(f"memory/many/{number}.md", f"Note number {number} speaks of pebbles.\n")
    memory = prepared(watched)

    def git(*words: str) -> None:
        ran("git", "-c", "user.name=n", "-c", "user.email=n@example.org", *words, folder=watched.notes)

    def act(look: Callable[[], None]) -> None:
        git("init", "-q", "-b", "one")
        git("add", "-A")
        git("commit", "-qm", "one")
        git("checkout", "-qb", "two")
        for number in range(20):
            watched.write(f"memory/many/{number}.md", f"Note number {number} speaks of shells.\n")
        for number in range(30, 40):
            (watched.notes / f"memory/many/{number}.md").unlink()
        git("add", "-A")
        git("commit", "-qm", "two")
        for branch in ("one", "two", "one", "two"):
            git("checkout", "-q", branch)
            look()

    followed(watched, memory, act, [NOTE])
    assert len(watched.embedded) == len(set(watched.embedded))
    assert {text for text in watched.embedded if "shells" not in text} == set()
