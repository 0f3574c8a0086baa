"""Search by QMD, a program beside memoriter that may fail: what it answers and to whom, and what answers instead."""

from memoriter.extensions.qmd._backend import QmdBackend, QmdSetup
from memoriter.extensions.qmd._cache import ProgramCache, cache_key
from memoriter.extensions.qmd._driver import QmdDriver, QmdPlace
from memoriter.extensions.qmd._fallback import FallbackBackend
from memoriter.extensions.qmd._plan import QmdPlan, plan_qmd
from memoriter.extensions.qmd._results import interleaved
from memoriter.extensions.qmd._scope import scope_allows, session_scope
from memoriter.extensions.qmd._values import QmdAnswer

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
