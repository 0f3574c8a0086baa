"""Which files a scan finds, and what it says about the others."""

from __future__ import annotations

import os
import time
from datetime import date
from pathlib import Path

import pytest

from memoriter.errors import PathRefused, WorkspaceNotFound
from memoriter.ids import bytes_hash
from memoriter.workspace import ExtraPath, Workspace


def lay(root: Path, *names: str, content: str = "note") -> Path:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return root


def found(workspace: Workspace) -> list[str]:
    return [source.path for source in workspace.scan().sources]


def skipped(workspace: Workspace) -> dict[str, str]:
    return {skip.path: skip.reason for skip in workspace.scan().skipped}


def test_the_long_term_file_and_all_markdown_under_memory_are_found_in_order(tmp_path: Path) -> None:
    lay(tmp_path, "memory/2026-02-10.md", "memory/a/b/c.md", "MEMORY.md", "README.md", "docs/x.md", "memory/노트.md")
    assert found(Workspace(tmp_path)) == ["MEMORY.md", "memory/2026-02-10.md", "memory/a/b/c.md", "memory/노트.md"]
    assert skipped(Workspace(tmp_path)) == {}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize("name", ["a\nMEMORY.md", "a\x1b[2J.md", "a\u2028b.md", "a\x9bb.md"])
def test_a_name_with_a_line_break_or_a_control_character_is_skipped_and_told_on_one_line(
    tmp_path: Path, name: str
) -> None:
    lay(tmp_path, f"memory/{name}", "memory/a.md", f"memory/folder{name}/b.md")
    scan = Workspace(tmp_path).scan()
    assert [source.path for source in scan.sources] == ["memory/a.md"]
    assert len(scan.skipped) == 2
    for skip in scan.skipped:
        assert skip.path.isprintable()
        assert (skip.reason, skip.message) == ("unreadable", "its name holds a line break or another control character")
    with pytest.raises(PathRefused, match="line break"):
        Workspace(tmp_path).read(f"memory/{name}")


def test_a_source_says_where_its_bytes_are(tmp_path: Path) -> None:
    lay(tmp_path, "memory/a.md", content="four")
    (source,) = Workspace(tmp_path).scan().sources
    status = (tmp_path / "memory/a.md").stat()
    assert source.file == tmp_path / "memory" / "a.md"
    assert (source.kind, source.size, source.mtime_ns) == ("memory", 4, status.st_mtime_ns)


def test_a_missing_folder_is_no_workspace_and_an_empty_one_is(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceNotFound, match="nowhere"):
        Workspace(tmp_path / "nowhere")
    with pytest.raises(WorkspaceNotFound):
        Workspace(lay(tmp_path / "w", "file") / "file")
    assert Workspace(tmp_path / "w").scan().sources == ()


def test_the_root_may_be_a_link_and_links_inside_are_listed_and_not_followed(tmp_path: Path) -> None:
    real = lay(tmp_path / "real", "MEMORY.md", "memory/a.md")
    lay(tmp_path, "elsewhere/secret.md")
    (real / "memory/link.md").symlink_to(tmp_path / "elsewhere/secret.md")
    (real / "memory/folder").symlink_to(tmp_path / "elsewhere")
    (real / "memory/dangling.md").symlink_to("nowhere")
    (tmp_path / "root").symlink_to(real)

    workspace = Workspace(tmp_path / "root")

    assert found(workspace) == ["MEMORY.md", "memory/a.md"]
    assert skipped(workspace) == dict.fromkeys(["memory/dangling.md", "memory/folder", "memory/link.md"], "symlink")
    assert workspace.read(str(real / "memory/a.md")).path == "memory/a.md"


def test_a_linked_memory_folder_or_file_is_listed_and_refused_for_writing(tmp_path: Path) -> None:
    lay(tmp_path, "elsewhere/a.md")
    root = tmp_path / "ws"
    root.mkdir()
    (root / "memory").symlink_to(tmp_path / "elsewhere")
    (root / "MEMORY.md").symlink_to(tmp_path / "elsewhere/a.md")
    workspace = Workspace(root)
    assert found(workspace) == []
    assert skipped(workspace) == {"MEMORY.md": "symlink", "memory": "symlink"}
    with pytest.raises(PathRefused, match="symbolic link"):
        workspace.daily(date(2026, 2, 10))


def test_both_spellings_of_the_long_term_file_are_found_but_one_file_only_once(tmp_path: Path) -> None:
    lay(tmp_path, "MEMORY.md", content="a")
    lay(tmp_path, "memory.md", content="b")
    if (tmp_path / "MEMORY.md").read_text(encoding="utf-8") == "a":
        assert found(Workspace(tmp_path)) == ["MEMORY.md", "memory.md"]
    (tmp_path / "memory.md").unlink()
    os.link(tmp_path / "MEMORY.md", tmp_path / "memory.md")  # what a disk that ignores case looks like
    assert found(Workspace(tmp_path)) == ["MEMORY.md"]


