"""The page Memories, and what the pages Days and Health have of long-term memories."""

from memoriter.extensions.longterm.pages._table import PAGES

__all__ = ["PAGES"]
