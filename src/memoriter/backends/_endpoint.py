"""One embedding service: asked in threads of its own, and left alone for a while after it did not answer."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypeVar

from memoriter.backends._calls import GivenUp
from memoriter.backends._pause import Pause, Pauses
from memoriter.errors import TransientFailure
from memoriter.search import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._calls import Calls
    from memoriter.embed import EmbeddingProvider, ProviderContext
    from memoriter.errors import EmbeddingError
    from memoriter.types import Diagnostic, ModelSpec, Role

    Key = tuple[str, ...]

_T = TypeVar("_T")

BATCH, OPEN = "document", "open"
"""What a call is for, as the first part of its key."""
BATCH_SECONDS = 10.0
"""How long indexing waits for one batch while somebody waits for the indexing. The batch itself goes on, and its
vectors are used when they come."""
FAIR_SECONDS = 3.0
"""A service that is given less may just be slow: it is left alone when that happens twice in a row."""
SLOW_SECONDS = 1.0
"""A failure that took no longer keeps nobody waiting, so the service is asked again at once."""
MOST_LATE = 4_096
"""Texts whose vectors came late and are kept until somebody asks for them again."""


class LateVectors:
    """Vectors by text whose caller had stopped waiting when they came."""

    def __init__(self) -> None:
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def keep(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Keep the vectors of a batch, and of all batches the newest."""
        if len(vectors) == len(texts):
            self._vectors.update(zip(texts, vectors, strict=True))
        for text in list(self._vectors)[:-MOST_LATE]:
            self._vectors.pop(text, None)

    def take(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of these texts that are here, and keep them no longer."""
        found = {text: self._vectors.pop(text, None) for text in set(texts)}
        return {text: vector for text, vector in found.items() if vector is not None}


@dataclass(frozen=True, slots=True)
class SharedEndpoint:
    """One service as the callers of this process see it."""

    name: str
    """How it is called in messages."""
    calls: Calls
    pauses: Pauses
    outside: ProviderContext
    late: LateVectors
    note: Callable[[EmbeddingError], None]
    """Records that nobody waits any longer for a call: it counts as an attempt that failed until an answer comes."""

    @property
    def paused(self) -> Diagnostic | None:
        """Why it is not asked now; None if it is."""
        return self.pauses.load().reason(self.outside.wall())

    def ask(self, key: Key, call: Callable[[], _T], deadline: Deadline | None, *, seconds: float = inf) -> _T:
        """Return what the call returns.

        Args:
            key: names the call, what it is for first; one under way under the same name is joined.
            call: runs in a thread of its own.
            deadline: how long to wait; None: until the call ends.
            seconds: how long the call itself may take.

        Raises:
            EmbeddingError: that of the call; `GivenUp` where the deadline passed.
        """
        named = (key[0], self.name, *key[1:])
        try:
            return self.calls.run(
                named, lambda: self._noted(key[0], call), who=self.name, deadline=deadline, seconds=seconds
            )
        except GivenUp as error:
            if key[0] != BATCH or error.waited >= BATCH_SECONDS:
                self._pause(error, hasty=key[0] != OPEN and error.waited < FAIR_SECONDS)
            raise

    def await_batches(self, deadline: Deadline | None) -> None:
        """Wait for the batches that are under way. Raises GivenUp."""
        waited = self.calls.await_others(self._is_batch, deadline)
        if waited is None:
            return
        error = GivenUp(f"{self.name} has not answered for {waited:.0f} s", waited=waited)
        if waited >= BATCH_SECONDS:
            self._pause(error)
        raise error

    def _is_batch(self, key: object) -> bool:
        return isinstance(key, tuple) and key[:2] == (BATCH, self.name)

    def try_again(self) -> None:
        """End a pause, since somebody asks for that."""
        if self.paused is not None:
            self.pauses.save(Pause())

    def _noted(self, kind: str, call: Callable[[], _T]) -> _T:
        started = self.outside.monotonic()
        try:
            result = call()
        except TransientFailure as error:
            if self.outside.monotonic() - started >= SLOW_SECONDS:
                self._pause(error)
            raise
        if kind != OPEN and self.pauses.load() != Pause():  # a known model is opened without asking anybody
            self.pauses.save(Pause())
        return result

    def _pause(self, error: TransientFailure, *, hasty: bool = False) -> None:
        if self.calls.aborted:
            return
        kept, now = self.pauses.load(), self.outside.wall()
        following = kept.after_hasty(error, now) if hasty else kept.after(error, now)
        if isinstance(error, GivenUp) and following.times > kept.times:  # one short wait says nothing yet
            self.note(error)
        if kept.reason(now) is None:
            self.pauses.save(following)


class PatientProvider:
    """The provider of a service as one caller sees it, who stops waiting at a deadline of their own."""

    def __init__(self, provider: EmbeddingProvider, endpoint: SharedEndpoint, deadline: Deadline | None) -> None:
        """Wrap an opened provider. Without a deadline each call is waited for until it ends."""
        self._provider = provider
        self._endpoint = endpoint
        self._deadline = deadline

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return vectors (texts, dimensions). A batch that is still under way is waited for before another is sent.

        Raises:
            EmbeddingError: `GivenUp` where the deadline passed.
        """
        deadline = within(self._deadline, BATCH_SECONDS)
        if role == "query":
            return self._endpoint.ask((role, *texts), lambda: self._provider.embed(texts, role=role), deadline)
        return self._documents(list(texts), deadline)

    def _documents(self, texts: list[str], deadline: Deadline | None) -> NDArray[np.float32]:
        import numpy as np

        late = self._endpoint.late
        self._endpoint.await_batches(deadline)
        known = late.take(texts)
        rest = [text for text in texts if text not in known]

        def fetch() -> NDArray[np.float32]:
            vectors = self._provider.embed(rest, role="document")
            late.keep(rest, vectors)
            return vectors

        if rest:
            fetched = self._endpoint.ask((BATCH, *rest), fetch, deadline)
            late.take(rest)
            if not known:
                return fetched
            known.update(zip(rest, fetched, strict=True))
        return np.array([known[text] for text in texts])

    def count_tokens(self, text: str) -> int:
        return self._provider.count_tokens(text)

    def hint_batch_size(self, chunks: int) -> None:
        self._provider.hint_batch_size(chunks)

    def close(self) -> None:
        """Do nothing: the provider is shared."""


def within(deadline: Deadline | None, seconds: float) -> Deadline | None:
    """Return the same deadline, or one after so many seconds where that is sooner; None stays None."""
    if deadline is None:
        return None
    return Deadline(deadline.clock, min(deadline.at, deadline.clock() + seconds))
