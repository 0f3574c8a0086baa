"""A conversation with a model in which all that memory does can be watched."""

from memoriter.chat._chat import Chat
from memoriter.chat._endpoint import ChatEndpoint, endpoint_of
from memoriter.chat._memory_events import MemoryEvent

__all__ = ["Chat", "ChatEndpoint", "MemoryEvent", "endpoint_of"]
