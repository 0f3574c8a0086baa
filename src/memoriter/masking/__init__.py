"""Detection of secrets in text, and masking by `***` before the text is indexed or leaves the machine."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoriter.masking._find import MASK, Secret, find_secrets, mask
    from memoriter.masking._outgoing import mask_outgoing

__all__ = ["MASK", "Secret", "find_secrets", "mask", "mask_outgoing"]


def __getattr__(name: str) -> Any:
    """Load the patterns on first use, because compiling them takes longer than most searches."""
    from importlib import import_module

    late = {"MASK": "_find", "Secret": "_find", "find_secrets": "_find", "mask": "_find", "mask_outgoing": "_outgoing"}
    if name in late:
        return getattr(import_module(f"{__name__}.{late[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
