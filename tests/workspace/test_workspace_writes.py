"""The two ways to write: nothing is lost, torn or mixed, whoever else writes or dies."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import filelock
import pytest

import memoriter
from memoriter.errors import PathRefused, WriteConflict, WriteError
from memoriter.ids import bytes_hash
from memoriter.workspace import Appended, Workspace, append, lines_of, replace
from memoriter.workspace._forget import blocks_with, remove_passages
from memoriter.workspace.writing import _folder

SOURCE = str(Path(memoriter.__file__).parents[1])


def started(program: str, *arguments: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)


def test_an_append_makes_the_folder_and_the_file_and_says_which_lines_it_wrote(tmp_path: Path) -> None:
    file = tmp_path / "memory" / "2026-02-10.md"
    assert append(file, "- one") == Appended(file, 1, 1)
    assert append(file, "- two\n  goes on\n") == Appended(file, 2, 3)
    assert file.read_text(encoding="utf-8") == "- one\n- two\n  goes on\n"
    assert [source.path for source in Workspace(tmp_path).scan().sources] == ["memory/2026-02-10.md"]


def test_an_append_starts_on_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_bytes(b"one\r\ntwo")
    assert append(file, "three\nfour") == Appended(file, 3, 4)
    assert file.read_bytes() == b"one\r\ntwo\r\nthree\r\nfour\r\n"


def test_an_append_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: written.append(content) or write(descriptor, content))
    append(tmp_path / "a.md", "x\n" * 5000)
    assert written == [b"x\n" * 5000]


def test_what_cannot_be_in_a_text_file_becomes_a_replacement_character(tmp_path: Path) -> None:
    append(tmp_path / "a.md", "nul \0 half \ud800 pair \ud83d\ude00 end")
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "nul \ufffd half \ufffd pair 😀 end\n"
    replace(tmp_path / "b.md", "half \udfff", expected=None)
    assert (tmp_path / "b.md").read_text(encoding="utf-8") == "half \ufffd"


def test_nothing_is_not_appended(tmp_path: Path) -> None:
    for text in ("", " \n"):
        with pytest.raises(WriteError, match="nothing"):
            append(tmp_path / "a.md", text)
    assert not (tmp_path / "a.md").exists()


def test_links_folders_and_pipes_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("real", encoding="utf-8")
    (tmp_path / "link.md").symlink_to("real.md")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    for name, error in (("link.md", PathRefused), ("folder.md", WriteError), ("pipe.md", PathRefused)):
        with pytest.raises(error, match=name):
            append(tmp_path / name, "x")
        with pytest.raises((PathRefused, WriteError)):
            replace(tmp_path / name, "x", expected=bytes_hash(b"real"))
        with pytest.raises(WriteConflict):
            replace(tmp_path / name, "x", expected=None)
    assert (tmp_path / "real.md").read_text(encoding="utf-8") == "real"


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.md"
    file.write_text("before\n", encoding="utf-8")
    write = os.write

    def short(descriptor: int, content: bytes) -> int:
        return write(descriptor, content[:3])

    def full(descriptor: int, content: bytes) -> int:
        write(descriptor, content[:3])
        raise OSError(28, "No space left on device")

    for failing in (short, full):
        monkeypatch.setattr(os, "write", failing)
        with pytest.raises(WriteError, match=r"a\.md"):
            append(file, "after")
        assert file.read_bytes() == b"before\n"
    with pytest.raises(WriteError, match="No space left"):
        replace(file, "after", expected=bytes_hash(b"before\n"))
    monkeypatch.setattr(os, "write", write)
    assert file.read_bytes() == b"before\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.md"]
    with pytest.raises(WriteError):
        append(file / "below.md", "x")


def test_a_replacement_needs_the_content_that_was_read(tmp_path: Path) -> None:
    file = tmp_path / "new" / "a.md"
    replace(file, "one", expected=None)
    assert file.read_bytes() == b"one"
    with pytest.raises(WriteConflict, match="exists"):
        replace(file, "two", expected=None)
    with pytest.raises(WriteConflict, match="changed"):
        replace(file, "two", expected=bytes_hash(b"zero"))
    replace(file, "two", expected=bytes_hash(b"one"))
    assert file.read_bytes() == b"two"
    file.unlink()
    with pytest.raises(WriteConflict, match="gone"):
        replace(file, "three", expected=bytes_hash(b"two"))
    assert list(file.parent.iterdir()) == []


def test_a_replacement_keeps_the_permissions(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("one", encoding="utf-8")
    file.chmod(0o640)
    replace(file, "two", expected=bytes_hash(b"one"))
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "getgroups"), reason="this system has no groups")
def test_a_replacement_keeps_the_group_of_a_team_and_the_owner_where_that_is_allowed(tmp_path: Path) -> None:
    owner = 65_534 if os.geteuid() == 0 else os.geteuid()
    groups = [65_534] if os.geteuid() == 0 else [group for group in os.getgroups() if group != os.getegid()]
    if not groups:
        pytest.skip("this user has one group only")
    file = tmp_path / "MEMORY.md"
    file.write_text("before\n", encoding="utf-8")
    os.chown(file, owner, groups[0])
    file.chmod(0o664)
    replace(file, "after\n", expected=bytes_hash(b"before\n"))
    status = file.stat()
    assert (file.read_text(encoding="utf-8"), status.st_uid, status.st_gid) == ("after\n", owner, groups[0])
    assert stat.S_IMODE(status.st_mode) == 0o664


def test_a_new_file_has_the_asked_permissions_from_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    seen = set[int]()
    write = os.write

    def looking(descriptor: int, content: bytes) -> int:
        seen.add(os.fstat(descriptor).st_mode & 0o777)
        return write(descriptor, content)

    monkeypatch.setattr(os, "write", looking)
    replace(file, "one", expected=None, mode=0o600)
    replace(file, "two", expected=bytes_hash(b"one"))
    assert seen == {0o600}
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_disk_without_hard_links_still_gets_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", fail)
    replace(tmp_path / "a.md", "one", expected=None)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.md"]


def test_only_one_of_many_replacements_of_the_same_content_wins(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"0")

    def attempt(number: int) -> bool:
        try:
            replace(file, f"won by {number}", expected=bytes_hash(b"0"))
        except WriteConflict:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(attempt, range(64))) == 1
        other = tmp_path / "b.md"
        creations = pool.map(lambda number: _created(other, str(number)), range(64))
        assert sum(creations) == 1


def _created(file: Path, text: str) -> bool:
    try:
        replace(file, text, expected=None)
    except WriteConflict:
        return False
    return True


def test_an_append_that_waited_through_a_replacement_goes_to_the_new_file(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("kept\n", encoding="utf-8")
    rounds = 60
    stop = threading.Event()
    failures: list[Exception] = []

    def rewrite() -> None:
        while not stop.is_set():
            content = file.read_bytes()
            try:
                replace(file, content.decode() + "rewritten\n", expected=bytes_hash(content))
            except WriteConflict:
                continue
            except Exception as error:  # noqa: BLE001 - shown by the assertion below
                failures.append(error)

    thread = threading.Thread(target=rewrite)
    thread.start()
    for number in range(rounds):
        append(file, f"entry {number}")
    stop.set()
    thread.join()
    assert failures == []
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("entry")] == [f"entry {number}" for number in range(rounds)]
    assert lines[0] == "kept"


APPENDING = """
import sys
from pathlib import Path
from memoriter.workspace import append
file, writer, entries = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(entries):
    body = f"  body {writer} {number}\\n" * (number % 7 + 1)
    written = append(file, f"- begin {writer} {number}\\n{body}  end {writer} {number}")
    print(written.start_line, written.end_line, writer, number, flush=True)
