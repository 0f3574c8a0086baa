"""The reranker of a backend: opened at the first question that needs it, and asked at most once in a search.

A search never fails and never waits long because of it: without its scores, the hits have the engine's own order, and
`health` gives the reason.
"""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from memoriter.backends._endpoint import (
    GivenUp,
    LateVectors,
    SharedEndpoint,
    destination_of,
    is_consented,
    is_news,
    within,
)
from memoriter.backends._service_records import PATIENCE, Attempts, Budget, Remembered, UsageMeter, reason_of
from memoriter.embed import Judge, choose_reranker, open_reranker
from memoriter.errors import EmbeddingError, MemoriterError, OverBudget, ProviderUnavailable, TransientFailure, sentence
from memoriter.search import JUDGE_WEIGHT, Relevance
from memoriter.service_guard import ServiceGuard
from memoriter.types import Diagnostic, RerankerState
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.backends._endpoint import Calls
    from memoriter.backends._service_records import Ledger
    from memoriter.embed import Choice, ProviderContext, Reranker, RerankSettings
    from memoriter.environment import Deadline, Stopwatch
    from memoriter.search import PassageParts

TO_RERANK = "to rerank hits"
"""The end of the notice about a reranking service."""
RERANK_SECONDS = 5.0
"""The longest time that a search waits for a service; at most half of the search's own time."""
LATE_SECONDS = 10.0
"""How long a request may take whose caller stopped waiting. Its scores serve the same question, asked again."""
READ_BY_JUDGE = 3
READ_BY_OTHERS = 20
"""The hits that are read, unless the settings say how many. Reading more improves neither the order nor the outcome: of
three hits, .707 are first with the right lines, of eight .702 (`scripts/outcome_rule.py`)."""
_PURPOSE = "rerank"
_UNSEEN = "Run `memoriter search` in a terminal to use it, or set memorySearch.query.rerank to off."


