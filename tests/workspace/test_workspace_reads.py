"""Bounded reads, and everything that must never be read."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoriter.backends import ForgetRequest
from memoriter.errors import PathRefused
from memoriter.types import Excerpt
from memoriter.workspace import ExtraPath, Workspace, _paths
from memoriter.workspace._paths import path_fault
from odd_files import posix_only

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "the secret that is outside"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "ws"
    (root / "memory" / "sub").mkdir(parents=True)
    (root / "MEMORY.md").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (root / "memory" / "a.md").write_text("a", encoding="utf-8")
    (root / "memory" / "data.txt").write_text(SECRET, encoding="utf-8")
    (root / "config.md").write_text(SECRET, encoding="utf-8")
    (tmp_path / "outside.md").write_text(SECRET, encoding="utf-8")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "v.md").write_text("vault", encoding="utf-8")
    return Workspace(root, [ExtraPath("../vault")])


def test_a_whole_file_or_some_lines_of_it(workspace: Workspace) -> None:
    assert workspace.read("MEMORY.md") == Excerpt("MEMORY.md", "one\ntwo\nthree\n")
    assert workspace.read("MEMORY.md", start=2).text == "two\nthree\n"
    assert workspace.read("MEMORY.md", start=2, lines=1).text == "two"
    assert workspace.read("MEMORY.md", lines=2).text == "one\ntwo"
    assert workspace.read("MEMORY.md", start=-4, lines=-9).text == "one"
    assert workspace.read("MEMORY.md", start=0, lines=0).text == "one\ntwo\nthree\n"
    assert workspace.read("MEMORY.md", start=99, lines=5).text == ""


def test_a_note_that_is_not_there_yet_is_empty(workspace: Workspace) -> None:
    for path in ("memory/2026-02-10.md", "memory/new/b.md", "../vault/new.md"):
        excerpt = workspace.read(path)
        assert replace(excerpt, reason=None) == Excerpt(path, "")
        assert excerpt.reason
        assert (excerpt.reason.code, path in excerpt.reason.message) == ("no_such_note", True)


def test_a_note_without_text_in_those_lines_says_so(workspace: Workspace) -> None:
    (workspace.root / "memory" / "void.md").write_text("", encoding="utf-8")
    requests = {"past": ("MEMORY.md", 100), "void": ("memory/void.md", None)}
    reasons = {name: workspace.read(path, start=start).reason for name, (path, start) in requests.items()}
    assert {name: reason and reason.code for name, reason in reasons.items()} == {
        "past": "past_the_end",
        "void": "no_text",
    }
    last = reasons["past"] and re.search(r"line (\d+)", reasons["past"].remedy)
    assert last
    assert workspace.read("MEMORY.md", start=int(last[1])).text
    assert workspace.read("MEMORY.md").reason is None


def test_a_long_text_is_cut_at_the_end_of_a_line_or_between_graphemes(workspace: Workspace) -> None:
    assert workspace.read("MEMORY.md", max_chars=9) == Excerpt("MEMORY.md", "one\ntwo", truncated=True)
    assert workspace.read("MEMORY.md", max_chars=7) == Excerpt("MEMORY.md", "one\ntwo", truncated=True)
    assert workspace.read("MEMORY.md", max_chars=14).truncated is False
    (workspace.root / "memory/a.md").write_text("👩‍👩‍👧" * 3, encoding="utf-8")
    assert workspace.read("memory/a.md", max_chars=7) == Excerpt("memory/a.md", "👩‍👩‍👧", truncated=True)
    assert workspace.read("memory/a.md", max_chars=0).text == "👩"  # a grapheme that alone is too long
    (workspace.root / "memory/a.md").write_text("x" * 200_000, encoding="utf-8")
    assert len(workspace.read("memory/a.md").text) == 100_000


def test_the_same_note_by_other_names(workspace: Workspace) -> None:
    for path in ("./MEMORY.md", "  MEMORY.md ", "memory/../MEMORY.md", f"{workspace.root}/MEMORY.md", "MEMORY.md/"):
        assert workspace.read(path).path == "MEMORY.md"
    assert workspace.read(str(workspace.root.parent / "vault" / "v.md")) == Excerpt("../vault/v.md", "vault")


REFUSED = [
    "",
    "   ",
    ".",
    "..",
    "/",
    "memory",
    "memory/",
    "config.md",
    "../outside.md",
    "../ws/config.md",
    "memory/../../outside.md",
    "memory/../../../../../../etc/passwd",
    "/etc/passwd",
    "//etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "/proc/self/environ",
    "memory/data.txt",
    "memory/a.md\0.txt",
    "memory/\0/a.md",
    "memory/\ud800.md",
    "memory/a.md/b.md",
    "~",
    "~/notes.md",
    "~root/memory/a.md",
    "%2e%2e/outside.md",
    "..%2foutside.md",
    "..\\outside.md",
    "memory\\a.md",
    "memory/..\\..\\outside.md",
    "\\\\server\\share\\x.md",
    "//server/share/x.md",
    "C:\\Windows\\win.ini",
    "file:///etc/passwd",
    "Memory/a.md",
    "MEMORY.MD",
    "Memory.md",
    "memory/A.MDX",
    "ｍemory/a.md",
    "mеmory/a.md",  # a Cyrillic letter
    "memory․md",
    "memory/a.md.",
    "memory/a.md .",
    "memory/.../a.txt",
    "CON",
    "x" * 100_000,
    "memory/" + "x" * 100_000 + ".md",
    "memory/" + "../" * 2000 + "etc/passwd",
    "memory/" + "x" * 300 + ".md",
    "-rf",
    "$HOME/x.md",
    "`id`.md",
    "vault/v.md",
    "../vault",
    "../vault-other/v.md",
    "../vault/../outside.md",
]


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: repr(path[:30]))
def test_what_is_not_memory_is_refused_by_name_with_a_reason(workspace: Workspace, path: str) -> None:
    with pytest.raises(PathRefused) as refused:
        workspace.read(path)
    message = str(refused.value)
    assert repr(path[:200])[:-1] in message
    assert len(message) < 2500
    assert SECRET not in message


@pytest.mark.parametrize("path", ["memory/%2e%2e/%2e%2e/outside.md", "memory/a\\..\\b.md", "memory/NUL.md"])
def test_what_only_looks_like_a_way_out_is_a_name_like_any_other(workspace: Workspace, path: str) -> None:
    assert workspace.read(path).text == ""


def test_windows_names_that_are_no_files_are_known() -> None:
    for path in (
        "CON",
        "memory/NUL.md",
        "memory\\aux.md",
        "memory/a.md:stream",
        "memory/a.md.",
        "memory /a.md",
        "COM1",
    ):
        assert path_fault(path, windows=True)
    for path in ("C:\\notes\\memory\\a.md", "memory/console.md", "../memory/./a.md"):
        assert path_fault(path, windows=True) is None


NAMES = ["..", ".", "", "memory", "ws", "a.md", "outside.md", "vault", "~", "\0", "link.md", "dir"]
paths = st.lists(st.one_of(st.sampled_from(NAMES), st.text(max_size=5)), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paths, st.sampled_from(["/", "\\", "//"]), st.integers(-5, 5), st.integers(-5, 5))
def test_no_path_at_all_reads_outside_or_fails_in_another_way(
    workspace: Workspace, parts: list[str], separator: str, start: int, lines: int
) -> None:
    link = workspace.root / "memory/link.md"
    folder = workspace.root / "memory/dir"
    if not link.is_symlink():
        link.symlink_to(workspace.root.parent / "outside.md")
        folder.symlink_to(workspace.root.parent)
    try:
        text = workspace.read(separator.join(parts), start=start, lines=lines).text
    except PathRefused:
        return
    assert SECRET not in text


def test_links_are_refused_as_a_file_and_on_the_way(workspace: Workspace) -> None:
    outside = workspace.root.parent
    (workspace.root / "memory/link.md").symlink_to(outside / "outside.md")
    (workspace.root / "memory/dangling.md").symlink_to("nowhere.md")
    (workspace.root / "memory/inner.md").symlink_to("a.md")
    (workspace.root / "memory/dir").symlink_to(outside)
    (outside / "vault" / "link.md").symlink_to(outside / "outside.md")
    for path in (
        "memory/link.md",
        "memory/dangling.md",
        "memory/inner.md",
        "memory/dir/outside.md",
        "../vault/link.md",
    ):
        with pytest.raises(PathRefused, match="symbolic link"):
            workspace.read(path)


def test_a_pipe_a_folder_and_a_socket_are_refused_at_once(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "memory/pipe.md")
    (workspace.root / "memory/folder.md").mkdir()
    with pytest.raises(PathRefused, match="pipe"):
        workspace.read("memory/pipe.md")
    with pytest.raises(PathRefused, match="folder"):
        workspace.read("memory/folder.md")


def test_a_file_that_may_not_be_opened_is_refused_and_not_empty(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_paths, "_open", fail)
    with pytest.raises(PathRefused, match="Permission denied"):
        workspace.read("memory/a.md")


@pytest.mark.parametrize("by_descriptor", [True, False])
def test_systems_without_openat_refuse_the_same(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *, by_descriptor: bool
) -> None:
    monkeypatch.setattr(_paths, "BY_DESCRIPTOR", by_descriptor)
    (workspace.root / "memory/link.md").symlink_to(workspace.root.parent / "outside.md")
    (workspace.root / "memory/dir").symlink_to(workspace.root.parent)
    assert workspace.read("MEMORY.md", start=1, lines=1).text == "one"
    assert workspace.read("memory/none.md").text == ""
    for path in ("memory/link.md", "memory/dir/outside.md", "memory/sub"):
        with pytest.raises(PathRefused):
            workspace.read(path)


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_a_file_or_folder_that_is_swapped_for_a_link_while_it_is_read_never_leads_out(
    workspace: Workspace, tmp_path: Path, swapped: str
) -> None:
    place = workspace.root / "memory" / "sub"
    (tmp_path / "trap").mkdir()
    (tmp_path / "trap" / "x.md").write_text(SECRET, encoding="utf-8")
    (place / "x.md").write_text("inside", encoding="utf-8")
    target = place / "x.md" if swapped == "file" else place
    kept = tmp_path / "kept"
    link = tmp_path / "link"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            target.rename(kept)
            link.symlink_to(tmp_path / "trap" / "x.md" if swapped == "file" else tmp_path / "trap")
            link.rename(target)
            target.unlink()
            kept.rename(target)

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[str] = set()
    try:
        for _ in range(3000):
            try:
                seen.add(workspace.read("memory/sub/x.md").text)
            except PathRefused:
                seen.add("refused")
    finally:
        stop.set()
        thread.join()
    assert seen <= {"inside", "", "refused"}
    assert workspace.read("memory/sub/x.md").text == "inside"


NAMES = [
    " lead.md", "  two.md", "\u00a0nbsp.md", " folder/in.md", "trail .md", "-dash.md", "#hash.md", "a#L5.md", "C#.md",
    "a:b.md", "a|b.md", "[x].md", "a*b?.md", "~t.md", '"q".md', "'q'.md", "$v.md", "a%20b.md", "(p).md", "🎉.md",
    "a.md.md", "PLAN.MD", "Plan.Md", "2.MD",
]  # fmt: skip


@posix_only
@pytest.mark.parametrize("name", NAMES)
def test_a_note_is_read_written_and_forgotten_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = f"memory/{name}"
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text("- Tea at five.\n- Coffee at six.\n", encoding="utf-8")
    for cited, workspace in ((path, Workspace(tmp_path)), (name, Workspace(tmp_path / "memory", layout="notes"))):
        (source,) = workspace.scan().sources
        assert source.path == cited
        assert workspace.refusal(cited) is None
        assert workspace.read(f"{cited}#L2").text == "- Coffee at six."
        assert [entry.citation for entry in workspace.entries(cited)] == [f"{cited}#L1", f"{cited}#L2"]
    workspace = Workspace(tmp_path / "memory", layout="notes")
    workspace.append(name, "- Milk.")
    assert file.read_text(encoding="utf-8").endswith("- Milk.\n")
    request = ForgetRequest.of(f"{name}#L1", None, None)
    assert (request.path, request.first) == (name, 1)


@posix_only
def test_blanks_around_a_path_are_left_out_unless_they_are_part_of_it(tmp_path: Path) -> None:
    for name in (" tea.md", "tea.md", " cocoa.md"):
        (tmp_path / name).write_text(f"{name!r}\n", encoding="utf-8")
    workspace = Workspace(tmp_path, layout="notes")
    read = {path: workspace.read(path).text for path in (" tea.md", "tea.md", "  tea.md ", "cocoa.md", " cocoa.md#L1 ")}
    assert read == {
        " tea.md": "' tea.md'\n", "tea.md": "'tea.md'\n", "  tea.md ": "'tea.md'\n",
        "cocoa.md": "' cocoa.md'\n", " cocoa.md#L1 ": "' cocoa.md'",
    }  # fmt: skip
