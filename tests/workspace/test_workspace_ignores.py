"""`.memoryignore` has the syntax of `.gitignore` and holds for scan, watch and read alike."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Literal

import pathspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.errors import PathRefused
from memoriter.workspace import ExtraPath, Workspace, in_ignored_folder
from memoriter.workspace._ignore import _compile
from odd_files import KINDS, longer_than_memory, posix_only

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def agree(workspace: Workspace, files: list[str]) -> list[str]:
    """The files that are memory, after making sure that scan, watch and read agree on each."""
    found = [source.path for source in workspace.scan().sources]
    for path in files:
        assert (workspace.refusal(path) is None) == (path in found), path
        if path in found:
            assert workspace.read(path).text == "note"
        else:
            with pytest.raises(PathRefused) as refused:
                workspace.read(path)
            assert repr(path) in str(refused.value)
    return found


def lay(root: Path, files: list[str], ignore: dict[str, str]) -> None:
    for path, content in {**dict.fromkeys(files, "note"), **ignore}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")


@posix_only
@pytest.mark.timeout(200)
@pytest.mark.parametrize("make", [kind for kind in KINDS if kind is not longer_than_memory])
@pytest.mark.parametrize("place", ["", "memory/", "memory/drafts/", "notes/", "notes/deep/", "../other/"])
def test_rules_that_cannot_be_read_leave_out_all_that_they_could_exclude(
    tmp_path: Path, make: Callable[[Path], None], place: str
) -> None:
    root = tmp_path / "root"
    notes = ["../other/o.md", "MEMORY.md", "memory/drafts/a.md", "notes/deep/n.md"]
    lay(root, notes, {})
    make(root / place / ".memoryignore")
    workspace = Workspace(root, [ExtraPath("notes/deep"), ExtraPath("../other")])
    found = workspace.scan()
    messages = {skip.path: skip.message for skip in found.skipped if skip.reason == "unreadable"}
    assert list(messages) == [f"{place}.memoryignore"]
    assert messages[f"{place}.memoryignore"].endswith("Everything below its folder is left out")
    assert agree(workspace, notes) == [path for path in notes if not is_below(path, place)]


def is_below(path: str, place: str) -> bool:
    """Whether the rules of a folder hold for a path: those of the workspace do for all that is inside."""
    return path.startswith(place) and not (place == "" and path.startswith("../"))


RULES = "# Entwürfe\ngeheim/\nÜber.md\n"


@pytest.mark.parametrize(
    "content",
    [
        RULES.encode("utf-8-sig"),
        RULES.encode("utf-16"),
        RULES.encode("utf-16-le"),
        RULES.encode("utf-16-be"),
        b"\xfe\xff" + RULES.encode("utf-16-be"),
        RULES.encode("utf-32"),
        RULES.replace("\n", "\r\n").encode("utf-16"),
        RULES.replace("\n", "\r").encode(),
        RULES.replace("geheim", "\ufeffgeheim").encode(),
    ],
)
def test_rules_hold_in_every_unicode_encoding_that_editors_write(tmp_path: Path, content: bytes) -> None:
    notes = ["memory/a.md", "memory/geheim/b.md", "memory/Über.md"]
    lay(tmp_path, notes, {})
    (tmp_path / ".memoryignore").write_bytes(content)
    assert agree(Workspace(tmp_path), notes) == ["memory/a.md"]


@pytest.mark.parametrize(
    "content",
    [RULES.encode("cp1252"), "секрет/\n".encode("cp1251"), b"geheim/\n\0\0\0", b"geheim/\0\nb.md\n", b"\xff\xfeg"],
)
def test_rules_in_an_unknown_encoding_leave_out_all_notes_and_say_so(tmp_path: Path, content: bytes) -> None:
    lay(tmp_path, ["memory/a.md", "memory/geheim/b.md"], {})
    (tmp_path / "memory/.memoryignore").write_bytes(content)
    workspace = Workspace(tmp_path)
    assert agree(workspace, ["memory/a.md", "memory/geheim/b.md"]) == []
    (skip,) = workspace.scan().skipped
    assert (skip.path, skip.reason) == ("memory/.memoryignore", "unreadable")
    assert "neither UTF-8 nor UTF-16" in skip.message


FILES = ["MEMORY.md", "memory/a.md", "memory/drafts/b.md", "memory/drafts/keep.md", "memory/x/y/z.md", "notes/n.md"]


@pytest.mark.parametrize(
    ("ignore", "memory"),
    [
        ({}, FILES),
        ({".memoryignore": "# nothing\n\n"}, FILES),
        ({".memoryignore": "MEMORY.md\n"}, FILES[1:]),
        ({".memoryignore": "drafts/\n"}, ["MEMORY.md", "memory/a.md", "memory/x/y/z.md", "notes/n.md"]),
        ({".memoryignore": "/drafts\n"}, FILES),
        ({".memoryignore": "memory/**/z.md\nnotes\n"}, FILES[:4]),
        ({".memoryignore": "memory\n"}, ["MEMORY.md", "notes/n.md"]),
        ({".memoryignore": "memory/drafts/*\n!keep.md\n"}, [path for path in FILES if "/b.md" not in path]),
        ({".memoryignore": "drafts/\n!keep.md\n"}, [path for path in FILES if "drafts" not in path]),
        ({"memory/.memoryignore": "/a.md\nx\n"}, [path for path in FILES if "/a" not in path and "/x" not in path]),
        ({".memoryignore": "*.md\n", "memory/drafts/.memoryignore": "!*.md\n"}, FILES[2:4]),
        ({"notes/.memoryignore": "*\n"}, FILES[:-1]),
        ({".memoryignore": "\ufeff!\nMEMORY.md\n"}, FILES[1:]),
    ],
)
def test_ignore_files_decide_as_git_does(tmp_path: Path, ignore: dict[str, str], memory: list[str]) -> None:
    lay(tmp_path, FILES, ignore)
    assert agree(Workspace(tmp_path, [ExtraPath("notes")]), FILES) == memory


def test_an_ignored_folder_is_one_entry_and_says_who_left_it_out(tmp_path: Path) -> None:
    lay(tmp_path, FILES, {".memoryignore": "drafts/\n"})
    (skip,) = Workspace(tmp_path).scan().skipped
    assert (skip.path, skip.reason) == ("memory/drafts", "ignored")
    assert ".memoryignore" in skip.message


def test_an_ignore_file_in_an_extra_folder_outside_holds_there(tmp_path: Path) -> None:
    lay(
        tmp_path,
        ["ws/MEMORY.md", "out/a.md", "out/b.md"],
        {"out/.memoryignore": "b.md\n", "ws/.memoryignore": "a.md\n"},
    )
    workspace = Workspace(tmp_path / "ws", [ExtraPath("../out")])
    assert agree(workspace, ["MEMORY.md", "../out/a.md", "../out/b.md"]) == ["../out/a.md", "MEMORY.md"]


def test_an_ignore_file_that_is_a_link_is_not_read_and_lets_nothing_in(tmp_path: Path) -> None:
    lay(tmp_path, FILES, {"patterns": "x\n"})
    (tmp_path / "memory/.memoryignore").symlink_to(tmp_path / "patterns")
    assert agree(Workspace(tmp_path), FILES[:-1]) == ["MEMORY.md"]


def test_built_in_ignores_hold_below_a_place_but_a_place_itself_may_be_hidden(tmp_path: Path) -> None:
    files = [".vault/a.md", ".vault/.obsidian/b.md", ".vault/.c.md", ".vault/Node_Modules/d.md", ".vault/venv/e.md"]
    lay(tmp_path, files, {})
    assert agree(Workspace(tmp_path, [ExtraPath(".vault")]), files) == [".vault/a.md"]


def test_folders_of_tools_are_known_in_any_case_and_only_as_whole_names() -> None:
    assert in_ignored_folder("/ws/NODE_MODULES/a.md")
    assert not in_ignored_folder("/ws/node_modules.md/../my-venv/a.md")


@posix_only
def test_everything_below_rules_that_are_too_long_is_left_out_and_this_is_said(tmp_path: Path) -> None:
    lay(tmp_path, FILES, {})
    (tmp_path / ".memoryignore").write_bytes(b"drafts/\n" + b"\n" * (1 << 20) + b"MEMORY.md\n")
    found = Workspace(tmp_path).scan()
    assert found.sources == ()
    assert [(skip.path, skip.reason) for skip in found.skipped] == [(".memoryignore", "too_large")]


def test_a_pattern_with_many_stars_has_an_answer(tmp_path: Path) -> None:
    """A matcher that tries every division of a name has no end here, and the suite's timeout ends it."""
    names = [f"memory/{'a' * 200}{number}.md" for number in range(30)]
    lay(
        tmp_path,
        ["MEMORY.md", *names, f"memory/{'a/' * 40}b.md"],
        {".memoryignore": f"{'*a' * 40}*b\n{'**/a/' * 12}c\n"},
    )
    workspace = Workspace(
        tmp_path, [ExtraPath("memory", "**/a*/" * 12 + "*c.md"), ExtraPath("memory", "**/" * 12 + "x.md")]
    )
    found = [source.path for source in workspace.scan().sources]
    assert len(found) == 32
    assert all(workspace.refusal(path) is None for path in found)