class Reranking:
    """The reranker that the settings name. Safe to share between threads."""

    def __init__(
        self,
        settings: RerankSettings,
        outside: ProviderContext,
        ledger: Ledger,
        budget: Budget,
        calls: Calls,
        *,
        attended: bool,
    ) -> None:
        """Store the parts. Nothing is opened yet."""
        self.settings = settings
        self._outside = outside
        self._ledger = ledger
        self._budget = budget
        self._calls = calls
        self._attended = attended
        self._attempts = Attempts(ledger, outside.wall, settings.local_model)
        self._lock = threading.Lock()
        self._choice: Choice | None = None
        self._opened: Reranker | None = None
        self._warmed = False
        self._judge = Judge(settings.cache_dir, outside.monotonic)
        self.known: Remembered[bytes, tuple[Relevance, ...]] = Remembered()
        """What was computed of exactly some passages for exactly one question."""

    def question(self, text: str, deadline: Deadline, watch: Stopwatch, *, hasty: bool) -> Rescoring | None:
        """Return the reranker's part in the search for a cleaned query.

        None if the search is `hasty`, as before a turn, and the judge would have to be loaded first.
        """
        return None if hasty and self.judges and not self._judge.loaded else Rescoring(self, text, deadline, watch)

    @property
    def judges(self) -> bool:
        """Whether memoriter's own judge reads the hits."""
        try:
            return self._chosen().kind == "bundled"
        except MemoriterError:
            return False

    @property
    def candidates(self) -> int:
        """The number of hits that are read."""
        return self.settings.candidates or (READ_BY_JUDGE if self.judges else READ_BY_OTHERS)

    def warm(self) -> None:
        """Start to load the judge, once, in a thread of its own; a failure is reported by the first search."""
        if self.judges and not self._warmed:
            self._warmed = True
            threading.Thread(target=self._load, name="memoriter-warm-judge", daemon=True).start()

    def _load(self) -> None:
        with suppress(MemoriterError):
            self._judge.load()

    def ask(self, key: bytes, query: str, passages: Sequence[PassageParts], deadline: Deadline) -> None:
        """Compute the relevance of passages, after which `known` has it.

        Raises:
            MemoriterError: there are no scores in time.
        """
        choice = self._usable_choice()
        if deadline.passed:
            raise TransientFailure("The deadline left no time for it.", remedy="Ask again.")
        remote = choice.kind == "remote"
        seconds = min(deadline.left / 2, RERANK_SECONDS) if remote else deadline.left / 2
        patience = within(deadline, seconds)

        def fetch() -> None:
            if self.known.get(key) is not None:  # an earlier request was answered since `known` was asked
                return
            limit = max(LATE_SECONDS, seconds)
            try:
                found = self._relevance(choice, query, passages, limit)
            except EmbeddingError as error:
                if remote or isinstance(error, ProviderUnavailable):  # and not for want of time
                    self._attempts.note(choice, error)
                raise
            self._attempts.note(choice, None)
            self.known.put(key, tuple(found))

        name = f"{choice.name} at {choice.endpoint}" if remote else f"{choice.name} {choice.model}".strip()
        if not remote:
            self._calls.run((_PURPOSE, name, key), fetch, service=name, deadline=patience)
            return
        place = f"pause:{_PURPOSE}:{choice.vendor}:{choice.endpoint}"
        guard = ServiceGuard(PATIENCE, self._outside.wall, store=self._ledger, name=place)
        pause = guard.pause()
        if pause is not None:
            reason, seconds = pause
            raise TransientFailure(
                f"{sentence(reason.message)} It is not contacted again for {max(1, round(seconds))} s.",
                remedy="Check the service; it is contacted again after that time.",
            )
        note = partial(self._attempts.note, choice)
        endpoint = SharedEndpoint(name, self._calls, guard, self._outside, LateVectors(), note)
        endpoint.ask((_PURPOSE, key.hex()), fetch, patience)

    @property
    def state(self) -> RerankerState:
        """The reranker, as far as it is known without asking it."""
        try:
            choice = self._chosen()
        except MemoriterError:
            return RerankerState(self.settings.name, self.settings.model)
        return RerankerState(choice.name, choice.model, choice.endpoint, choice.key_source, choice.leaves_machine)

    @property
    def trouble(self) -> Diagnostic | None:
        """Why the reranker cannot be used, or why its last attempt failed; None if neither is known."""
        try:
            attempt = self._attempts.last(self._usable_choice())
        except MemoriterError as error:
            return not_reranked(self.settings.name, error.message, error.remedy)
        if attempt is None or attempt.reason is None:
            return None
        last = reason_of(attempt.at, attempt.reason, f"the reranker {self.settings.name!r}")
        return Diagnostic("not_reranked", last.message, last.remedy)

    @property
    def sent(self) -> Diagnostic | None:
        """Where passages may have been sent; None if they stay on this machine."""
        state = self.state
        if not state.leaves_machine:
            return None
        message = f"Passages that were hits may have been sent to {state.provider}. What the service keeps is unknown."
        return Diagnostic("sent", message, "Ask the service to delete it.")

    def egress_notice(self) -> str | None:
        """Return where passages may be sent from now on; None if nowhere, or if the user was informed before."""
        try:
            choice = self._chosen()
        except MemoriterError:
            return None
        if not choice.leaves_machine or not is_news(choice, self._ledger):
            return None
        return f"{destination_of(choice)} {TO_RERANK}"

    def close(self) -> None:
        """Close the model or the connections; they are opened again when they are needed."""
        with self._lock:
            opened = self._opened
            self._opened = None
            self._warmed = False
        if opened is not None:
            self._calls.when_idle(opened.close)
        self._calls.when_idle(self._judge.close)

    def _chosen(self) -> Choice:
        if self._choice is None:
            self._choice = choose_reranker(self.settings)
        return self._choice

    def _usable_choice(self) -> Choice:
        """Return the choice. Raises MemoriterError: nobody can use it, or nobody was informed about it."""
        choice = self._chosen()
        if not self._attended and not is_consented(choice, self._ledger):
            raise ProviderUnavailable(
                f"Nothing is sent to {destination_of(choice)}: you have not seen the notice about this service yet.",
                remedy=_UNSEEN,
            )
        return choice

    def _relevance(
        self, choice: Choice, query: str, passages: Sequence[PassageParts], seconds: float
    ) -> list[Relevance]:
        if choice.kind == "bundled":
            return [Relevance(said.logit, said.lines) for said in self._judge.judge(query, passages, seconds=seconds)]
        texts = [passage.text for passage in passages]
        return [Relevance(score) for score in self._open(choice).scores(query, texts, seconds=seconds)]

    def _open(self, choice: Choice) -> Reranker:
        with self._lock:
            if self._opened is None:
                account = None
                if choice.metered:
                    priced = choice.official_endpoint
                    account = UsageMeter(self._ledger, self._budget, choice.vendor, choice.model, priced=priced)
                self._opened = open_reranker(choice, self.settings, self._outside, account)
            return self._opened


