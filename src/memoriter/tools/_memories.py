"""The parameters of the tools for long-term memories, which a plugin defines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


def memory_params(tool: Literal["store", "recall", "forget"], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validated parameters of a tool for long-term memories; None for those that were not given.

    Raises:
        UsageError: a parameter is unknown or has a wrong value; the message names it.
    """
    # Listing the tools must not import pydantic.
    from memoriter.tools._params import ForgetMemoryParams, RecallMemoryParams, StoreMemoryParams, parse_params

    kinds = {"store": StoreMemoryParams, "recall": RecallMemoryParams, "forget": ForgetMemoryParams}
    return parse_params(kinds[tool], params).model_dump()
