"""The page Memories, and what the pages Days and Health have of long-term memories."""

from memoriter.extensions.longterm.pages._memories import PAGES

__all__ = ["PAGES"]
