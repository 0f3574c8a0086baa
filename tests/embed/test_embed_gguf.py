"""GGUF models of the user: their headers, and the bundled weights as such a file, through the real llama.cpp."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memoriter
from generator import write_generator
from memoriter.embed import embed_in_batches
from memoriter.embed.local import _gguf
from memoriter.embed.local._gguf import LlamaServer, gguf_spec, open_gguf, parse_gguf, read_gguf
from memoriter.embed.local._local import LocalProvider
from memoriter.errors import BadVector, InputRejected, InputTooLarge, ProviderUnavailable
from memoriter.extras import install_command
from memoriter.ids import fingerprint
from repacked import gguf_model, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.embed import EmbeddingProvider

TEXTS = {
    "english": "The team met on Tuesday; Alice wants a cosine score, Bob keyword matches.",
    "korean": "회의는 3월 15일로 결정했다. 나는 매운 음식을 좋아한다.",
    "chinese": "该项目的数据库选择了 PostgreSQL,因为需要事务保证。",
    "japanese": "辛いラーメンが好きです。オランダの鉄道は都市間輸送を担う。",
    "decomposed": "\u1106\u1162\u110b\u116e\u11ab cafe\u0301",
    "full-width": "ＡＢＣ１２３ ﬁne  double  spaces\n\nnew line",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return gguf_model(tmp_path_factory)
    except ProviderUnavailable as error:
        pytest.skip(f"no weights to pack on {sys.platform}: {error.message}")


@pytest.fixture(scope="module")
def provider(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalProvider]:
    opened = open_gguf(model, cache_dir=tmp_path_factory.mktemp("cache"), threads=1)
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("role", ["query", "document"])
@pytest.mark.parametrize("language", TEXTS)
def test_llama_cpp_gives_the_vectors_of_the_bundled_engine(
    provider: LocalProvider, bundled: EmbeddingProvider, language: str, role: Any
) -> None:
    ours, theirs = (engine.embed([TEXTS[language]], role=role)[0] for engine in (provider, bundled))
    assert float(ours @ theirs) > 0.999


def test_the_spec_says_how_the_model_is_used(provider: LocalProvider) -> None:
    spec = provider.spec
    assert (spec.provider, spec.model) == ("local", "multilingual e5 small")
    assert (spec.dimensions, spec.max_tokens, spec.pooling) == (384, 512, "mean")
    assert (spec.query_template, spec.document_template) == ("query: {text}", "passage: {text}")


def test_the_content_of_the_file_and_not_its_place_is_the_identity(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    left = written(tmp_path / "a", bert__embedding_length=8)
    right = written(tmp_path / "b", bert__embedding_length=8)
    right = right.rename(right.with_name("renamed.gguf"))
    specs = [gguf_spec(file, cache_dir=tmp_path / "cache") for file in (left, right)]
    assert specs[0] == specs[1]
    right.write_bytes(right.read_bytes() + b"\1")
    assert fingerprint(gguf_spec(right, cache_dir=tmp_path / "cache")) != fingerprint(specs[0])


def test_a_file_that_did_not_change_is_not_read_twice_for_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, bert__embedding_length=8)
    first = gguf_spec(file, cache_dir=tmp_path / "cache")
    monkeypatch.setattr("memoriter.embed._artefact.sha256_of", lambda _: pytest.fail("it was known"))
    assert gguf_spec(file, cache_dir=tmp_path / "cache") == first


@pytest.mark.parametrize("memory", [b"", b"[]", b'{"seen": 1}'])
def test_a_damaged_memory_of_hashes_is_made_again(tmp_path: Path, memory: bytes) -> None:
    file = written(tmp_path, bert__embedding_length=8)
    first = gguf_spec(file, cache_dir=tmp_path / "cache")
    (kept,) = (tmp_path / "cache" / "hashes").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(memory)
    assert gguf_spec(file, cache_dir=tmp_path / "cache") == first
    assert kept.read_bytes() == whole


@pytest.mark.slow
def test_tokens_are_counted_as_the_model_reads_them(provider: LocalProvider) -> None:
    assert provider.count_tokens("word " * 300) == 300 + len(["<s>", "passage", ":", "</s>"])
    assert provider.count_tokens("short") <= 10
    assert 18_000 < provider.count_tokens("word " * 20_000) < 22_000


@pytest.mark.slow
def test_a_text_of_exactly_the_limit_is_read_and_what_is_beyond_is_left_out(provider: LocalProvider) -> None:
    room = provider.spec.max_tokens - provider.count_tokens("word " * 300) + 300
    exact = "word " * room
    over = "word " * room + "Bananas ripen at night. " * 40
    assert provider.count_tokens(exact) == provider.spec.max_tokens
    vectors = provider.embed([exact, over], role="document")
    assert float(vectors[0] @ vectors[1]) == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_the_end_of_a_long_text_is_found_through_its_parts(provider: LocalProvider) -> None:
    long = (
        "The weather was fine and everyone went home early. " * 60 + "The password of the old router is hunter2. " * 30
    )
    (batch,) = embed_in_batches(provider, [long], role="document")
    question = provider.embed(["What is the password of the router?"], role="query")[0]
    begun = provider.embed([long], role="document")[0]
    assert batch.failures == ()
    assert float(question @ batch.vectors[0]) > float(question @ begun)


@pytest.mark.slow
def test_marks_that_are_spelled_out_stay_text(provider: LocalProvider) -> None:
    assert provider.count_tokens("</s> " * 120) > 120 * 2


@pytest.mark.slow
def test_vectors_do_not_depend_on_their_company(provider: LocalProvider) -> None:
    texts = list(TEXTS.values())
    with ThreadPoolExecutor(3) as threads:
        rounds = list(threads.map(lambda _: provider.embed(texts, role="document"), range(3)))
    assert all(np.array_equal(rounds[0], vectors) for vectors in rounds)
    assert np.array_equal(provider.embed(texts[2:3], role="document")[0], rounds[0][2])


@pytest.mark.slow
def test_a_closed_provider_opens_again_and_leaves_nothing_behind(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Names of sockets are short, so not below the folder of the test.
    short = Path(tempfile.mkdtemp())
    monkeypatch.setattr("tempfile.tempdir", str(short))
    provider = open_gguf(model, cache_dir=tmp_path / "cache", threads=1)
    first = provider.embed(["again"], role="query")
    assert len(list(short.glob("llama-*"))) == 1
    provider.close()
    assert list(short.glob("llama-*")) == []
    assert np.array_equal(provider.embed(["again"], role="query"), first)
    provider.close()
    provider.close()
    short.rmdir()


@pytest.mark.slow
def test_where_sockets_have_no_folders_a_port_of_this_machine_serves_only_those_with_the_key(model: Path) -> None:
    import http.client

    engine = LlamaServer(str(model), pooling="mean", most_tokens=64, threads=1, tcp=True)
    assert engine.count("query: hello") > 3
    assert engine.embed("query: hello").shape == (384,)
    address = engine._address.removeprefix("http://")
    assert address.startswith("127.0.0.1:")
    stranger = http.client.HTTPConnection(address, timeout=10)
    stranger.request("POST", "/tokenize", '{"content": "hello"}')
    assert stranger.getresponse().status == 401
    stranger.close()
    engine.close()
    with pytest.raises(ProviderUnavailable, match="does not answer any more"):
        engine.embed("query: hello")


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        ({"message": "input (1602 tokens) is too large to process"}, InputTooLarge),
        ({"message": "input is larger than the max context size"}, InputTooLarge),
        ({"code": 500}, InputRejected),
        ("no", InputRejected),
    ],
)
def test_what_llama_cpp_refuses_is_the_fault_of_one_text(failure: Any, error: type[Exception]) -> None:
    assert isinstance(_gguf._rejection(failure), error)


def test_a_file_that_llama_cpp_refuses_is_a_reason(tmp_path: Path) -> None:
    provider = open_gguf(written(tmp_path, bert__embedding_length=8), cache_dir=tmp_path, threads=1)
    with pytest.raises(ProviderUnavailable, match=r"cannot be loaded by llama\.cpp"):
        provider.embed(["a"], role="query")


@pytest.mark.slow
def test_a_model_of_other_dimensions_than_it_says_is_refused(tmp_path: Path) -> None:
    opened = open_gguf(write_generator(tmp_path / "tiny.gguf"), cache_dir=tmp_path, threads=1)
    provider = LocalProvider(replace(opened.spec, dimensions=128), "NFKC", opened._load)
    with pytest.raises(BadVector, match="64 dimensions instead of 128"):
        provider.embed(["a"], role="query")
    provider.close()


@pytest.mark.parametrize(
    ("values", "message"),
    [({}, "how long its vectors"), ({"bert__embedding_length": 8, "bert__pooling_type": 4}, "ranks")],
)
def test_a_model_that_makes_no_vectors_is_refused(tmp_path: Path, values: dict[str, int], message: str) -> None:
    with pytest.raises(ProviderUnavailable, match=message):
        open_gguf(written(tmp_path, **values), cache_dir=tmp_path)


def test_without_llama_cpp_the_line_that_installs_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ProviderUnavailable, match=r"need llama.cpp, which is not installed") as refused:
        open_gguf(written(tmp_path, bert__embedding_length=8), cache_dir=tmp_path)
    assert refused.value.remedy == f"Run `{install_command('local')}`."


@pytest.mark.slow
def test_the_other_package_serves_where_only_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "llama_cpp" or None)
    assert _gguf.usable_package() is _gguf._with_llama_cpp_python


@pytest.mark.slow
def test_opening_a_model_loads_no_engine(model: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from memoriter.embed.local._gguf import open_gguf;"
        "p = open_gguf(Path(sys.argv[1]), cache_dir=Path(sys.argv[2])); p.count_tokens('short');"
        "print({'xllamacpp', 'numpy', 'http', 'httpx2'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
    command = [sys.executable, "-c", code, str(model), str(tmp_path)]
    shown = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
    assert shown.stdout.strip() == "set()"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A whole file, below 1 kB."""
    values = {"general__name": "Small", "bert__context_length": 64, "bert__embedding_length": 8, "words": ["a", "b"]}
    return written(tmp_path_factory.mktemp("gguf"), **values).read_bytes()


