"""The version of the installed package. It is read when it is first asked for, because that takes milliseconds."""

from importlib.metadata import version

__version__ = version("memoriter")
