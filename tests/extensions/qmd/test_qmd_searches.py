"""What the driver asks of QMD, in which environment, and what it makes of the results."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoriter.errors import PathRefused, QmdNoVectors, QmdTimeout
from memoriter.extensions.qmd.settings import QmdLimits, QmdPath

if TYPE_CHECKING:
    from qmd_programs import QmdMemory, ScriptedQmd

PATIENT = QmdLimits(timeout_ms=60_000)


def test_the_program_runs_in_a_home_of_its_own(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    memory.environ = {
        "CI": "true",
        "INDEX_PATH": "/tmp/other.sqlite",
        "QMD_CONFIG_DIR": "/tmp/other",
        "XDG_CACHE_HOME": "/tmp/cache",
        "OPENAI_API_KEY": "sk-secret",
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    memory.driver(limits=PATIENT).search("ledger")
    for call in qmd.calls:
        environ = call["environ"]
        assert call["cwd"] == environ["PWD"] == str(memory.home / "cwd")
        assert environ["XDG_CONFIG_HOME"] == str(memory.home / "xdg-config")
        assert environ["XDG_CACHE_HOME"] == str(memory.home / "xdg-cache")
        assert environ["PATH"].split(os.pathsep)[0] == str(qmd.program.parent)
        assert environ["HTTPS_PROXY"] == "http://127.0.0.1:9"
        assert {"CI", "INDEX_PATH", "QMD_CONFIG_DIR", "OPENAI_API_KEY"}.isdisjoint(environ)
    assert memory.home.stat().st_mode & 0o077 == 0


def test_all_collections_are_searched_in_one_call(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    memory.driver(limits=PATIENT).search("ledger")
    collections = ["-c", "memory-root-main", "-c", "memory-alt-main", "-c", "memory-dir-main"]
    assert qmd.calls[-1]["arguments"] == ["search", "--json", "-n", "18", *collections, "--", "ledger"]


def test_the_version_is_asked_once_for_each_program(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    assert memory.driver().probe().version == "2.8.3"
    assert memory.driver().probe().version == "2.8.3"
    assert qmd.commands == ["--version"]
    os.utime(qmd.program, ns=(1, 1))
    memory.driver().probe()
    assert qmd.commands == ["--version", "--version"]


def test_the_limits_of_the_settings_act(memory: QmdMemory) -> None:
    for number in range(4):
        memory.write(f"memory/{number}.md", f"# Zoo {number}\n\nThe zebra number {number} is striped.\n")
    limits = QmdLimits(max_results=2, max_snippet_chars=9, timeout_ms=60_000)
    hits = memory.driver(limits=limits).search("zebra striped").hits
    assert [len(hit.snippet) for hit in hits] == [9, 9]


@pytest.mark.slow
def test_a_second_search_that_is_too_slow_leaves_the_first_answer(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(limits=QmdLimits(timeout_ms=2_500))
    driver.update(force=True)
    qmd.break_(query="hang")
    answer = driver.search("ledger omada")
    assert answer.hits == ()
    assert [notice.code for notice in answer.notices] == [QmdTimeout.code]


def test_a_missing_folder_is_told_and_the_others_are_searched(memory: QmdMemory) -> None:
    driver = memory.driver(limits=PATIENT, paths=(QmdPath(path="../papers", name="papers"),))
    answer = driver.search("ledger")
    assert [hit.path for hit in answer.hits] == ["MEMORY.md"]
    assert [(notice.code, "papers' of memory.qmd.paths" in notice.message) for notice in answer.notices] == [
        ("qmd_root_missing", True)
    ]
    assert [each.name for each in driver.status().collections if each.missing] == ["papers-main"]


def test_a_folder_that_is_away_for_a_while_keeps_its_files(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    memory.write("../papers/cables.md", "# Cables\n\nThe blue cable leads to the attic.\n")
    driver = memory.driver(limits=PATIENT, paths=(QmdPath(path="../papers", name="papers"),))
    assert len(driver.search("attic").hits) == 1
    (memory.folder / "papers").rename(memory.folder / "unmounted")
    assert driver.search("attic").hits == ()
    (memory.folder / "unmounted").rename(memory.folder / "papers")
    assert len(driver.search("attic").hits) == 1
    assert "collection" not in qmd.commands


def test_a_single_file_can_be_named(memory: QmdMemory) -> None:
    memory.write("../papers/cables [1].md", "# Cables\n\nThe blue cable leads to the attic.\n")
    driver = memory.driver(limits=PATIENT, paths=(QmdPath(path="../papers/cables [1].md", name="papers"),))
    assert driver.status().collections[-1].path == str(memory.folder / "papers")
    assert driver.status().collections[-1].pattern == "cables \\[1\\].md"


def test_a_folder_of_notes_is_one_collection(memory: QmdMemory) -> None:
    for file in (memory.notes / "MEMORY.md", memory.notes / "memory" / "2026-02-10.md"):
        file.unlink()
    (memory.notes / "memory").rmdir()
    memory.write("projects/boat.md", "# Boat\n\nThe anchor is rusty.\n")
    driver = memory.driver(limits=PATIENT)
    assert [each.name for each in driver.status().collections] == ["memory-notes-main"]
    assert [hit.path for hit in driver.search("anchor").hits] == ["projects/boat.md"]


def test_files_that_are_no_memory_are_not_returned(memory: QmdMemory) -> None:
    secret = memory.write("../outside.md", "# Zebra\n\nA zebra that nobody may see.\n")
    (memory.notes / "memory" / "link.md").symlink_to(secret)
    memory.write("memory/drafts/zebra.md", "# Draft\n\nA zebra that is no memory.\n")
    memory.write(".memoryignore", "memory/drafts/\n")
    answer = memory.driver(limits=PATIENT).search("zebra")
    assert (answer.hits, answer.left_out) == ((), 2)


def test_what_the_owner_configured_in_qmd_is_kept(memory: QmdMemory) -> None:
    driver = memory.driver(limits=PATIENT)
    driver.update(force=True)
    config = memory.home / "xdg-config" / "qmd" / "index.yml"
    own = {"context": {"/": "daily notes"}, "ignore": ["drafts/**"], "update": "rm -rf /"}
    import json

    content = json.loads(config.read_text(encoding="utf-8"))
    content["collections"]["memory-dir-main"] |= own
    content |= {"global_context": "mine", "models": {"embed": "hf:a/b/c.gguf"}}
    config.write_text(json.dumps(content), encoding="utf-8")
    driver.update(force=True)
    after = json.loads(config.read_text(encoding="utf-8"))
    assert after["global_context"] == "mine"
    assert after["models"] == {"embed": "hf:a/b/c.gguf"}
    kept = after["collections"]["memory-dir-main"]
    assert (kept["context"], kept["ignore"], "update" in kept) == ({"/": "daily notes"}, ["drafts/**"], False)


def test_a_search_by_meaning_without_vectors_is_an_error_and_no_empty_answer(memory: QmdMemory) -> None:
    driver = memory.driver(limits=PATIENT, search_mode="vsearch")
    with pytest.raises(QmdNoVectors, match="QMD has no vectors, so it cannot search by meaning"):
        driver.search("which database")


def test_a_search_by_words_and_meaning_without_vectors_says_what_it_lacks(memory: QmdMemory) -> None:
    answer = memory.driver(limits=PATIENT, search_mode="query").search("which database for the ledger")
    assert [hit.path for hit in answer.hits] == ["MEMORY.md"]
    assert [notice.code for notice in answer.notices] == ["qmd_no_vectors"]


def test_vectors_that_the_owner_made_in_a_terminal_are_noticed(memory: QmdMemory) -> None:
    driver = memory.driver(limits=PATIENT, search_mode="search")
    driver.update(force=True)
    with pytest.raises(QmdNoVectors):
        driver.search("vec: ledger")
    (memory.home / "xdg-cache" / "qmd" / "vectors.json").write_text("2", encoding="utf-8")
    assert [hit.path for hit in driver.search("vec: ledger").hits] == ["MEMORY.md"]
    assert driver.status().vectors == 2


def test_vectors_are_searched_without_the_language_model(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(limits=PATIENT, search_mode="vsearch")
    driver.update(force=True)
    assert driver.embed()
    (hit,) = driver.search("which ledger").hits
    assert (hit.path, hit.ranking, hit.score) == ("MEMORY.md", "fused", 0.9)
    assert qmd.calls[-1]["arguments"][-3:] == ["--no-rerank", "--", "vec: which ledger"]


@pytest.mark.slow
def test_the_command_of_the_mode_is_used_where_its_models_are(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    models = memory.folder / ".cache" / "qmd" / "models"
    models.mkdir(parents=True)
    for name in ("hf_tobil_qmd-query-expansion-1.7B-q4_k_m.gguf", "hf_ggml-org_qwen3-reranker-0.6b-q8_0.gguf"):
        (models / name).write_bytes(b"GGUF")
    for mode, ranking in (("vsearch", "meaning"), ("query", "reranked")):
        driver = memory.driver(limits=PATIENT, search_mode=mode)
        driver.update(force=True)
        driver.embed(force=True)
        (hit,) = driver.search("ledger").hits
        assert (hit.ranking, hit.score) == (ranking, 0.7)
        assert qmd.commands[-1] == mode


@pytest.mark.parametrize("path", ["qmd/papers-main/../notes/MEMORY.md", "qmd/papers-main/secret.txt", "qmd/none/a.md"])
def test_only_files_of_collections_can_be_read(memory: QmdMemory, path: str) -> None:
    memory.write("../papers/secret.txt", "no note")
    driver = memory.driver(paths=(QmdPath(path="../papers", name="papers"),))
    with pytest.raises(PathRefused):
        driver.read(path)


def test_a_link_out_of_a_collection_is_not_read(memory: QmdMemory) -> None:
    secret = memory.write("../outside.md", "secret")
    (memory.folder / "papers").mkdir()
    (memory.folder / "papers" / "link.md").symlink_to(secret)
    driver = memory.driver(paths=(QmdPath(path="../papers", name="papers"),))
    with pytest.raises(PathRefused, match="symbolic link"):
        driver.read("qmd/papers-main/link.md")


def test_files_are_read_by_the_paths_of_hits(memory: QmdMemory) -> None:
    memory.write("../papers/a.md", "one\ntwo\nthree\n")
    memory.write("../papers/b.txt", "text\n")
    memory.write("docs/plan.md", "the plan\n")
    driver = memory.driver(
        paths=(QmdPath(path="../papers", name="papers", pattern="**/*.{md,txt}"), QmdPath(path="docs", name="docs"))
    )
    assert driver.read("qmd/papers-main/a.md#L2").text == "two"
    assert driver.read("qmd/papers-main/a.md", start=2, lines=2).text == "two\nthree"
    assert driver.read("qmd/papers-main/b.txt").text == "text\n"
    assert driver.read("docs/plan.md").path == "docs/plan.md"
    later = driver.read("qmd/papers-main/later.md")
    assert (later.text, later.path) == ("", "qmd/papers-main/later.md")
    assert later.reason is not None
    assert "qmd/papers-main/later.md" in later.reason.message
    cited = ["qmd/papers-main/a.md", "docs/plan.md", "MEMORY.md", "memory/new.md", "../outside.md"]
    assert [driver.cites(path) for path in cited] == [True, True, False, False, False]