def test_a_folder_with_the_name_of_the_long_term_file_is_not_memory(tmp_path: Path) -> None:
    lay(tmp_path, "MEMORY.md/inside.md")
    workspace = Workspace(tmp_path, layout="openclaw")
    assert found(workspace) == []
    assert skipped(workspace) == {"MEMORY.md": "special"}
    for path in ("MEMORY.md", "MEMORY.md/inside.md"):
        with pytest.raises(PathRefused):
            workspace.read(path)


def test_extra_paths_are_files_and_folders_inside_and_outside(tmp_path: Path) -> None:
    root = lay(tmp_path / "ws", "MEMORY.md", "docs/a.md", "docs/b/c.md", "one.md", "docs/d.py")
    lay(tmp_path, "out/x.md", "out/deep/y.md", "single.md", "other.md")
    extra = [
        ExtraPath("docs"),
        ExtraPath("one.md"),
        ExtraPath(str(tmp_path / "out")),
        ExtraPath("../single.md"),
        ExtraPath("../missing.md"),
        ExtraPath(" "),
    ]
    workspace = Workspace(root, extra)

    assert found(workspace) == [
        "../out/deep/y.md",
        "../out/x.md",
        "../single.md",
        "MEMORY.md",
        "docs/a.md",
        "docs/b/c.md",
        "one.md",
    ]
    assert skipped(workspace) == {"../missing.md": "missing"}
    assert workspace.read("../single.md").text == "note"
    assert workspace.read(str(tmp_path / "out/x.md")).path == "../out/x.md"
    with pytest.raises(PathRefused):
        workspace.read("../other.md")


def test_an_extra_path_that_no_file_can_have_is_listed_and_harms_nothing_else(tmp_path: Path) -> None:
    root = lay(tmp_path / "ws", "MEMORY.md")
    workspace = Workspace(root, [ExtraPath("../nul\0.md"), ExtraPath("half\ud800.md"), ExtraPath("../" + "x" * 5000)])
    assert found(workspace) == ["MEMORY.md"]
    assert set(skipped(workspace).values()) == {"unreadable"}
    assert workspace.read("MEMORY.md").text == "note"


def test_a_pattern_takes_a_part_of_an_extra_folder_for_scan_and_read_alike(tmp_path: Path) -> None:
    lay(tmp_path, "n/a.md", "n/work/b.md", "n/work/deep/c.md", "n/home/d.md")
    for pattern, names in {
        "*.md": ["n/a.md"],
        "**/*.md": ["n/a.md", "n/home/d.md", "n/work/b.md", "n/work/deep/c.md"],
        "work/**": ["n/work/b.md", "n/work/deep/c.md"],
        "{work,home}/*.md": ["n/home/d.md", "n/work/b.md"],
    }.items():
        workspace = Workspace(tmp_path, [ExtraPath("n", pattern)])
        assert found(workspace) == names
        for path in ("n/a.md", "n/work/b.md", "n/work/deep/c.md", "n/home/d.md"):
            if path in names:
                assert workspace.read(path).text == "note"
            else:
                with pytest.raises(PathRefused, match="pattern"):
                    workspace.read(path)


def test_a_file_that_two_places_reach_is_found_once(tmp_path: Path) -> None:
    lay(tmp_path, "MEMORY.md", "memory/a.md", "notes/n.md")
    (tmp_path / "alias").symlink_to(tmp_path)
    extra = [ExtraPath("memory"), ExtraPath("notes"), ExtraPath("notes/n.md"), ExtraPath("."), ExtraPath("MEMORY.md")]
    assert found(Workspace(tmp_path, extra)) == ["MEMORY.md", "memory/a.md", "notes/n.md"]
    outside = Workspace(tmp_path / "notes", [ExtraPath("../memory"), ExtraPath(str(tmp_path / "alias" / "memory"))])
    assert found(outside) == ["../memory/a.md", "n.md"]


def test_an_extra_path_inside_the_workspace_may_not_lead_through_a_link(tmp_path: Path) -> None:
    lay(tmp_path, "out/a.md")
    root = tmp_path / "ws"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "out")
    workspace = Workspace(root, [ExtraPath("link")])
    assert found(workspace) == []
    assert skipped(workspace) == {"link": "symlink"}
    with pytest.raises(PathRefused, match="symbolic link"):
        workspace.read("link/a.md")


