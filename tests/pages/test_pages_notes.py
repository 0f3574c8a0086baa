"""The page Notes, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser import PHONE, opened
from memory_env import MemoryEnv
from serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

    from browser import Tab

pytestmark = pytest.mark.slow
LONG = """---
tags: [plan]
---

# Plan

One paragraph
over two lines.

- first item
- second item
  - inner item

| a | b |
|---|---|
| 1 | 2 |

```python
one = 1
two = 2
```

See [the decisions](../MEMORY.md#L3), [a site](https://example.org/), [nothing](/etc/passwd) and ![a picture](http://example.org/x.png).
"""


def lines_of(tab: Tab) -> dict[int, int]:
    """The vertical position of each numbered line."""
    return {int(each.inner_text()): round(each.bounding_box()["y"]) for each in tab.page.locator(".note a.line").all()}


def test_a_note_is_shown_as_a_page_with_the_number_of_each_line(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/plan.md", LONG)
    tab = open_tab("/notes?path=memory/plan.md#L18")
    numbers = lines_of(tab)
    texts = LONG.split("\n")
    assert {texts[number - 1].strip() for number in numbers} >= {
        *("# Plan", "One paragraph", "over two lines.", "- second item", "- inner item", "| 1 | 2 |", "two = 2"),
    }
    assert [*numbers.values()] == sorted(numbers.values())
    missing = [line for line in range(1, len(texts)) if tab.page.locator(f"#L{line}").count() != 1]
    assert missing == []
    assert tab.page.locator(".note h1").inner_text().endswith("Plan")
    tab.page.get_by_role("link", name="Show as text").click()
    tab.expect_text("#L12", "- inner item")
    assert tab.serious_faults() == []


def test_links_in_a_note_lead_to_other_notes_and_pictures_are_not_loaded(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    env.write("memory/plan.md", LONG)
    tab = open_tab("/notes?path=memory/plan.md")
    assert tab.page.locator(".note img").count() == 0
    assert tab.page.get_by_role("link", name="a site").get_attribute("rel") == "noreferrer"
    assert tab.page.get_by_role("link", name="nothing").count() == 0
    tab.page.get_by_role("link", name="the decisions").click()
    tab.page.wait_for_url("**/notes?path=MEMORY.md#L3")
    tab.expect_text(".note", "PostgreSQL")


def test_lines_of_a_paragraph_have_their_numbers_beside_them(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/short.md", "one\ntwo\nthree\n\n- four\n  five\n")
    tab = open_tab("/notes?path=memory/short.md")
    positions = lines_of(tab)
    assert len({*positions.values()}) == len(positions) == 5


def test_links_lead_to_sections_and_wiki_links_to_notes(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write(
        "memory/work/wiki.md",
        "# Content\n\n[down](#what-we-do) [[Target#Some *Heading*|there]] [[work/wiki#Twice]] [[nowhere]]\n\n"
        "[[no|`x`]] [beside](target.md#some-heading) [[../plan]]\n\n## What we do\n\n## Twice\n\n## Twice\n",
    )
    env.write("memory/plan.md", LONG)
    env.write("memory/work/target.md", "# Target\n\n## Some *Heading*\n\nHere.\n")
    tab = open_tab("/notes?path=memory/work/wiki.md")
    headings = tab.page.locator(".note :is(h1, h2)")
    anchors = headings.evaluate_all("all => all.map(each => each.id)")
    assert anchors == ["section-content", "section-what-we-do", "section-twice", "section-twice-1"]
    tab.page.get_by_role("link", name="down").click()
    tab.page.locator("#section-what-we-do:target").wait_for()
    assert "[[nowhere]]" in tab.text(".note")
    twice = tab.page.get_by_role("link", name="work/wiki#Twice")
    assert twice.get_attribute("href") == "/notes?path=memory/work/wiki.md#section-twice"
    assert tab.page.get_by_role("link", name="../plan").get_attribute("href") == "/notes?path=memory/plan.md"
    for name in ("there", "beside"):
        tab.go("/notes?path=memory/work/wiki.md")
        tab.page.get_by_role("link", name=name).click()
        tab.page.wait_for_url("**/notes?path=memory/work/target.md#section-some-heading")
        tab.expect_text("#section-some-heading:target", "Some Heading")


def test_the_tree_leads_to_every_file(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/notes")
    tab.page.get_by_role("link", name="style.md").click()
    tab.expect_text(".note", "imperative mood")
    assert tab.page.locator(".tree a[aria-current=page]").inner_text() == "style.md"


def test_a_change_is_shown_before_it_is_saved_by_keys_alone(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/edit.md", "# Edit\r\n\r\none\r\ntwo\r\n")
    tab = open_tab("/notes/edit?path=memory/edit.md")
    assert tab.page.get_by_role("button", name="Save").count() == 0
    tab.page.locator("#text").focus()
    tab.page.keyboard.press("Control+End")
    tab.page.keyboard.type("three\n")
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")
    tab.expect_text(".changes .added", "three")
    assert tab.page.locator(".changes .removed").count() == 0
    assert (env.notes / "memory/edit.md").read_bytes() == b"# Edit\r\n\r\none\r\ntwo\r\n"
    save = tab.page.get_by_role("button", name="Save")
    save.focus()
    tab.page.keyboard.press("Enter")
    tab.expect_text("[role=status]", "Saved.")
    assert (env.notes / "memory/edit.md").read_bytes() == b"# Edit\r\n\r\none\r\ntwo\r\nthree\r\n"


def test_a_text_that_was_not_reviewed_is_not_saved(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/edit.md", "one\n")
    tab = open_tab("/notes/edit?path=memory/edit.md", java_script_enabled=False)
    tab.page.fill("#text", "one\ntwo\n")
    tab.page.get_by_role("button", name="Show the changes").click()
    tab.page.fill("#text", "one\nthree\n")
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text(".changes .added", "three")
    assert (env.notes / "memory/edit.md").read_text(encoding="utf-8") == "one\n"
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text("[role=status]", "Saved.")
    assert (env.notes / "memory/edit.md").read_text(encoding="utf-8") == "one\nthree\n"


def test_the_changes_come_into_view(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/long.md", "# Long\n" + "\n".join(f"- line {number}" for number in range(60)) + "\n")
    for scripts in (True, False):
        tab = open_tab("/notes/edit?path=memory/long.md", java_script_enabled=scripts)
        tab.page.fill("#text", "# Long\n")
        tab.page.get_by_role("button", name="Show the changes").click()
        tab.expect_text(".changes .removed", "line 0")
        heading = tab.page.locator("#changes")
        assert -1 <= heading.bounding_box()["y"] < 700
        assert not scripts or tab.focused() == "changes"


def test_a_text_that_cannot_be_sent_stays_in_the_editor_with_the_reason(browser: Browser, tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    with serving(env, "--no-watch") as server, opened(browser, server, server.link.removeprefix(server.url)) as tab:
        tab.go("/notes/edit?path=memory/typed.md")
        tab.may_fail = True
        tab.page.fill("#text", "An hour of work.\n")
        tab.page.context.clear_cookies()
        tab.page.get_by_role("button", name="Show the changes").click()
        tab.expect_text("#editor [role=alert]", "This session has ended. Run “memoriter serve --link”")
        assert tab.page.input_value("#text") == "An hour of work.\n"
        assert tab.serious_faults() == []
        link = tab.page.context.new_page()
        link.goto(env.run("--json", "serve", "--link").json["open"])
        link.wait_for_url("**/search")
        tab.page.get_by_role("button", name="Show the changes").click()
        tab.expect_text(".changes .added", "An hour of work.")
        assert tab.page.locator("#editor [role=alert]").count() == 0
        link.close()
        tab.page.fill("#text", "Two hours of work.\n")
        server.end()
        tab.page.get_by_role("button", name="Save").click()
        tab.expect_text("#editor [role=alert]", "This was not sent. What you typed is still here.")
        tab.expect_text("#editor [role=alert]", "The server does not answer.")
        assert tab.page.input_value("#text") == "Two hours of work.\n"
        assert not (env.notes / "memory/typed.md").exists()


def test_a_text_that_the_server_refuses_stays_in_the_editor(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/refused.md", "one\n")
    tab = open_tab("/notes/edit?path=memory/refused.md")
    tab.may_fail = True
    tab.page.fill("#text", "two\n")
    (env.notes / "memory/refused.md").write_bytes(b"caf\xe9\n")
    tab.page.get_by_role("button", name="Show the changes").click()
    tab.expect_text("#editor [role=alert]", "is not text in UTF-8")
    assert tab.page.input_value("#text") == "two\n"


def test_an_entry_that_cannot_be_sent_stays_in_its_field(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/notes")
    tab.may_fail = True
    tab.page.locator("summary", has_text="Add an entry").click()
    tab.page.fill("#entry", "Prefers coffee.")
    tab.page.context.clear_cookies()
    tab.page.get_by_role("button", name="Add", exact=True).click()
    tab.expect_text("#adding [role=alert]", "This session has ended.")
    assert tab.page.input_value("#entry") == "Prefers coffee."


def test_a_new_note_that_somebody_else_has_created_meanwhile_is_not_replaced(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    tab = open_tab("/notes/edit?path=memory/raced.md")
    tab.may_fail = True
    tab.page.fill("#text", "mine\n")
    env.write("memory/raced.md", "other\n")
    tab.page.get_by_role("button", name="Show the changes").click()
    tab.expect_text("[role=alert]", "Somebody else has created this note since you opened it.")
    assert (env.notes / "memory/raced.md").read_text(encoding="utf-8") == "other\n"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_note_that_was_deleted_while_it_was_edited_can_be_written_again(
    open_tab: Callable[..., Tab], env: MemoryEnv, *, scripts: bool
) -> None:
    env.write("memory/gone.md", "# Gone\n")
    tab = open_tab("/notes/edit?path=memory/gone.md", java_script_enabled=scripts)
    tab.may_fail = True
    tab.page.fill("#text", "# Gone\n\n- kept\n")
    (env.notes / "memory/gone.md").unlink()
    tab.page.get_by_role("button", name="Show the changes").click()
    tab.expect_text("[role=alert]", "The note was deleted since you opened it.")
    assert (tab.page.locator("#present").count(), tab.text("h1")) == (0, "Edit memory/gone.md")
    tab.page.get_by_role("button", name="Write it again").click()
    tab.expect_text("[role=status]", "Saved.")
    assert (env.notes / "memory/gone.md").read_text(encoding="utf-8") == "# Gone\n\n- kept\n"


def test_a_missing_note_can_be_created(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab()
    tab.may_fail = True
    answer = tab.page.goto(f"{tab.url}/notes?path=memory/missing.md")
    assert answer.status == 404
    tab.expect_text("article", "There is no note memory/missing.md.")
    assert tab.page.get_by_role("link", name="Show as text").count() == 0
    assert tab.page.locator("form.why").count() == 0
    tab.page.get_by_role("link", name="Create this note").click()
    tab.expect_text("h1", "New note memory/missing.md")


def test_a_note_that_is_not_utf_8_says_why_it_cannot_be_edited(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    (env.notes / "memory" / "latin.md").write_bytes(b"# caf\xe9\n")
    tab = open_tab("/notes?path=memory/latin.md")
    tab.expect_text("article", "cannot be edited here, because it is not text in UTF-8")
    assert tab.page.get_by_role("link", name="Edit", exact=True).count() == 0


def test_remedies_on_pages_have_the_words_of_the_page(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/notes?path=MEMORY.md&from=900")
    tab.expect_text("article .notice", "Ask again with line ")
    tab.go("/search?q=ledger&path=memory")
    tab.expect_text("#results .notice", "Leave out “File, folder or pattern”.")
    assert "`" not in tab.text()


def test_two_browsers_that_edit_one_note_lose_nothing(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/both.md", "# Both\n\n- kept\n")
    file = env.notes / "memory/both.md"
    mine = open_tab("/notes/edit?path=memory/both.md")
    other = open_tab("/notes/edit?path=memory/both.md")
    for tab, line in ((mine, "- mine"), (other, "- other")):
        tab.page.fill("#text", f"# Both\n\n- kept\n{line}\n")
        tab.page.get_by_role("button", name="Show the changes").click()
        tab.expect_text(".changes .added", line)
    other.page.get_by_role("button", name="Save").click()
    other.expect_text("[role=status]", "Saved.")

    mine.may_fail = True
    mine.page.get_by_role("button", name="Save").click()
    mine.expect_text("[role=alert]", "Nothing was written.")
    assert file.read_text(encoding="utf-8") == "# Both\n\n- kept\n- other\n"
    assert mine.page.input_value("#text") == "# Both\n\n- kept\n- mine\n"
    assert mine.page.input_value("#present") == "# Both\n\n- kept\n- other\n"
    assert "- other" in mine.text(".changes .removed")
    assert mine.serious_faults() == []

    mine.page.fill("#text", "# Both\n\n- kept\n- other\n- mine\n")
    mine.page.get_by_role("button", name="Show the changes").click()
    mine.page.locator(".changes .removed").wait_for(state="detached")  # those of the earlier comparison
    mine.expect_text(".changes .added", "- mine")
    mine.page.get_by_role("button", name="Save").click()
    mine.expect_text("[role=status]", "Saved.")
    assert file.read_text(encoding="utf-8") == "# Both\n\n- kept\n- other\n- mine\n"


def test_a_new_note_and_an_entry_can_be_written_on_a_phone(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    tab = open_tab("/notes", viewport=PHONE, color_scheme="dark")
    tab.page.locator("summary", has_text="New note").click()
    tab.page.fill("#new", "memory/new.md")
    tab.page.get_by_role("button", name="Create").click()
    tab.page.fill("#text", "# New\n\nFrom a phone.\n")
    tab.page.get_by_role("button", name="Show the changes").click()
    assert (tab.serious_faults(), tab.overflow() <= 0) == ([], True)
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text(".note", "From a phone.")
    assert (env.notes / "memory/new.md").read_text(encoding="utf-8") == "# New\n\nFrom a phone.\n"
    tab.page.locator("summary", has_text="Add an entry").click()
    tab.page.fill("#entry", "Prefers tea.")
    tab.page.select_option("#to", "long-term")
    tab.page.get_by_role("button", name="Add", exact=True).click()
    tab.expect_text("[role=status]", "Added.")
    assert (env.notes / "MEMORY.md").read_text(encoding="utf-8").endswith("Prefers tea.\n")


def test_a_path_outside_the_notes_is_refused_with_a_remedy(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    (env.notes.parent / "secret.md").write_text("# Secret\n", encoding="utf-8")
    tab = open_tab()
    tab.may_fail = True
    for path in ("/notes?path=../secret.md", "/notes/edit?path=../secret.md", "/notes/edit?path=x.txt"):
        tab.go(path)
        assert "Name a Markdown file of the memory" in tab.text("[role=alert]")
        assert "# Secret" not in tab.page.content()
