"""Models behind an address: one file per vendor, one HTTP client."""

from memoriter.embed.remote._keys import ConfiguredKeys, Key, choose_auto, key_for

__all__ = ["ConfiguredKeys", "Key", "choose_auto", "key_for"]
