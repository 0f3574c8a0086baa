"""Whatever is done to notes can be taken back to the first byte, in any encoding, and after a kill."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.ids import bytes_hash
from memoriter.journal import History, Journal, acting
from memoriter.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.journal import Change

NAMES = ("MEMORY.md", "memory/a.md")
LINES = st.sampled_from(
    [b"- one", b"- two", b"", b"# Title", b"caf\xe9", "- чай".encode(), b"\xef\xbb\xbf- mark", b"\x00", b"- one\r"]
)
CONTENTS = st.builds(
    lambda lines, end: b"\n".join(lines) + end, st.lists(LINES, max_size=6), st.sampled_from([b"", b"\n"])
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("append", "replace", "remove", "editor", "come", "go")), st.sampled_from(NAMES), CONTENTS
    ),
    max_size=9,
)


class Folder:
    """Notes with a journal, and a clock that ticks with every look at it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "notes"
        (self.root / "memory").mkdir(parents=True)
        ticks = count(1000)
        self.journal = Journal(root / "journal", wall=lambda: float(next(ticks)))
        self.workspace = Workspace(self.root, layout="openclaw", journal=lambda: self.journal)
        self.history = History(self.workspace, self.journal)

    def state(self) -> dict[str, bytes]:
        return {name: (self.root / name).read_bytes() for name in NAMES if (self.root / name).exists()}

    def save(self, name: str, content: bytes, *, changed: int) -> None:
        """Save a note as an editor does at a time, and let memoriter see it."""
        (self.root / name).write_bytes(content)
        os.utime(self.root / name, (changed, changed))
        self.workspace.look(name)

    def do(self, act: str, name: str, content: bytes) -> None:
        """Write as memoriter does, or as an editor whose save is seen afterwards."""
        before = self.state().get(name)
        expected = None if before is None else bytes_hash(before)
        other = NAMES[1 - NAMES.index(name)] if name in NAMES else ""
        if act == "editor":
            self.save(name, content, changed=4000)
        elif act == "append":
            self.workspace.append(name, f"- {content.decode('latin-1')}.")
        elif act == "remove" and expected:
            self.workspace.remove(name, expected=expected)
        elif act == "come" and expected is None and other in self.state():  # the halves of a renaming
            self.workspace.replace(name, content, expected=None, moved=other)
        elif act == "go" and expected and other in self.state():
            self.workspace.remove(name, expected=expected, moved=other)
        elif act == "replace":
            self.workspace.replace(name, content, expected=expected)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Folder]:
    return lambda: Folder(tmp_path_factory.mktemp("journal"))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.dictionaries(st.sampled_from(NAMES), CONTENTS), STEPS, st.data())
def test_any_operations_are_undone_back_to_the_first_byte(
    make: Callable[[], Folder], first: dict[str, bytes], steps: list[tuple[str, str, bytes]], data: st.DataObject
) -> None:
    folder = make()
    for name, content in first.items():
        folder.save(name, content, changed=0)
    if not first:
        folder.do("append", "memory/b.md", b"- so that the journal has begun")
    states = [folder.state()]
    for step in steps:
        folder.do(*step)
        if folder.state() != states[-1]:
            states.append(folder.state())
    all_changes = folder.history.changes().changes
    changes = [change for change in all_changes if change.path in NAMES]
    assert len(changes) == len(states) - 1

    back_to = data.draw(st.integers(0, len(states) - 1))
    chosen = changes[: len(changes) - back_to]
    plan = folder.history.plan(chosen[::-1])
    folder.history.carry_out(plan, "rollback")
    assert folder.state() == states[back_to]
    assert (plan.conflicts, plan.unknown) == ((), ())
    rolled = [change for change in folder.history.changes().changes if change not in all_changes]
    folder.history.carry_out(folder.history.plan(rolled[::-1]), "undo")
    assert folder.state() == states[-1]
    for change, state in zip(changes, states[-2::-1], strict=True):
        folder.history.carry_out(folder.history.undo_plan(change.id), "undo")
        assert folder.state() == state


@pytest.mark.slow
@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("owner", "agent")), CONTENTS.filter(lambda text: text.strip() and b"\r" not in text)
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_an_agent_added_goes_and_what_others_added_meanwhile_stays(
    make: Callable[[], Folder], steps: list[tuple[str, bytes]]
) -> None:
    folder = make()
    other = make()
    for number, (who, content) in enumerate(steps):
        text = f"- {number} {content.decode('latin-1')}."
        with acting(who=who):
            folder.workspace.append("MEMORY.md", text)
        if who == "owner":
            other.workspace.append("MEMORY.md", text)
    plan = folder.history.plan(folder.history.select(lambda change: change.who == "agent"))
    folder.history.carry_out(plan, "rollback")

    assert folder.state() == other.state()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("act", ["append", "replace", "remove"])
def test_after_a_kill_the_journal_agrees_with_the_notes(make: Callable[[], Folder], act: str, *, written: bool) -> None:
    folder = make()
    folder.do("replace", "MEMORY.md", b"- one\n- two\n")
    before = folder.state()
    if (child := os.fork()) == 0:
        enter = folder.journal._append

        def enter_and_die(opened: object, change: Change, lines: bytes) -> None:
            enter(opened, change, lines)
            os._exit(9)

        if written:
            folder.journal._end = lambda *_: os._exit(9)  # type: ignore[method-assign]
        else:
            folder.journal._append = enter_and_die  # type: ignore[method-assign]
        folder.do(act, "MEMORY.md", b"- three\n")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    interrupted = folder.history.changes().changes[0]
    assert interrupted.state == "unknown"
    assert (folder.state() == before) != written

    after = folder.state()
    folder.do("append", "MEMORY.md", b"four")
    last = folder.history.changes("MEMORY.md").changes[0]
    folder.history.carry_out(folder.history.undo_plan(last.id), "undo")
    assert folder.state() == after
    if written:
        folder.history.carry_out(folder.history.undo_plan(interrupted.id), "undo")
        assert folder.state() == before
    assert not [change for change in folder.history.changes("MEMORY.md").changes if change.act == "seen"]
