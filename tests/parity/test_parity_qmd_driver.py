"""What OpenClaw's QMD backend makes of paths, results and errors of QMD."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoriter.errors import PathRefused, QmdBusy, QmdUnreadable
from memoriter.extensions.qmd._answers import (
    append_capped,
    failure_of,
    is_busy,
    lacks_collection,
    line_range,
    parse_results,
    refuses_flag,
)
from memoriter.extensions.qmd._collections import Folder, cited_path, locate, read_cited
from memoriter.extensions.qmd._queries import Search, arguments_of, clean
from memoriter.extensions.qmd._updates import session_markdown
from memoriter.workspace import Workspace


@pytest.mark.vectors("parseQmdQueryJson")
def test_the_same_results_are_read(case: Any) -> None:
    given = (case["input"]["stdout"], case["input"]["stderr"])
    if given[0].startswith("[qmd] loading\n["):  # theirs is an error: a message before the results loses them
        assert parse_results(*given) == [{"docid": "a"}]
    elif "error" in case:
        with pytest.raises(QmdUnreadable):
            parse_results(*given)
    else:
        assert parse_results(*given) == case["output"]


@pytest.mark.vectors("qmdErrorClassification")
def test_the_same_errors_are_told_apart(case: Any) -> None:
    text = case["input"]
    expected = case["output"]
    assert is_busy(text) == expected["busy"] == isinstance(failure_of("`qmd update`", 1, text), QmdBusy)
    assert refuses_flag(text) == expected["unsupported_option"]
    assert lacks_collection(text) == expected["missing_collection_search"]


@pytest.mark.vectors("qmdExtractSnippetLines")
def test_the_same_lines_are_cited(case: Any) -> None:
    first = case["output"]["startLine"]
    last = case["output"]["endLine"]
    # Theirs cites lines 0 to -1 for a header without lines; the first line is 1.
    assert line_range(case["input"]) == (max(1, first), max(1, first, last))


@pytest.mark.vectors("qmdRenderSessionMarkdown")
def test_an_exported_session_looks_the_same(case: Any) -> None:
    name = Path(case["input"]["absPath"]).stem
    assert session_markdown(name, case["input"].get("content") or "") == case["output"]


@pytest.mark.vectors("appendOutputWithCap")
def test_output_is_cut_to_its_end(case: Any) -> None:
    given = case["input"]
    text, truncated = append_capped(given["current"], given["chunk"], given["maxChars"])
    assert {"text": text, "truncated": truncated} == case["output"]


@pytest.mark.vectors("qmdBuildSearchArgs")
def test_the_same_command_is_asked_for_the_same_number_of_results(case: Any) -> None:
    given = case["input"]
    expected = case["output"]
    search = Search(given["command"], clean(given["query"]), "words", limit=given["limit"])
    ours = arguments_of(search)
    # A query that starts with `-` is an option there; and QMD itself splits Chinese and Japanese text by now.
    assert ours[-2:] == ["--", given["query"].strip()]
    assert [ours[0], *ours[1:-2]] == [expected[0], *expected[2:]]


def folders_at(base: Path) -> tuple[Folder, ...]:
    """The collections of the recording, below a folder."""
    state = base / "state" / "agents" / "main" / "qmd" / "sessions"
    return (
        Folder("memory-root-main", base / "ws", "MEMORY.md", "memory"),
        Folder("memory-dir-main", base / "ws" / "memory", "**/*.md", "memory"),
        Folder("docs-main", base / "srv" / "docs", "**/*.md", "custom"),
        Folder("sessions-main", state, "**/*.md", "sessions"),
    )


def below(base: Path, path: str) -> Path:
    return base / path.removeprefix("/")


@pytest.mark.vectors("qmdToDocLocation")
def test_a_result_is_cited_by_the_same_path(tmp_path: Path, case: Any) -> None:
    name = case["input"]["collection"]
    relative = case["input"]["path"]
    folders = {folder.name: folder for folder in folders_at(tmp_path)}
    expected = below(tmp_path, case["output"]["abs"])
    if not expected.suffix:
        expected.mkdir(parents=True, exist_ok=True)
    else:
        expected.parent.mkdir(parents=True, exist_ok=True)
        expected.write_text("text", encoding="utf-8")
    folders[name].path.mkdir(parents=True, exist_ok=True)
    found = locate(folders[name], relative)
    # Theirs follows absolute paths and `..` out of the folder of the collection, and takes a folder for a file.
    if ".." in relative or relative.startswith("/") or not relative:
        assert found is None
        return
    assert found == expected
    assert cited_path(folders[name], found, tmp_path / "ws") == case["output"]["rel"]


@pytest.mark.vectors("qmdResolveReadPath")
def test_a_path_of_a_collection_leads_to_the_same_file(tmp_path: Path, case: Any) -> None:
    path = case["input"]
    given = str(below(tmp_path, path)) if path.startswith("/") else path
    workspace = tmp_path / "ws"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").touch()
    if "output" in case and case["output"].endswith(".md"):
        file = below(tmp_path, case["output"])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text of {case['output']}", encoding="utf-8")

    def text() -> str:
        opened = Workspace(workspace)
        return read_cited(given, opened, folders_at(tmp_path), start=None, lines=None).text

    # Theirs reads any Markdown file of the workspace; here, only memory and the folders of the settings.
    if "error" in case or path in {"/ws/notes.md", "/ws"}:
        with pytest.raises(PathRefused):
            text()
    else:
        assert text() == f"text of {case['output']}"
