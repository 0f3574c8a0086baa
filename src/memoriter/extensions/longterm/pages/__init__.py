"""The pages Inbox and Memories, and what the pages Timeline and Health have of long-term memories."""

from memoriter.extensions.longterm.pages._table import PAGES

__all__ = ["PAGES"]
