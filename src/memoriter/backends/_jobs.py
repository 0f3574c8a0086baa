"""Batch jobs of a service, stored in the index so that another process can collect their results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.embed import BatchJob, BatchRules, batch_of, batch_vendors
from memoriter.errors import EmbeddingError
from memoriter.ids import fingerprint
from memoriter.sync import STORING_SECONDS
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memoriter.backends._ports import Store
    from memoriter.backends._service_records import UsageMeter
    from memoriter.embed import Collected, EmbeddingProvider, ProviderContext


__all__ = ["Batches", "JobStore", "batch_vendors", "trim_jobs"]


@dataclass(frozen=True, slots=True)
class JobStore:
    """The stored jobs of one set of vectors."""

    index: Store
    prefix: str

    @classmethod
    def of(cls, index: Store, provider: EmbeddingProvider) -> JobStore:
        return cls(index, f"batch:{fingerprint(provider.spec)}:")

    def load(self) -> Sequence[BatchJob]:
        jobs = (BatchJob.from_json(text) for text in self.index.metas(self.prefix).values())
        return [job for job in jobs if job is not None]

    def save(self, job: BatchJob) -> None:
        with self.index.storing(wait=STORING_SECONDS):
            self.index.set_meta(self.prefix + job.name, job.to_json())

    def drop(self, job: BatchJob) -> None:
        with self.index.storing(wait=STORING_SECONDS):
            self.index.drop_meta(self.prefix + job.name)


@dataclass(frozen=True, slots=True)
class Batches:
    """The batch interface of a provider, for one indexing run."""

    index: Store
    provider: EmbeddingProvider
    env: ProviderContext
    rules: BatchRules
    account: UsageMeter | None
    note: Callable[[EmbeddingError | None], None] = lambda _: None
    """Receives the error of a run, or None for each job that brought vectors."""

    @property
    def under_way(self) -> frozenset[str]:
        """Keys of texts that were sent and whose vectors have not arrived."""
        return frozenset(key for job in JobStore.of(self.index, self.provider).load() for key in job.keys)

    def run(self, texts: Mapping[str, str], *, wait: bool) -> Iterator[Collected]:
        """Yield vectors by key as jobs end; without `wait`, only those that are ready now. Raises EmbeddingError."""
        store = JobStore.of(self.index, self.provider)
        rules = replace(self.rules, wait=wait and self.rules.wait)
        run = batch_of(self.provider, store, self.env, rules, self.account)
        assert run is not None
        try:
            for done in run.run(texts):
                if done.keys:
                    self.note(None)
                yield done
        except EmbeddingError as error:
            self.note(error)
            raise


def trim_jobs(index: Store) -> None:
    """Remove keys from jobs if no chunk uses their texts any more.

    The results for those keys are then ignored.
    """
    stored = index.metas("batch:")
    used = {key.hex() for key in index.vector_keys()} if stored else set[str]()
    for name, text in stored.items():
        job = BatchJob.from_json(text)
        if job is None:
            index.drop_meta(name)
        elif any(key not in used for key in job.keys):
            index.set_meta(name, replace(job, keys=tuple(key for key in job.keys if key in used)).to_json())
