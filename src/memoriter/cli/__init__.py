"""The command line: thin commands over `Memory`. No other room prints.

Commands of other packages, which have entry points in the group `memoriter.commands`, are made with the rest of these
names.
"""

from typing import TYPE_CHECKING

from memoriter.cli._main import main
from memoriter.cli._options import Command, CommandGroup, GlobalOptions, global_options
from memoriter.cli._render import DONE, FAILED, Line, Screen, is_interactive, pluralize, read_stdin, writing
from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.cli._trust import check_trust, untrusted_notice

__all__ = [
    "DONE",
    "FAILED",
    "Command",
    "CommandGroup",
    "GlobalOptions",
    "Line",
    "Screen",
    "check_trust",
    "global_options",
    "is_interactive",
    "main",
    "pluralize",
    "read_stdin",
    "untrusted_notice",
    "writing",
]


# Import on first use what asks about trust.
__getattr__ = lazy_names(
    __name__,
    {
        "_trust": "check_trust untrusted_notice",
    },
)
