"""How long a service that does not answer is left alone: pure, and how it is kept for the next process."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.codes import stored_code
from memoriter.errors import ProviderUnavailable
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from memoriter.errors import EmbeddingError

FIRST_SECONDS, LONGEST_SECONDS = 30.0, 600.0
"""How long a service is left alone after it did not answer; doubled each further time."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A time in which a service is not asked, because it kept somebody waiting."""

    until: float = 0.0
    """Seconds since 1970."""
    times: int = 0
    """How often in a row it did not answer."""
    code: str = ""
    message: str = ""
    hasty: int = 0
    """How often in a row somebody with little time did not get an answer."""

    def after_hasty(self, error: EmbeddingError, now: float) -> Pause:
        """Return what follows a wait that was too short to tell: a pause, if it is not the first one in a row."""
        return self.after(error, now) if self.hasty else replace(self, hasty=1)

    def after(self, error: EmbeddingError, now: float) -> Pause:
        """Return the pause that follows one more failure."""
        seconds = min(FIRST_SECONDS * 2 ** min(self.times, 10), LONGEST_SECONDS)
        return Pause(now + seconds, self.times + 1, error.code, error.message)

    def reason(self, now: float) -> Diagnostic | None:
        """Return why the service is not asked now; None where it may be asked."""
        left = self.until - now
        if not 0 < left <= LONGEST_SECONDS:  # a clock that was set back ends the pause
            return None
        message = f"{self.message.rstrip('.')}. Words alone are searched until it is asked again."
        remedy = f"Check the service; it is asked again in {max(1, round(left))} s."
        return Diagnostic(stored_code(self.code), message, remedy)

    @classmethod
    def from_json(cls, text: str) -> Pause:
        """Return what was kept; no pause for anything else."""
        with suppress(ValueError, TypeError, KeyError):
            kept: Any = json.loads(text)
            words = str(kept["code"]), str(kept["message"])
            return cls(float(kept["until"]), int(kept["times"]), *words, int(kept["hasty"]))
        return cls()


class Notes(Protocol):
    """Where a pause is kept between processes."""

    def get(self, name: str) -> str | None: ...
    def set(self, name: str, value: str) -> None: ...


class Pauses:
    """The pause of one service, shared by all processes of a home."""

    def __init__(self, notes: Notes, name: str) -> None:
        """Keep the pause under this name; nothing is read yet."""
        self._notes = notes
        self._name = f"pause:{name}"
        self._own = Pause()

    def load(self) -> Pause:
        """Return the pause as it was saved last, by whichever process."""
        with suppress(ProviderUnavailable):
            self._own = Pause.from_json(self._notes.get(self._name) or "")
        return self._own

    def save(self, pause: Pause) -> None:
        """Keep a pause; where nothing can be written, for this process alone."""
        self._own = pause
        with suppress(ProviderUnavailable):
            self._notes.set(self._name, json.dumps(asdict(pause)) if pause != Pause() else "")
