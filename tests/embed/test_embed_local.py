"""Local models of other builds, how families of models want their texts, and what they are given."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator import END, HIDDEN, write_generator
from hub_server import Hub, serving
from memoriter.embed import ProviderContext, ProviderSettings, choose, embed_in_batches, open_choice
from memoriter.embed._provider import extrapolate_tokens
from memoriter.embed.local import _gguf
from memoriter.embed.local._gguf import LlamaServer, open_gguf
from memoriter.embed.local._local import (
    FAMILIES,
    PLAIN,
    Family,
    LocalProvider,
    family_of,
    most_characters,
    prepare_text,
)
from memoriter.errors import ConfigError, InputRejected, ProviderUnavailable
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.embed import EmbeddingProvider


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_generator(tmp_path_factory.mktemp("generator") / "tiny.gguf")


@pytest.fixture(scope="module")
def provider(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddingProvider]:
    opened = open_gguf(model, cache_dir=tmp_path_factory.mktemp("cache"), threads=1)
    yield opened
    opened.close()


def test_a_model_that_generates_is_used_as_its_family_wants(provider: EmbeddingProvider) -> None:
    spec = provider.spec
    assert (spec.pooling, spec.dimensions, spec.max_tokens, spec.normaliser) == ("last", HIDDEN, 63, "nfc")
    assert spec.query_template.endswith("\nQuery:{text}")
    assert spec.document_template == "{text}"


def test_what_was_read_before_leaves_no_trace(provider: EmbeddingProvider) -> None:
    texts = ["one text", "one text and more", "another", "one text"]
    together = provider.embed(texts, role="document")
    alone = [provider.embed([text], role="document")[0] for text in reversed(texts)]
    assert np.array_equal(together, alone[::-1])
    assert np.array_equal(together[0], together[3])
    assert not np.allclose(together[0], together[1], atol=1e-3)


def test_every_byte_counts_and_the_mark_of_the_end(provider: EmbeddingProvider) -> None:
    assert provider.count_tokens("x" * 63) == 64
    assert provider.count_tokens("가" * 30) == 91
    assert provider.count_tokens(END * 6) == len(END) * 6 + 1


def test_a_text_over_the_limit_still_ends_in_the_mark_of_the_end(provider: EmbeddingProvider) -> None:
    exact, over = provider.embed(["x" * 62, "x" * 400], role="document")
    assert float(exact @ over) == pytest.approx(1, abs=1e-5)


def test_indented_text_and_a_composed_letter_reach_the_model_as_they_are(provider: EmbeddingProvider) -> None:
    flat, deep = provider.embed(["if a: b", "if a:\n    b"], role="document")
    assert not np.allclose(flat, deep, atol=1e-3)
    composed, decomposed = provider.embed(["caf\u00e9", "cafe\u0301"], role="document")
    assert np.array_equal(composed, decomposed)


@pytest.mark.slow
def test_the_architecture_of_embeddinggemma_is_known_and_runs(tmp_path: Path) -> None:
    model = write_generator(tmp_path / "m.gguf", "tiny", architecture="gemma-embedding")
    provider = open_gguf(model, cache_dir=tmp_path, threads=1)
    assert provider.spec.query_template == "task: search result | query: {text}"
    assert (provider.spec.pooling, provider.spec.max_tokens) == ("mean", 64)
    exact, over = provider.embed(["x" * (64 - len("title: none | text: ") - 1), "x" * 400], role="document")
    assert float(exact @ over) == pytest.approx(1, abs=1e-5)
    provider.close()


class Llama:
    """The signature of `llama_cpp.Llama` as far as it is used, over the model that `xllamacpp` runs."""

    def __init__(
        self,
        model_path: str,
        *,
        embedding: bool = False,
        pooling_type: int = -1,
        n_ctx: int = 512,
        n_batch: int = 512,
        n_ubatch: int = 512,
        n_threads: int | None = None,
        n_threads_batch: int | None = None,
        verbose: bool = True,
    ) -> None:
        assert embedding
        assert not verbose
        assert n_ctx == n_batch == n_ubatch
        assert n_threads == n_threads_batch
        pooling = {1: "mean", 2: "cls", 3: "last"}[pooling_type]
        self.engine = LlamaServer(model_path, pooling=pooling, most_tokens=n_ctx, threads=n_threads or 1)

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> list[int]:
        return self.engine._tokens(text.decode())

    def embed(self, input: str, normalize: bool = False, truncate: bool = True) -> list[float]:  # noqa: A002
        if input == "refused":
            raise RuntimeError("llama_decode returned 1")
        return (self.engine.embed(input) * 3).tolist()

    def close(self) -> None:
        self.engine.close()


@pytest.mark.slow
def test_llama_cpp_python_serves_where_only_it_is_installed(
    model: Path, provider: EmbeddingProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "llama_cpp" or None)
    monkeypatch.setitem(sys.modules, "llama_cpp", SimpleNamespace(Llama=Llama))
    other = open_gguf(model, cache_dir=tmp_path, threads=1)
    for role in ("query", "document"):
        texts = ["", "a text", "x" * 400]
        assert other.embed(texts, role=role) == pytest.approx(provider.embed(texts, role=role), abs=1e-5)
    assert other.count_tokens("x" * 100) == provider.count_tokens("x" * 100)
    with pytest.raises(InputRejected, match="llama_decode returned 1"):
        other.embed(["refused"], role="document")
    other.close()


def test_a_file_that_llama_cpp_python_refuses_is_a_reason(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> Any:
        raise ValueError("Failed to load model from file")

    monkeypatch.setitem(sys.modules, "llama_cpp", SimpleNamespace(Llama=refuse))
    with pytest.raises(ProviderUnavailable, match=r"cannot be loaded by llama\.cpp"):
        _gguf._with_llama_cpp_python(str(model), pooling="last", most_tokens=64, threads=1, passed=tmp_path)


@pytest.mark.slow
def test_a_package_that_is_too_old_is_a_reason(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", SimpleNamespace(CommonParams=SimpleNamespace))
    with pytest.raises(ProviderUnavailable, match=r"cannot be loaded by llama\.cpp") as refused:
        _gguf._with_xllamacpp(str(model), pooling="last", most_tokens=64, threads=1, passed=tmp_path)
    assert "newer xllamacpp" in refused.value.remedy


@pytest.mark.slow
def test_a_package_that_cannot_be_imported_is_a_reason(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ProviderUnavailable, match="import of xllamacpp"):
        _gguf._with_xllamacpp(str(model), pooling="last", most_tokens=64, threads=1, passed=tmp_path)


@pytest.mark.slow
def test_a_model_on_which_llama_cpp_crashes_does_not_end_this_process(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = _gguf._TRIAL
    monkeypatch.setattr(_gguf, "_TRIAL", "import os; os.abort()")
    provider = open_gguf(model, cache_dir=tmp_path, threads=1)
    with pytest.raises(ProviderUnavailable, match=r"makes llama\.cpp crash"):
        provider.embed(["a"], role="query")
    monkeypatch.setattr(_gguf, "_TRIAL", trial)
    provider.embed(["a"], role="query")
    provider.close()
    monkeypatch.setattr(_gguf, "_TRIAL", "import os; os.abort()  # passed once, not tried again")
    assert provider.embed(["a"], role="query").shape == (1, HIDDEN)
    provider.close()


def test_a_trial_without_an_end_is_a_crash(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_gguf, "_TRIAL", "import time; time.sleep(60)")
    monkeypatch.setattr(_gguf, "_TRIAL_SECONDS", 0.1)
    with pytest.raises(ProviderUnavailable, match="timed out"):
        _gguf.try_model(str(model), pooling="last", most_tokens=63, passed=tmp_path)


def test_a_processor_on_which_it_would_crash_is_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_gguf, "processor_flags", lambda: frozenset({"sse2", "fma"}))
    with pytest.raises(ProviderUnavailable, match="AVX2, F16C") as refused:
        _gguf.usable_package()
    assert "llama-cpp-python" in refused.value.remedy


@pytest.mark.parametrize("vector", [[0.0] * 4, [float("nan"), 1.0, 0.0, 0.0]])
def test_a_text_without_a_vector_does_not_spoil_the_others(vector: list[float]) -> None:
    class Engine:
        def count(self, text: str) -> int:
            return len(text)

        def embed(self, text: str) -> Any:
            return np.array(vector if "strange" in text else [0.0, 3.0, 0.0, 4.0], np.float32)

        def close(self) -> None:
            """Nothing."""

    provider = LocalProvider(ModelSpec("local", "m", 4), "NFC", Engine)
    (batch,) = embed_in_batches(provider, ["one", "strange", "two"], role="document")
    assert batch.positions == (0, 2)
    assert [failure.error.code for failure in batch.failures] == ["input_rejected"]
    assert batch.vectors[0].tolist() == pytest.approx([0, 0.6, 0, 0.8])


def opened(model: str, folder: Path, hub: Hub | None = None) -> EmbeddingProvider:
    """Open what the settings name, as every command does."""
    environ = {"HF_ENDPOINT": hub.url} if hub else {}
    settings = ProviderSettings(folder / "cache", "local", local_model=model, environ=environ)
    env = ProviderContext(float, float, lambda _: None, float, cast("Any", None))
    return open_choice(choose(settings), settings, env)


@pytest.mark.slow
def test_a_model_is_opened_by_its_path_or_its_address(model: Path, tmp_path: Path) -> None:
    with serving(Hub({"notes-Q8_0.gguf": model.read_bytes()})) as hub:
        loaded = opened("hf:ada/notes-GGUF:Q8_0", tmp_path, hub)
    assert loaded.spec == opened(str(model), tmp_path).spec
    assert loaded.embed(["a text"], role="document").shape == (1, HIDDEN)
    loaded.close()
    with pytest.raises(ConfigError):
        opened("hf:nothing", tmp_path)


def test_without_llama_cpp_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with serving(Hub({"notes-Q8_0.gguf": b"GGUF"})) as hub:
        with pytest.raises(ProviderUnavailable, match=r"need llama.cpp, which is not installed"):
            opened("hf:ada/notes-GGUF:Q8_0", tmp_path, hub)
        assert hub.requests == []


def test_without_a_place_for_its_socket_there_is_a_reason(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as gone:
        pass
    monkeypatch.setattr(tempfile, "tempdir", gone)
    with pytest.raises(ProviderUnavailable, match="no place for its socket") as refusal:
        LlamaServer(str(model), pooling="last", most_tokens=64, threads=1)
    assert "TMPDIR" in (refusal.value.remedy or "")


@pytest.mark.slow
def test_a_model_that_is_closed_as_soon_as_it_is_open_ends(model: Path) -> None:
    code = f"""
