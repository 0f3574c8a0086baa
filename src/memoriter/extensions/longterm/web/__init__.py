"""The HTTP operations on long-term memories."""

from memoriter.extensions.longterm.web._operations import OPERATIONS

__all__ = ["OPERATIONS"]
