"""Who has the right to index, what the others are told, and what becomes of a holder that has lost it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import memoriter
from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index import Index, _files

SOURCES = str(Path(memoriter.__file__).parents[1])
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells the state of a process")
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

PRELUDE = """
import sys, time
from pathlib import Path
from memoriter.errors import IndexUnavailable
from memoriter.ids import vector_key
from memoriter.index import Index
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, Source
def put(index, path, text):
    chunk = Chunk(1, 1, text)
    entry = ChunkRecord(chunk, vector_key(chunk), text, len(text.split()), b"", 738000)
    index.put_file(Source(path, "memory", Path("/x"), 1, 1), text, [entry])
def say(word):
    print(word, flush=True)
def await_line():
    return sys.stdin.readline()
index = Index.open(Path(sys.argv[1]), clock=time.time)
"""

HOLDER = """
with index.lease():
    say("held")
    await_line()
say("free")
"""

WRITER = """
try:
    with index.lease():
        put(index, "old.md", "alpha")
        say("held")
        await_line()
        put(index, "old.md", "stale")
except IndexUnavailable as error:
    say(error.message)
"""

REBUILDER = """
try:
    with index.rebuild() as fresh:
        put(fresh, "old.md", "stale")
        say("held")
        await_line()
    say("published")
except IndexUnavailable as error:
    say(error.message)
"""


class Other:
    """Another process with the same index."""

    def __init__(self, script, path):
        command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {SOURCES!r})\n{PRELUDE}{script}", str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.read_line() == "held"

    def read_line(self):
        return self.process.stdout.readline().strip()

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.read_line()

    def signal(self, number, state):
        """Send a signal and wait until the process is in that state."""
        os.kill(self.process.pid, number)
        limit = time.monotonic() + 30
        while _files.is_stopped(self.process.pid) != state:
            assert time.monotonic() < limit


@pytest.fixture
def other(path):
    """Start another process; none outlives the test."""
    started = []

    def start(script):
        started.append(Other(script, path))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


def refusal(index):
    with pytest.raises(IndexBusy) as caught, index.lease():
        pass
    return caught.value


def words(index):
    return sorted(row.chunk.text for row in index.rows(index.all_ids()).values())


def lease_of(path):
    return path.with_name(f"{path.name}.lease")


@pytest.mark.slow
def test_who_cannot_have_the_lease_is_told_who_has_it_and_since_when(path, opened, other, now):
    index = opened()
    holder = other(HOLDER)
    now.seconds = time.time()
    error = refusal(index)
    assert f"(process {holder.process.pid}), since 20" in error.message
    assert error.remedy == "Wait until it is done; searches work meanwhile."
    assert holder.go_on() == "free"
    with index.lease():
        pass


def test_a_program_is_named_without_its_words(path, opened, other):
    index = opened()
    other(HOLDER)
    assert str(path) not in json.loads(lease_of(path).read_text(encoding="utf-8")).values()
    assert _files.program_name()
    assert refusal(index).message.count(str(path)) == 1


@pytest.mark.slow
@LINUX
def test_a_stopped_holder_is_called_stopped_and_both_ways_out_work(path, opened, other, now):
    index = opened()
    holder = other(HOLDER)
    pid = holder.process.pid
    holder.signal(signal.SIGSTOP, state=True)
    now.seconds = time.time() + 600
    before = time.monotonic()
    with pytest.raises(IndexBusy), index.lease(wait=300):
        pass
    assert time.monotonic() - before < 60
    error = refusal(index)
    assert "it is stopped, and wrote last 10 min ago" in error.message
    assert f"kill -CONT {pid}" in error.remedy
    subprocess.run(["kill", "-CONT", str(pid)], check=True)
    assert holder.go_on() == "free"
    with index.lease():
        pass

    holder = other(HOLDER)
    holder.signal(signal.SIGSTOP, state=True)
    assert f"kill -9 {holder.process.pid}" in refusal(index).remedy
    subprocess.run(["kill", "-9", str(holder.process.pid)], check=True)
    with index.lease(wait=30):
        pass


def test_a_holder_that_has_been_silent_for_long_is_said_to_be_and_one_that_writes_is_not(path, opened, make, now):
    index = opened()
    asking = opened()
    with index.lease():
        now.seconds += 7_300
        assert "already" in refusal(asking).message  # it is this very process
        lease = lease_of(path)
        lease.write_text(lease.read_text(encoding="utf-8").replace(f'"pid": {os.getpid()}', '"pid": 1'))
        os.utime(lease, (now.seconds - 7_300, now.seconds - 7_300))
        error = refusal(asking)
        assert "wrote last 2 h ago" in error.message
        assert "kill -9 1" in error.remedy
        make.put(index, "a.md", "alpha")
        assert "wrote last" not in refusal(asking).message


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"pid": 1}'])
def test_a_lease_that_says_nothing_useful_is_a_lease_all_the_same(path, opened, content):
    index = opened()
    asking = opened()
    with index.lease():
        lease_of(path).write_text(content, encoding="utf-8")
        error = refusal(asking)
    assert error.message == f"Another process is indexing {str(path)!r}."


def test_a_holder_on_another_machine_is_told_with_its_machine(path, opened):
    index = opened()
    asking = opened()
    with index.lease():
        signed = json.loads(lease_of(path).read_text(encoding="utf-8"))
        lease_of(path).write_text(json.dumps(signed | {"host": "attic"}), encoding="utf-8")
        assert f"(process {os.getpid()} on attic)" in refusal(asking).message


@pytest.mark.matrix
@pytest.mark.parametrize("script", [WRITER, REBUILDER])
def test_a_holder_whose_lease_was_deleted_writes_nothing_more(path, opened, make, other, script):
    """The worst order: it is stopped, somebody deletes its lease, another process publishes, and it goes on."""
    before = opened()
    make.put(before, "old.md", "alpha")
    holder = other(script)
    index = opened()
    holder.signal(signal.SIGSTOP, state=True) if Path("/proc/self/stat").exists() else None
    lease_of(path).unlink()
    with index.rebuild() as fresh:
        make.put(fresh, "new.md", "omega")
    serving = path.stat().st_ino
    os.kill(holder.process.pid, signal.SIGCONT)
    assert "was deleted while this process held it" in holder.go_on()
    assert path.stat().st_ino == serving
    for each in (index, before, opened()):
        each.refresh()
        assert words(each) == ["omega"]
    assert [file.name for file in path.parent.iterdir() if ".new" in file.name] == []


def test_a_holder_whose_lease_was_deleted_may_take_it_anew(path, opened, make):
    index = opened()
    with index.lease():
        lease_of(path).unlink()
        with pytest.raises(IndexBusy, match="deleted"):
            make.put(index, "a.md", "alpha")
    assert words(index) == []
    with index.lease():
        make.put(index, "a.md", "alpha")
    assert words(index) == ["alpha"]


def in_a_child(act):
    """What `act` gives in a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer)


