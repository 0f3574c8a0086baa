"""Long names of notes are kept, and links follow the names that cannot be."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from exports import archive, write_notes
from odd_files import posix_only

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Target

LONG = "Everything that we know about the greenhouse and its heater, " * 3 + "which is on circuit 14"
TOO_LONG = ("온실의 난방기에 대해 우리가 아는 모든 것 " * 8).strip()
"""More than 255 bytes, in fewer characters."""


def names(target: Target) -> list[str]:
    return sorted(path.removeprefix("obsidian/Vault/") for path in target.texts())


@posix_only
def test_a_name_that_the_file_system_can_have_is_kept_and_its_links_stay(target: Target, tmp_path: Path) -> None:
    longest = "x" * 252
    text = f"See [[{LONG}]], [[{longest}|it]].\n"
    write_notes(tmp_path / "Vault", {f"{LONG}.md": "A fact.\n", f"{longest}.md": "Two.\n", "Start.md": text})
    target.run("obsidian", tmp_path / "Vault", own=True)
    assert names(target) == sorted([f"{LONG}.md", f"{longest}.md", "Start.md"])
    assert text in target.texts()["obsidian/Vault/Start.md"]
    again = target.run("obsidian", tmp_path / "Vault", own=True)
    assert (again.present, again.updated) == (3, 0)


def test_links_follow_notes_whose_names_are_cut_or_not_allowed_everywhere(target: Target, tmp_path: Path) -> None:
    other = f"{TOO_LONG}의 끝"
    links = [
        f"[[{TOO_LONG}]]",
        f"![[sub/{TOO_LONG}#Heading|the fan]]",
        f"[[{other}]]",
        "[[What?]]",
        f"[it]({quote(f'sub/{TOO_LONG}.md')}#Heading)",
        "[[Nowhere?]] [the web](https://example.com/What?.md)",
    ]
    notes = {f"sub/{TOO_LONG}": "A fact.", other: "Another.", "What?": "A question.", "Start": "\n".join(links)}
    file = archive(tmp_path / "Vault.zip", {f"{name}.md": text for name, text in notes.items()})
    target.run("obsidian", file, own=True)
    texts = {path.removeprefix("obsidian/Vault/").removesuffix(".md"): text for path, text in target.texts().items()}
    by_fact = {text.rstrip().rpartition("\n")[2]: path for path, text in texts.items()}
    fan = by_fact["A fact."]
    end = by_fact["Another."]
    question = by_fact["A question."]
    assert question == "What"
    assert all(len(os.fsencode(f"{name.rpartition('/')[2]}.md")) <= 255 for name in texts)
    assert fan.rpartition("/")[2] != end
    shown = texts["Start"]
    name = fan.rpartition("/")[2]
    assert f"[[{name}]]\n![[sub/{name}#Heading|the fan]]\n[[{end}]]\n[[What]]\n" in shown
    (path,) = re.findall(r"\[it\]\((.*)\.md#Heading\)", shown)
    assert unquote(path) == fan
    assert links[-1] in shown


def test_pages_of_notion_with_long_names_are_linked_by_their_new_names(target: Target, tmp_path: Path) -> None:
    key = "1a2b3c4d5e6f708192a3b4c5d6e7f800"
    content = {
        f"Export/Home {key[::-1]}.md": f"# Home\n\n[it]({quote(f'{TOO_LONG} {key}.md')})\n",
        f"Export/{TOO_LONG} {key}.md": "# Long\n\nA fact.\n",
    }
    target.run("notion", archive(tmp_path / "n.zip", dict(content)), own=True)
    (link,) = re.findall(r"\[it\]\((.*)\)", target.texts()["notion/Export/Home.md"])
    assert "A fact." in target.texts()[f"notion/Export/{unquote(link)}"]


def test_long_names_that_differ_only_at_their_end_stay_different(target: Target, tmp_path: Path) -> None:
    count = 12
    file = archive(tmp_path / "V.zip", {f"{TOO_LONG}{number}.md": f"Fact {number}.\n" for number in range(count)})
    target.run("obsidian", file, own=True)
    assert len(target.texts()) == count
