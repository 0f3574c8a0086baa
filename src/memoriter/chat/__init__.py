"""A conversation with a model in which all that memory does can be watched."""

from memoriter.chat._chat import Chat
from memoriter.chat._seen import Seen
from memoriter.chat._service import Service, service_of

__all__ = ["Chat", "Seen", "Service", "service_of"]
