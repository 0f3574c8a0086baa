"""Access over HTTP: who calls, what a caller may do, and which requests of browsers are refused."""

from memoriter.access._browser import OPEN_PATH, BrowserSessions
from memoriter.access._caller import Caller, caller_of, is_still_known
from memoriter.access._identity import Authenticator
from memoriter.access._middleware import AccessMiddleware
from memoriter.access._origins import Origins
from memoriter.access._problem import PROBLEM_TYPE, problem_json, problem_response
from memoriter.access._proof import MOST_CHALLENGES, PROVEN_DIGEST, CommandProof
from memoriter.access._rate import RateLimit

__all__ = [
    "MOST_CHALLENGES",
    "OPEN_PATH",
    "PROBLEM_TYPE",
    "PROVEN_DIGEST",
    "AccessMiddleware",
    "Authenticator",
    "BrowserSessions",
    "Caller",
    "CommandProof",
    "Origins",
    "RateLimit",
    "caller_of",
    "is_still_known",
    "problem_json",
    "problem_response",
]
