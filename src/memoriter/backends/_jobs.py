"""Batch jobs of a service, kept in the index so that another process collects what this one has sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memoriter.embed import BatchJob, BatchRules, batch_of, batch_vendors
from memoriter.errors import EmbeddingError
from memoriter.ids import fingerprint
from memoriter.sync import STORING_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memoriter.backends._account import UsageMeter
    from memoriter.embed import Collected, EmbeddingProvider, ProviderContext
    from memoriter.index import Index


__all__ = ["Batches", "JobStore", "batch_vendors", "trim_jobs"]


@dataclass(frozen=True, slots=True)
class JobStore:
    """The jobs of one set of vectors."""

    index: Index
    prefix: str

    @classmethod
    def of(cls, index: Index, provider: EmbeddingProvider) -> JobStore:
        return cls(index, f"batch:{fingerprint(provider.spec)}:")

    def load(self) -> Sequence[BatchJob]:
        found = (BatchJob.from_json(text) for text in self.index.metas(self.prefix).values())
        return [job for job in found if job is not None]

    def save(self, job: BatchJob) -> None:
        with self.index.storing(wait=STORING_SECONDS):
            self.index.set_meta(self.prefix + job.name, job.to_json())

    def drop(self, job: BatchJob) -> None:
        with self.index.storing(wait=STORING_SECONDS):
            self.index.drop_meta(self.prefix + job.name)


@dataclass(frozen=True, slots=True)
class Batches:
    """The batch interface of a provider, for one run of indexing."""

    index: Index
    provider: EmbeddingProvider
    outside: ProviderContext
    rules: BatchRules
    account: UsageMeter | None
    note: Callable[[EmbeddingError | None], None] = lambda _: None
    """Receives the error of a run, or None for each job that brought vectors."""

    @property
    def under_way(self) -> frozenset[str]:
        """Keys of the texts that were sent and are not back."""
        return frozenset(key for job in JobStore.of(self.index, self.provider).load() for key in job.keys)

    def run(self, texts: Mapping[str, str], *, wait: bool) -> Iterator[Collected]:
        """Vectors by key as jobs end; without `wait` only what is ready now. Raises EmbeddingError."""
        store = JobStore.of(self.index, self.provider)
        rules = replace(self.rules, wait=wait and self.rules.wait)
        run = batch_of(self.provider, store, self.outside, rules, self.account)
        assert run is not None
        try:
            for done in run.run(texts):
                if done.keys:
                    self.note(None)
                yield done
        except EmbeddingError as error:
            self.note(error)
            raise


def trim_jobs(index: Index) -> None:
    """Let no job name a text that no chunk holds; what comes back for it is then passed over."""
    kept = index.metas("batch:")
    known = {key.hex() for key in index.vector_keys()} if kept else set[str]()
    for name, text in kept.items():
        job = BatchJob.from_json(text)
        if job is None:
            index.drop_meta(name)
        elif any(key not in known for key in job.keys):
            index.set_meta(name, replace(job, keys=tuple(key for key in job.keys if key in known)).to_json())
