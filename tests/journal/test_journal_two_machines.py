"""Two machines share a folder through a program that only copies files: no line is lost, and days' notes converge."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.ids import bytes_hash
from memoriter.journal import Journal
from memoriter.workspace import Workspace, join_versions
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY = "memory/2026-03-10.md"
ACTS = ("append", "append", "append", "copy", "copy", "join", "remember", "edit", "edit day")
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 1)), min_size=4, max_size=14)


class Machine:
    """A folder of notes and a home."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "notes"
        (self.root / "memory").mkdir(parents=True)
        clock = count(1_000)
        journal = Journal(folder / "journal", wall=lambda: next(clock))
        self.workspace = Workspace(self.root, layout="openclaw", journal=lambda: journal)

    def files(self) -> dict[str, bytes]:
        return {file.relative_to(self.root).as_posix(): file.read_bytes() for file in self.root.rglob("*.md")}

    def put(self, path: str, content: bytes | None) -> None:
        if content is None:
            (self.root / path).unlink(missing_ok=True)
        else:
            (self.root / path).write_bytes(content)

    def join(self) -> None:
        """Do what `memoriter index` does."""
        join_versions(self.workspace, self.workspace.scan().skipped)

    def edit(self, path: str, line: str) -> set[str]:
        """Put a line in the place of the last one of a note, and return what goes."""
        before = self.workspace.content(path)
        if before is None:
            return set()
        *kept, last = before.decode().splitlines()
        self.workspace.replace(path, "\n".join([*kept, line, ""]), expected=bytes_hash(before))
        return {last}


class Copier:
    """A program such as Syncthing: it copies what changed, and keeps both versions of what changed on both sides."""

    def __init__(self, machines: list[Machine]) -> None:
        self.machines = machines
        self.known = dict[str, bytes | None]()
        self.number = count(100_000)

    def run(self, winner: int) -> None:
        """Make both folders equal; of two versions, that of one machine keeps the name."""
        sides = [machine.files() for machine in self.machines]
        for path in sorted({*sides[0], *sides[1]}):
            own = sides[winner].get(path)
            other = sides[1 - winner].get(path)
            before = self.known.get(path)
            if own != other and before not in {own, other} and None not in {own, other}:
                self._put(path.replace(".md", f".sync-conflict-20260310-{next(self.number)}-ABCDEFG.md"), other)
            self._put(path, other if own in {before, None} and other != before else own)

    def _put(self, path: str, content: bytes | None) -> None:
        self.known[path] = content
        for machine in self.machines:
            machine.put(path, content)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Machine]:
    return lambda: Machine(tmp_path_factory.mktemp("machine"))


def test_a_day_that_the_copier_replaced_before_any_version_was_joined_converges(make: Callable[[], Machine]) -> None:
    _work_on_two_machines(make, [("append", 0), ("append", 1), ("copy", 1), ("append", 0), ("append", 1)])


@pytest.mark.slow
@settings(max_examples=40)
@given(STEPS)
def test_no_line_is_lost_and_the_notes_of_days_converge(
    make: Callable[[], Machine], steps: list[tuple[str, int]]
) -> None:
    _work_on_two_machines(make, steps)


def _work_on_two_machines(make: Callable[[], Machine], steps: list[tuple[str, int]]) -> None:
    machines = [make(), make()]
    copier = Copier(machines)
    said = set[str]()
    gone = set[str]()
    for number, (act, which) in enumerate(steps):
        line = f"- Said {number} on machine {which}."
        machine = machines[which]
        if act == "copy":
            copier.run(which)
            continue
        if act == "join":
            machine.join()
            continue
        if act in {"edit", "edit day"}:
            before = machine.edit("MEMORY.md" if act == "edit" else DAY, line)
            gone |= before
            said |= {line} if before else set()
            continue
        machine.workspace.append(DAY if act == "append" else "MEMORY.md", line)
        said.add(line)
    for which in (0, 1, 0, 1):
        copier.run(which)
        machines[1 - which].join()
        machines[which].join()
    copier.run(0)

    files = machines[0].files()
    assert machines[1].files() == files
    lines = [line for content in files.values() for line in content.decode().splitlines()]
    assert said - gone <= set(lines)
    if "edit day" not in dict(steps):
        assert [path for path in files if path.startswith("memory/") and path != DAY] == []
        day = files.get(DAY, b"").decode().splitlines()
        assert len(day) == len(set(day))


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path)
    (env.home / "memoriter.json5").write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}')
    return env


