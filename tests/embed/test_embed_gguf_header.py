"""What a GGUF file says about itself, and files that are none."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import gguf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed.local import _gguf
from memoriter.embed.local._gguf import parse_gguf, read_gguf
from memoriter.errors import ProviderUnavailable
from repacked import written

if TYPE_CHECKING:
    from pathlib import Path


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