"""


def entries_of(file: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """The entries with the lines they are on, after making sure that each is whole and in one piece."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    lines = file.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    at = 0
    while at < len(lines):
        _, begin, writer, number = lines[at].split(" ")
        assert begin == "begin"
        body = int(number) % 7 + 1
        assert lines[at + 1 : at + 1 + body] == [f"  body {writer} {number}"] * body
        assert lines[at + 1 + body] == f"  end {writer} {number}"
        assert (writer, number) not in found
        found[writer, number] = (at + 1, at + body + 2)
        at += body + 2
    return found


@pytest.mark.slow
def test_fifty_processes_append_twenty_entries_each_and_all_thousand_are_whole(tmp_path: Path) -> None:
    file = tmp_path / "memory" / "2026-02-10.md"
    processes = [started(APPENDING, file, writer, 20) for writer in range(50)]
    reports = [process.communicate(timeout=100)[0].decode().split("\n") for process in processes]
    assert [process.returncode for process in processes] == [0] * 50

    entries = entries_of(file)

    assert len(entries) == 1000
    reported = [line.split() for lines in reports for line in lines if line]
    assert {(writer, number): (int(start), int(end)) for start, end, writer, number in reported} == entries


@pytest.mark.slow
def test_killing_writers_leaves_only_whole_entries(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    for turn in range(6):
        processes = [started(APPENDING, file, f"{turn}.{writer}", 100_000) for writer in range(2)]
        for process in processes:
            assert process.stdout
            for _ in range(3 + 17 * turn):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=150)
    assert len(entries_of(file)) >= 6 * 3
    append(file, "- begin last 0\n  body last 0\n  end last 0")
    assert ("last", "0") in entries_of(file)


