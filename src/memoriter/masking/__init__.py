"""Detection of secrets in text, and masking by `***` before the text is indexed or leaves the machine."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoriter.masking._find import MASK, Secret, find_secrets, mask, mask_outgoing

__all__ = ["MASK", "Secret", "find_secrets", "mask", "mask_outgoing"]


def __getattr__(name: str) -> Any:
    """Load the patterns on first use, because compiling them takes longer than most searches."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"{__name__}._find"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
