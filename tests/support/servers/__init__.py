"""Services on 127.0.0.1 that speak as the vendors do, with faults on demand."""

from servers.base import (
    KEY,
    Answer,
    Fault,
    ScriptedServer,
    Watch,
    altered,
    client,
    dripping,
    half_written,
    html_page,
    provider_of,
    refused,
    reset,
)
from servers.chat import ChatServer
from servers.gemini import GeminiServer
from servers.mistral import MistralServer
from servers.ollama import OllamaServer
from servers.openai import OpenAIServer
from servers.rerank import RERANK_SERVERS, CohereServer, LlamaCppServer, RerankServer, reranker_of
from servers.voyage import VoyageServer

SERVERS = {server.vendor: server for server in (GeminiServer, MistralServer, OllamaServer, OpenAIServer, VoyageServer)}

__all__ = [
    "KEY",
    "RERANK_SERVERS",
    "SERVERS",
    "Answer",
    "ChatServer",
    "CohereServer",
    "Fault",
    "GeminiServer",
    "LlamaCppServer",
    "MistralServer",
    "OllamaServer",
    "OpenAIServer",
    "RerankServer",
    "ScriptedServer",
    "VoyageServer",
    "Watch",
    "altered",
    "client",
    "dripping",
    "half_written",
    "html_page",
    "provider_of",
    "refused",
    "reranker_of",
    "reset",
]
