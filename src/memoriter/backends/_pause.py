"""The pause after a service did not answer: a pure calculation, and its storage for other processes."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.codes import stored_code
from memoriter.errors import ProviderUnavailable, sentence
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.errors import EmbeddingError

FIRST_SECONDS, LONGEST_SECONDS = 30.0, 600.0
"""The first and the longest pause. Each further failure doubles the pause."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A time in which no requests are sent to a service, because it kept a caller waiting."""

    until: float = 0.0
    """Seconds since 1970."""
    times: int = 0
    """The number of consecutive failures."""
    code: str = ""
    message: str = ""
    hasty: int = 0
    """The number of consecutive failures of callers with little time."""

    def after_hasty(self, error: EmbeddingError, now: float) -> Pause:
        """Return the state after a wait too short to be evidence: a pause, unless it is the first one in a row."""
        return self.after(error, now) if self.hasty else replace(self, hasty=1)

    def after(self, error: EmbeddingError, now: float) -> Pause:
        """Return the pause that follows one more failure."""
        seconds = min(FIRST_SECONDS * 2 ** min(self.times, 10), LONGEST_SECONDS)
        return Pause(now + seconds, self.times + 1, error.code, error.message)

    def reason(self, now: float) -> Diagnostic | None:
        """Return why no requests are sent to the service now, or None."""
        left = self.until - now
        if not 0 < left <= LONGEST_SECONDS:  # a clock that was set back ends the pause
            return None
        message = f"{sentence(self.message)} Words alone are searched until the service is asked again."
        remedy = f"Check the service; it is asked again in {max(1, round(left))} s."
        return Diagnostic(stored_code(self.code), message, remedy)

    @classmethod
    def from_json(cls, text: str) -> Pause:
        """Return the stored pause; no pause if the text is not one."""
        with suppress(ValueError, TypeError, KeyError):
            stored: Any = json.loads(text)
            texts = str(stored["code"]), str(stored["message"])
            return cls(float(stored["until"]), int(stored["times"]), *texts, int(stored["hasty"]))
        return cls()


class Notes(Protocol):
    """The storage of a pause, shared between processes."""

    def get(self, name: str) -> str | None: ...
    def set(self, name: str, value: str) -> None: ...


class Pauses:
    """The pause of one service, shared by all processes of one home folder."""

    def __init__(self, notes: Notes, name: str) -> None:
        """Store the pause under `name`. Nothing is read yet."""
        self._notes = notes
        self._name = f"pause:{name}"
        self._last = Pause()

    def load(self) -> Pause:
        """Return the pause that any process saved last."""
        with suppress(ProviderUnavailable):
            self._last = Pause.from_json(self._notes.get(self._name) or "")
        return self._last

    def save(self, pause: Pause) -> None:
        """Store a pause; for this process alone if nothing can be written."""
        self._last = pause
        with suppress(ProviderUnavailable):
            self._notes.set(self._name, json.dumps(asdict(pause)) if pause != Pause() else "")
