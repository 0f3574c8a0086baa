"""How models want their texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed.local._local import FAMILIES, PLAIN, Family, family_of


@pytest.mark.parametrize(
    ("architecture", "name", "family"),
    [
        ("gemma-embedding", "", "embeddinggemma"),
        ("gemma3", "embeddinggemma-300m-qat-Q8_0", "embeddinggemma"),
        ("nomic-bert", "Nomic Embed Text v1.5", "nomic-embed-text"),
        ("nomic-bert-moe", "", "nomic-embed-text"),
        ("qwen3", "Qwen3 Embedding 0.6B", "qwen3-embedding"),
        ("qwen3", "Qwen3-8B", "plain"),
        ("bert", "multilingual-e5-small", "e5"),
        ("bert", "multilingual-e5-large-instruct", "e5-instruct"),
        ("llama", "e5-mistral-7b-instruct", "e5-mistral"),
        ("bert", "bge-m3-FP16", "bge-m3"),
        ("bert", "bge-large-zh-v1.5", "bge-zh"),
        ("bert", "bge-small-en-v1.5-q8_0", "bge-en"),
        ("bert", "snowflake-arctic-embed-l-v2.0", "arctic-embed-2"),
        ("bert", "snowflake-arctic-embed-m", "arctic-embed"),
        ("bert", "mxbai-embed-large-v1", "mxbai-embed"),
        ("bert", "all-MiniLM-L6-v2", "plain"),
        ("bert", "", "plain"),
        ("bert", "we5t bgem", "plain"),
    ],
)
def test_a_model_is_known_by_its_architecture_or_its_name(architecture: str, name: str, family: str) -> None:
    found = family_of(architecture, name)
    assert (found.name if found.query != "{text}" or found.pooling != "mean" else "plain") == family


def test_the_templates_are_those_of_the_models_authors() -> None:
    gemma, nomic, qwen = (family_of("", name) for name in ("embeddinggemma", "nomic-embed-text", "qwen3-embedding"))
    assert gemma.query == "task: search result | query: {text}"
    assert gemma.document == "title: none | text: {text}"
    assert (nomic.query, nomic.document) == ("search_query: {text}", "search_document: {text}")
    assert qwen.query.startswith("Instruct: ")
    assert qwen.query.endswith("\nQuery:{text}")
    assert (qwen.document, qwen.pooling) == ("{text}", "last")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_template_has_one_place_for_the_text(family: Family) -> None:
    assert [template.count("{text}") for template in (family.query, family.document)] == [1, 1]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_page_about_services_shows_every_template(family: Family) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "services.md").read_text("utf-8")
    for template in (family.query, family.document):
        for line in template.replace("|", "\\|").replace("{text}", "…").splitlines():
            assert f"`{line}`" in page or line == "…"


@given(st.text(), st.text())
def test_any_name_has_a_family(architecture: str, name: str) -> None:
    assert family_of(architecture, name) in {*FAMILIES, PLAIN}
