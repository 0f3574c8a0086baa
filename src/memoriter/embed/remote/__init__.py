"""Models behind an address: one file per vendor, one HTTP client."""

from memoriter.embed.remote._chat import ask_chat
from memoriter.embed.remote._http import HttpClient
from memoriter.embed.remote._remote import RemoteProvider, UsageRecorder, vendor_of
from memoriter.embed.remote._rerank import RemoteReranker, rerank_vendor_of, rerank_vendors
from memoriter.embed.remote._vendor import RemoteSettings, endpoint_of, is_local_network, is_loopback

__all__ = [
    "HttpClient",
    "RemoteProvider",
    "RemoteReranker",
    "RemoteSettings",
    "UsageRecorder",
    "ask_chat",
    "endpoint_of",
    "is_local_network",
    "is_loopback",
    "rerank_vendor_of",
    "rerank_vendors",
    "vendor_of",
]
