"""Local models of other builds: one that generates, and llama.cpp by its other package."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from generator import END, HIDDEN, write_generator
from hub_server import Hub, serving
from memoriter.embed import ProviderContext, ProviderSettings, choose, embed_in_batches, open_choice
from memoriter.embed.local import _gguf
from memoriter.embed.local._gguf import LlamaServer, open_gguf
from memoriter.embed.local._local import LocalProvider
from memoriter.errors import ConfigError, InputRejected, ProviderUnavailable
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
