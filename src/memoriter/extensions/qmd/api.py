"""Search by QMD, a program beside memoriter that may fail: what it answers and to whom, and what answers instead."""

from memoriter.extensions.qmd._backend import FallbackBackend, QmdBackend, QmdSetup
from memoriter.extensions.qmd._driver import QmdDriver, QmdPlace
from memoriter.extensions.qmd._engine import ProgramCache, cache_key, interleaved
from memoriter.extensions.qmd._plan import QmdPlan, plan_qmd, scope_allows, session_scope
from memoriter.extensions.qmd._searching import QmdAnswer

__all__ = [
    "FallbackBackend",
    "ProgramCache",
    "QmdAnswer",
    "QmdBackend",
    "QmdDriver",
    "QmdPlace",
    "QmdPlan",
    "QmdSetup",
    "cache_key",
    "interleaved",
    "plan_qmd",
    "scope_allows",
    "session_scope",
]
