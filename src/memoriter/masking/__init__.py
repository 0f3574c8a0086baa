"""Detection of secrets in text, and masking by `***` before the text is indexed or leaves the machine."""

from typing import TYPE_CHECKING

from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.masking._find import MASK, Secret, find_secrets, mask, mask_outgoing

__all__ = ["MASK", "Secret", "find_secrets", "mask", "mask_outgoing"]


# Load the patterns on first use, because compiling them takes longer than most searches.
__getattr__ = lazy_names(
    __name__,
    {
        "_find": "MASK Secret find_secrets mask mask_outgoing",
    },
)
