"""The part of `apsw.Connection` that the room uses, with types: its own stubs name types that Python 3.11 lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

SqlValue = str | int | float | bytes | None


class Cursor(Protocol):
    """The rows of a statement, read on demand."""

    @property
    def get(self) -> Any:
        """The only column of the first row, or the row; None if there is no row."""
        ...

    def fetchall(self) -> list[tuple[Any, ...]]: ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Database(Protocol):
    """An open connection."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(
        self, statements: str, bindings: Sequence[SqlValue] | Mapping[str, SqlValue] | None = None, /
    ) -> Cursor: ...

    def executemany(self, statements: str, bindings: Iterable[Sequence[SqlValue]], /) -> Cursor: ...

    def pragma(self, name: str, value: str | int | None = None, /) -> Any: ...

    def reserve_bytes(self, schema: str | None = None, reserve: int = -1, /) -> int: ...

    def config(self, operation: int, value: int, /) -> Any: ...

    def set_busy_timeout(self, milliseconds: int, /) -> None: ...

    def create_scalar_function(
        self, name: str, function: Callable[..., SqlValue] | None, arguments: int, /, *, deterministic: bool
    ) -> None: ...

    def enable_load_extension(self, enable: bool, /) -> None: ...

    def load_extension(self, filename: str, /) -> None: ...

    def close(self) -> None: ...
