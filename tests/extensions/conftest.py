"""The program and its folder of notes, for commands of extensions."""

from program import Outcome, Program, program, run

__all__ = ["Outcome", "Program", "program", "run"]
