"""Propose what to tidy in the notes, and do what the owner accepts: nothing is changed unasked."""

from memoriter.tidy._accept import KeptIds, accept
from memoriter.tidy._model import propose_by_model
from memoriter.tidy._propose import Proposal, TidyReport, propose
from memoriter.tidy._statements import Statement, all_statements

__all__ = [
    "KeptIds",
    "Proposal",
    "Statement",
    "TidyReport",
    "accept",
    "all_statements",
    "propose",
    "propose_by_model",
]