REPLACING = """
import sys
from pathlib import Path
from memoriter.ids import bytes_hash
from memoriter.workspace import replace
file, number = Path(sys.argv[1]), 0
while True:
    number += 1
    replace(file, f"{number}\\n" * 20_000, expected=bytes_hash(file.read_bytes()))
    print(number, flush=True)
"""


@pytest.mark.slow
def test_killing_a_process_that_replaces_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    file = tmp_path / "memory" / "a.md"
    file.parent.mkdir()
    for turn in range(6):
        file.write_text("0\n" * 20_000, encoding="utf-8")
        process = started(REPLACING, file)
        assert process.stdout
        for _ in range(2 + 3 * turn):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=150)
        lines = file.read_text(encoding="utf-8").splitlines()
        assert len(lines) == 20_000
        assert len(set(lines)) == 1
    scan = Workspace(tmp_path).scan()
    assert [source.path for source in scan.sources] == ["memory/a.md"]
    assert {skip.reason for skip in scan.skipped} <= {"ignored"}


def test_without_flock_the_lock_is_a_file_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert filelock.FileLock  # imported while it still finds what it needs here
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    file = tmp_path / "a.md"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: append(file, f"- {number}"), range(40)))
    assert sorted(file.read_text(encoding="utf-8").split()) == sorted(["-"] * 40 + [str(n) for n in range(40)])


def test_reading_under_the_lock_does_not_depend_on_the_size_of_the_buffer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_folder, "READ_AHEAD", 3)
    file = tmp_path / "a.md"
    file.write_bytes(b"one\ntwo\nthree")
    assert append(file, "four") == Appended(file, 4, 4)
    replace(file, "new", expected=bytes_hash(b"one\ntwo\nthree\nfour\n"))
    assert file.read_bytes() == b"new"


WINDOWS = b"\xef\xbb\xbf# Log\r\n\r\n- Tea at five.\r\n- Coffee at six.\r\n"


def on_windows(root: Path, content: bytes = WINDOWS) -> Workspace:
    (root / "memory").mkdir()
    for path in ("MEMORY.md", "memory/2026-02-10.md"):
        (root / path).write_bytes(content)
    return Workspace(root)


def ends_as_on_windows(content: bytes) -> bool:
    return content.startswith(WINDOWS[:3]) and content.count(b"\n") == content.count(b"\r\n") == content.count(b"\r")


