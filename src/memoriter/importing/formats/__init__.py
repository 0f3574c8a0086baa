"""The formats of exports, one file each."""

from memoriter.importing.formats._all import FORMATS

__all__ = ["FORMATS"]