from memoriter.embed.local._gguf import LlamaServer
for _ in range(40):
    LlamaServer({str(model)!r}, pooling="last", most_tokens=64, threads=1).close()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=150)


def test_in_a_folder_of_a_long_name_a_port_serves(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("long" * 30)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    engine = LlamaServer(str(model), pooling="last", most_tokens=64, threads=1)
    assert engine.count("four") == 5
    assert list(deep.iterdir()) == []
    engine.close()


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


@pytest.mark.parametrize(
    ("text", "nfc", "nfkc"),
    [
        ("a\0b", "a b", "a b"),
        ("\ud800x", "\ufffdx", "\ufffdx"),
        ("cafe\u0301", "café", "café"),
        ("ＡＢＣ", "ＡＢＣ", "ABC"),
        ("def f():\n\treturn  1", "def f():\n\treturn  1", "def f(): return 1"),
    ],
)
def test_text_is_normalised_as_the_model_was_trained(text: str, nfc: str, nfkc: str) -> None:
    assert (prepare_text(text, "NFC", 512), prepare_text(text, "NFKC", 512)) == (nfc, nfkc)


@given(st.text(st.characters()), st.sampled_from(["NFC", "NFKC"]))
def test_any_text_can_be_encoded_and_stays_as_it_is_when_cleaned_again(text: str, form: str) -> None:
    once = prepare_text(text, form, 512)
    once.encode()
    assert "\0" not in once
    assert prepare_text(once, form, 512) == once


def test_a_huge_text_is_looked_at_only_as_far_as_a_model_could_read() -> None:
    assert len(prepare_text("a" * 10_000_000, "NFC", 100)) == most_characters(100)


def test_tokens_beyond_what_is_looked_at_are_counted_at_the_same_rate() -> None:
    assert extrapolate_tokens(40, "a" * 160, 160) == 40
    assert extrapolate_tokens(40, "a" * 480, 160) == 120
