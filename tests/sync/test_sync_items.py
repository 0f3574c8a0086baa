"""Which texts are embedded for items, seen at the provider."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter import Memory
from memoriter.embed import _fake
from memoriter.sync import ChunkingSettings, _analyze
from memoriter.sync._analyze import analyze_note, note_of
from memoriter.types import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

DAYS = ("Monday", "Tuesday", "Wednesday")
NOTE = "".join(
    f"# {day}\n\n- fed the {animal} at noon\n- paid the {bill} bill\n- wrote to {person}\n\n"
    for day, animal, bill, person in zip(
        DAYS, ("cat", "dog", "horse"), ("water", "power", "phone"), ("Ann", "Ben", "Cleo"), strict=True
    )
)


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every document that is embedded."""
    texts: list[str] = []
    embed = _fake.FakeProvider.embed

    def record(self: _fake.FakeProvider, batch: Sequence[str], *, role: str) -> object:
        texts.extend(batch if role == "document" else ())
        return embed(self, batch, role=role)  # type: ignore[arg-type]

    monkeypatch.setattr(_fake.FakeProvider, "embed", record)
    return texts


def test_after_an_edit_of_one_bullet_only_it_and_its_passage_are_embedded(tmp_path: Path, embedded: list[str]) -> None:
    notes = tmp_path / "notes"
    home = tmp_path / "home"
    for folder in (notes, home):
        folder.mkdir()
    settings = '{agents: {defaults: {memorySearch: {provider: "fake"}}}}'
    (home / "memoriter.json5").write_text(settings, encoding="utf-8")
    file = notes / "MEMORY.md"
    file.write_text(NOTE, encoding="utf-8")
    with Memory.open(notes, home=home) as memory:
        memory.sync()
        assert len(embedded) == len(set(embedded))
        assert [text for text in embedded if text.endswith("\nfed the dog at noon")] == ["Tuesday\nfed the dog at noon"]
        embedded.clear()

        file.write_text(NOTE.replace("fed the dog at noon", "walked the dog at noon"), encoding="utf-8")
        memory.sync()

    bullet, passage = sorted(embedded, key=len)
    assert bullet == "Tuesday\nwalked the dog at noon"
    assert passage == "Tuesday\n- walked the dog at noon\n- paid the power bill\n- wrote to Ben"


BLOCKS = (
    "# Garden\n",
    "# Kitchen\n",
    "The plums are ripe.\n",
    "Die Pflaumen sind reif und werden gepflückt.\n",
    "- fed the cat at noon\n- paid the water bill\n",
    "see [[Orchard]]\n",
)
FRONTS = ("", "---\ndate: 2026-03-04\ntags: [fruit]\n---\n", "---\ndate: 2026-03-05\naliases: [Plums]\n---\n")
VERSIONS = st.lists(
    st.tuples(st.sampled_from(FRONTS), st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=6)), max_size=4
)


@settings(max_examples=25)
@given(VERSIONS, st.sampled_from(["memory/2026-03-01.md", "memory/plums.md"]), st.sampled_from([80, 400]))
def test_a_note_that_changed_has_the_entries_that_a_new_one_would_have(
    versions: list[tuple[str, list[str]]], path: str, tokens: int
) -> None:
    for day, (front, blocks) in enumerate(versions):
        text = front + "\n".join(blocks)
        source = Source(path, "memory", Path(path), len(text), 1_770_000_000_000_000_000 + day * 86_400_000_000_000)
        cutting = ChunkingSettings(tokens=tokens)
        note = note_of(path, text, cutting)
        assert analyze_note(source, note, cutting, again=True) == analyze_note(source, note, cutting)


def test_of_a_note_that_grew_only_what_is_new_is_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    analysed: list[str] = []
    terms = _analyze.terms_and_forms

    def record(text: str, languages: Sequence[str]) -> object:
        analysed.append(text)
        return terms(text, languages)

    monkeypatch.setattr(_analyze, "terms_and_forms", record)
    path = "memory/2026-03-01.md"
    for more in ("", "\n# Sunday\n\n- sold the goat\n"):
        analysed.clear()
        text = NOTE + more
        source = Source(path, "memory", Path(path), len(text), 1_770_000_000_000_000_000)
        analyze_note(source, note_of(path, text, ChunkingSettings()), ChunkingSettings(), again=True)
    assert [text.count("goat") for text in analysed] == [1]
