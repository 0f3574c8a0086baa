"""The page Import."""

from memoriter.extensions.importing.pages._import import PAGES

__all__ = ["PAGES"]
