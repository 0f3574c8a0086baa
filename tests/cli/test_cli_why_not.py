"""`memoriter why-not` names the stage that lost a passage, and tries what would bring it back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memoriter
from memoriter import Memory
from memoriter.ids import vector_key
from memoriter.sync import ChunkingSettings, note_of
from memoriter.types import Query

if TYPE_CHECKING:
    from conftest import Program

ROUTER = "memory/2026-02-10.md"
CALIBRATED = '{agents: {defaults: {memorySearch: {provider: "none", query: %s}}}}'
LEDGER = "which database for the ledger"


def configure(program: Program, query: str = "{}", provider: str = "none") -> None:
    text = (CALIBRATED % query).replace('"none"', f'"{provider}"')
    (program.home / "memoriter.json5").write_text(text, encoding="utf-8")


def write(program: Program, name: str, text: str) -> None:
    file = program.workspace / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def explained(program: Program, *words: str) -> dict[str, Any]:
    done = program("why-not", "--json", *words)
    assert done.exit_code == 0, done.err
    return done.json


def message(report: dict[str, Any], stage: str) -> str:
    return next(each["message"] for each in report["stages"] if each["stage"] == stage)


def found_with(program: Program, report: dict[str, Any], *words: str) -> bool:
    """Whether a search with the options of the fix has the lines among its hits."""
    options = [word for change in report["fix"]["changes"] for word in change["option"].split()]
    hits = program("search", "--json", *words, *options).json["results"]
    passage = report["passage"]
    return passage in [hit["citation"] for hit in hits]


def test_a_passage_that_is_found_is_named_with_its_place(program: Program) -> None:
    configure(program)
    report = explained(program, LEDGER, "MEMORY.md#L3")
    assert (report["found"], report["place"], report["stage"]) == (True, 1, None)
    assert {each["status"] for each in report["stages"]} <= {"passed", "warned"}
    assert message(report, "budget") == "It is hit 1 of 1."
    assert "fix" not in report
    done = program("why-not", LEDGER, "MEMORY.md:3")
    assert done.out.startswith("Found: MEMORY.md#L1-L4 is hit 1 of 1.")


def test_a_line_that_is_not_there_is_lost_where_it_should_be_written(program: Program) -> None:
    report = explained(program, LEDGER, "MEMORY.md#L30")
    assert report["stage"] == "written"
    assert message(report, "written") == "The file has 4 lines, so there is no line 30."
    assert [each["status"] for each in report["stages"]] == ["lost", *["not_reached"] * 10]


def test_a_file_that_is_not_there_is_lost_with_the_name_of_a_similar_one(program: Program) -> None:
    report = explained(program, LEDGER, "memory/2026-02-11.md")
    assert report["stage"] == "written"
    assert report["remedy"] == f"Perhaps you mean {ROUTER}."


def test_an_ignored_file_is_lost_by_a_line_of_an_ignore_file(program: Program) -> None:
    write(program, "memory/drafts/idea.md", "The idea of the ledger.\n")
    write(program, ".memoryignore", "# drafts\n\ndrafts/\n!drafts/x\n")
    report = explained(program, LEDGER, "memory/drafts/idea.md#L1")
    assert report["stage"] == "scanned"
    assert message(report, "scanned") == "Line 3 of .memoryignore leaves it out: 'drafts/'."
    assert report["remedy"] == "Change line 3 of .memoryignore."


@pytest.mark.parametrize(
    ("path", "said", "remedy"),
    [
        ("memory/plan.txt", "Only files that end in .md are memory.", "memory.extraSuffixes .txt"),
        ("memory/plan.rst", "Only files that end in .md are memory.", "a name that ends in .md"),
        ("plan.md", "It is not one of the memory files.", "--layout=notes"),
        ("memory/.plan.md", "Hidden file.", "Rename the file"),
    ],
)
def test_a_file_that_is_not_memory_is_lost_at_the_scan(program: Program, path: str, said: str, remedy: str) -> None:
    write(program, path, "The plan of the ledger.\n")
    report = explained(program, LEDGER, f"{path}#L1")
    assert report["stage"] == "scanned"
    assert message(report, "scanned") == said
    assert remedy in report["remedy"]


def test_a_file_behind_a_link_or_too_large_is_lost_at_the_scan(program: Program) -> None:
    (program.workspace / "memory" / "link.md").symlink_to(program.workspace / "MEMORY.md")
    assert message(explained(program, LEDGER, "memory/link.md"), "scanned") == "Symbolic links are not followed."
    with (program.workspace / "memory" / "large.md").open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    report = explained(program, LEDGER, "memory/large.md#L1")
    assert "bytes, more than" in message(report, "scanned")
    assert report["remedy"] == "Split the file."


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (2, "front matter"),
        (4, "blank"),
        (6, "nothing but links"),
    ],
)
def test_a_line_of_no_passage_is_lost_when_the_note_is_split(program: Program, line: int, said: str) -> None:
    write(program, "memory/mixed.md", "---\ntags: [a]\n---\n\nText of its own.\n[[One]] [[Two]]\n\nMore text.\n")
    report = explained(program, "text", f"memory/mixed.md#L{line}")
    assert report["stage"] == "chunked"
    assert said in message(report, "chunked")


def test_a_note_that_the_index_does_not_have_yet_is_lost_there(program: Program) -> None:
    text = '{agents: {defaults: {memorySearch: {provider: "none", sync: {onSearch: false}}}}}'
    (program.home / "memoriter.json5").write_text(text, encoding="utf-8")
    program("index")
    write(program, "memory/new.md", "The ledger again.\n")
    report = explained(program, LEDGER, "memory/new.md#L1")
    assert report["stage"] == "indexed"
    assert report["remedy"] == "Run `memoriter index`."
    program("index")
    assert explained(program, LEDGER, "memory/new.md#L1")["found"]


def test_a_filter_that_excludes_a_passage_is_named_and_a_search_without_it_finds_the_passage(program: Program) -> None:
    configure(program)
    report = explained(program, "router -printers", ROUTER + "#L3", "--since", "2026-03-01", "--path", "memory")
    assert report["stage"] == "scope"
    assert message(report, "scope") == "The query leaves it out: since 2026-03-01."
    assert report["fix"] == {"changes": [], "leaveOut": ["--since"], "verified": True, "place": 1}
    report = explained(program, "router -omada", ROUTER + "#L3")
    assert report["fix"]["leaveOut"] == ["-omada"]
    assert report["fix"]["verified"]


def test_a_passage_without_a_word_or_a_vector_is_no_candidate_and_no_setting_helps(program: Program) -> None:
    configure(program)
    report = explained(program, "ferry to Osaka", ROUTER)
    assert report["stage"] == "candidates"
    assert report["candidacy"]["missing"] == ["ferry", "Osaka"]
    assert "fix" not in report
    assert report["remedy"] == "Ask with words of the passage, or write words of the question into it."


@pytest.mark.slow
def test_a_passage_beyond_the_candidates_comes_back_with_more_of_them(program: Program) -> None:
    configure(program, "{maxResults: 40, hybrid: {candidateMultiplier: 1}}")
    for number in range(60):
        write(program, f"memory/many/{number:02}.md", f"The ferry number {number} sails{' again' * (number % 30)}.\n")
    paths = [f"memory/many/{number:02}.md" for number in range(60)]
    hits = {hit["path"] for hit in program("search", "--json", "ferry").json["results"]}
    missed = next(path for path in paths if path not in hits)
    report = explained(program, "ferry", missed)
    assert report["stage"] == "candidates"
    assert report["candidacy"]["limit"] == 40
    assert report["candidacy"]["keyword"] > 40
    assert report["fix"]["verified"]
    assert {change["key"] for change in report["fix"]["changes"]} <= {
        "query.maxResults",
        "query.hybrid.candidateMultiplier",
    }


def test_a_passage_below_the_minimum_score_comes_back_with_a_lower_one(program: Program) -> None:
    configure(program)
    question = "ledger of the guild of bakers in the harbour town", "MEMORY.md#L3"
    report = explained(program, *question, "--min-score", "0.9")
    assert report["stage"] == "threshold"
    assert report["score"] < 0.9
    [change] = report["fix"]["changes"]
    assert (change["key"], change["now"], change["option"]) == (
        "query.minScore",
        0.9,
        f"--min-score {change['value']:g}",
    )
    assert report["score"] - 0.01 < change["value"] <= report["score"]
    assert report["fix"]["verified"]
    assert found_with(program, report, question[0])


def test_a_passage_with_the_text_of_a_better_hit_is_lost_to_it(program: Program) -> None:
    configure(program, "{maxResults: 2}")
    write(program, "memory/a.md", "The ferry sails at ten.\n")
    write(program, "memory/b.md", "The ferry sails at ten.\n")
    write(program, "memory/c.md", "The ferry is late, and the harbour is closed today.\n")
    report = explained(program, "ferry sails", "memory/b.md#L1")
    assert report["stage"] == "diversity"
    assert report["fix"]["verified"]
    assert found_with(program, report, "ferry sails")


def test_a_passage_that_mmr_puts_last_comes_back_with_a_higher_lambda(program: Program) -> None:
    configure(program, "{maxResults: 2, hybrid: {mmr: {enabled: true, lambda: 0.1}}}")
    write(program, "memory/a.md", "The ferry sails at ten o'clock.\n")
    write(program, "memory/b.md", "The ferry sails at ten o'clock sharp.\n")
    write(program, "memory/c.md", "Harbour news: a ferry.\n")
    report = explained(program, "ferry sails ten", "memory/b.md#L1")
    assert report["stage"] == "diversity"
    assert [change["key"] for change in report["fix"]["changes"]] == ["query.hybrid.mmr.lambda"]
    assert report["fix"]["verified"]


def test_a_passage_beyond_the_last_hit_comes_back_with_more_hits(program: Program) -> None:
    configure(program)
    for number in range(4):
        write(program, f"memory/{number}.md", f"The ferry sails{' and waits' * number}, it is number {number}.\n")
    last = program("search", "--json", "ferry sails").json["results"][-1]["citation"]
    report = explained(program, "ferry sails", last, "-n", "2")
    assert report["stage"] == "budget"
    assert report["fix"]["changes"] == [{"key": "query.maxResults", "now": 2, "value": 4, "option": "-n 4"}]
    assert (report["fix"]["verified"], report["fix"]["place"]) == (True, 4)
    assert found_with(program, report, "ferry sails")


def test_a_passage_of_a_note_with_as_many_hits_as_it_may_have_is_lost_to_that_limit(program: Program) -> None:
    configure(program, "{maxPerNote: 1, maxResults: 2}")
    write(
        program,
        "memory/a.md",
        "# Ferry\n\n- The ferry sails at ten and is red.\n\n## Again\n\n- The ferry sails, says Ann.\n",
    )
    write(program, "memory/b.md", "A ferry, among many other things that float on the wide water.\n")
    report = explained(program, "ferry sails", "memory/a.md#L7")
    if report["found"]:
        report = explained(program, "ferry sails", "memory/a.md#L3")
    assert report["stage"] == "budget"
    assert message(report, "budget") == "Its note has as many better hits as it may have: 1."
    assert report["fix"]["verified"]


def test_a_passage_that_the_model_refused_is_lost_without_a_vector(program: Program) -> None:
    configure(program, provider="fake")
    [chunk] = note_of("memory/odd.md", "Strange signs.\n", ChunkingSettings()).chunks
    with Memory.open(program.workspace, home=program.home) as memory:
        memory.sync()
        memory.backend.index.put_failure(vector_key(chunk), "refused")
        write(program, "memory/odd.md", "Strange signs.\n")
        report = memory.why_not(LEDGER, "memory/odd.md#L1")
        assert report.stage == "embedded"
        assert report.remedy == "Run `memoriter index`."
        assert "The model refused its text" in next(each.message for each in report.stages if each.status == "lost")
        assert not memory.search(LEDGER, min_score=0, path="memory/odd.md").hits
        by_words = memory.why_not("strange signs", "memory/odd.md#L1")
        assert by_words.found
        assert [each.stage for each in by_words.stages if each.status == "warned"] == ["embedded"]


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["classic", "rrf", "calibrated"])
def test_passages_of_transcripts_and_every_scoring_are_explained(program: Program, scoring: str) -> None:
    memory_search = (
        '{provider: "fake", sources: ["memory", "sessions"], experimental: {sessionMemory: true},'
        f' query: {{maxResults: 2, scoring: "{scoring}"}}}}'
    )
    text = f"{{agents: {{defaults: {{memorySearch: {memory_search}}}}}}}"
    (program.home / "memoriter.json5").write_text(text, encoding="utf-8")
    transcript = program.home / "agents" / "main" / "sessions" / "abc.jsonl"
    transcript.parent.mkdir(parents=True)
    messages = [("user", "When does the harbour train leave?"), ("assistant", "The harbour train leaves at noon.")]
    transcript.write_text("".join(message_line(role, said) + "\n" for role, said in messages), encoding="utf-8")
    for number in range(5):
        write(program, f"memory/{number}.md", f"The ferry sails at {number}{' and waits' * number}.\n")
    with Memory.open(program.workspace, home=program.home) as memory:
        memory.sync()
        assert memory.why_not("harbour train", "sessions/abc.jsonl:2").place == 1
        beyond = memory.why_not("harbour train", "sessions/abc.jsonl:9")
        assert (beyond.stage, beyond.stages[0].message) == ("written", "There is no text in these lines.")
        excluded = memory.why_not("harbour train", "sessions/abc.jsonl", sources=["memory"])
        assert excluded.stage == "scope"
        assert excluded.fix
        assert (excluded.fix.leave_out, excluded.fix.verified) == (("--source",), True)
        shown = {hit.path for hit in memory.search("ferry sails").hits}
        missed = next(f"memory/{number}.md" for number in range(5) if f"memory/{number}.md" not in shown)
        report = memory.why_not("ferry sails", missed)
        assert report.stage in {"budget", "threshold"}
        assert report.fix
        assert report.fix.verified
        assert report.passage == f"{missed}#L1" or scoring == "classic"


def message_line(role: str, text: str) -> str:
    content = [{"type": "text", "text": text}]
    return json.dumps({"type": "message", "message": {"role": role, "content": content}})


def test_the_owner_s_questions_tell_what_the_change_does_to_them(program: Program) -> None:
    configure(program, "{minScore: 0.7}")
    passage = "MEMORY.md#L3"
    question = "ledger of the guild of bakers in the harbour town"
    cases = f"# Questions\n\n- {question} → {passage}\n- router → {ROUTER}#L3\n- the colour of the ledger → nothing\n"
    write(program, "eval.md", cases)
    report = explained(program, question, passage)
    assert report["fix"]["verified"]
    counted = report["eval"]
    assert counted["questions"] == 3
    assert counted["gained"] == [question]
    assert counted["answered"] == 2
    shown = program("why-not", question, passage).out
    assert "Of 3 questions in eval.md, 2 are answered now and " in shown
    assert f"1 gained: {question}" in shown


def test_a_question_is_added_to_the_owner_s_file_without_losing_a_byte(program: Program) -> None:
    configure(program)
    before = b"# Mine\r\n\r\n- router \xe2\x86\x92 memory/2026-02-10.md#L3"
    (program.workspace / "eval.md").write_bytes(before)
    done = program("why-not", "who bakes", "MEMORY.md#L3-L4", "--add")
    assert done.exit_code == 0, done.err
    after = (program.workspace / "eval.md").read_bytes()
    assert after.startswith(before)
    assert after.decode().splitlines()[-1] == "- who bakes → MEMORY.md#L3-L4"
    assert "Added to" in done.err
    again = program("why-not", "who bakes", "MEMORY.md#L3-L4", "--add", "--json")
    assert (program.workspace / "eval.md").read_bytes() == after
    assert "added" not in again.json


def test_a_question_is_not_added_with_lines_that_are_not_there(program: Program) -> None:
    configure(program)
    done = program("why-not", "who bakes", "MEMORY.md#L30", "--add")
    assert done.exit_code == 2
    assert "not in the memory" in done.err
    assert not (program.workspace / "eval.md").exists()


def test_a_file_of_questions_that_cannot_be_read_does_not_stop_the_answer_unless_it_was_given(program: Program) -> None:
    configure(program)
    write(program, "eval.md", "- no arrow\n")
    question = "ledger of the guild of bakers in the harbour town", "MEMORY.md#L3", "--min-score", "0.9"
    done = program("why-not", *question)
    assert done.exit_code == 0
    assert "Verified by a search with it" in done.out
    assert "eval.md" in done.err
    assert program("why-not", *question, "--eval", "eval.md").exit_code == 2


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="terminals are opened in another way there")
@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_it_offers_to_add_the_question_of_a_passage_that_was_not_found(
    program: Program, answer: str
) -> None:
    configure(program)
    question = "ledger of the guild of bakers in the harbour town"
    keyboard, terminal = os.openpty()
    environment = {**os.environ, "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
    command = [sys.executable, "-m", "memoriter", "why-not", question, "MEMORY.md#L3", "--min-score", "0.9"]
    with subprocess.Popen(
        command, env=environment, stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, text=True
    ) as process:
        os.close(terminal)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(keyboard, 1_000)
        os.write(keyboard, f"{answer}\n".encode())
        out, _ = process.communicate(timeout=150)
    os.close(keyboard)
    assert "was lost at the stage 'threshold'" in out
    assert b"Add the question to eval.md, with MEMORY.md#L3 as its answer?" in shown
    file = program.workspace / "eval.md"
    assert file.exists() is (answer == "y")
    assert not file.exists() or f"- {question} → MEMORY.md#L3" in file.read_text("utf-8").splitlines()


def test_a_file_of_questions_that_does_not_exist_is_refused(program: Program) -> None:
    done = program("why-not", "ledger", "MEMORY.md", "--eval", "none.md")
    assert done.exit_code == 2
    assert "There is no file 'none.md'." in done.err


@pytest.mark.parametrize(("words", "said"), [(("", "MEMORY.md"), "The query is empty."), (("ledger", " "), "is empty")])
def test_an_empty_question_or_passage_is_refused(program: Program, words: tuple[str, str], said: str) -> None:
    done = program("why-not", *words)
    assert done.exit_code == 2
    assert said in done.err


def test_a_search_that_is_turned_off_explains_nothing(program: Program) -> None:
    text = "{agents: {defaults: {memorySearch: {enabled: false}}}}"
    (program.home / "memoriter.json5").write_text(text, encoding="utf-8")
    done = program("why-not", "ledger", "MEMORY.md")
    assert done.exit_code != 0
    assert "turned off" in done.err


def test_nothing_is_changed_by_looking(program: Program) -> None:
    configure(program)
    before = {file: file.read_bytes() for file in program.workspace.rglob("*") if file.is_file()}
    settings_before = (program.home / "memoriter.json5").read_bytes()
    program("why-not", "ledger of the guild of bakers", "MEMORY.md#L3", "--min-score", "0.9")
    assert {file: file.read_bytes() for file in program.workspace.rglob("*") if file.is_file()} == before
    assert (program.home / "memoriter.json5").read_bytes() == settings_before


WORDS = st.lists(
    st.sampled_from(["ferry", "harbour", "ledger", "train", "noon", "red", "rope", "osaka"]), min_size=1, max_size=6
)


@pytest.mark.slow
@given(notes=st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=4), question=WORDS)
@settings(max_examples=6)
def test_what_is_said_of_any_passage_agrees_with_the_search(
    tmp_path_factory: pytest.TempPathFactory, notes: list[list[list[str]]], question: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "home").mkdir(mode=0o700)
    (folder / "home" / "memoriter.json5").write_text(
        CALIBRATED.replace('"none"', '"fake"') % "{maxResults: 2}", encoding="utf-8"
    )
    for number, note in enumerate(notes):
        file = folder / "notes" / "memory" / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(f"# Part {at}\n\n{' '.join(words)}." for at, words in enumerate(note)), "utf-8")
    text = " ".join(question)
    with Memory.open(folder / "notes", home=folder / "home") as memory:
        memory.sync()
        hits = memory.search(text).hits
        every = {hit.citation for hit in memory.search(text, max_results=50, min_score=0).hits}
        for citation in every | {hit.citation for hit in memory.search("part", max_results=50, min_score=0).hits}:
            report = memory.why_not(text, citation)
            cited = [place for place, hit in enumerate(hits, start=1) if hit.citation == citation]
            assert report.place == (cited[0] if cited else None)
            assert report.passage == citation
            if report.fix is None:
                continue
            assert report.fix.verified
            with memory.backend.varied({change.key: change.value for change in report.fix.changes}) as other:
                assert citation in [hit.citation for hit in other.search(Query(text)).hits]
