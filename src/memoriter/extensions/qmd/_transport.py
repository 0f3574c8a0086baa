"""The two ways to ask QMD: a process for each search, or one MCP server that stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memoriter.extensions.qmd._answers import parse_results, rows_of
from memoriter.extensions.qmd._queries import arguments_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.extensions.qmd._answers import Row
    from memoriter.extensions.qmd._program import Program
    from memoriter.extensions.qmd._queries import Search


class Transport(Protocol):
    """Asks QMD."""

    def rows(self, search: Search, *, timeout: float) -> list[Row]:
        """Return the results of a search, best first. Raises QmdFailure if there is no usable answer in time."""
        ...

    def close(self) -> None:
        """End what runs."""
        ...


@dataclass(frozen=True, slots=True)
class SpawnTransport:
    """Starts the program for each search."""

    program: Program

    def rows(self, search: Search, *, timeout: float) -> list[Row]:
        """Return the results of a search, best first. Raises QmdFailure."""
        output = self.program.run(arguments_of(search), timeout=timeout)
        return rows_of(parse_results(output.text, output.errors))

    def close(self) -> None:
        """Do nothing: the program's own `close` ends every process."""
