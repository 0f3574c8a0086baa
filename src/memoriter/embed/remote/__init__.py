"""Models behind an address: one file per vendor, one HTTP client."""

from memoriter.embed.remote._chat import RemoteChat, chat_address
from memoriter.embed.remote._http import HttpClient
from memoriter.embed.remote._remote import RemoteProvider, UsageRecorder, vendor_of
from memoriter.embed.remote._rerank import RemoteReranker, rerank_vendor_of, rerank_vendors
from memoriter.embed.remote._vendor import RemoteSettings, is_local_network, is_loopback

__all__ = [
    "HttpClient",
    "RemoteChat",
    "RemoteProvider",
    "RemoteReranker",
    "RemoteSettings",
    "UsageRecorder",
    "chat_address",
    "is_local_network",
    "is_loopback",
    "rerank_vendor_of",
    "rerank_vendors",
    "vendor_of",
]
