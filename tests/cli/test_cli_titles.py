"""What belongs to a whole note: its title, other names, tags and day. None of it is a passage of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter import Memory
from memoriter.tools import search_tool
from memoriter.workspace import chunk_markdown, read_note

if TYPE_CHECKING:
    from conftest import Outcome, Program

KITCHEN = """\
---
title: Kitchen budget
aliases: [Küchenplan]
tags:
  - home/money
created: 2024-05-06
date: 2025-05-04
supplier: Ferrovia
---

Tiles cost 400 and the sink 120. #renovation

The painter comes on Friday.
"""


def write(program: Program, path: str, text: str) -> None:
    file = program.workspace / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def by_words(program: Program) -> None:
    (program.home / "memoriter.json5").write_text(
        '{agents: {defaults: {memorySearch: {provider: "none"}}}}', encoding="utf-8"
    )


def places(outcome: Outcome) -> list[str]:
    assert outcome.exit_code == 0, outcome.err
    return [hit["path"] for hit in outcome.json["results"]]


def test_title_and_folders_are_the_outermost_headings_where_no_heading_says_the_same(program: Program) -> None:
    write(program, "memory/Trips/Lisbon.md", "The train leaves at nine.\n\n## Food\n\nSardines.\n")
    write(program, "memory/Trips/porto.md", "# Porto\n\nThe ferry leaves at ten.\n")
    train = program("search", "train", "--json")
    ferry = program("search", "ferry", "--json")
    assert train.json["results"][0]["heading"] == ["Trips", "Lisbon"]
    assert ferry.json["results"][0]["heading"] == ["Porto"]


@pytest.mark.parametrize(
    "path", ["MEMORY.md", "memory/2026-02-10.md", "memory/work/2026-02-10.md", "memory/2026-02-10-router.md"]
)
def test_a_daily_log_and_the_long_term_memory_have_no_title_from_their_name(path: str) -> None:
    text = "# 2026-02-10\n\n- The router is an ER605. #work\n\n## Later\n\n- It rained.\n"
    note = read_note(path, text)
    assert note.chunks == chunk_markdown(text)
    plain = read_note(path, "- It rained.\n")
    assert [chunk.heading for chunk in plain.chunks] == [("router",) if "router" in path else ()]


def test_front_matter_is_no_passage_and_its_values_find_the_note(program: Program) -> None:
    by_words(program)
    write(program, "memory/kb.md", KITCHEN)
    for question in ("kitchen budget", "Küchenplan", "Ferrovia", "money"):
        hits = program("search", question, "--min-score", "0", "--json").json["results"]
        assert hits[0]["path"] == "memory/kb.md", question
        assert all(hit["startLine"] > 9 for hit in hits if hit["path"] == "memory/kb.md"), question
    assert hits[0]["heading"] == ["Kitchen budget"]
    assert program("get", "memory/kb.md").out == KITCHEN


def test_every_hit_has_the_day_of_its_note(program: Program) -> None:
    write(program, "memory/kb.md", KITCHEN)
    write(program, "memory/2026-02-11.md", "---\nauthor: me\n---\n- The painter was late.\n")
    hits = program("search", "painter", "--min-score", "0", "--json").json["results"]
    days = {hit["path"]: hit.get("date") for hit in hits}
    assert (days["memory/kb.md"], days["memory/2026-02-11.md"]) == ("2025-05-04", "2026-02-11")
    changed = {hit["path"]: hit["changed"] for hit in hits if "changed" in hit}
    assert days["MEMORY.md"] is None
    assert len(changed["MEMORY.md"]) == len("2026-02-11")
    assert changed.keys().isdisjoint({"memory/kb.md", "memory/2026-02-11.md"})
    assert "memory/kb.md" in places(program("search", "painter", "--on", "2025-05-04", "--json"))


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        (("home/money",), True),
        (("HOME",), True),
        (("#renovation",), True),
        (("home, renovation",), True),
        (("hom",), False),
        (("home", "garden"), False),
    ],
)
def test_a_tag_of_the_front_matter_or_the_text_restricts_a_search(
    program: Program, tags: tuple[str, ...], *, found: bool
) -> None:
    write(program, "memory/kb.md", KITCHEN)
    options = [word for tag in tags for word in ("--tag", tag)]
    expected = {"memory/kb.md"} if found else set()
    assert set(places(program("search", "sink", *options, "--min-score", "0", "--json"))) == expected
    with Memory.open(program.workspace, home=program.home) as memory:
        assert {hit.path for hit in memory.search("sink", tags=tags, min_score=0).hits} == expected
        answer = search_tool(memory, {"query": "sink", "tag": ",".join(tags), "minScore": 0})
    assert {hit["path"] for hit in answer["results"]} == expected


def test_tags_follow_the_note(program: Program) -> None:
    write(program, "memory/kb.md", KITCHEN)
    assert places(program("search", "sink", "--tag", "home", "--json"))
    write(program, "memory/kb.md", KITCHEN.replace("home/money", "office"))
    assert places(program("search", "sink", "--tag", "home", "--json")) == []
    assert places(program("search", "sink", "--tag", "office", "--json"))
    (program.workspace / "memory/kb.md").unlink()
    assert places(program("search", "sink", "--tag", "office", "--json")) == []


def test_a_tag_without_a_name_is_a_wrong_use(program: Program) -> None:
    done = program("search", "sink", "--tag", "#")
    assert (done.exit_code, "There is no tag in" in done.err) == (2, True)


@pytest.mark.parametrize(
    "broken",
    ["title: Ferry: times", "- Ferry\n- times", "\ttitle: Ferry", "{Ferry", "title: Ferry\x00", "[ " * 4_000 + "Ferry"],
)
def test_what_is_no_yaml_stays_text(program: Program, broken: str) -> None:
    by_words(program)
    write(program, "memory/odd.md", f"---\n{broken}\n---\n\nThe boat leaves at ten.\n")
    assert "memory/odd.md" in places(program("search", "Ferry", "--min-score", "0", "--json"))
    assert "memory/odd.md" in places(program("search", "boat", "--min-score", "0", "--json"))


def test_yaml_that_refers_to_itself_takes_no_time(program: Program) -> None:
    levels = "\n".join(f"k{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 60))
    write(program, "memory/bomb.md", f"---\nk0: &a0 [boom]\n{levels}\n---\n\nThe boat leaves at ten.\n")
    assert "memory/bomb.md" in places(program("search", "boat", "--json"))


def test_a_note_of_front_matter_alone_is_found(program: Program) -> None:
    write(program, "memory/people/Marta.md", "---\nphone: 555 0199\n---\n")
    assert "memory/people/Marta.md" in places(program("search", "phone 0199", "--min-score", "0", "--json"))


def test_code_has_no_tags(program: Program) -> None:
    write(program, "memory/code.md", "A sink. `#inline` and C#sharp, #42\n\n```sh\n#comment\n```\n")
    for tag in ("inline", "sharp", "42", "comment"):
        assert places(program("search", "sink", "--tag", tag, "--json")) == [], tag


def test_a_link_counts_as_the_words_shown_and_the_title(program: Program) -> None:
    by_words(program)
    write(program, "memory/log.md", "We talked about [[Greenhouse rebuild|the glass thing]].\n")
    for question in ("greenhouse", "glass thing"):
        assert places(program("search", question, "--json"))[0] == "memory/log.md"


def test_forgetting_a_text_does_not_report_the_file_name(program: Program) -> None:
    write(program, "memory/Lisbon.md", "The train leaves at nine.\n")
    assert program("search", "train", "--json").json["results"]
    with Memory.open(program.workspace, home=program.home) as memory:
        assert memory.plan_forget(match="Lisbon").indexed == ()
        assert memory.plan_forget(match="nine").notes[0].path == "memory/Lisbon.md"


def test_a_repeated_passage_gives_its_place_to_another(program: Program) -> None:
    for number in range(8):
        write(program, f"memory/copy {number}.md", "The standing order for the rent leaves on the third.\n")
    write(program, "memory/other.md", "# Rent\n\n## Standing order\n\n## Deposit\n\nThe rent deposit is two months.\n")
    hits = program("search", "standing order rent", "--min-score", "0", "--json").json["results"]
    copies = [hit for hit in hits if hit["path"].startswith("memory/copy")]
    assert (len(copies), len({hit["path"] for hit in hits}) >= 3) == (1, True)
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    every = program("search", "standing order rent", "--min-score", "0", "-n", "50", "--json").json["results"]
    assert sum(hit["path"].startswith("memory/copy") for hit in every) == 8


HERON = "---\naliases: [{alias}]\n---\n# Estuary survey\n\nThe herons nest by the lock.\n"
LINKING = "# Friday\n\nCall Dana about [[{link}]] before noon.\n"


def linked(program: Program, question: str) -> bool:
    """Return whether a search by words finds the passage that links to the survey."""
    return "memory/friday.md" in places(program("search", question, "--json"))


@pytest.mark.parametrize(
    ("link", "question"),
    [
        ("Heronry", "estuary survey"),
        ("survey|the count", "what did the Estuary survey say?"),
        ("notes/survey#Nests", "heronry"),
        ("Estuary Survey", "Heronry"),
    ],
)
def test_a_passage_that_links_to_a_note_by_one_name_is_found_by_the_others(
    program: Program, link: str, question: str
) -> None:
    by_words(program)
    write(program, "memory/notes/survey.md", HERON.format(alias="Heronry"))
    write(program, "memory/friday.md", LINKING.format(link=link))
    assert linked(program, question)
    write(program, "memory/friday.md", LINKING.format(link="Somewhere else"))
    assert not linked(program, question)


def test_a_changed_alias_takes_effect_although_the_linking_note_is_not_read_again(program: Program) -> None:
    by_words(program)
    write(program, "memory/survey.md", HERON.format(alias="Gullery"))
    write(program, "memory/friday.md", LINKING.format(link="Heronry"))
    assert not linked(program, "estuary survey")
    write(program, "memory/survey.md", HERON.format(alias="Heronry"))
    with Memory.open(program.workspace, home=program.home) as memory:
        report = memory.sync()
    assert (report.added, report.changed) == (0, 1)
    assert linked(program, "estuary survey")
    (program.workspace / "memory" / "survey.md").unlink()
    assert not linked(program, "estuary survey")


def test_a_passage_that_differs_only_in_its_time_or_markup_gives_its_place_to_another(program: Program) -> None:
    by_words(program)
    forms = ["- 09:15 {}", "* 10:30 **{}**", "{} <!-- from: agent, 2026-02-10 -->", "- {}"]
    for number, form in enumerate(forms):
        write(program, f"memory/2026-02-1{number}.md", form.format("The standing order for the rent is paid.") + "\n")
    write(program, "memory/other.md", "The rent of the garage is no standing order.\n")
    found = places(program("search", "standing order rent paid", "-n", "2", "--min-score", "0", "--json"))
    assert [path.startswith("memory/2026-02-1") for path in found] == [True, False]


@pytest.mark.parametrize(("body", "places_of_note"), [("Paid.", 1), ("900 euros.", 2)])
def test_a_heading_with_a_word_below_it_gives_its_place_to_another(
    program: Program, body: str, places_of_note: int
) -> None:
    by_words(program)
    order = "The standing order for the rent of the flat leaves on the third."
    write(program, "memory/rent.md", f"# Rent\n\n{order}\n\n## Flat\n\n{body}\n")
    write(program, "memory/other.md", "The rent of the garage is paid in cash.\n")
    found = places(program("search", "standing order rent flat", "-n", "2", "--min-score", "0", "--json"))
    assert found.count("memory/rent.md") == places_of_note


def test_a_limit_of_hits_of_one_note_counts_where_other_notes_have_hits(program: Program) -> None:
    sections = (f"## Part {number}\n\nThe heron {word} the reed.\n" for number, word in enumerate("abcdef"))
    write(program, "memory/herons.md", "# Herons\n\n" + "\n".join(sections))
    write(program, "memory/bread.md", "The rye bread bakes while a heron waits outside.\n")
    search = ("search", "heron reed", "-n", "4", "--min-score", "0", "--json")
    settings = '{agents: {defaults: {memorySearch: {provider: "none", query: {maxPerNote: %s}}}}}'

    def found(limit: str) -> list[str]:
        (program.home / "memoriter.json5").write_text(settings % limit, encoding="utf-8")
        return places(program(*search))

    assert found("null") == ["memory/herons.md"] * 4
    assert found("2")[:2] == ["memory/herons.md"] * 2
    assert "memory/bread.md" in found("2")
    assert len(found("2")) == 4


RED = "tags: [red]\ndate created: Tuesday, March 5th 2024\n"


@pytest.mark.parametrize(
    "text",
    [
        f"---\naliases: [Other]\n---\n---\n{RED}---\nThe heron waits.\n",
        f"---\naliases: [Other]\n---\n\n---\n{RED}---\nThe heron waits.\n",
        f"\n\n---\n{RED}---\nThe heron waits.\n",
        f"<!-- a comment -->\n\n---\n{RED}---\nThe heron waits.\n",
        f"\n---\n{RED}---\nThe heron waits.\n".replace("\n", "\r\n"),
        f"---\ntitle: Heron: a bird\n{RED}---\nThe heron waits.\n",
        f"---\nauthor: @me\n{RED}---\nThe heron waits.\n",
        f'---\nnote: "open\n{RED}---\nThe heron waits.\n',
        f"---\n\tindented: by a tab\n{RED}---\nThe heron waits.\n",
        "date:: [[March 5th, 2024]]\ntags:: red, [[two words]]\n\n- The heron waits.\n",
        "- date:: 2024-03-05\n- tags:: #red\n- The heron waits.\n",
        '+++\ntitle = "Heron"\ndate = 2024-03-05T10:00:00+01:00\ntags = ["red", "two words"]\n+++\nThe heron waits.\n',
        '+++\r\ndate = "2024-03-05"\r\n[taxonomies]\r\ntags = [\r\n  "red",\r\n]\r\n+++\r\nThe heron waits.\r\n',
        "\n+++\ntitle = Heron\ndate = 2024-03-05\n[taxonomies]\ntags = ['red']\n+++\nThe heron waits.\n",
        "---\naliases: [Other]\n---\n+++\ndate = 2024-03-05\ntags = ['red']\n+++\nThe heron waits.\n",
        '{\n\t"title": "Heron",\n\t"date": "2024-03-05",\n\t"tags": ["red"]\n}\n\nThe heron waits.\n',
    ],
)
def test_front_matter_counts_as_people_and_programs_write_it(text: str) -> None:
    note = read_note("memory/heron.md", text)
    assert "red" in note.tags
    assert str(note.day) == "2024-03-05"
    assert "The heron waits." in note.chunks[-1].text
    assert not any("date created" in chunk.text for chunk in note.chunks)


@pytest.mark.parametrize(
    "text",
    [
        f"<!-- from: agent, 2026-02-10 -->\n---\n{RED}---\nThe heron waits.\n",
        f"The heron waits.\n\n---\n{RED}---\n",
        "---\nAlice: hello\nHow are you?\nBob: fine: very\n---\n",
        "---\n\nA thought\n\n---\n",
        "+++\nA thought\nof two lines\n+++\n",
        '{\n  "port": 8080,\n  "host": "heron"\n}\n',
        '{\n  "title": "open,\n  "date": "2024-03-05"\n}\n',
    ],
)
def test_what_only_looks_like_front_matter_stays_text(text: str) -> None:
    note = read_note("memory/heron.md", text)
    assert note.day is None
    assert "\n".join(chunk.text for chunk in note.chunks).count("\n") >= 2


def test_lines_that_are_no_yaml_still_find_the_note_and_are_named_by_status(program: Program) -> None:
    by_words(program)
    write(program, "memory/boat.md", f"---\ntitle: Ferry: times\n{RED}owner: @Ferrovia\n---\n\nIt leaves at ten.\n")
    assert places(program("search", "Ferrovia", "--min-score", "0", "--json"))[0] == "memory/boat.md"
    reasons = {each["code"]: each["message"] for each in program("status", "--json").json[0]["health"]["reasons"]}
    assert "memory/boat.md (lines 2, 5)" in reasons["front_matter"]
    assert '"front_matter"' not in program("search", "ferry", "--json").out
    write(program, "memory/boat.md", f"---\ntitle: 'Ferry: times'\n{RED}---\n\nIt leaves at ten.\n")
    assert places(program("search", "ferry", "--json"))
    assert '"front_matter"' not in program("status", "--json").out


def test_lines_that_are_no_toml_still_find_the_note_and_are_named_by_status(program: Program) -> None:
    by_words(program)
    text = '+++\ntitle = Ferry times\ndate = 2024-03-05\nowner = "Ferrovia\n+++\n\nIt leaves at ten.\n'
    write(program, "memory/boat.md", text)
    hit = program("search", "Ferrovia", "--min-score", "0", "--json").json["results"][0]
    assert (hit["path"], hit["date"], hit["heading"]) == ("memory/boat.md", "2024-03-05", ["Ferry times"])
    assert "memory/boat.md (lines 2, 4)" in program("status", "--json").out


def test_the_pattern_of_daily_notes_decides_the_day_of_a_note(program: Program) -> None:
    write(program, "memory/260210.md", "- The heron waits.\n")
    search = ("search", "heron", "--on", "2026-02-10", "--min-score", "0", "--json")
    assert "memory/260210.md" not in places(program(*search))
    (program.home / "memoriter.json5").write_text('{memory: {dailyNote: "memory/%y%m%d.md"}}', encoding="utf-8")
    assert "memory/260210.md" in places(program(*search))


def test_a_tag_in_double_brackets_restricts_a_search(program: Program) -> None:
    write(program, "memory/log.md", "- The heron waits. #[[Big Plan]]\n")
    assert "memory/log.md" in places(program("search", "heron", "--tag", "big plan", "--json"))


def test_remember_puts_an_entry_below_a_heading(program: Program) -> None:
    write(program, "MEMORY.md", "# Lists\n\n## Groceries\n\n- Tea.\n\n## Repairs\n")
    done = program("remember", "--to", "long-term", "--section", "groceries", "Milk.", "--json")
    assert done.exit_code == 0, done.err
    assert done.json["citation"] == "MEMORY.md#L6"
    text = (program.workspace / "MEMORY.md").read_text(encoding="utf-8")
    assert text == "# Lists\n\n## Groceries\n\n- Tea.\n- Milk.\n\n## Repairs\n"
    assert program("remember", "--section", "##", "Milk.").exit_code == 2


@pytest.mark.parametrize(
    "heading",
    ["## 1. Groceries", "## 2.1 Groceries", "## Groceries #shop", "## Groceries {#food}", "## **Groceries** ##"],
)
def test_a_section_has_a_number_tags_or_an_id_beside_its_name(program: Program, heading: str) -> None:
    write(program, "MEMORY.md", f"{heading}\n\n- Tea.\n\n## Groceries of June\n")
    assert program("remember", "--to", "long-term", "--section", "groceries", "Milk.").exit_code == 0
    text = (program.workspace / "MEMORY.md").read_text(encoding="utf-8")
    assert text == f"{heading}\n\n- Tea.\n- Milk.\n\n## Groceries of June\n"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_a_note_in_another_encoding_loses_nothing(program: Program, encoding: str) -> None:
    content = "## Groceries\n\n- Käse.\n".encode(encoding)
    note = program.workspace / "MEMORY.md"
    note.write_bytes(content)
    refused = program("remember", "--to", "long-term", "--section", "Groceries", "Milk.")
    assert (refused.exit_code, note.read_bytes()) == (1, content)
    assert "has bytes that are not UTF-8" in refused.err
    added = program("remember", "--to", "long-term", "Milk.")
    assert added.exit_code == (encoding == "utf-16")
    assert note.read_bytes().startswith(content)
    assert encoding != "utf-16" or note.read_bytes() == content
