"""Search by QMD, a program beside memoriter that may fail: which conversations it serves, and what answers instead."""

from memoriter.sidecar._scope import SessionScope, scope_allows, scope_denied, session_scope

__all__ = ["SessionScope", "scope_allows", "scope_denied", "session_scope"]
