"""A batch job on its way: submitted, asked about, collected. Pure; time is an argument and everything can be kept."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

Stage = Literal["creating", "running", "cancelling", "ended"]
"""`creating` is kept before the service is told, since a process may end before it hears the job's number."""
Step = Literal["find", "poll", "wait", "cancel", "abandon", "collect"]

CANCEL_SECONDS = 600.0
"""For a cancelled job to give what it has; then it is left alone."""


@dataclass(frozen=True, slots=True)
class BatchRules:
    """How patient to be; the fields of `remote.batch`."""

    wait: bool = True
    concurrency: int = 2
    poll_seconds: float = 2.0
    timeout_minutes: float = 60.0
    """For a job that is waited for. One that is left to a later run may take as long as the service lets it."""
    most_tries: int = 2
    """Jobs that one text may be in before it is given back."""


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """What a service says of a job."""

    ended: bool
    outputs: tuple[str, ...] = ()
    """Files with results, and with the errors of single texts."""
    reason: str = ""
    """Why it ended in another way than complete."""


@dataclass(frozen=True, slots=True)
class BatchJob:
    """One job. Texts are named by keys alone: they are not kept, and nothing secret is."""

    name: str
    """Ours, sent along, so that a job whose number got lost is found again."""
    keys: tuple[str, ...]
    created: float
    """Seconds since 1970."""
    stage: Stage = "creating"
    job_id: str = ""
    files: tuple[str, ...] = ()
    """What was uploaded, to be deleted at the end."""
    outputs: tuple[str, ...] = ()
    reason: str = ""
    polled: float | None = None
    cancelled: float = 0.0
    tokens: int = 0
    """Of its texts, by our estimate."""
    tries: int = 1

    def step(self, now: float, rules: BatchRules) -> Step:
        """What to do now. A job that is late is asked about once more before it is given up."""
        asked = self.polled is not None and 0 <= now - self.polled < rules.poll_seconds
        deadline = self.created + rules.timeout_minutes * 60
        match self.stage:
            case "creating":
                return "wait" if asked else "find"
            case "ended":
                return "collect"
            case "cancelling" if self.polled is not None and self.polled - self.cancelled > CANCEL_SECONDS:
                return "abandon"
            case "running" if rules.wait and self.polled is not None and self.polled >= deadline:
                return "cancel"
            case _:
                return "wait" if asked else "poll"

    def uploaded(self, file: str) -> BatchJob:
        return replace(self, files=(*self.files, file))

    def submitted(self, job_id: str) -> BatchJob:
        return replace(self, stage="running", job_id=job_id)

    def after_poll(self, progress: BatchProgress, now: float) -> BatchJob:
        """After an answer about the job."""
        stage: Stage = "ended" if progress.ended else self.stage
        return replace(self, stage=stage, outputs=progress.outputs, reason=progress.reason, polled=now)

    def unanswered(self, now: float) -> BatchJob:
        """After a question that came to nothing."""
        return replace(self, polled=now)

    def after_cancel(self, now: float) -> BatchJob:
        return replace(self, stage="cancelling", cancelled=now)

    def given_up(self, reason: str) -> BatchJob:
        """Ended without results."""
        return replace(self, stage="ended", outputs=(), reason=reason)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> BatchJob | None:
        """What was kept, or None if it cannot be read any more."""
        try:
            kept = cast("dict[str, Any]", json.loads(text))
            for name in ("keys", "files", "outputs"):
                kept[name] = tuple(map(str, kept[name]))
            return cls(**kept)
        except (ValueError, TypeError, KeyError):
            return None


@dataclass(frozen=True, slots=True)
class BatchRow:
    """What a job says of one text."""

    key: str
    embedding: Any = None
    """As the service writes it; None when there is an error."""
    status: int = 200
    message: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """The texts of a job after it has ended: each is in one of the three."""

    rows: tuple[BatchRow, ...]
    failed: tuple[BatchRow, ...]
    """The service refuses these for what they are."""
    again: tuple[str, ...]
    """Without an answer, through no fault of theirs."""


def applied(job: BatchJob, rows: list[BatchRow]) -> Applied:
    """Sort the texts of a job by what came back. Rows that are not of this job, or there twice, count once or not."""
    found: dict[str, BatchRow] = {}
    for row in rows:
        if row.key not in found or found[row.key].embedding is None:
            found[row.key] = row
    mine = [found[key] for key in job.keys if key in found]
    good = tuple(row for row in mine if row.embedding is not None)
    bad = tuple(row for row in mine if row.embedding is None and row.status in {400, 413, 422})
    settled = {row.key for row in (*good, *bad)}
    return Applied(good, bad, tuple(key for key in job.keys if key not in settled))