def test_a_header_names_the_model(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "nomic-bert",
        general__name="Nomic Embed",
        general__basename="nomic-embed-text",
        nomic__bert__unknown=1,
        tokenizer__ggml__model="bert",
        tokenizer__ggml__tokens=["[PAD]", "the"],
        **{"nomic-bert__context_length": 2048, "nomic-bert__embedding_length": 768, "nomic-bert__pooling_type": 1},
    )
    header = read_gguf(file)
    assert header.architecture == "nomic-bert"
    assert (header.name, header.base_model) == ("Nomic Embed", "nomic-embed-text")
    assert (header.context_length, header.embedding_length, header.pooling) == (2048, 768, "mean")
    assert header.tokenizer == "bert"


def test_what_a_file_does_not_say_is_empty(tmp_path: Path) -> None:
    header = read_gguf(written(tmp_path, "qwen3"))
    assert (header.name, header.context_length, header.embedding_length, header.pooling) == ("", 0, 0, "")


def test_blocks_have_the_sizes_that_the_format_gives_them() -> None:
    assert {kind: gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(kind)] for kind in _gguf._BLOCKS} == (_gguf._BLOCKS)


@given(st.data())
def test_a_file_that_ends_too_early_is_noticed_wherever_it_ends(small: bytes, data: st.DataObject) -> None:
    # The writer pads the last tensor to the alignment.
    end = data.draw(st.integers(4, len(small) - 32))
    with pytest.raises(ProviderUnavailable, match=r"damaged.*(ends in the middle|bytes of at least)") as refused:
        parse_gguf(small[:end], "m.gguf")
    assert "again" in refused.value.remedy


