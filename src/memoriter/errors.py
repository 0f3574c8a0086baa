"""Every error that memoriter raises, as one tree.

MemoriterError                  catch this to catch everything; has `code`, `message`, `remedy`
├── UsageError                  the caller's words must change
│   ├── ConfigError             a configuration file or value is wrong
│   ├── InvalidQuery            nothing that could be searched for
│   ├── WorkspaceNotFound       no such folder of notes
│   └── PathRefused             a path outside what may be read or written
├── SearchDisabled              the configuration has turned searching off
├── TrustRemoved                the owner does not trust the folder of the notes any more
├── WriteError                  a note was not written; what was there is untouched
│   └── WriteConflict           the file changed since it was read
├── MissingPackage          an optional part of memoriter is not installed
├── QmdFailure                  the program QMD gave no usable answer
│   ├── QmdMissing              it is not installed, or cannot start at all
│   ├── QmdTimeout              it did not end in time
│   ├── QmdCrashed              it ended with an error; has `output`
│   ├── QmdUnreadable           its answer is not what it should be
│   ├── QmdBusy                 another process holds its database
│   └── QmdNoVectors            it has no vectors, or no model for them
├── IndexUnavailable            the index cannot be used now
│   ├── IndexBusy               another process is indexing
│   └── IndexDamaged            the file is broken or belongs to another program
└── EmbeddingError              text could not become vectors, or could not be reranked
    ├── ProviderUnavailable     no wheel, no model, no server, no key: the provider cannot start
    ├── Unauthorised            the key is missing, wrong or may not do this
    ├── OutOfQuota              nothing is left to spend; waiting a moment will not help
    ├── Throttled               too many calls just now; has `retry_after`
    ├── TransientFailure        the network or the service failed; the same call may succeed later
    ├── InputTooLarge           this text is over the provider's limit
    ├── InputRejected           this text, and only this one, cannot be embedded
    ├── BadVector               the provider answered with something that is not a vector of ours
    ├── BadScores               the reranker answered with something other than one score for each passage
    └── OverBudget              the day's budget for services is spent; nothing was sent

A leaf says what happened; a base says what a caller can do about it. `remedy` is the next step, in words for a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from memoriter.codes import DiagnosticCode


def sentence(reason: object) -> str:
    """Return a text with exactly one full stop at its end, to embed it at the end of a message.

    A question or an exclamation stays one.
    """
    text = str(reason).rstrip().rstrip(".").rstrip() or "no reason was given"
    return text if text.endswith(("?", "!")) else f"{text}."


def system_error_text(error: OSError) -> str:
    """Return an error of the operating system as one sentence, with the file if it names one."""
    if error.filename is None:
        return f"The operating system reports an error: {sentence(error.strerror or error)}"
    return f"The path {str(error.filename)!r} cannot be used: {sentence(error.strerror or error)}"


class MemoriterError(Exception):
    """Anything that memoriter refuses or fails to do."""

    code: ClassVar[DiagnosticCode] = "error"
    default_remedy: ClassVar[str] = "Run `memoriter doctor`."
    """The remedy, where whoever raises it knows no better one."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy or self.default_remedy


class UsageError(MemoriterError):
    """The request itself must change."""

    code = "usage"
    default_remedy = "See `memoriter --help`."


class ConfigError(UsageError):
    """A configuration file cannot be read, or holds a key or value that is not allowed."""

    code = "config"
    default_remedy = "Correct the configuration, then run `memoriter config check`."


class InvalidQuery(UsageError):
    """The query has nothing to search for, or an option is out of range."""

    code = "query"
    default_remedy = "Ask with at least one word."


class WorkspaceNotFound(UsageError):
    """The workspace is not a folder that can be read."""

    code = "workspace"
    default_remedy = "Create the folder, or name another one with -w."


class PathRefused(UsageError):
    """The path is outside the memory files, or not a plain Markdown file."""

    code = "path_refused"
    default_remedy = "Name a note as search results name it, such as memory/2026-02-10.md."


class SearchDisabled(MemoriterError):
    """Searching is turned off in the configuration."""

    code = "disabled"
    default_remedy = "Set memorySearch.enabled to true."


class TrustRemoved(MemoriterError):
    """The folder of the notes was trusted when it was opened, and is not trusted any more."""

    code = "trust_removed"
    default_remedy = "If you trust the folder, run `memoriter trust DIR`."


class WriteError(MemoriterError):
    """A write did not happen; the file is as it was."""

    code = "write"


