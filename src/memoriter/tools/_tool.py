"""A tool as a value: MCP, HTTP and agent frameworks show and run it in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.memory_like import MemoryLike

DOCTOR = "Run `memoriter doctor`."
"""What the user can do if the memory fails in an unknown way."""


def advice(step: str, remedy: str = DOCTOR) -> str:
    """Return the next step of an agent whose memory failed. Only the user can run programs, so the agent reports it.

    Args:
        step: what the agent does now, as a sentence.
        remedy: what helps, as a sentence for the user.
    """
    return f"{step} What the user can do: {remedy}"


def origin_json(memory: MemoryLike) -> dict[str, str]:
    """Return what the agent must know about the author of the notes; empty if they are the owner's."""
    return {"origin": memory.place.origin} if memory.place.origin else {}


class ToolFunction(Protocol):
    """The signature of a tool's function. It returns JSON, also for a failure, and raises nothing."""

    def __call__(
        self, memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that an agent can call."""

    name: str
    description: str
    """For the agent: when to call the tool, and what it returns."""
    input_schema: Mapping[str, Any]
    """A JSON schema; an object."""
    run: ToolFunction
    """`run(memory, params, session_key=...)` returns JSON. The session's key decides about citations and searches."""
    title: str = ""
    """For people."""
    output_schema: Mapping[str, Any] | None = None
    """A JSON schema of the result of `run`; an object."""
    writes: bool | None = None
    """True if the tool changes data; None: unknown."""
    destructive: bool = False
    """Whether the tool deletes what was stored."""
    always_load: bool = False
    """Whether the model needs the tool from its first request on, even if the client loads others on demand."""
