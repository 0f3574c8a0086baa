"""How a command finds the server that already has its memory open, and hands its work over; loads next to nothing."""

from memoriter.discovery._announcement import Announcement, announce, announced, folder_of, withdraw
from memoriter.discovery._asking import Meant, meant_by, settings_digest
from memoriter.discovery._handover import REASONS, TICKET, Call, Reply, Unanswered, hand_over
from memoriter.discovery._tickets import take_ticket

__all__ = [
    "REASONS",
    "TICKET",
    "Announcement",
    "Call",
    "Meant",
    "Reply",
    "Unanswered",
    "announce",
    "announced",
    "folder_of",
    "hand_over",
    "meant_by",
    "settings_digest",
    "take_ticket",
    "withdraw",
]