@dataclass(slots=True)
class Rescoring:
    """The reranker's part in one search; a `Rescorer` of the ranking.

    The ranking asks for the scores of its candidates. If they are not known yet, it keeps the engine's order, `fetch`
    computes them while nothing is locked, and the ranking is made again.
    """

    reranking: Reranking
    question: str
    deadline: Deadline
    watch: Stopwatch
    _missing: tuple[PassageParts, ...] = ()
    _fetched: bool = False
    _failure: tuple[str, str] | None = None
    """A reason and a remedy."""
    _late: bool = False
    """Whether memoriter's own judge had too little time, as in a hook, so that the engine's order is what was asked."""

    @property
    def candidates(self) -> int:
        return self.reranking.candidates

    @property
    def weight(self) -> float | None:
        return JUDGE_WEIGHT if self.reranking.judges else None

    def relevance(self, passages: Sequence[PassageParts]) -> Sequence[Relevance] | None:
        """Return what the reranker says of passages; if that is not known, remember the passages for `fetch`."""
        if len(passages) < 2 and not self.reranking.judges:
            return None  # there is no order to change
        known = self.reranking.known.get(self._key(passages))
        self._missing = () if known is not None else tuple(passages)
        return known

    def fetch(self) -> bool:
        """Compute the scores that the last ranking missed, once in a search; return whether to rank again."""
        if not self._missing or self._fetched:
            return False
        self._fetched = True
        with self.watch.stage("rerank"):
            try:
                self.reranking.ask(self._key(self._missing), self.question, self._missing, self.deadline)
            except MemoriterError as error:
                late = isinstance(error, TransientFailure) and self.reranking.judges
                self._failure = (error.message, _remedy_of(error))
                self._late = late
                return False
        self._missing = ()  # the next ranking says what it misses
        return True

    @property
    def problem(self) -> Diagnostic | None:
        """Why the hits have the engine's own order; None if they are reranked, or if there are too few of them."""
        if not self._missing or self._late:
            return None
        reason, remedy = self._failure or ("The notes changed during the search.", "Ask again.")
        return not_reranked(self.reranking.settings.name, reason, remedy)

    def _key(self, passages: Sequence[PassageParts]) -> bytes:
        """Return a name for the question and its passages, which differs as soon as one of them does."""
        digest = hashlib.sha256()
        for text in (self.question, *(f"{passage.best} {passage.text}" for passage in passages)):
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return digest.digest()


def not_reranked(name: str, reason: str, remedy: str) -> Diagnostic:
    """Return the diagnostic that hits are in the engine's own order."""
    message = f"The reranker {name!r} does not order the hits; they are in the engine's own order. {sentence(reason)}"
    return Diagnostic("not_reranked", message, remedy)


def _remedy_of(error: MemoriterError) -> str:
    if isinstance(error, GivenUp):
        return "Ask again; if it stays slow, set memorySearch.query.rerank.candidates lower, or rerank to off."
    if isinstance(error, OverBudget):
        return "Wait until midnight (UTC), or raise memorySearch.remote.budget."
    return error.remedy