@pytest.mark.parametrize(
    ("patterns", "why"),
    [
        ("x\n" * 1_001, "1000 patterns"),
        ("x" * 1_001, "1,000 characters"),
        ("# " + "x" * (1 << 20), "longer than 1048576 bytes"),
    ],
)
def test_an_ignore_file_that_is_too_large_leaves_its_folder_out_and_is_named(
    tmp_path: Path, patterns: str, why: str
) -> None:
    lay(tmp_path, FILES, {"memory/drafts/.memoryignore": patterns})
    workspace = Workspace(tmp_path)
    assert agree(workspace, FILES[:5]) == ["MEMORY.md", "memory/a.md", "memory/x/y/z.md"]
    (skip,) = [skip for skip in workspace.scan().skipped if skip.reason == "too_large"]
    assert skip.path == "memory/drafts/.memoryignore"
    assert why in skip.message
    lay(tmp_path, [], {".memoryignore": patterns})
    assert agree(workspace, FILES[:5]) == []


def test_the_ignore_files_of_a_path_share_one_limit(tmp_path: Path) -> None:
    lay(tmp_path, FILES, {".memoryignore": "x1\n" * 600, "memory/drafts/.memoryignore": "x2\n" * 600})
    assert agree(Workspace(tmp_path), FILES[:5]) == ["MEMORY.md", "memory/a.md", "memory/x/y/z.md"]


