"""The model that comes with memoriter."""

from memoriter.embed.bundled._bundled import SPEC, open_bundled
from memoriter.embed.bundled._native import released_weights

__all__ = ["SPEC", "open_bundled", "released_weights"]
