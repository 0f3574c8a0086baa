"""Propose what to tidy in the notes, and do what the owner accepts: nothing is changed unasked."""

from memoriter.tidy._accept import Refusals, accept
from memoriter.tidy._notes import all_statements
from memoriter.tidy._propose import Proposal, propose
from memoriter.tidy._statements import Statement

__all__ = ["Proposal", "Refusals", "Statement", "accept", "all_statements", "propose"]
