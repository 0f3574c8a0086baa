"""Batch jobs: many documents at once, at half the price and within a day."""

from memoriter.embed.remote.batch._apis import BatchJob, BatchRules
from memoriter.embed.remote.batch._run import BatchRun, BatchStore, Collected, batch_vendors

__all__ = ["BatchJob", "BatchRules", "BatchRun", "BatchStore", "Collected", "batch_vendors"]
