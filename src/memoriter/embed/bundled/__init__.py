"""The model that comes with memoriter."""

from memoriter.embed.bundled._bundled import SPEC, open_bundled

__all__ = ["SPEC", "open_bundled"]
