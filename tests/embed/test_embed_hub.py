"""Addresses of models on the hub."""

from __future__ import annotations

import json
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed.local._hub import (
    HubModel,
    choose_file,
    file_url,
    is_model_uri,
    listing_url,
    parse_model_uri,
    stored_path,
)
from memoriter.errors import ConfigError, ProviderUnavailable
from memoriter.providers import DEFAULT_LOCAL_MODEL


def test_the_default_model_leads_to_its_download() -> None:
    assert file_url(parse_model_uri(DEFAULT_LOCAL_MODEL)) == (
        "https://huggingface.co/ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/resolve/main/"
        "embeddinggemma-300m-qat-Q8_0.gguf"
    )


@pytest.mark.parametrize(
    ("uri", "model"),
    [
        ("hf:o/r/f.gguf", HubModel("o", "r", "f.gguf")),
        ("hf:o/r/sub/F.GGUF", HubModel("o", "r", "sub/F.GGUF")),
        ("hf://o/r/f.gguf", HubModel("o", "r", "f.gguf")),
        ("HuggingFace:o/r:Q4_K_M", HubModel("o", "r", quant="Q4_K_M")),
        ("hf:o/r", HubModel("o", "r")),
        ("hf:o/r:", HubModel("o", "r")),
        ("hf:o/r/f.gguf#refs/pr/7", HubModel("o", "r", "f.gguf", revision="refs/pr/7")),
        ("hf:o/r:Q8_0#v1.0", HubModel("o", "r", quant="Q8_0", revision="v1.0")),
    ],
)
def test_an_address_is_read(uri: str, model: HubModel) -> None:
    assert is_model_uri(uri)
    assert parse_model_uri(uri) == model


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "hf:",
        "hf:o",
        "hf:o/",
        "hf:o/r/f.bin",
        "hf:o/r/../../f.gguf",
        "hf:../r/f.gguf",
        "hf:o/r//f.gguf",
        "hf:o/r/f.gguf:Q8_0",
        "hf:o/r/a\\..\\f.gguf",
        "hf:o/r/f.gguf#../main",
        "models/f.gguf",
        "https://huggingface.co/o/r",
    ],
)
def test_what_is_no_address_is_refused_with_how_one_is_written(uri: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_model_uri(uri)
    assert "hf:owner/repo/file.gguf" in refused.value.remedy


@given(st.text(max_size=40), st.sampled_from(["hf:", "hf:o/r/", "hf:o/r:", "hf:o/r/f.gguf#"]))
def test_no_address_leaves_the_folder_of_models(rest: str, start: str) -> None:
    try:
        model = parse_model_uri(start + rest)
    except ConfigError:
        return
    folder = Path("models").absolute()
    place = stored_path(model, folder)
    assert ".." not in place.parts
    assert place.is_relative_to(folder)
    assert PureWindowsPath("C:/models", *model.file.split("/")).is_relative_to("C:/models")
    assert file_url(model, "http://hub").startswith("http://hub/")
    assert listing_url(model, "http://hub").endswith("?recursive=true")


def listed(*files: str) -> bytes:
    return json.dumps([{"type": "file", "path": file} for file in files]).encode()


@pytest.mark.parametrize(
    ("quant", "files", "chosen"),
    [
        ("Q8_0", ["a-Q4_0.gguf", "a-Q8_0.gguf", "mmproj-Q8_0.gguf"], "a-Q8_0.gguf"),
        ("q4_k", ["a-Q4_K_M.gguf", "a.q4_k.gguf"], "a.q4_k.gguf"),
        ("", ["README.md", "only-F16.gguf"], "only-F16.gguf"),
        ("", ["a-Q4_0.gguf", "sub/a-Q8_0.gguf", "a-Q8_0.gguf"], "a-Q8_0.gguf"),
        ("F16", ["BF16/a-BF16.gguf", "F16/a-F16.gguf"], "F16/a-F16.gguf"),
    ],
)
def test_a_size_means_one_file(quant: str, files: list[str], chosen: str) -> None:
    assert choose_file(HubModel("o", "r", quant=quant), listed(*files)).file == chosen


@pytest.mark.parametrize(
    ("listing", "message"),
    [
        (listed("a-Q4_0.gguf", "b-Q4_0.gguf"), "No file of"),
        (listed("model.safetensors"), "No file of"),
        (listed("../Q8_0.gguf"), "No file of"),
        (listed("a-Q8_0-00001-of-00002.gguf", "a-Q8_0-00002-of-00002.gguf"), "split"),
        (b"<html>", "cannot be read"),
        (b"{}", "No file of"),
        (b"[1]", "cannot be read"),
    ],
)
def test_a_list_without_the_file_is_refused(listing: bytes, message: str) -> None:
    with pytest.raises(ProviderUnavailable, match=message) as refused:
        choose_file(HubModel("o", "r"), listing)
    assert refused.value.remedy