def test_what_is_not_a_note_is_listed_with_its_reason(tmp_path: Path) -> None:
    lay(tmp_path, "memory/a.md", "memory/b.txt", "memory/big.md", content="0123456789")
    lay(tmp_path, "memory/.trash/x.md", "memory/.hidden.md", "memory/~$a.md", "memory/a.md~", "memory/a.md.tmp")
    lay(tmp_path, "memory/node_modules/p/q.md", "memory/a.sync-conflict-20260101-ABC.md", "notes/.x/y.md", "notes/p.py")
    os.mkfifo(tmp_path / "memory/pipe.md")
    (tmp_path / "memory/big.md").write_text("0123456789" * 10, encoding="utf-8")

    workspace = Workspace(tmp_path, [ExtraPath("notes")], max_bytes=50)

    assert found(workspace) == ["memory/a.md"]
    assert skipped(workspace) == {
        "memory/.hidden.md": "ignored",
        "memory/.trash": "ignored",
        "memory/a.md.tmp": "ignored",
        "memory/a.md~": "ignored",
        "memory/a.sync-conflict-20260101-ABC.md": "ignored",
        "memory/b.txt": "not_markdown",
        "memory/big.md": "too_large",
        "memory/node_modules": "ignored",
        "memory/pipe.md": "special",
        "memory/~$a.md": "ignored",
        "notes/.x": "ignored",
    }
    assert all(skip.message for skip in workspace.scan().skipped)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_a_folder_that_may_not_be_read_is_listed(tmp_path: Path) -> None:
    lay(tmp_path, "memory/closed/a.md")
    (tmp_path / "memory/closed").chmod(0)
    try:
        assert skipped(Workspace(tmp_path)) == {"memory/closed": "unreadable"}
    finally:
        (tmp_path / "memory/closed").chmod(0o700)


def test_a_folder_that_vanishes_or_fails_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, "memory/a.md", "memory/closed/b.md")
    listing = os.scandir

    def fail(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return listing(path)

    monkeypatch.setattr(os, "scandir", fail)
    assert found(Workspace(tmp_path)) == ["memory/a.md"]
    assert skipped(Workspace(tmp_path)) == {"memory/closed": "unreadable"}


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="names are always text there")
def test_a_name_that_is_not_text_is_listed_in_a_form_that_can_be_shown(tmp_path: Path) -> None:
    lay(tmp_path, "memory/a.md")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/memory/caf\xe9.md"))).touch()
    workspace = Workspace(tmp_path)
    assert found(workspace) == ["memory/a.md"]
    assert skipped(workspace) == {"memory/caf\ufffd.md": "unreadable"}


@pytest.mark.slow
def test_ten_thousand_files_are_listed_with_one_stat_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in range(100):
        (tmp_path / "memory" / str(folder)).mkdir(parents=True)
        for note in range(100):
            (tmp_path / "memory" / str(folder) / f"{note}.md").touch()
    workspace = Workspace(tmp_path)
    started = time.process_time()
    scan = workspace.scan()
    assert len(scan.sources) == 10_000
    assert time.process_time() - started < 2  # some .08 s where it was written

    stat_calls: list[object] = []
    ask = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path, **more: stat_calls.append(path) or ask(path, **more))
    assert len(workspace.scan().sources) == 10_000
    assert len(stat_calls) < 20  # the files' own come with the listing


def test_load_gives_text_hash_and_a_fresh_stat(tmp_path: Path) -> None:
    lay(tmp_path, "memory/a.md")
    workspace = Workspace(tmp_path)
    (source,) = workspace.scan().sources
    content = b"\xef\xbb\xbfone\r\ntwo \xff\x00\n"
    (tmp_path / "memory/a.md").write_bytes(content)

    loaded = workspace.load(source)

    assert loaded.text == "one\r\ntwo \ufffd\x00\n"
    assert loaded.hash == bytes_hash(content)
    assert (loaded.source.path, loaded.source.size) == ("memory/a.md", len(content))


def test_load_refuses_what_is_no_longer_a_plain_note(tmp_path: Path) -> None:
    lay(tmp_path, "memory/a.md", "elsewhere.md")
    workspace = Workspace(tmp_path, max_bytes=100)
    (source,) = workspace.scan().sources
    file = tmp_path / "memory/a.md"

    file.write_bytes(b"x" * 101)
    with pytest.raises(PathRefused, match="101 bytes"):
        workspace.load(source)
    file.unlink()
    with pytest.raises(PathRefused, match="not there any more"):
        workspace.load(source)
    file.symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(PathRefused, match="symbolic link"):
        workspace.load(source)


def test_the_daily_and_the_long_term_file(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.daily(date(2026, 2, 9)) == tmp_path / "memory" / "2026-02-09.md"
    assert workspace.long_term() == tmp_path / "MEMORY.md"
    lay(tmp_path, "memory.md")
    assert workspace.long_term().samefile(tmp_path / "memory.md")
    lay(tmp_path, "MEMORY.md")
    assert workspace.long_term() == tmp_path / "MEMORY.md"
