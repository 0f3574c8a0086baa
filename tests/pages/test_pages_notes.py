"""The page Notes, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser import PHONE, opened
from memory_env import MemoryEnv
from serving import serving
from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

    from browser import Tab
    from serving import Serving

pytestmark = pytest.mark.slow
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c636060f8cf00000003010100c9fe92ef0000000049454e44ae426082"
)
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
    shown = tab.page.locator(".note a.line:visible").all()
    return {int(each.inner_text()): round(each.bounding_box()["y"]) for each in shown}


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
    tab.page.locator("#more-of-note summary").click()
    tab.page.get_by_role("link", name="Show as text").click()
    tab.expect_text("#L12", "- inner item")
    assert tab.serious_faults() == []


def test_links_in_a_note_lead_to_other_notes_and_pictures_from_elsewhere_are_not_loaded(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    env.write("memory/plan.md", LONG)
    tab = open_tab("/notes?path=memory/plan.md")
    assert tab.page.locator(".note img").count() == 0
    assert tab.page.get_by_role("link", name="a site").get_attribute("rel") == "noreferrer"
    assert tab.page.locator(".note").get_by_role("link", name="nothing").count() == 0
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
        tab.page.get_by_role("link", name=name, exact=True).click()
        tab.page.wait_for_url("**/notes?path=memory/work/target.md#section-some-heading")
        tab.expect_text("#section-some-heading:target", "Some Heading")


def test_the_tree_leads_to_every_file_with_one_stop_of_the_tab_key(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    env.write("memory/arctic/tern.md", "# Tern\n\nThe tern flies far.\n")
    tab = open_tab("/notes")
    tab.page.locator("#filter").focus()
    tab.page.keyboard.press("ArrowDown")
    assert tab.focused().startswith("memory")
    tab.page.keyboard.press("ArrowRight")
    tab.page.locator(".tree a", has_text="2026-02-10").wait_for()
    tab.page.keyboard.press("ArrowDown")
    assert tab.focused().startswith("arctic")
    tab.page.keyboard.press("ArrowRight")
    tab.page.locator(".tree a", has_text="tern").wait_for()
    tab.page.keyboard.press("ArrowDown")
    assert tab.focused() == "tern"
    tab.page.keyboard.press("ArrowLeft")
    assert tab.focused().startswith("arctic")
    assert tab.page.locator(".tree [tabindex='0']").count() == 1
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Enter")
    tab.expect_text(".note", "flies far")
    assert tab.page.locator(".tree a[aria-current=page]").inner_text() == "tern"
    assert tab.page.locator(".tree details[open]").count() == 2


def test_the_tree_and_its_filter_work_without_scripts(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/notes", java_script_enabled=False)
    if not tab.page.locator("#filter").is_visible():
        tab.page.locator("#pane > summary").click()
    tab.page.fill("#filter", "STYLE")
    tab.page.locator("#filter").press("Enter")
    tab.page.locator("#found a", has_text="style").click()
    tab.expect_text(".note", "imperative mood")
    tab.go("/notes?folder=memory/work/")
    tab.expect_text("article", "style")


def test_the_filter_lists_notes_as_someone_types(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/notes")
    tab.page.fill("#filter", "2026-03")
    tab.expect_text("#found", "2026-03-05")
    assert tab.page.locator("#found .tree a").count() == 1
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Enter")
    tab.expect_text(".note", "Osaka")


def test_tags_have_the_number_of_their_notes_and_lead_to_them(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/work/a.md", "---\ntags: [Falcon]\n---\n# A\n\nOne. #falcon\n")
    env.write("memory/work/b.md", "# B\n\nTwo. #falcon\n")
    tab = open_tab("/notes")
    tab.page.locator(".tags summary").click()
    tab.expect_text("#tags .chips", "#falcon 2")
    tab.page.locator("#tags a", has_text="#falcon").click()
    tab.expect_text("#results .hits", "One.")


def test_a_note_shows_its_tags_its_day_and_what_links_to_it(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/work/osprey.md", "---\ntags: [bird]\ndate: 2026-01-05\n---\n# The osprey\n\nIt fishes.\n")
    env.write("memory/work/lake.md", "# Lake\n\nSeen: the [[osprey]] at noon.\n")
    env.write("memory/work/pond.md", "# Pond\n\nSee [it](osprey.md#the-osprey), not [[osprey-2]].\n")
    tab = open_tab("/notes?path=memory/work/osprey.md")
    assert tab.page.title().startswith("The osprey")
    assert "2026-01-05" in tab.text(".about")
    assert "#bird" in tab.text(".about")
    tab.expect_text("#links", "Seen: the [[osprey]] at noon.")
    assert tab.page.locator("#links a").all_inner_texts() == ["lake", "pond"]
    tab.page.locator("#links a").first.click()
    tab.page.wait_for_url("**/notes?path=memory/work/lake.md#L3")
    plain = open_tab("/notes?path=memory/work/osprey.md", java_script_enabled=False)
    plain.page.get_by_role("link", name="Show what links here").click()
    plain.expect_text("main", "Seen: the [[osprey]] at noon.")


def test_forms_of_obsidian_are_shown_and_pictures_come_from_the_notes_alone(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    (env.notes / "memory" / "dot.png").write_bytes(PNG)
    (env.notes.parent / "secret.png").write_bytes(PNG)
    (env.notes / ".hidden").mkdir(exist_ok=True)
    (env.notes / ".hidden" / "inside.png").write_bytes(PNG)
    (env.notes / "memory" / "way.png").symlink_to(env.notes.parent / "secret.png")
    env.write(
        "memory/forms.md",
        "---\nplace: Here\nkinds:\n  - one\n---\n> [!warning] Mind\n> the gap\n\n- [ ] open\n- [x] done ==bright==\n\n"
        "![[dot.png|20]] ![a dot](dot.png) ![[work/style]]\n\n"
        "$$\na \\, b\n$$\n\nand $c \\, d$\n\n```mermaid\ngraph TD\n```\n"
        "![no](https://example.org/x.png) <!-- aside -->\n",
    )
    tab = open_tab("/notes?path=memory/forms.md")
    assert tab.text(".callout.warning .title") == "Mind"
    assert tab.page.locator(".task").evaluate_all("all => all.map(each => each.ariaLabel)") == ["open", "done"]
    assert tab.text(".note mark") == "bright"
    assert tab.page.locator(".note img").evaluate_all("all => all.map(each => each.naturalWidth)")[:2] == [1, 1]
    assert tab.page.get_by_role("link", name="work/style").count() == 1
    assert "a \\, b" in tab.text(".note")
    assert "c \\, d" in tab.text(".note .formula")
    assert tab.page.get_by_role("region", name="Mermaid diagram").inner_text().strip().endswith("graph TD")
    assert not tab.page.locator(".front table").is_visible()
    tab.page.locator(".front summary").click()
    assert "Here" in tab.text(".front")
    tab.may_fail = True
    for name in (
        "../secret.png",
        "../../secret.png",
        "way.png",
        "memory/way.png",
        "inside.png",
        ".hidden/inside.png",
        "forms.md",
    ):
        answer = tab.page.request.get(f"{tab.url}/notes/picture?name={name}&from=memory/forms.md")
        assert answer.status == 400, name
    picture = tab.page.request.get(f"{tab.url}/notes/picture?name=dot.png&from=memory/forms.md")
    assert (picture.status, picture.headers["content-type"]) == (200, "image/png")
    assert "sandbox" in picture.headers["content-security-policy"]
    assert tab.serious_faults() == []


def test_right_to_left_text_is_laid_out_as_such(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/arabic.md", "# مرحبا\n\nهذه ملاحظة باللغة العربية.\n")
    tab = open_tab("/notes?path=memory/arabic.md")
    direction = "getComputedStyle(document.querySelector('#article')).direction"
    assert tab.page.evaluate(direction) == "rtl"
    tab.go("/notes?path=MEMORY.md")
    assert tab.page.evaluate(direction) == "ltr"


def test_a_line_is_corrected_in_its_place_by_keys_alone(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    lines = "".join(f"line {number}\r\n" for number in range(1, 200))
    env.write("memory/edit.md", "")
    (env.notes / "memory/edit.md").write_bytes(lines.encode())
    tab = open_tab("/notes?path=memory/edit.md#L150")
    tab.page.keyboard.press("e")
    tab.page.locator("#text").wait_for()
    assert tab.page.evaluate("document.activeElement.id") == "text"
    caret = "(text => text.value.slice(0, text.selectionStart).split('\\n').length)(document.getElementById('text'))"
    assert tab.page.evaluate(caret) == 150
    assert tab.page.evaluate("document.getElementById('text').scrollTop") > 500
    tab.page.keyboard.press("End")
    tab.page.keyboard.type(", mended")
    tab.page.keyboard.press("Control+s")
    tab.expect_text("article [role=status]", "Saved.")
    tab.page.wait_for_url("**#L150")
    expected = lines.replace("line 150\r", "line 150, mended\r")
    assert (env.notes / "memory/edit.md").read_bytes() == expected.encode()


def test_a_click_on_the_number_of_a_line_edits_it_there(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/short.md", "one\n\ntwo\n\nthree\n")
    tab = open_tab("/notes?path=memory/short.md")
    tab.page.locator(".note").hover()
    tab.page.locator("#L3").click()
    tab.page.locator("#text").wait_for()
    tab.page.keyboard.type("and ")
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text(".note", "and two")


def test_a_note_is_edited_without_scripts(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/plain.md", "one\n")
    tab = open_tab("/notes?path=memory/plain.md", java_script_enabled=False)
    tab.page.get_by_role("link", name="Edit", exact=True).click()
    tab.page.fill("#text", "one\ntwo\n")
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text("article [role=status]", "Saved.")
    assert (env.notes / "memory/plain.md").read_text(encoding="utf-8") == "one\ntwo\n"


def test_leaving_an_edited_text_asks_first(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/unsaved.md", "one\n")
    tab = open_tab("/notes?path=memory/unsaved.md")
    asked: list[str] = []
    tab.page.on("dialog", lambda dialog: asked.append(dialog.type))
    tab.page.keyboard.press("e")
    tab.page.locator("#text").press_sequentially("x")
    tab.page.locator("#cancel").click()
    tab.page.wait_for_url("**/notes?path=memory/unsaved.md**")
    tab.page.locator(".note").wait_for()
    assert asked == ["beforeunload"]


def test_a_text_that_cannot_be_sent_stays_in_the_editor_with_the_reason(browser: Browser, tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    with serving(env, "--no-watch") as server, opened(browser, server, server.link.removeprefix(server.url)) as tab:
        tab.go("/notes/edit?path=memory/typed.md")
        tab.may_fail = True
        tab.page.fill("#text", "An hour of work.\n")
        tab.page.context.clear_cookies()
        tab.page.get_by_role("button", name="Save").click()
        tab.expect_text("#article [role=alert]", "This session has ended. Run “memoriter serve --link”")
        assert tab.page.input_value("#text") == "An hour of work.\n"
        assert tab.serious_faults() == []
        server.end()
        tab.page.get_by_role("button", name="Save").click()
        tab.expect_text("#article [role=alert]", "This was not sent. What you typed is still here.")
        tab.expect_text("#article [role=alert]", "The server does not answer.")
        assert tab.page.input_value("#text") == "An hour of work.\n"
        assert not (env.notes / "memory/typed.md").exists()
        port = server.url.rpartition(":")[2]
        with serving(env, "--no-watch", "--port", port) as again:
            link = tab.page.context.new_page()
            link.goto(again.link)
            link.wait_for_url("**/search")
            tab.page.get_by_role("button", name="Save").click()
            tab.expect_text("article [role=status]", "Saved.")
            assert (env.notes / "memory/typed.md").read_text(encoding="utf-8") == "An hour of work.\n"
            link.close()


def test_a_text_that_the_server_refuses_stays_in_the_editor(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/refused.md", "one\n")
    tab = open_tab("/notes/edit?path=memory/refused.md")
    tab.may_fail = True
    tab.page.fill("#text", "two\n")
    (env.notes / "memory/refused.md").write_bytes(b"caf\xe9\n")
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text("#article [role=alert]", "is not text in UTF-8")
    assert tab.page.input_value("#text") == "two\n"


def test_an_entry_that_cannot_be_sent_stays_in_its_field(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/notes")
    tab.may_fail = True
    tab.page.keyboard.press("n")
    assert tab.focused() == "entry"
    tab.page.keyboard.type("Prefers coffee.")
    tab.page.context.clear_cookies()
    tab.page.keyboard.press("Control+Enter")
    tab.expect_text("#adding [role=alert]", "This session has ended.")
    assert tab.page.input_value("#entry") == "Prefers coffee."


def test_a_new_note_that_somebody_else_has_created_meanwhile_is_not_replaced(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    tab = open_tab("/notes/edit?path=memory/raced.md")
    tab.may_fail = True
    tab.page.fill("#text", "mine\n")
    env.write("memory/raced.md", "other\n")
    tab.page.get_by_role("button", name="Save").click()
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
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text("[role=alert]", "The note was deleted since you opened it.")
    assert (tab.page.locator("#present").count(), tab.text("h1")) == (0, "Edit gone")
    tab.page.get_by_role("button", name="Write it again").click()
    tab.expect_text("article [role=status]", "Saved.")
    assert (env.notes / "memory/gone.md").read_text(encoding="utf-8") == "# Gone\n\n- kept\n"


def test_a_missing_note_can_be_created(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab()
    tab.may_fail = True
    answer = tab.page.goto(f"{tab.url}/notes?path=memory/missing.md")
    assert answer.status == 404
    tab.expect_text("article", "There is no note memory/missing.md.")
    assert tab.page.locator("#more-of-note").count() == 0
    tab.page.get_by_role("link", name="Create this note").click()
    tab.expect_text("h1", "New note missing")


def test_a_note_that_is_not_utf_8_says_why_it_cannot_be_edited(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    (env.notes / "memory" / "latin.md").write_bytes(b"# caf\xe9\n")
    tab = open_tab("/notes?path=memory/latin.md")
    tab.expect_text("article", "cannot be edited here, because it is not text in UTF-8")
    assert tab.page.get_by_role("link", name="Edit", exact=True).count() == 0


def test_remedies_on_pages_have_the_words_of_the_page(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/short.md", "One.\n\nThree.\n")
    tab = open_tab("/notes?path=memory/short.md&from=900")
    tab.expect_text("article .notice", "Ask for line 3 or an earlier one.")
    tab.go("/search?q=ledger&path=memory/work")
    tab.expect_text("#results .notice", "Leave out the filter “in …”.")
    assert "`" not in tab.text()


def test_changes_of_two_browsers_and_an_editor_to_other_lines_are_merged(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    env.write("memory/both.md", "# Both\n\none\n\ntwo\n\nthree\n")
    file = env.notes / "memory/both.md"
    mine = open_tab("/notes/edit?path=memory/both.md")
    other = open_tab("/notes/edit?path=memory/both.md")
    mine.page.fill("#text", "# Both\n\none, mine\n\ntwo\n\nthree\n")
    other.page.fill("#text", "# Both\n\none\n\ntwo, other\n\nthree\n")
    file.write_text(file.read_text(encoding="utf-8") + "\nof an editor\n", encoding="utf-8")
    other.page.get_by_role("button", name="Save").click()
    other.expect_text("article [role=status]", "Saved, together with a change that was made elsewhere")
    mine.page.get_by_role("button", name="Save").click()
    mine.expect_text("article [role=status]", "Saved, together with a change that was made elsewhere")
    assert file.read_text(encoding="utf-8") == "# Both\n\none, mine\n\ntwo, other\n\nthree\n\nof an editor\n"


def test_changes_to_the_same_lines_lose_nothing_and_the_safe_choice_is_first(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    env.write("memory/same.md", "# Same\n\n- kept\n")
    file = env.notes / "memory/same.md"
    mine = open_tab("/notes/edit?path=memory/same.md")
    other = open_tab("/notes/edit?path=memory/same.md")
    mine.page.fill("#text", "# Same\n\n- mine\n")
    other.page.fill("#text", "# Same\n\n- other\n")
    other.page.get_by_role("button", name="Save").click()
    other.expect_text("article [role=status]", "Saved.")

    mine.may_fail = True
    mine.page.get_by_role("button", name="Save").click()
    mine.expect_text("[role=alert]", "Nothing was written.")
    assert file.read_text(encoding="utf-8") == "# Same\n\n- other\n"
    assert mine.page.input_value("#text") == "# Same\n\n- mine\n"
    assert mine.page.input_value("#present") == "# Same\n\n- other\n"
    assert "- other" in mine.text(".changes .removed")
    assert mine.serious_faults() == []
    assert mine.page.locator(".edit .actions button").first.inner_text() == "Save mine as a copy"
    mine.page.locator(".edit .actions button").first.click()
    mine.expect_text("article [role=status]", "Your text is saved as this copy.")
    assert file.read_text(encoding="utf-8") == "# Same\n\n- other\n"
    copy = env.notes / "memory/same (my version).md"
    assert copy.read_text(encoding="utf-8") == "# Same\n\n- mine\n"


def test_a_text_that_both_changed_is_saved_over_the_present_one_only_after_it_was_shown(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    env.write("memory/over.md", "one\n")
    file = env.notes / "memory/over.md"
    tab = open_tab("/notes/edit?path=memory/over.md", java_script_enabled=False)
    tab.may_fail = True
    tab.page.fill("#text", "mine\n")
    file.write_text("other\n", encoding="utf-8")
    tab.page.get_by_role("button", name="Save").click()
    file.write_text("newest\n", encoding="utf-8")
    tab.page.get_by_role("button", name="over the present text").click()
    tab.expect_text("[role=alert]", "Nothing was written.")
    assert tab.page.input_value("#present") == "newest\n"
    tab.page.get_by_role("button", name="over the present text").click()
    tab.expect_text("article [role=status]", "Saved.")
    assert file.read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_note_that_is_deleted_can_be_put_back(open_tab: Callable[..., Tab], env: MemoryEnv, *, scripts: bool) -> None:
    file = env.notes / "memory/mistake.md"
    file.write_bytes(b"# Kept\r\n\r\ncaf\xc3\xa9\r\n")
    tab = open_tab("/notes?path=memory/mistake.md", java_script_enabled=scripts)
    tab.page.locator("#more-of-note summary").click()
    tab.page.get_by_role("button", name="Delete").click()
    tab.expect_text("article", "memory/mistake.md was deleted.")
    assert not file.exists()
    assert tab.page.locator(".tree a", has_text="mistake").count() == 0
    tab.go("/search")
    tab.go("/notes")
    tab.page.get_by_role("link", name="All changes").click()
    tab.expect_text(".history li", "You, in the pages, deleted mistake")
    tab.page.get_by_role("button", name="Undo: You, in the pages, mistake").first.click()
    tab.expect_text("main [role=status]", "Taken back.")
    assert file.read_bytes() == b"# Kept\r\n\r\ncaf\xc3\xa9\r\n"


def test_a_deleted_note_is_put_back_by_no_reader_and_never_over_another_one(
    open_tab: Callable[..., Tab], env: MemoryEnv, server: Serving
) -> None:
    env.write("memory/mine.md", "mine\n")
    tab = open_tab("/notes?path=memory/mine.md")
    tab.may_fail = True
    tab.page.keyboard.press(".")
    tab.page.get_by_role("button", name="Delete").click()
    tab.page.locator("#undo").wait_for()
    change = tab.page.locator("form[action='/history/undo'] input[name=id]").input_value()
    token = env.run("token", "create", "onlooker", "--scope", "read").out.strip()
    with ApiClient(server.url, token) as other:
        assert other.http.post("/history/undo", data={"id": change}).status_code == 403
    env.write("memory/mine.md", "newer\n")
    tab.page.locator("#undo").click()
    tab.expect_text("main [role=alert]", "Nothing was taken back.")
    tab.expect_text("main pre", "newer")
    assert (env.notes / "memory/mine.md").read_text(encoding="utf-8") == "newer\n"


def test_a_note_is_not_deleted_if_the_history_cannot_be_written(env: MemoryEnv, server: Serving) -> None:
    env.write("memory/unsaved.md", "one\n")
    journal = env.home / "journal"
    hidden = env.home / "journal-elsewhere"
    if journal.exists():
        journal.rename(hidden)
    journal.write_text("no folder", encoding="utf-8")
    try:
        with ApiClient(server.url, server.token) as owner:
            refused = owner.http.post("/notes/delete", data={"path": "memory/unsaved.md"})
    finally:
        journal.unlink()
        if hidden.exists():
            hidden.rename(journal)
    assert (refused.status_code, "was not deleted" in refused.text) == (500, True)
    assert (env.notes / "memory/unsaved.md").read_text(encoding="utf-8") == "one\n"


def test_a_note_of_another_program_is_not_changed(browser: Browser, tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none", clientMemories=["codex"])
    file = env.home / ".codex" / "memories" / "learned.md"
    file.parent.mkdir(parents=True)
    file.write_text("# Learned\n", encoding="utf-8")
    with serving(env, "--no-watch") as server, ApiClient(server.url, server.token) as owner:
        (path,) = [each["path"] for each in owner.get("/files").json()["files"] if "learned" in each["path"]]
        for address, form in (("delete", {"path": path}), ("renamed", {"path": path, "name": "memory/taken.md"})):
            assert owner.http.post(f"/notes/{address}", data=form).status_code == 403, address
        assert owner.http.get("/notes/forget", params={"path": path}).status_code == 403
    assert file.read_text(encoding="utf-8") == "# Learned\n"
    assert not (env.notes / "memory/taken.md").exists()


def test_a_note_that_has_changed_since_it_was_shown_is_not_deleted(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    env.write("memory/changed.md", "one\n")
    tab = open_tab("/notes?path=memory/changed.md")
    tab.may_fail = True
    env.write("memory/changed.md", "two\n")
    tab.page.keyboard.press(".")
    tab.page.get_by_role("button", name="Delete").click()
    tab.expect_text("[role=alert]", "changed")
    assert (env.notes / "memory/changed.md").read_text(encoding="utf-8") == "two\n"


def test_a_note_is_renamed_with_the_links_to_it_and_never_over_another_one(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    env.write("memory/old.md", "# Old\n")
    env.write("memory/taken.md", "# Taken\n")
    env.write("memory/points.md", "See [[old]].\n")
    tab = open_tab("/notes?path=memory/old.md")
    tab.page.keyboard.press(".")
    tab.page.get_by_role("link", name="Rename…").click()
    tab.expect_text("main", "1 note links to it. Links follow the new name")
    tab.may_fail = True
    tab.page.fill("#new-name", "memory/taken")
    tab.page.keyboard.press("Enter")
    tab.expect_text("[role=alert]", "taken")
    assert (env.notes / "memory/taken.md").read_text(encoding="utf-8") == "# Taken\n"
    tab.go("/notes/rename?path=memory/old.md")
    tab.page.fill("#new-name", "memory/work/new name")
    tab.page.keyboard.press("Enter")
    tab.expect_text("main", "Links that follow, in 1 note")
    assert tab.text(".changes del") == "See [[old]]."
    assert tab.text(".changes ins") == "See [[new name]]."
    assert (env.notes / "memory/old.md").exists()
    assert tab.serious_faults() == []
    tab.page.keyboard.press("Enter")
    tab.expect_text("article [role=status]", "Renamed. Links in 1 note followed.")
    assert not (env.notes / "memory/old.md").exists()
    assert (env.notes / "memory/work/new name.md").read_text(encoding="utf-8") == "# Old\n"
    assert (env.notes / "memory/points.md").read_text(encoding="utf-8") == "See [[new name]].\n"
    tab.page.keyboard.press("Enter")  # the button that takes it back has the focus
    tab.expect_text("article [role=status]", "earlier name again")
    assert (env.notes / "memory/old.md").read_text(encoding="utf-8") == "# Old\n"
    assert (env.notes / "memory/points.md").read_text(encoding="utf-8") == "See [[old]].\n"


def test_a_line_is_forgotten_after_its_plan_was_shown(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/door.md", "# Door\n\n- The code is 4711.\n- The key is blue.\n")
    file = env.notes / "memory/door.md"
    tab = open_tab("/search?q=code 4711")
    tab.page.locator("a.hit").first.wait_for()
    tab.go("/notes?path=memory/door.md#L3")
    tab.page.keyboard.press(".")
    tab.page.get_by_role("link", name="Forget…").click()
    tab.expect_text("pre.removed", "The code is 4711.")
    assert "blue" not in tab.text("pre.removed")
    assert "4711" in file.read_text(encoding="utf-8")
    assert tab.serious_faults() == []
    assert tab.page.locator(".actions > *").first.inner_text() == "Keep it"
    tab.page.locator("#forget").click()
    tab.expect_text("main [role=status]", "memory/door.md")
    assert file.read_text(encoding="utf-8") == "# Door\n\n- The key is blue.\n"
    tab.go("/search?q=4711")
    assert "4711" not in tab.text("#results")


def test_a_note_that_changed_after_its_plan_is_not_forgotten(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/plan-b.md", "one\ntwo\n")
    tab = open_tab("/notes/forget?path=memory/plan-b.md&line=1")
    tab.may_fail = True
    env.write("memory/plan-b.md", "zero\none\ntwo\n")
    tab.page.locator("#forget").click()
    tab.expect_text("[role=alert]", "has changed since the plan was shown")
    assert (env.notes / "memory/plan-b.md").read_text(encoding="utf-8") == "zero\none\ntwo\n"


def test_only_the_owner_gets_the_addresses_of_programs_of_the_machine(
    open_tab: Callable[..., Tab], env: MemoryEnv, server: Serving
) -> None:
    (env.notes / ".obsidian").mkdir(exist_ok=True)
    tab = open_tab("/notes?path=MEMORY.md")
    links = tab.page.locator("#more-of-note a").evaluate_all("all => all.map(each => each.getAttribute('href'))")
    assert any(link.startswith("obsidian://open?path=") and "MEMORY.md" in link for link in links)
    assert any(link.startswith("vscode://file/") for link in links)
    token = env.run("token", "create", "guest", "--scope", "write").out.strip()
    with ApiClient(server.url, token) as guest:
        text = guest.http.get("/notes?path=MEMORY.md").text
    assert ("obsidian://" in text, "vscode://" in text, "Delete" in text) == (False, False, False)


def test_a_new_note_and_an_entry_can_be_written_on_a_phone(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    tab = open_tab("/notes", viewport=PHONE, color_scheme="dark")
    tab.page.locator("#new summary").click()
    assert (tab.serious_faults(), tab.overflow() <= 0) == ([], True)
    tab.page.fill("#name", "memory/new.md")
    tab.page.get_by_role("button", name="Create").click()
    tab.page.fill("#text", "# New\n\nFrom a phone.\n")
    assert (tab.serious_faults(), tab.overflow() <= 0) == ([], True)
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text(".note", "From a phone.")
    assert (env.notes / "memory/new.md").read_text(encoding="utf-8") == "# New\n\nFrom a phone.\n"
    tab.page.locator("#new summary").click()
    tab.page.fill("#entry", "Prefers tea.")
    tab.page.select_option("#to", "long-term")
    tab.page.get_by_role("button", name="Add", exact=True).click()
    tab.expect_text("article [role=status]", "Added.")
    assert (env.notes / "MEMORY.md").read_text(encoding="utf-8").endswith("Prefers tea.\n")


def test_a_path_outside_the_notes_is_refused_with_a_remedy(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    (env.notes.parent / "secret.md").write_text("# Secret\n", encoding="utf-8")
    tab = open_tab()
    tab.may_fail = True
    refused = "Name a note as search results name it, such as memory/2026-02-10.md."
    for path, remedy in {
        "/notes?path=../secret.md": refused,
        "/notes/edit?path=../secret.md": refused,
        "/notes/edit?path=x.txt": "Name a Markdown file of the memory.",
    }.items():
        tab.go(path)
        assert remedy in tab.text("[role=alert]")
        assert "# Secret" not in tab.page.content()
