"""The slot of one provider: which one was chosen, whether it is open, and where it sends text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.backends._endpoint import LateVectors
from memoriter.errors import EmbeddingError, MemoriterError, ProviderUnavailable
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.backends._attempts import Observed
    from memoriter.embed import Choice, ProviderSettings
    from memoriter.index import Ledger
    from memoriter.types import ModelSpec

UNKNOWN = "provider_unknown"


@dataclass(slots=True)
class Slot:
    """One provider: chosen, and perhaps opened or failed."""

    choice: Choice | None
    problem: Diagnostic | None = None
    """Why no caller can use it."""
    problem_since: float = 0.0
    """When the problem was found, in monotonic seconds."""
    spec: ModelSpec | None = None
    spec_checked: bool = False
    opened: Observed | None = None
    late: LateVectors = field(default_factory=LateVectors)


def choose_slot(
    choose_provider: Callable[[ProviderSettings], Choice | None], settings: ProviderSettings, *, now: float
) -> Slot:
    """Return the slot of the provider that the settings name; if choosing fails, a slot with a problem.

    Args:
        choose_provider: returns the choice for the settings.
        settings: the settings.
        now: monotonic seconds.
    """
    try:
        return Slot(choose_provider(settings))
    except MemoriterError as error:
        code = error.code if isinstance(error, EmbeddingError) else UNKNOWN
        return Slot(None, Diagnostic(code, error.message, error.remedy), now, spec_checked=True)


def egress_notice(
    first: Choice | None, other: Choice | None, ledger: Ledger, can_start: Callable[[Choice], bool]
) -> str | None:
    """Return where text may be sent from now on; None if nowhere, or if it was reported before.

    Args:
        first: the provider that has priority.
        other: its fallback.
        ledger: records what was reported.
        can_start: returns whether a provider has what it needs to send text, such as a key.
    """
    remote = [place for place in (first, other) if place and place.leaves_machine]
    places = [place for place in remote if can_start(place) and _is_news(place, ledger)]
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
    except ProviderUnavailable:  # without a ledger nothing is sent
        return False
    return True