def is_read_or_refused_with_advice(content: bytes) -> bool:
    try:
        return bool(parse_gguf(content, "m.gguf"))
    except ProviderUnavailable as error:
        return bool(error.remedy)


@given(st.data())
def test_no_damage_makes_the_reader_crash(small: bytes, data: st.DataObject) -> None:
    content = bytearray(small)
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    assert is_read_or_refused_with_advice(bytes(content))


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_crash(rest: bytes) -> None:
    for content in (rest, b"GGUF" + rest, b"GGUF\x03\0\0\0" + rest):
        assert is_read_or_refused_with_advice(content)


@pytest.mark.parametrize(
    ("content", "message", "remedy"),
    [
        (b"", "is empty", "Download"),
        (b"<!DOCTYPE html><html><title>Sign in</title>", "web page", "download the file itself"),
        (b"\n\n<html>", "web page", "download the file itself"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "only points", "git lfs pull"),
        (b"PK\x03\x04zip", r"not GGUF \(it starts with b'PK", "llama.cpp converts"),
        (b"GGUF", "ends in the middle", "Download"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1 ", "Convert"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "ends in the middle", "Download"),
        (b"GGUF" + struct.pack("<IQQQI", 3, 0, 1, 0, 99), "unknown type 99", "Convert"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, 0) + struct.pack("<I", 1 << 31), "dimensions", "Convert"),
        (b"GGUF" + struct.pack("<IQQQI", 3, 0, 1, 0, 9) + struct.pack("<IQ", 9, 1) * 9, "lists within", "Convert"),
    ],
)
def test_something_else_is_refused_with_what_it_is_and_what_to_do(
    tmp_path: Path, content: bytes, message: str, remedy: str
) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    with pytest.raises(ProviderUnavailable, match=message) as refused:
        read_gguf(file)
    assert str(file) in refused.value.message
    assert remedy in refused.value.remedy


def test_one_part_of_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="llama-gguf-split --merge"):
        read_gguf(written(tmp_path, split__count=3))


@pytest.mark.parametrize("missing", ["nowhere.gguf", "."])
def test_a_file_that_cannot_be_read_is_a_reason(tmp_path: Path, missing: str) -> None:
    with pytest.raises(ProviderUnavailable, match="cannot be read") as refused:
        read_gguf(tmp_path / missing)
    assert "local.modelPath" in refused.value.remedy
