"""The optional parts of memoriter: which packages each of them needs, and how to install them.

Nothing is imported to find out, because some of these packages take long to import.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from memoriter.errors import MissingPackage

Extra = Literal["chat", "local", "longterm", "mcp", "onnx", "postgres", "remote", "serve", "watch"]

_MCP = ("anyio", "h11", "mcp", "starlette", "tomlkit", "uvicorn")
_WATCH = ("watchfiles",)
PACKAGES: dict[Extra, tuple[str, ...]] = {
    "chat": ("anthropic", "openai", "pydantic_ai"),
    "local": ("httpx2", "xllamacpp"),
    "longterm": ("lancedb", "pyarrow"),
    "mcp": _MCP,
    "onnx": ("httpx2", "onnxruntime", "tokenizers"),
    "postgres": ("pgvector", "psycopg", "psycopg_pool"),
    "remote": ("httpx2",),
    "serve": (*_MCP, *_WATCH),
    "watch": _WATCH,
}
"""The modules of each extra in `pyproject.toml`. The extra `all` is the sum of them."""


def missing_packages(extra: Extra) -> list[str]:
    """Return the modules of an extra that cannot be imported; empty if it is installed."""
    return [name for name in PACKAGES[extra] if find_spec(name) is None]


def install_command(extra: Extra | Literal["all"]) -> str:
    """Return the command that installs an extra."""
    return f'pip install "memoriter[{extra}]"'


def require(extra: Extra, feature: str) -> None:
    """Raise MissingPackage unless an extra is installed.

    Args:
        extra: the extra that `feature` needs.
        feature: the start of the message's sentence, such as "The MCP server".
    """
    if missing := missing_packages(extra):
        verb = "is" if len(missing) == 1 else "are"
        message = f"{feature} needs the extra {extra!r}: {', '.join(missing)} {verb} not installed."
        raise MissingPackage(message, remedy=f"Run `{install_command(extra)}`.")
