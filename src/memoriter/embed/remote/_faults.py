"""Convert a service's error response to one of our errors. The kind depends on what a repeated call would do. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, assert_never, cast

from memoriter.embed.remote._wire import error_text
from memoriter.errors import (
    InputRejected,
    InputTooLarge,
    OutOfQuota,
    ProviderUnavailable,
    Throttled,
    TransientFailure,
    Unauthorised,
    sentence,
)
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.errors import EmbeddingError

Kind = Literal["throttled", "quota", "unauthorised", "too_large", "rejected", "unavailable", "transient"]

_MOST_JUDGED = 4000
_TOO_LARGE = re.compile(
    r"context (?:length|size|window)|too (?:long|large|big|many (?:tokens|inputs|texts|items|requests? in))"
    r"|max(?:imum)?[ _](?:number of )?(?:allowed )?(?:input[ _])?(?:tokens|sequence length|batch size)"
    r"|exceed\w{0,9}.{0,60}(?:tokens?|length|batch)|(?:tokens?|length|batch).{0,60}exceed"
    r"|must have less than \d+ tokens"
    r"|reduce.{0,30}(?:length|input)|split into more batches|at most \d+ (?:requests|inputs|texts)"
    r"|larger than.{0,30}(?:batch|context)|batch size.{0,40}(?:limit|at most|larger|invalid|>)",
    re.IGNORECASE | re.DOTALL,
)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|credits?|funds|balance)|exceeded your current quota|quota (?:is )?exhausted"
    r"|out of credits?|no credits?|negative balance"
    r"|(?:billing|spend\w{0,9}|usage|monthly|credit) (?:hard )?(?:limit|cap)|payment required",
    re.IGNORECASE,
)
_SETTING = re.compile(
    r"\b(?:model|dimensions?|output_?dimension\w{0,9}|encoding_format|input_type|task_?type)\b"
    r".{0,60}\b(?:not|unknown|unsupported|invalid|exist\w{0,9}|unrecogni\w{1,9}|extra)\b"
    r"|\b(?:unknown|unsupported|invalid|unrecogni\w{1,9}|extra|not support\w{0,9})\b.{0,60}"
    r"\b(?:model|dimensions?|output_?dimension\w{0,9}|encoding_format|input_type|parameter|field|argument)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """A response that is not a success."""

    who: str
    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    secrets: Sequence[str] = field(default=(), repr=False)

    @property
    def words(self) -> str:
        """The service's own message, safe to show."""
        return error_text(self.body, secrets=self.secrets)

    @property
    def whole(self) -> str:
        """The message with a higher length limit, for classification."""
        return error_text(self.body, most=_MOST_JUDGED)


def classify(status: int, words: str) -> Kind:
    """Return the kind of error that most services mean by a status and a message."""
    if status in {400, 413, 422, 500} and _TOO_LARGE.search(words):
        return "too_large"
    if status == 402 or (status in {400, 403, 429} and _QUOTA.search(words)):
        return "quota"
    if status in {401, 403, 407}:
        return "unauthorised"
    if status == 429:
        return "throttled"
    if status == 413:
        return "too_large"
    if status in {400, 422}:
        return "unavailable" if _SETTING.search(words) else "rejected"
    if status in {408, 409, 425} or (status >= 500 and status not in {501, 505}):
        return "transient"
    return "unavailable"


def to_exception(
    refusal: ErrorResponse, kind: Kind, *, remedy: str = "", retry_after: float | None = None
) -> EmbeddingError:
    """Return the error. Its message gives the service, the status and the service's own message."""
    message = f"{refusal.who} answered {refusal.status}: {sentence(refusal.words or 'nothing')}"
    wait = retry_after if retry_after is not None else retry_after_of(refusal.headers)
    match kind:
        case "throttled":
            return Throttled(
                message, remedy=remedy or "Wait a moment; what is missing is fetched later.", retry_after=wait
            )
        case "transient":
            return TransientFailure(message, remedy=remedy or "Try again later.", retry_after=wait)
        case "quota":
            return OutOfQuota(message, remedy=remedy or f"Look at plan and billing of your account at {refusal.who}.")
        case "unauthorised":
            return Unauthorised(
                message, remedy=remedy or f"Check the key for {refusal.who} and what it may be used for."
            )
        case "too_large":
            return InputTooLarge(message, remedy=remedy or "Set memorySearch.chunking.tokens lower.")
        case "rejected":
            return InputRejected(message, remedy=remedy)
        case "unavailable":
            return ProviderUnavailable(message, remedy=remedy or "Check memorySearch.model and remote.baseUrl.")
        case _:
            assert_never(kind)


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from `retry-after-ms`, or from `retry-after` in seconds or as a date.

    None if there is no valid value. A date is compared with the response's own `date`, so that our clock does not
    matter.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        now = parsedate_to_datetime(headers.get("date", ""))
        return max((parsedate_to_datetime(value) - now).total_seconds(), 0.0)
    except (LookupError, OverflowError, TypeError, ValueError):
        return None


def _number(text: str | None) -> float | None:
    if text is None or not re.fullmatch(r"[ \t]*[0-9]{1,9}(?:\.[0-9]{1,9})?[ \t]*", text):
        return None
    return float(text)


def error_object(body: bytes) -> dict[str, Any]:
    """Return the `error` of a JSON response as an object, or an empty one."""
    import json

    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, list):  # some gateways wrap the error in a list
        value = next(iter(cast("list[Any]", value)), None)
    error = cast("dict[str, Any]", value).get("error", cast("Any", value)) if isinstance(value, dict) else None
    return cast("dict[str, Any]", error) if isinstance(error, dict) else {}