class WriteConflict(WriteError):
    """The file is not the one that was read before."""

    code = "write_conflict"


class MissingPackage(MemoriterError, ImportError):
    """A package that an optional part of memoriter needs is not installed."""

    code = "missing_package"


class QmdFailure(MemoriterError):
    """The program QMD, which `memory.backend` names, gave no usable answer."""

    code = "qmd"
    default_remedy = "Search again, or set memory.backend to `builtin`."


class QmdMissing(QmdFailure):
    """The program is not installed, or cannot start."""

    code = "qmd_missing"
    default_remedy = (
        "Install QMD with `npm install -g @tobilu/qmd` (Node 22 or newer), or name its program in memory.qmd.command."
    )


class QmdTimeout(QmdFailure):
    """The program did not end in time and was killed with all its children."""

    code = "qmd_timeout"
    default_remedy = "Set memory.qmd.limits.timeoutMs higher, or memory.qmd.searchMode to `search`."


class QmdCrashed(QmdFailure):
    """The program ended with an error or by a signal."""

    code = "qmd_crashed"

    def __init__(self, message: str, *, remedy: str = "", output: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.output = output
        """The end of what the program printed."""


class QmdUnreadable(QmdFailure):
    """The program printed something other than the answer, or far too much."""

    code = "qmd_unreadable"


class QmdBusy(QmdFailure):
    """Another process holds the database of the program."""

    code = "qmd_busy"
    default_remedy = "Wait until the other process is done, then search again."


class QmdNoVectors(QmdFailure):
    """A search by meaning was asked for, and the program has no vectors or no usable model."""

    code = "qmd_no_vectors"
    default_remedy = "Set memory.qmd.searchMode to `search`, which needs no model."


class IndexUnavailable(MemoriterError):
    """The index cannot be opened, read or written now."""

    code = "index"


class IndexBusy(IndexUnavailable):
    """Another process holds the right to write the index."""

    code = "index_busy"
    default_remedy = "Wait until the other process is done; searches work meanwhile."


class IndexDamaged(IndexUnavailable):
    """The file is not a healthy index of memoriter's."""

    code = "index_damaged"
    default_remedy = "Run `memoriter index --force`."


class EmbeddingError(MemoriterError):
    """Text could not be turned into vectors."""

    code = "embedding"
    attempted: bool = True
    """False where the provider was not asked, because it refused shortly before or there was no time for it."""


class ProviderUnavailable(EmbeddingError):
    """The provider cannot start here at all."""

    code = "provider_unavailable"


class Unauthorised(EmbeddingError):
    """The service wants a key, or another one. The same call will fail until somebody acts."""

    code = "unauthorised"


class OutOfQuota(EmbeddingError):
    """The account has nothing left, for the day or at all. The same call will fail for hours, or until it is paid."""

    code = "out_of_quota"


class Throttled(EmbeddingError):
    """The service asks for fewer calls."""

    code = "throttled"
    default_remedy = "Wait a moment; missing vectors are computed later."

    def __init__(self, message: str, *, remedy: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after
        """Seconds to wait, as the service said; None when it did not."""


class TransientFailure(EmbeddingError):
    """The connection or the service failed in a way that may be over soon."""

    code = "transient"
    default_remedy = "Try again later."

    def __init__(self, message: str, *, remedy: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after
        """Seconds to wait, as the service said; None when it did not."""


class InputTooLarge(EmbeddingError):
    """A text is over the provider's limit."""

    code = "input_too_large"
    default_remedy = "Shorten that passage, or set memorySearch.chunking.tokens lower."


class InputRejected(EmbeddingError):
    """The provider refuses this text."""

    code = "input_rejected"
    default_remedy = "Change that passage, or leave its note out with .memoryignore."


class BadVector(EmbeddingError):
    """A returned vector is missing, has the wrong length, is not finite or is zero."""

    code = "bad_vector"
    default_remedy = "Try again; if it fails again, set another model in memorySearch.model."


class BadScores(EmbeddingError):
    """The scores of a reranker are too few, too many, not finite, or for passages that were not sent."""

    code = "bad_scores"
    default_remedy = "Check memorySearch.query.rerank: the model may not be a reranker."


class OverBudget(EmbeddingError):
    """The day's budget for services is spent; nothing was sent."""

    code = "over_budget"


PROVIDER_FAILURES: frozenset[str] = frozenset(
    {each.code for each in (EmbeddingError, *EmbeddingError.__subclasses__())}
)
"""Codes of the failures of embedding providers."""
