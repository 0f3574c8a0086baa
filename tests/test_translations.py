"""Home and Install in other languages: the blocks, sections and links of the English pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LANGUAGES = ("ko", "zh")
ENGLISH = [ROOT / "docs" / "index.md", ROOT / "docs" / "install.md"]
BLOCK = re.compile(r"(?ms)^```(\w+)\n(.*?)^```$")
LINK = re.compile(r"\]\(([^)#]+\.md)(?:#[^)]*)?\)")
SCRIPTS = {"ko": r"[가-힣]", "zh": r"[\u4e00-\u9fff]"}


def translated(page: Path, language: str) -> Path:
    """Return the counterpart of an English page."""
    return ROOT / "docs" / language / page.relative_to(ROOT / "docs")


PAIRS = [(page, translated(page, language), language) for language in LANGUAGES for page in ENGLISH]
NAMES = [f"{language}-{page.stem}" for page, _, language in PAIRS]


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def outline(page: Path) -> list[str]:
    """Return the beginning of each heading, row of a table, list item and block, in order."""
    prose = BLOCK.sub("```", text_of(page))
    return re.findall(r"^(?:#+ |\||- |\d\. |```)", prose, re.MULTILINE)


def with_blocks_of(english: Path, page: Path) -> str:
    """Return a page with the blocks of the English one; or unchanged, if one of them is missing."""
    blocks = list(BLOCK.finditer(text_of(english)))
    if [block[1] for block in blocks] != [language for language, _ in BLOCK.findall(text_of(page))]:
        return text_of(page)
    return BLOCK.sub(lambda _: blocks.pop(0)[0], text_of(page))


@pytest.mark.parametrize(("english", "page", "language"), PAIRS, ids=NAMES)
def test_a_translation_has_the_blocks_of_the_english_page(english: Path, page: Path, language: str) -> None:
    assert BLOCK.findall(text_of(page)) == BLOCK.findall(text_of(english)), f"Run `just docs` ({language})."


@pytest.mark.parametrize(("english", "page", "language"), PAIRS, ids=NAMES)
def test_a_translation_has_every_section_row_and_item_of_the_english_page(
    english: Path, page: Path, language: str
) -> None:
    assert outline(page) == outline(english)
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text_of(page)), re.MULTILINE)
    translated_headings = [heading for heading in headings if re.search(SCRIPTS[language], heading)]
    assert len(translated_headings) >= len(headings) - 2, "a name may stay as it is"


@pytest.mark.parametrize(("english", "page", "language"), PAIRS, ids=NAMES)
def test_a_table_of_a_translation_has_the_commands_files_and_versions_of_the_english_one(
    english: Path, page: Path, language: str
) -> None:
    def kept(source: Path) -> list[list[str]]:
        rows = re.findall(r"^\|.*$", BLOCK.sub("", text_of(source)), re.MULTILINE)
        return [sorted(re.findall(r"`[^`]+`|\d+(?:[.-]\d+)+", row)) for row in rows]

    assert kept(page) == kept(english), language


@pytest.mark.parametrize(("english", "page", "language"), PAIRS, ids=NAMES)
def test_a_translation_links_to_the_same_pages(english: Path, page: Path, language: str) -> None:
    def targets(source: Path) -> set[str]:
        found = {(source.parent / link).resolve() for link in LINK.findall(text_of(source))}
        assert [file for file in found if not file.is_file()] == []
        names = {file.relative_to(ROOT).as_posix() for file in found}
        plain = {re.sub(rf"^docs/(?:{'|'.join(LANGUAGES)})/", "docs/", name) for name in names}
        return plain - {page.relative_to(ROOT).as_posix() for page in ENGLISH}

    assert targets(page) == targets(english), language


@pytest.mark.parametrize("page", [page for _, page, language in PAIRS if language == "zh"], ids=lambda page: page.stem)
def test_no_line_of_a_chinese_paragraph_breaks_between_two_characters(page: Path) -> None:
    """A browser shows a line break as a space, which Chinese does not have."""
    prose = BLOCK.sub("", text_of(page))
    assert re.findall(r"[\u3000-\u9fff\uff00-\uffef]\n *[\u3000-\u9fff\uff00-\uffef].*", prose) == []


def test_the_readme_and_each_page_lead_to_the_other_languages() -> None:
    readme = text_of(ROOT / "README.md")
    assert [language for language in LANGUAGES if f"](docs/{language}/index.md)" not in readme] == []
    for page in {english for english, _, _ in PAIRS} | {other for _, other, _ in PAIRS}:
        linked = {(page.parent / link).resolve() for link in LINK.findall(text_of(page))}
        name = page.name
        counterparts = {ROOT / "docs" / name, *(ROOT / "docs" / language / name for language in LANGUAGES)}
        assert counterparts - {page} <= linked


if __name__ == "__main__":
    for english_page, other_page, _ in PAIRS:
        other_page.write_text(with_blocks_of(english_page, other_page), encoding="utf-8")
