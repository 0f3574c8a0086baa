"""The place of one provider: which one was chosen, whether it is open, and where it sends text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memoriter.backends._endpoint import LateVectors
from memoriter.errors import EmbeddingError, MemoriterError, ProviderUnavailable
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.backends._attempts import Observed
    from memoriter.embed import Choice, ProviderSettings
    from memoriter.index import Ledger
    from memoriter.types import ModelSpec

UNKNOWN = "provider_unknown"


@dataclass(slots=True)
class Slot:
    """One provider: chosen, perhaps opened, perhaps in trouble."""

    choice: Choice | None
    problem: Diagnostic | None = None
    """Why it cannot be used, whoever asks."""
    since: float = 0.0
    """When that was found."""
    spec: ModelSpec | None = None
    looked: bool = False
    opened: Observed | None = None
    late: LateVectors = field(default_factory=LateVectors)


def picked(pick: Callable[[ProviderSettings], Choice | None], settings: ProviderSettings, *, now: float) -> Slot:
    """Choose a provider by the settings; a choice that fails is a slot with a problem. `now`: monotonic seconds."""
    try:
        return Slot(pick(settings))
    except MemoriterError as error:
        code = error.code if isinstance(error, EmbeddingError) else UNKNOWN
        return Slot(None, Diagnostic(code, error.message, error.remedy), now, looked=True)


def egress_notice(first: Choice | None, other: Choice | None, ledger: Ledger) -> str | None:
    """Return where text may be sent from now on; None if nowhere, or if it was said before.

    Args:
        first: the provider that serves before any other.
        other: its fallback.
        ledger: remembers what was said.
    """
    places = [place for place in (first, other) if place and place.leaves_machine and _is_news(place, ledger)]
    names = [f"{at.name} at {at.endpoint}" + (f" ({at.key_source})" if at.key_source else "") for at in places]
    if other in places and first is not None:
        names[-1] += f" whenever {first.name} fails"
    return " and to ".join(names) or None


def _is_news(choice: Choice, ledger: Ledger) -> bool:
    name = f"told:{choice.vendor}:{choice.endpoint}"
    try:
        if ledger.get(name):
            return False
        ledger.set(name, "yes")
    except ProviderUnavailable:  # nothing is sent without a ledger
        return False
    return True
