"""A conversation with a model in which all that memory does can be watched."""

from memoriter.chat._chat import Chat
from memoriter.chat._endpoint import Endpoint, endpoint_of
from memoriter.chat._seen import Seen

__all__ = ["Chat", "Endpoint", "Seen", "endpoint_of"]