@FORKS
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_a_connection_and_a_lease_of_its_own(path, opened, make):
    index = opened()
    make.put(index, "a.md", "alpha")

    def act():
        mine = index._file.opened.connection
        with index.lease():
            make.put(index, "b.md", "beta")
        return [index._file.opened.connection is mine, words(index)]

    assert in_a_child(act) == [False, ["alpha", "beta"]]
    make.put(index, "c.md", "gamma")
    assert words(index) == ["alpha", "beta", "gamma"]


@FORKS
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forked_by_the_holder_does_not_hold_the_lease(path, opened, make):
    index = opened()

    def act():
        try:
            with index.lease():
                return "held"
        except IndexUnavailable as error:
            return error.code

    with index.lease():
        assert in_a_child(act) == "index_busy"
        make.put(index, "a.md", "alpha")
    assert in_a_child(act) == "held"


def test_an_unsigned_lease_still_keeps_others_out(path, opened, monkeypatch):
    index = opened()
    asking = opened()
    monkeypatch.setattr(_files, "asdict", lambda holder: (_ for _ in ()).throw(OSError("no space")))
    with index.lease():
        assert refusal(asking).code == "index_busy"
    assert isinstance(index, Index)


def test_nobody_replaces_an_index_while_another_opens_it(path, opened, make):
    """Who opened the old file meanwhile would make a log that SQLite takes for that of the new one."""
    index = opened()
    make.put(index, "a.md", "alpha")
    done = threading.Event()

    def replace():
        with index.rebuild() as fresh:
            make.put(fresh, "a.md", "omega")
        done.set()

    thread = threading.Thread(target=replace)
    with index._file.storage.opening():
        thread.start()
        assert not done.wait(0.3)
    thread.join()
    assert words(opened()) == ["omega"]
