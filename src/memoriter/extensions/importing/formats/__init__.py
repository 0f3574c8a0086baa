"""The formats of exports, one file each."""

from memoriter.extensions.importing.formats._all import FORMATS

__all__ = ["FORMATS"]
