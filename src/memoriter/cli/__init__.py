"""The command line: thin commands over `Memory`. No other package prints."""

from memoriter.cli._main import main

__all__ = ["main"]
