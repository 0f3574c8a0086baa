"""The program and its folder of notes."""

from program import NOTES, Outcome, Program, program

__all__ = ["NOTES", "Outcome", "Program", "program"]
