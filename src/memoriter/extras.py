"""The optional parts of memoriter: which packages each of them needs, and how to install them.

Nothing is imported to find out, because some of these packages take long to import.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from memoriter.errors import MissingPackage

Extra = Literal["import", "local", "longterm", "mcp", "onnx", "postgres", "remote", "serve", "watch"]
FrameworkExtra = Literal[
    "agent-framework",
    "agno",
    "anthropic",
    "claude-agent-sdk",
    "crewai",
    "google-adk",
    "langchain",
    "langgraph",
    "llama-index",
    "openai-agents",
    "pydantic-ai",
    "smolagents",
    "strands",
]

_MCP = ("anyio", "h11", "mcp", "starlette", "tomlkit", "uvicorn")
_WATCH = ("watchfiles",)
_PAGES = ("jinja2", "markdown_it", "markupsafe", "nh3")
PACKAGES: dict[Extra, tuple[str, ...]] = {
    "import": ("ijson",),
    "local": ("httpx2", "xllamacpp"),
    "longterm": ("lancedb", "pyarrow"),
    "mcp": _MCP,
    "onnx": ("httpx2", "onnxruntime", "tokenizers"),
    "postgres": ("pgvector", "psycopg", "psycopg_pool"),
    "remote": ("httpx2",),
    "serve": (*_MCP, *_WATCH, *_PAGES, "prometheus_client", "segno"),
    "watch": _WATCH,
}
"""The modules of each extra in `pyproject.toml`. The extra `all` is the sum of them."""
FRAMEWORKS: dict[FrameworkExtra, tuple[str, ...]] = {
    "agent-framework": ("agent_framework",),
    "agno": ("agno",),
    "anthropic": ("anthropic",),
    "claude-agent-sdk": ("claude_agent_sdk",),
    "crewai": ("crewai",),
    "google-adk": ("google.adk",),
    "langchain": ("langchain_core",),
    "langgraph": ("langgraph.store.base",),
    "llama-index": ("llama_index.core",),
    "openai-agents": ("agents.memory",),
    "pydantic-ai": ("pydantic_ai",),
    "smolagents": ("smolagents",),
    "strands": ("strands",),
}
"""The modules of each agent framework that has an adapter. None of these extras is part of `all`."""


def missing_packages(extra: Extra | FrameworkExtra) -> list[str]:
    """Return the modules of an extra that cannot be imported; empty if it is installed."""
    modules = {**PACKAGES, **FRAMEWORKS}[extra]
    return [name for name in modules if not _importable(name)]


def _importable(name: str) -> bool:
    """Return whether a module exists. To find one inside a package, Python imports that package."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # the package is missing, or something else has its name
        return False


def install_command(extra: Extra | FrameworkExtra | Literal["all"]) -> str:
    """Return the command that installs an extra."""
    return f'pip install "memoriter[{extra}]"'


def require(extra: Extra | FrameworkExtra, feature: str) -> None:
    """Raise MissingPackage unless an extra is installed.

    Args:
        extra: the extra that `feature` needs.
        feature: the start of the message's sentence, such as "The MCP server".
    """
    if missing := missing_packages(extra):
        verb = "is" if len(missing) == 1 else "are"
        message = f"{feature} needs the extra {extra!r}: {', '.join(missing)} {verb} not installed."
        raise MissingPackage(message, remedy=f"Run `{install_command(extra)}`.")
