"""A chat with a model that shows every action of the memory."""

from memoriter.chat._chat import Chat
from memoriter.chat._endpoint import ChatEndpoint, endpoint_of
from memoriter.chat._memory_events import MemoryEvent

__all__ = ["Chat", "ChatEndpoint", "MemoryEvent", "endpoint_of"]
