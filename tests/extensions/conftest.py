"""The program and its folder of notes, for commands of extensions."""

from program import Outcome, Program, program

__all__ = ["Outcome", "Program", "program"]
