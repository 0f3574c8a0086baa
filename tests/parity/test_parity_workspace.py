"""The workspace gives what OpenClaw's own functions gave for the same input, save for the differences named here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from memoriter.errors import PathRefused
from memoriter.ids import content_hash
from memoriter.workspace import (
    ExtraPath,
    Workspace,
    chunk_lines,
    extra_files,
    in_ignored_folder,
    is_memory_path,
    normalise_path,
)

if TYPE_CHECKING:
    from pathlib import Path


def left_out_by_us(path: str) -> bool:
    """Hidden names and folders of tools are memory for OpenClaw when it lists and reads, and never for us."""
    names = [name for name in path.split("/") if name not in {"", ".", ".."}]
    return in_ignored_folder(path) or any(name.startswith(".") for name in names)


def lay_out(root: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            file.write_bytes(content.encode())
        elif "link" in content:
            file.symlink_to(root / content["link"])
        else:
            file.mkdir(exist_ok=True)


@pytest.mark.vectors("chunkMarkdown")
def test_classic_chunks_are_the_same_to_the_character(case: dict[str, Any]) -> None:
    sizes = case["input"].get("chunking", {})
    chunks = chunk_lines(case["input"]["content"], **sizes)
    assert [
        {"startLine": chunk.start_line, "endLine": chunk.end_line, "text": chunk.text, "hash": content_hash(chunk.text)}
        for chunk in chunks
    ] == case["output"]


@pytest.mark.vectors("isMemoryPath")
def test_the_words_of_a_path_say_the_same(case: dict[str, Any]) -> None:
    assert is_memory_path(case["input"]) == case["output"]


@pytest.mark.vectors("normalizeRelPath")
def test_a_path_is_normalised_the_same(case: dict[str, Any]) -> None:
    assert normalise_path(case["input"]) == case["output"]


@pytest.mark.vectors("normalizeExtraMemoryPaths")
def test_extra_paths_become_the_same_absolute_paths(case: dict[str, Any]) -> None:
    parameters = case["input"]
    assert list(extra_files(parameters["workspaceDir"], parameters.get("extraPaths") or [])) == case["output"]


@pytest.mark.vectors("shouldIgnoreMemoryWatchPath")
def test_the_same_folders_of_tools_are_ignored(case: dict[str, Any]) -> None:
    assert in_ignored_folder(case["input"]) == case["output"]


@pytest.mark.vectors("listMemoryFiles")
def test_the_same_files_are_memory(case: dict[str, Any], tmp_path: Path) -> None:
    lay_out(tmp_path, case["input"]["files"])
    extra_paths = [ExtraPath(path) for path in case["input"].get("extraPaths") or []]

    found = [source.path for source in Workspace(tmp_path, extra_paths).scan().sources]

    expected = [path for path in case["output"] if not left_out_by_us(path)]
    ours = {path for path in found if not path.endswith(".md")}  # `.MD`, as the test below says
    assert [path for path in found if not left_out_by_us(path) and path not in ours] == expected


@pytest.fixture
def get(tmp_path: Path, recorded: Any) -> Any:
    lay_out(tmp_path, recorded("e2eWorkspace")["workspace_files"])
    workspace = Workspace(tmp_path, [ExtraPath("notes")])

    def whole(number: Any) -> int | None:
        return None if number is None else int(float(number))

    def call(params: dict[str, Any]) -> dict[str, Any]:
        path = params["path"].replace("@WS@", str(tmp_path)).strip()
        try:
            found = workspace.read(path, start=whole(params.get("from")), lines=whole(params.get("lines")))
        except PathRefused:
            shown = params["path"].strip()
            return {"path": shown, "text": "", "disabled": True, "error": "path required"}
        return {"text": found.text, "path": found.path}

    return call


@pytest.mark.vectors("memoryGetTool")
def test_memory_get_gives_the_same_text(case: dict[str, Any], get: Any) -> None:
    params = case["input"].get("params") or {}
    path = params.get("path")
    if not isinstance(path, str) or not path.strip():
        assert case["error"] == "path required"  # refused before a path is looked at
    elif left_out_by_us(path.replace("@WS@", "")):
        assert get(params)["disabled"]
    else:
        assert get(params) == case["output"]


def test_unlike_openclaw_hidden_files_and_folders_of_tools_are_never_memory(tmp_path: Path) -> None:
    files = {"memory/.git/a.md": "a", "memory/node_modules/b.md": "b", "memory/.c.md": "c", "memory/d.md": "d"}
    lay_out(tmp_path, files)
    workspace = Workspace(tmp_path)

    scan = workspace.scan()

    assert [source.path for source in scan.sources] == ["memory/d.md"]
    assert [(skip.path, skip.reason) for skip in scan.skipped] == [
        ("memory/.c.md", "ignored"),
        ("memory/.git", "ignored"),
        ("memory/node_modules", "ignored"),
    ]
    for path in ("memory/.git/a.md", "memory/node_modules/b.md", "memory/.c.md"):
        with pytest.raises(PathRefused, match=path):
            workspace.read(path)


def test_unlike_openclaw_a_path_with_dots_in_front_is_not_taken_for_memory(tmp_path: Path) -> None:
    lay_out(tmp_path, {".memory/x.md": "not a note", "MEMORY.md": "a note"})
    workspace = Workspace(tmp_path)

    assert is_memory_path(".memory/x.md")
    with pytest.raises(PathRefused):
        workspace.read(".memory/x.md")
    with pytest.raises(PathRefused):
        workspace.read("../MEMORY.md")


def test_unlike_openclaw_an_extra_path_outside_the_workspace_may_be_a_link(tmp_path: Path) -> None:
    lay_out(tmp_path, {"vault/a.md": "found", "ws/MEMORY.md": ""})
    (tmp_path / "link").symlink_to(tmp_path / "vault")
    workspace = Workspace(tmp_path / "ws", [ExtraPath("../link")])

    assert [source.path for source in workspace.scan().sources] == ["../link/a.md", "MEMORY.md"]
    assert workspace.read("../link/a.md").text == "found"


def test_unlike_openclaw_the_extension_may_have_capital_letters_and_others_are_named(tmp_path: Path) -> None:
    lay_out(tmp_path, {"memory/A.MD": "shouted", "memory/b.Markdown": "another"})
    workspace = Workspace(tmp_path)

    assert [source.path for source in workspace.scan().sources] == ["memory/A.MD"]
    assert [(skip.path, skip.reason) for skip in workspace.scan().skipped] == [("memory/b.Markdown", "not_markdown")]
    assert workspace.read("memory/A.MD").text == "shouted"
    with pytest.raises(PathRefused, match=r"\.md"):
        workspace.read("memory/b.Markdown")


def test_unlike_openclaw_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_bytes(b"\xef\xbb\xbf# Title\n")
    assert Workspace(tmp_path).read("MEMORY.md").text == "# Title\n"
