"""`memoriter ltm`: the commands about long-term memories."""

from memoriter.extensions.longterm.commands._ltm import ltm_command

__all__ = ["ltm_command"]
