"""The command line: thin commands over `Memory`, and the only room that prints."""

from memoriter.cli._main import main

__all__ = ["main"]