def test_a_second_version_of_a_day_is_joined_by_index_and_comes_back_by_undo(env: MemoryEnv) -> None:
    memory = env.open()
    memory.remember("Tea at five.")
    day = env.notes / memory.daily_path
    other = day.read_bytes() + b"- Soup at seven.\n  With bread.\n"
    memory.remember("Cake at six.")
    own = day.read_bytes()
    copy = day.with_name(f"{day.stem} (Bob's conflicted copy 2026-03-10).md")
    copy.write_bytes(other)
    assert "two_versions" in {reason.code for reason in memory.status().health.reasons}
    report = memory.sync()

    assert day.read_bytes() == own + b"- Soup at seven.\n  With bread.\n"
    assert not copy.exists()
    assert "versions_joined" in {reason.code for reason in report.reasons}
    for change in [change for change in memory.history().changes if change.act == "join"]:
        memory.undo(change.id)
    assert (day.read_bytes(), copy.read_bytes()) == (own, other)
    memory.close()


@pytest.mark.parametrize("name", ["{} - Copy.md", "{} copy 2.md", "Kopie von {}.md"])
def test_a_copy_that_a_person_made_of_a_day_stays(env: MemoryEnv, name: str) -> None:
    memory = env.open()
    memory.remember("Tea at five.")
    day = env.notes / memory.daily_path
    copy = day.with_name(name.format(day.stem))
    copy.write_bytes(day.read_bytes() + b"- Soup at seven.\n")
    report = memory.sync()

    assert (copy.exists(), b"Soup" in day.read_bytes()) == (True, False)
    assert "two_versions" not in {reason.code for reason in report.reasons}
    memory.close()


def test_no_link_is_joined_as_a_second_version(env: MemoryEnv) -> None:
    memory = env.open()
    memory.remember("Tea at five.")
    day = env.notes / memory.daily_path
    before = day.read_bytes()
    (env.home / "secret").write_bytes(before + b"- The key is 4711.\n")
    day.with_name(f"{day.stem}.sync-conflict-20260310-120000-ABCDEFG.md").symlink_to(env.home / "secret")
    memory.sync()

    assert day.read_bytes() == before
    memory.close()


@pytest.mark.parametrize("lost", ["a line that was changed", "a note of no day", "no journal"])
def test_versions_that_could_lose_something_stay_and_are_named(env: MemoryEnv, lost: str) -> None:
    if lost == "no journal":
        env.config.write_text("{memory: {journal: {enabled: false}}}")
    memory = env.open()
    path = "MEMORY.md" if lost == "a note of no day" else "memory/2026-03-05.md"
    memory.sync()
    before = (env.notes / path).read_bytes()
    other = before + b"- The other machine says so.\n"
    own = before.replace(b"# ", b"# My ") if "changed" in lost else before + b"- This machine says so.\n"
    memory.replace(path, own.decode(), expected=bytes_hash(before))
    copy = env.notes / path.replace(".md", ".sync-conflict-20260310-120000-ABCDEFG.md")
    copy.write_bytes(other)
    report = memory.sync()

    assert ((env.notes / path).read_bytes(), copy.read_bytes()) == (own, other)
    (reason,) = [reason for reason in report.reasons if reason.code == "two_versions"]
    assert (copy.name in reason.message, path in reason.message) == (True, True)
    memory.close()


def test_two_versions_that_git_could_not_merge_are_named_and_both_are_found(env: MemoryEnv) -> None:
    memory = env.open()
    versions = "<<<<<<< HEAD\n- The ferry is blue.\n=======\n- The ferry is green.\n>>>>>>> theirs\n"
    env.write("memory/2026-03-05.md", f"# Trip\n\n{versions}")
    memory.sync()

    (reason,) = [reason for reason in memory.status().health.reasons if reason.code == "unmerged"]
    assert "memory/2026-03-05.md (line 3)" in reason.message
    text = "\n".join(hit.text for hit in memory.search("which colour is the ferry").hits)
    assert ("blue" in text, "green" in text) == (True, True)
    env.write("memory/2026-03-05.md", "# Trip\n\n- The ferry is blue.\n")
    memory.sync()
    assert "unmerged" not in {reason.code for reason in memory.status().health.reasons}
    memory.close()
