"""The embedding providers and the rerankers: one row each, from which all tables of names, keys and defaults follow."""

from __future__ import annotations

from typing import Literal

from memoriter.values import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """One value of `memorySearch.provider`."""

    name: str
    kind: Literal["process", "service", "compatible"]
    """`process`: it runs in this process. `service`: it has an adapter in `embed/remote`. `compatible`: it is a server
    with OpenAI's interface."""
    default_model: str = ""
    """Empty where the user names the model."""
    base_url: str = ""
    """The usual address of a compatible server."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key, in order of precedence."""
    free: bool = False
    """Whether nobody sends a bill."""


PROVIDERS = (
    Provider("bundled", "process", free=True),
    Provider("openai", "service", "text-embedding-3-small", key_variables=("OPENAI_API_KEY",)),
    Provider("gemini", "service", "gemini-embedding-001", key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    Provider("voyage", "service", "voyage-4-large", key_variables=("VOYAGE_API_KEY",)),
    Provider("mistral", "service", "mistral-embed", key_variables=("MISTRAL_API_KEY",)),
    Provider("ollama", "service", free=True),
    Provider("lmstudio", "compatible", base_url="http://127.0.0.1:1234/v1"),
    Provider("openai-compatible", "compatible"),
    Provider("local", "process", free=True),
    Provider("onnx", "process", free=True),
    Provider("fake", "process", free=True),
)
BY_NAME = {provider.name: provider for provider in PROVIDERS}


@dataclass(frozen=True, slots=True)
class RerankProvider:
    """One value of `memorySearch.query.rerank.provider`, besides `off`."""

    name: str
    kind: Literal["bundled", "process", "service", "compatible"]
    """`bundled`: memoriter's own judge. `process`: a model file runs in this process. `service`:
    `embed/remote/_rerank.py` knows its interface. `compatible`: it is a server with the interface that llama.cpp, vLLM
    and others share."""
    default_model: str = ""
    """Empty where the user names the model."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key, in order of precedence."""


JUDGE = "judge"
"""The value of `query.rerank.provider` for memoriter's own model, which `auto` means where a process is kept."""
RERANKERS = {
    reranker.name: reranker
    for reranker in (
        RerankProvider(JUDGE, "bundled"),
        RerankProvider("cohere", "service", "rerank-v5.0-fast", ("COHERE_API_KEY", "CO_API_KEY")),
        RerankProvider("jina", "service", "jina-reranker-v3", ("JINA_API_KEY",)),
        RerankProvider("voyage", "service", "rerank-2.5", BY_NAME["voyage"].key_variables),
        RerankProvider("compatible", "compatible"),
        RerankProvider("onnx", "process"),
        RerankProvider("local", "process"),
    )
}
OFF = "off"
"""The value of `query.rerank.provider` without a reranker."""
ALIASES = {"gemini": "google"}
"""Names under which OpenClaw keeps a service in `models.providers`."""
KEY_VARIABLES = frozenset(name for each in (*PROVIDERS, *RERANKERS.values()) for name in each.key_variables)
DEFAULT_LOCAL_MODEL = "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf"
"""The model that OpenClaw downloads for the provider `local` by default."""
AUTO = "auto"
NONE = "none"
WITHOUT_MODEL = frozenset({NONE, "fake"})
"""Values of `memorySearch.provider` with which no model is loaded."""
PROCESS = frozenset(provider.name for provider in PROVIDERS if provider.kind == "process")
REMOTE = frozenset(provider.name for provider in PROVIDERS if provider.kind == "service")
OPENAI_COMPATIBLE = {provider.name: provider.base_url for provider in PROVIDERS if provider.kind == "compatible"}
AUTO_SERVICE = "openai"
"""The service that `auto` uses with the key in `memorySearch.remote.apiKey`, which names no service."""
FREE = frozenset(provider.name for provider in PROVIDERS if provider.free)
DEFAULT_MODELS = {provider.name: provider.default_model for provider in PROVIDERS}
"""The model of each provider for which the settings name none; empty where they must name one."""