@pytest.mark.parametrize("content", [WINDOWS, WINDOWS.removesuffix(b"\r\n"), WINDOWS + b"\r\n```sh\r\nls\r\n"])
@pytest.mark.parametrize("origin", [None, "agent"])
@pytest.mark.parametrize("to", ["daily", "long-term"])
def test_an_entry_keeps_the_line_endings_of_its_note(
    tmp_path: Path, to: Literal["daily", "long-term"], origin: str | None, content: bytes
) -> None:
    workspace = on_windows(tmp_path, content)
    now = datetime(2026, 2, 10, 14, 5, tzinfo=UTC)
    added = workspace.remember("Milk.\nAnd bread.", to=to, origin=origin, now=now)
    written = added.path.read_bytes()
    assert ends_as_on_windows(written)
    assert written.startswith(content)
    lines = written.decode("utf-8-sig").split("\r\n")
    assert "Milk." in lines[added.start_line - 1]
    assert "And bread." in lines[added.end_line - 1] + lines[added.end_line - 2]


@pytest.mark.parametrize("origin", [None, "agent"])
def test_a_replaced_note_keeps_its_line_endings_and_its_byte_order_mark(tmp_path: Path, origin: str | None) -> None:
    workspace = on_windows(tmp_path)
    expected = bytes_hash(WINDOWS)
    text = "# Log\n\n- Tea at six.\n- Coffee at six.\n"
    workspace.replace_readable("MEMORY.md", text, expected=expected, origin=origin, day="2026-02-10")
    assert ends_as_on_windows((tmp_path / "MEMORY.md").read_bytes())
    workspace.replace("memory/2026-02-10.md", text, expected=expected)
    assert (tmp_path / "memory/2026-02-10.md").read_bytes() == WINDOWS.replace(b"five", b"six")


def test_forgetting_keeps_the_line_endings_with_the_marks_that_it_adds(tmp_path: Path) -> None:
    note = b"- Mine.\r\n<!-- from: agent, 2026-02-10 -->\r\n- One.\r\n- Two.\r\n<!-- end: agent -->\r\n- Mine too.\r\n"
    for first in range(1, 7):
        left = remove_passages(note, lines_of(note, first, first))
        assert left.count(b"\n") == left.count(b"\r\n"), first


def test_a_note_with_a_few_windows_lines_gets_plain_ones(tmp_path: Path) -> None:
    workspace = on_windows(tmp_path, b"a\nb\nc\r\n")
    workspace.append("MEMORY.md", "d")
    assert (tmp_path / "MEMORY.md").read_bytes() == b"a\nb\nc\r\nd\n"


OLD_MAC = b"# Log\r\r- Tea at five.\r- Coffee at six.\r"


def test_a_note_with_the_line_endings_of_old_macs_is_read_cited_and_written_in_lines(tmp_path: Path) -> None:
    workspace = on_windows(tmp_path, OLD_MAC)
    assert workspace.read("MEMORY.md", start=3, lines=1).text == "- Tea at five."
    appended = workspace.remember(
        "Milk at\nseven.", to="long-term", origin=None, now=datetime(2026, 2, 10, 12, tzinfo=UTC)
    )
    assert (appended.start_line, appended.end_line) == (5, 6)
    written = (tmp_path / "MEMORY.md").read_bytes()
    assert written.startswith(OLD_MAC)
    assert written.count(b"\r") == OLD_MAC.count(b"\r") + 2
    assert b"\n" not in written
    (block,) = blocks_with(written, "coffee")
    assert block.start_line == 4
    assert remove_passages(written, [block]) == written.replace(b"- Coffee at six.\r", b"")
    text = workspace.read("MEMORY.md").text.replace("Tea", "Juice")
    workspace.replace("MEMORY.md", text, expected=bytes_hash(written))
    assert (tmp_path / "MEMORY.md").read_bytes() == written.replace(b"Tea", b"Juice")
    (tmp_path / "memory" / "open.md").write_bytes(b"one\rtwo")
    assert append(tmp_path / "memory" / "open.md", "three") == Appended(tmp_path / "memory" / "open.md", 3, 3)
    assert (tmp_path / "memory" / "open.md").read_bytes() == b"one\rtwo\rthree\r"
