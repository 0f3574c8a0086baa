"""Each vendor's requests and answers as pure functions: nothing is sent here."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed.remote._remote import RemoteSettings, remote_names, vendor_of
from memoriter.embed.remote._vendor import endpoint_of, is_local_network, is_loopback, open_model
from memoriter.embed.remote._wire import sanitize
from memoriter.errors import (
    BadVector,
    ConfigError,
    EmbeddingError,
    InputRejected,
    InputTooLarge,
    OutOfQuota,
    ProviderUnavailable,
    Throttled,
    TransientFailure,
    Unauthorised,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.embed.remote._wire import Request

VENDORS = remote_names()
WITH_INDEX = ("mistral", "openai", "voyage")


def resolved(vendor: str, **values: Any) -> RemoteSettings:
    values = {"model": "nomic-embed-text"} | values if vendor == "ollama" else values
    return vendor_of(vendor).resolved(RemoteSettings(vendor, **values))


def built(vendor: str, texts: list[str], role: Any = "document", **values: Any) -> Request:
    return vendor_of(vendor).build_request(texts, role, resolved(vendor, **values))


def body_of(vendor: str, role: Any = "document", **values: Any) -> Any:
    return json.loads(built(vendor, ["tea"], role, **values).body)


def test_openai_is_asked_as_its_page_says() -> None:
    request = built("openai", ["tea", "coffee"], api_key="k-1")
    assert (request.method, request.url) == ("POST", "https://api.openai.com/v1/embeddings")
    assert dict(request.headers) == {
        "authorization": "Bearer k-1",
        "content-type": "application/json",
        "accept": "application/json",
    }
    assert json.loads(request.body) == {
        "model": "text-embedding-3-small",
        "input": ["tea", "coffee"],
        "encoding_format": "base64",
    }
    assert body_of("openai", dimensions=512)["dimensions"] == 512
    assert "dimensions" not in body_of("openai", dimensions=1536)


def test_an_endpoint_that_only_speaks_like_openai_gets_nothing_that_it_may_not_know() -> None:
    values = {"base_url": "http://127.0.0.1:1234/v1/", "model": "openai/text-embedding-3-small", "dimensions": 512}
    assert body_of("openai", **values) == {
        "model": "openai/text-embedding-3-small",
        "input": ["tea"],
        "encoding_format": "float",
    }


def test_voyage_is_asked_as_its_page_says() -> None:
    assert built("voyage", ["tea"]).url == "https://api.voyageai.com/v1/embeddings"
    assert body_of("voyage", "query", model="voyage/voyage-4", dimensions=256) == {
        "input": ["tea"],
        "model": "voyage-4",
        "input_type": "query",
        "truncation": False,
        "output_dimension": 256,
    }
    assert body_of("voyage")["input_type"] == "document"


def test_mistral_is_asked_as_its_page_says() -> None:
    assert built("mistral", ["tea"]).url == "https://api.mistral.ai/v1/embeddings"
    assert body_of("mistral", "query") == {"model": "mistral-embed", "input": ["tea"], "encoding_format": "float"}
    assert body_of("mistral", model="codestral-embed", dimensions=256)["output_dimension"] == 256


def test_ollama_is_asked_as_its_page_says() -> None:
    assert built("ollama", ["tea"]).url == "http://127.0.0.1:11434/api/embed"
    assert body_of("ollama") == {"model": "nomic-embed-text", "input": ["tea"], "truncate": False}


def test_gemini_is_asked_as_its_page_says_with_the_key_in_a_header() -> None:
    request = built("gemini", ["tea", "coffee"], "query", api_key="AIza-1", dimensions=768)
    base = "https://generativelanguage.googleapis.com/v1beta"
    assert request.url == f"{base}/models/gemini-embedding-001:batchEmbedContents"
    assert request.headers["x-goog-api-key"] == "AIza-1"
    assert json.loads(request.body)["requests"][1] == {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": "coffee"}]},
        "taskType": "RETRIEVAL_QUERY",
        "outputDimensionality": 768,
    }
    second = body_of("gemini", "query", model="models/gemini-embedding-2")["requests"][0]
    assert second == {"model": "models/gemini-embedding-2", "content": {"parts": [{"text": "tea"}]}}


@pytest.mark.parametrize(
    ("vendor", "pasted", "url"),
    [
        ("openai", "https://openrouter.ai/api/v1/embeddings/", "https://openrouter.ai/api/v1/embeddings"),
        ("openai", "https://user:pass@Example.COM:8443/v1", "https://example.com:8443/v1/embeddings"),
        ("ollama", "http://localhost:11434/v1/", "http://localhost:11434/api/embed"),
        ("ollama", "http://[::1]:11434/api/embed", "http://[::1]:11434/api/embed"),
        (
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents",
        ),
    ],
)
def test_addresses_are_taken_as_people_paste_them(vendor: str, pasted: str, url: str) -> None:
    assert built(vendor, ["tea"], base_url=pasted).url == url


def test_a_password_in_the_address_becomes_a_header_and_is_a_secret() -> None:
    settings = resolved("openai", base_url="https://me:p%40ss@host/v1", model="m")
    assert vendor_of("openai").build_request(["tea"], "query", settings).headers["authorization"] == (
        "Basic " + base64.b64encode(b"me:p@ss").decode()
    )
    assert "p@ss" in settings.secrets
    assert "p%40ss" not in repr(settings)
    assert endpoint_of(settings.base_url) == "https://host/v1"


def test_headers_of_the_settings_win_whatever_their_case() -> None:
    headers = built("openai", ["tea"], api_key="k", headers={"Authorization": "Token t", "X-Team": "a"}).headers
    assert headers["authorization"] == "Token t"
    assert headers["x-team"] == "a"


@pytest.mark.parametrize(
    "values",
    [
        {"api_key": "sk-planted\n"},
        {"api_key": "sk-plänted"},
        {"headers": {"x-key": "planted\r\nx: y"}},
        {"headers": {"x key": "planted"}},
        {"base_url": "ftp://planted@host"},
        {"base_url": "https://host/v1?key=planted"},
        {"base_url": "https://"},
        {"base_url": "host/planted"},
        {"base_url": "http://host:port/planted"},
        {"dimensions": 0},
    ],
    ids=str,
)
def test_what_cannot_be_sent_is_refused_without_repeating_it(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        RemoteSettings("openai", **values)
    assert "planted" not in repr(refused.value) + refused.value.remedy


@pytest.mark.parametrize(
    ("vendor", "model", "dimensions"),
    [
        ("openai", "text-embedding-3-small", 3072),
        ("openai", "text-embedding-ada-002", 512),
        ("voyage", "voyage-4", 100),
    ],
)
def test_dimensions_that_a_model_cannot_give_are_refused_with_those_it_can(
    vendor: str, model: str, dimensions: int
) -> None:
    with pytest.raises(ConfigError, match=f"not {dimensions}"):
        vendor_of(vendor).model_of(resolved(vendor, model=model, dimensions=dimensions))


def test_a_server_without_a_default_wants_a_model() -> None:
    with pytest.raises(ConfigError, match="No model of Ollama is named"):
        vendor_of("ollama").resolved(RemoteSettings("ollama"))
    with pytest.raises(ConfigError, match="no remote provider 'open-ai'"):
        vendor_of("open-ai")


@pytest.mark.parametrize(
    ("name", "query", "document", "tokens"),
    [
        ("nomic-embed-text:latest", "search_query: Q", "search_document: Q", 2048),
        ("intfloat/multilingual-e5-large", "query: Q", "passage: Q", 512),
        ("text-embedding-e5-base", "query: Q", "passage: Q", 512),
        ("embeddinggemma:300m", "task: search result | query: Q", "title: none | text: Q", 2048),
        ("BAAI/bge-m3", "Q", "Q", 8192),
        ("bge-large-en-v1.5", "Represent this sentence for searching relevant passages: Q", "Q", 512),
        ("mxbai-embed-large", "Represent this sentence for searching relevant passages: Q", "Q", 512),
        ("snowflake-arctic-embed2", "query: Q", "Q", 8192),
    ],
)
def test_models_with_open_weights_get_the_words_they_were_trained_with(
    name: str, query: str, document: str, tokens: int
) -> None:
    model = open_model(name)
    assert model is not None
    assert model.query_template.replace("{text}", "Q") == query
    assert model.document_template.replace("{text}", "Q") == document
    assert model.max_tokens == tokens


def test_qwen_is_told_its_task_in_queries_only() -> None:
    model = open_model("Qwen/Qwen3-Embedding-0.6B")
    assert model is not None
    assert model.query_template.startswith("Instruct: ")
    assert model.query_template.endswith("\nQuery:{text}")
    assert model.document_template == "{text}"
    assert open_model("some-other-model") is None


@pytest.mark.slow
@given(st.sampled_from(VENDORS), st.lists(st.text(st.characters()), min_size=1, max_size=5))
def test_every_text_arrives_as_it_was_sent(vendor: str, texts: list[str]) -> None:
    sent = [sanitize(text) for text in texts]
    body = json.loads(built(vendor, sent).body)
    arrived = (
        [request["content"]["parts"][0]["text"] for request in body["requests"]]
        if vendor == "gemini"
        else body["input"]
    )
    assert arrived == sent
    assert all(text.strip() and "\0" not in text for text in arrived)


def answer_of(vendor: str, vectors: list[list[float]], *, packed: bool, order: list[int]) -> bytes:
    """An answer with these vectors, in this order where the vendor numbers them."""
    if vendor == "ollama":
        return json.dumps({"embeddings": vectors}).encode()
    if vendor == "gemini":
        return json.dumps({"embeddings": [{"values": vector} for vector in vectors]}).encode()
    shown = [base64.b64encode(np.array(v, "<f4").tobytes()).decode() if packed else v for v in vectors]
    return json.dumps({"data": [{"index": place, "embedding": shown[place]} for place in order]}).encode()


NUMBERS = st.floats(-1, 1, width=32)


@pytest.mark.slow
@given(
    st.sampled_from(VENDORS),
    st.integers(1, 4).flatmap(lambda size: st.lists(st.lists(NUMBERS, min_size=size, max_size=size), min_size=1)),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_every_vector_is_read_as_it_was_given_in_the_order_of_the_texts(
    vendor: str, vectors: list[list[float]], packed: bool, random: Any
) -> None:
    order = list(range(len(vectors)))
    random.shuffle(order)
    body = answer_of(vendor, vectors, packed=packed, order=order)
    read = vendor_of(vendor).parse_response(body, len(vectors), len(vectors[0]), "The service")
    assert np.array_equal(read, np.array(vectors))


@pytest.mark.slow
@given(
    st.sampled_from(VENDORS),
    st.binary(max_size=80)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["data", "embeddings", "embedding", "values", "index", "error", "code", "message"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    ).map(lambda value: json.dumps(value).encode()),
)
def test_whatever_comes_back_is_vectors_or_an_error_of_ours(vendor: str, body: bytes) -> None:
    try:
        rows = vendor_of(vendor).parse_response(body, 2, 3, "The service")
    except EmbeddingError:
        return
    assert rows.shape == (2, 3)


@given(
    st.sampled_from(VENDORS),
    st.integers(100, 599),
    st.text(max_size=300),
    st.sampled_from(
        ["{}", '{{"error": {{"message": "{}"}}}}', '{{"detail": ["{}"]}}', "<html><title>{}</title>", "\0{}"]
    ),
)
def test_no_refusal_repeats_a_key_whatever_is_around_it(vendor: str, status: int, before: str, shape: str) -> None:
    key = "planted-0123456789"
    plain = before.translate(str.maketrans("", "", '\\"\n\r{}')) + key
    error = vendor_of(vendor).error_of(status, {}, shape.format(plain).encode("utf-8", "replace"), (key,))
    assert key not in repr(error) + error.remedy
    assert str(status) in error.message


def error_body(words: Any) -> dict[str, Any]:
    return {"error": {"message": words}}


@pytest.mark.parametrize(
    ("vendor", "status", "body", "kind"),
    [
        (
            "openai",
            400,
            error_body("This model's maximum context length is 512 tokens. You requested 600."),
            InputTooLarge,
        ),
        (
            "openai",
            500,
            error_body("input (5000 tokens) is too large to process. increase the physical batch size"),
            InputTooLarge,
        ),
        ("openai", 413, {"error": "Payload too large", "error_type": "validation"}, InputTooLarge),
        ("openai", 422, {"error": "batch size 64 > maximum allowed batch size 32"}, InputTooLarge),
        ("openai", 400, error_body("Unsupported parameter: dimensions"), ProviderUnavailable),
        ("openai", 400, {"error": {"message": "no", "param": "model"}}, ProviderUnavailable),
        ("openai", 404, error_body("The model `x` does not exist"), ProviderUnavailable),
        ("openai", 400, error_body("'$.input' is invalid."), InputRejected),
        ("openai", 402, error_body("Insufficient credits. Add more at openrouter.ai/credits"), OutOfQuota),
        ("openai", 429, error_body("Rate limit reached for requests"), Throttled),
        ("openai", 403, error_body("Country, region, or territory not supported"), Unauthorised),
        ("openai", 503, "<html><body>Service Unavailable</body></html>", TransientFailure),
        ("openai", 529, error_body("overloaded"), TransientFailure),
        ("openai", 302, "", ProviderUnavailable),
        ("gemini", 429, error_body("Resource has been exhausted (e.g. check quota)."), Throttled),
        ("gemini", 429, error_body("Your prepayment credits are depleted."), OutOfQuota),
        ("gemini", 400, error_body("API key expired. Please renew the API key."), Unauthorised),
        (
            "gemini",
            400,
            error_body("BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"),
            InputTooLarge,
        ),
        ("gemini", 503, error_body("The model is overloaded."), TransientFailure),
        (
            "voyage",
            400,
            {"detail": "The max allowed tokens per submitted batch is 120000. Your batch has 130000 tokens."},
            InputTooLarge,
        ),
        ("voyage", 400, {"detail": "Model x is not supported. Supported models are [...]."}, ProviderUnavailable),
        ("voyage", 403, {"detail": "forbidden"}, Unauthorised),
        ("mistral", 400, {"message": "Too many inputs in request", "code": "3210"}, InputTooLarge),
        ("mistral", 400, {"message": "Invalid model: x", "code": "1500"}, ProviderUnavailable),
        (
            "mistral",
            422,
            {"object": "error", "message": {"detail": [{"msg": "Input should be a string"}]}},
            InputRejected,
        ),
        ("mistral", 429, {"message": "Service tier capacity exceeded for this model."}, Throttled),
        ("ollama", 404, {"error": 'model "x" not found, try pulling it first'}, ProviderUnavailable),
        ("ollama", 500, {"error": "failed to encode response: json: unsupported value: NaN"}, InputRejected),
        ("ollama", 500, {"error": "the input length exceeds the context length"}, InputTooLarge),
        ("ollama", 500, {"error": "llama runner process has terminated: exit status 2"}, TransientFailure),
        ("ollama", 400, {"error": "this model does not support embeddings"}, ProviderUnavailable),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_refusal_becomes_the_error_that_says_what_to_do(
    vendor: str, status: int, body: Any, kind: type[EmbeddingError]
) -> None:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    error = vendor_of(vendor).error_of(status, {}, raw, ())
    assert type(error) is kind, error.message
    assert vendor_of(vendor).title in error.message
    assert "<" not in error.message


def test_the_wait_of_a_gemini_quota_is_read_from_its_details() -> None:
    body = {"error": {"details": [{"retryDelay": "35.5s"}], "message": "slow down"}}
    error = vendor_of("gemini").error_of(429, {}, json.dumps(body).encode(), ())
    assert isinstance(error, Throttled)
    assert error.retry_after == 35.5


def test_an_error_with_status_200_is_an_error() -> None:
    body = json.dumps({"error": {"message": "Provider returned error", "code": 429}}).encode()
    with pytest.raises(Throttled):
        vendor_of("openai").parse_response(body, 1, None)
    with pytest.raises(BadVector, match="without the list 'data'"):
        vendor_of("openai").parse_response(b"{}", 1, None)


def test_a_long_message_is_cut_and_one_line() -> None:
    error = vendor_of("openai").error_of(400, {}, json.dumps(error_body("word\n" * 1000)).encode(), ())
    assert len(error.message) < 300
    assert "\n" not in error.message


def test_every_model_in_a_table_can_be_asked() -> None:
    for name in VENDORS:
        vendor = vendor_of(name)
        for model, row in vendor.models.items():
            assert vendor.model_of(vendor.resolved(RemoteSettings(name, model))) is row
            assert row.dimensions
            assert row.max_tokens <= row.max_request_tokens
            assert "{text}" in row.query_template
            assert "{text}" in row.document_template


ADDRESSES: Mapping[str, tuple[bool, bool]] = {
    "http://127.0.0.1:1": (True, True),
    "http://127.9.9.9": (True, True),
    "http://localhost": (True, True),
    "http://[::1]:5": (True, True),
    "http://192.168.1.5": (False, True),
    "http://nas:11434": (False, True),
    "http://nas.local": (False, True),
    "https://api.openai.com": (False, False),
    "https://127.0.0.1.example.com": (False, False),
    "https://8.8.8.8": (False, False),
}


@pytest.mark.parametrize("url", ADDRESSES)
def test_an_address_says_how_near_it_is(url: str) -> None:
    assert (is_loopback(url), is_local_network(url)) == ADDRESSES[url]