@pytest.mark.parametrize("pattern", ["{a,b}" * 7 + ".md", "x" * 1_001, "{" + "," * 900 + "}"])
def test_a_pattern_of_an_extra_path_with_too_many_alternatives_takes_no_file_and_is_named(
    tmp_path: Path, pattern: str
) -> None:
    lay(tmp_path, FILES, {})
    workspace = Workspace(tmp_path, [ExtraPath("notes", pattern)])
    assert agree(workspace, FILES) == FILES[:-1]
    (skip,) = workspace.scan().skipped
    assert (skip.path, skip.reason) == ("notes", "too_large")


SEGMENT = st.lists(
    st.sampled_from(["a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "[a-b]", "\\a", "a*b", "*a", "a**b", "*[a]*"]),
    min_size=1,
    max_size=3,
).map("".join)
PATTERN = st.builds(
    lambda negated, lead, segments, tail: negated + lead + "/".join(segments) + tail,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/", "**/"]),
    st.lists(SEGMENT, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)


@pytest.mark.slow
@given(
    st.lists(PATTERN.filter(lambda text: not text.rstrip("/").endswith("**")), min_size=1, max_size=3),
    st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_patterns_mean_what_they_mean_to_another_reader_of_git_ignore(patterns: list[str], names: list[str]) -> None:
    """Only where its folders end in `/**` does git differ from pathspec; and for it `[!a]` is also a slash."""
    spec = pathspec.GitIgnoreSpec.from_lines(patterns)
    ours = _compile(tuple(patterns))
    assert ours is not None

    def left_out(decide: Callable[[str, bool], bool | None]) -> bool:
        return any(decide("/".join(names[:depth]), depth < len(names)) for depth in range(1, len(names) + 1))

    if not any("[!" in pattern for pattern in patterns):
        theirs = left_out(lambda path, folder: spec.check_file(path + "/" * folder).include)
        assert left_out(lambda path, folder: ours.decision(path, folder=folder)) == theirs


NOTE = "# Plan\n\n- The door code is 4711.\n- Tea at five.\n"
COPIES = [
    "Plan (Bob's conflicted copy 2024-03-05).md", "Plan (conflicted copy 2024-03-05 101112).md",
    "Plan (Conflicted copy MacBook 202403051011).md", "Plan (In Konflikt stehende Kopie von Bob 2024-03-05).md",
    "Plan (Copie en conflit de Bob 2024-03-05).md", "Plan (Case Conflict).md", "Plan (Bob の競合コピー 2024-03-05).md",
    "Plan.sync-conflict-20240305-101112-ABCDEFG.md", "Plan_conflict-20240305-101112.md",
    "Plan (SFConflict bob@example.org 2024-03-05-10-11-12).md", "Plan_Disk_Mar-05-1011-2024_Conflict.md",
    "Plan [Conflict].md", "Plan_conflict_copy.md",
    "Plan (Bob 的冲突副本 2024-03-05).md", "Plan.Conflict.md", "Plan.conflict(1).md", "Plan_REMOTE_12345.md",
    "Plan (1).md", "Plan-DESKTOP-AB12CD3.md", "Plan-LAPTOP-1A2B3C4D-2.md", "Plan-Bobs-MacBook-Pro.md", "Plan 2.md",
    "Plan (# Name clash 2024-03-05 aB3 #).md", "Plan (Bobs konfliktkopia 2024-03-05).md", "Plan.conflict1.md",
    "Plan (Kopia powodująca konflikt 2024-03-05).md", "Plan (充電 충돌된 사본 2024-03-05).md", "Plan_conflict.md",
    "Plan-BOBS-THINKPAD.md",
]  # fmt: skip
BY_THEMSELVES = [
    "Conflict.md", "Conflict of interest.md", "Resolving conflicts.md", "Plan (with a conflict).md", "Plan 2025.md",
    "Plan 12.md", "Plan-FINAL.md", "Other (1).md", "Other 2.md", "Other-DESKTOP-AB12CD3.md", "Plan 3.md",
    "Plan (meeting of 2024-03-05).md", "Plan_conflict.md", "Plan (2).md", "Plan - Copy.md", "Plan copy.md",
    "Plan-bob.md", "Copy of Other.md", "Hard copy.md",
]  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_that_a_sync_program_made_of_a_note_is_no_memory(tmp_path: Path, name: str) -> None:
    lay(tmp_path, [], {"memory/Plan.md": NOTE, f"memory/{name}": NOTE.replace("4711", "1234")})
    workspace = Workspace(tmp_path)
    found = workspace.scan()
    assert [source.path for source in found.sources] == ["memory/Plan.md"]
    (skip,) = found.skipped
    assert (skip.path, skip.reason) == (f"memory/{name}", "ignored")
    refusal = workspace.refusal(f"memory/{name}")
    assert refusal == skip


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_a_note_with_a_similar_name_stays_memory(tmp_path: Path, name: str) -> None:
    lay(tmp_path, [], {"memory/Plan.md": NOTE})
    lay(tmp_path, [f"memory/{name}"], {})
    assert agree(Workspace(tmp_path), [f"memory/{name}"]) == sorted([f"memory/{name}", "memory/Plan.md"])


FILE_MANAGERS = [
    "Plan - Copy.md", "Plan - Copy (2).md", "Plan copy.md", "Plan copy 2.md", "Plan (copy).md", "Plan (3rd copy).md",
    "Copy of Plan.md", "Plan - Kopie.md", "Plan Kopie 2.md", "Plan (another copy).md", "Plan - コピー.md",
    "Plan のコピー.md", "Plan - 副本 (2).md", "Plan 복사본.md", "Kopie von Plan.md", "Plan — копия.md",
]  # fmt: skip


@pytest.mark.parametrize("name", FILE_MANAGERS)
def test_a_copy_that_says_nothing_of_its_own_is_no_memory(tmp_path: Path, name: str) -> None:
    lay(tmp_path, [], {"memory/Plan.md": NOTE, f"memory/{name}": NOTE})
    assert [source.path for source in Workspace(tmp_path).scan().sources] == ["memory/Plan.md"]
    (tmp_path / "memory" / name).write_text(f"{NOTE}- Coffee at six.\n", encoding="utf-8")
    assert len(Workspace(tmp_path).scan().sources) == 2


ALL = ["Drafts/b.md", "Private.md", "a.md", "logs/Draft 1.md"]


def obsidian(*filters: str) -> dict[str, str]:
    return {".obsidian/app.json": json.dumps({"alwaysUpdateLinks": True, "userIgnoreFilters": filters})}


@pytest.mark.parametrize(
    ("ignore", "memory"),
    [
        (obsidian(), ALL),
        (obsidian("Drafts/"), ["Private.md", "a.md", "logs/Draft 1.md"]),
        (obsidian("private.md", "logs"), ["Drafts/b.md", "a.md"]),
        (obsidian("/draft \\d/"), ["Drafts/b.md", "Private.md", "a.md"]),
        (obsidian("Drafts/") | {".memoryignore": "!Drafts/\n!Drafts/*\n"}, ALL),
        ({".obsidian/app.json": "{}"}, ALL),
        ({".obsidian/app.json": "{"}, []),
        ({".obsidian/app.json": "[" * 100_000}, []),
        ({".obsidian/app.json": '{"userIgnoreFilters": "Drafts/"}'}, []),
        ({".obsidian/app.json": '{"userIgnoreFilters": null}'}, ALL),
        (obsidian("/(/"), []),
        (obsidian("/^(a+)+$/"), ALL),
    ],
)
def test_what_obsidian_excludes_is_no_memory(tmp_path: Path, ignore: dict[str, str], memory: list[str]) -> None:
    lay(tmp_path, ALL, ignore)
    assert agree(Workspace(tmp_path, layout="notes"), ALL) == memory


def test_an_expression_that_has_no_end_leaves_the_note_out(tmp_path: Path) -> None:
    files = [f"{'a' * 60}.md", "b.md"]
    lay(tmp_path, files, obsidian("/^(a|aa)+$/"))
    assert agree(Workspace(tmp_path, layout="notes"), files) == ["b.md"]


def test_the_backups_of_logseq_are_no_memory(tmp_path: Path) -> None:
    files = ["journals/2024_03_05.md", "logseq/bak/pages/a/1.md", "logseq/version-files/b.md", "pages/a.md", "bak/c.md"]
    lay(tmp_path, files, {"logseq/config.edn": "{}"})
    found = agree(Workspace(tmp_path, layout="notes"), files)
    assert found == ["bak/c.md", "journals/2024_03_05.md", "pages/a.md"]


@pytest.mark.parametrize(
    ("settings", "memory"),
    [
        ('{:hidden ["/private" "pages/secret.md"]}', ["journals/2024_03_05.md", "pages/a.md"]),
        ("{:hidden []}", ["journals/2024_03_05.md", "pages/a.md", "pages/secret.md", "private/p.md"]),
        (
            '{;; :hidden ["/pages"]\n :x ";" :hidden [ "/journals", "/private" ]}',
            ["pages/a.md", "pages/secret.md"],
        ),
        ('{:hidden ["/"]}', ["journals/2024_03_05.md", "pages/a.md", "pages/secret.md", "private/p.md"]),
    ],
)
def test_what_logseq_hides_is_no_memory(tmp_path: Path, settings: str, memory: list[str]) -> None:
    files = ["journals/2024_03_05.md", "pages/a.md", "pages/secret.md", "private/p.md"]
    lay(tmp_path, files, {"logseq/config.edn": settings})
    assert agree(Workspace(tmp_path, layout="notes"), files) == memory


@pytest.mark.parametrize("of_rules", ["NFC", "NFD"])
@pytest.mark.parametrize("of_names", ["NFC", "NFD"])
def test_rules_hold_for_names_however_their_accents_are_written(
    tmp_path: Path, of_rules: Literal["NFC", "NFD"], of_names: Literal["NFC", "NFD"]
) -> None:
    one, other = (unicodedata.normalize(of_names, name) for name in ("Über/a.md", "Café/b.md"))
    rule, excluded = (unicodedata.normalize(of_rules, name) for name in ("Über/\n", "Café/"))
    lay(tmp_path, [one, other, "c.md"], obsidian(excluded) | {".memoryignore": rule})
    assert agree(Workspace(tmp_path, layout="notes"), [one, other, "c.md"]) == ["c.md"]
