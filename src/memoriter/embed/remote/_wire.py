"""Build requests, and parse responses and errors. All functions are pure and the same for every service."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING, Any, Literal, assert_never, cast

from memoriter.errors import (
    BadVector,
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

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.errors import EmbeddingError

JSON_TYPE = "application/json"
MOST_SHOWN = 240
"""Characters of a service's message to show: enough for a sentence, too few for a note that it repeats."""
_MAX_DEPTH = 8
"""Maximum depth in a response at which a message is looked for."""
_MOST_SEARCHED = 8_000
"""Characters of a response in which a message is looked for."""
_MASK = "***"
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|pa|al|gsk|xai|hf|rk|or)[-_][\w*.-]{6,}|\bAIza[\w*-]{6,}|\bBearer\s+[^\s\"',]+|(?<![\w*-])[\w-]*+\*{3,}[\w*-]*"
)
_MARKUP = re.compile(r"<(script|style)\b.{0,2000}?</\1\s{0,9}>|<[^<>]*>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<title[^<>]*>(.{0,1000}?)</title", re.IGNORECASE | re.DOTALL)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\s]+")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_USAGE = re.compile(rb'"(?:total_tokens|totalTokenCount|promptTokenCount|prompt_eval_count)"\s*:\s*(\d{1,12})')
_USAGE_BYTES = 1000
_NOTHING = "."
"""Sent for a text without a character to embed, since several services refuse an empty one."""
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
class Request:
    """One HTTP request. The headers hold the key and the body holds the notes, so neither is ever shown."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    method: Literal["DELETE", "GET", "POST"] = "POST"


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response; header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def sanitize(text: str) -> str:
    """Return the text in a form that every service accepts: no control characters, no lone surrogates, not empty."""
    text = _CONTROL_CHARACTERS.sub(" ", text)
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text if text.strip().strip("\u200b\ufeff") else _NOTHING


def json_body(value: object) -> bytes:
    """Return a value as compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def json_post(url: str, headers: Mapping[str, str], value: object) -> Request:
    """Return a POST request with a JSON body."""
    return Request(url, {"content-type": JSON_TYPE, "accept": JSON_TYPE, **headers}, json_body(value))


def json_object(body: bytes, service: str) -> dict[str, Any]:
    """Return the JSON object in a response body.

    Raises TransientFailure: the body is something else, such as a proxy's page or an incomplete response.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise TransientFailure(
            f"{service} answered with something that is not JSON: {error_text(body)!r}.",
            remedy="Try again; if it fails again, check the address in remote.baseUrl.",
        ) from error
    if not isinstance(value, dict):
        raise TransientFailure(f"{service} answered with a JSON {type(value).__name__} instead of an object.")
    return cast("dict[str, Any]", value)


def listed(answer: Mapping[str, Any], name: str, service: str) -> list[Any]:
    """Return the list `name` of a response. Raises BadVector: the response has no such list."""
    value = answer.get(name)
    if not isinstance(value, list):
        raise BadVector(
            f"{service} answered without the list {name!r}: {error_value_text(answer)!r}.",
            remedy="Check remote.baseUrl and the model's name: this may not be an embedding service.",
        )
    return cast("list[Any]", value)


def ordered(items: Sequence[Any], count: int, service: str) -> list[Any]:
    """Return the `embedding` of each item, sorted by the item's `index`; items without `index` keep their position.

    Raises BadVector: the items do not match the texts one to one.
    """
    if len(items) != count or not all(isinstance(item, dict) for item in items):
        raise BadVector(f"{service} gave {len(items)} vectors for {count} texts.")
    rows = cast("Sequence[dict[str, Any]]", items)
    positions = [row.get("index", position) for position, row in enumerate(rows)]
    if sorted(positions, key=str) != sorted(range(count), key=str):
        raise BadVector(f"{service} numbered its {count} vectors wrongly: some index is missing or there twice.")
    return [row.get("embedding") for _, row in sorted(zip(positions, rows, strict=True), key=lambda pair: pair[0])]


def matrix(rows: Sequence[Any], *, count: int, dimensions: int | None, service: str) -> NDArray[np.float64]:
    """Return vectors of shape (count, dimensions), not normalised. Missing vectors and missing numbers become NaN.

    A row is a list of numbers or the base64 of little-endian 32-bit floats. Raises BadVector: the number of vectors or
    of dimensions is wrong, or the dimensions cannot be determined.
    """
    import numpy as np

    if len(rows) != count:
        raise BadVector(f"{service} gave {len(rows)} vectors for {count} texts.")
    vectors = [_vector(row, service) for row in rows]
    widths = sorted({len(vector) for vector in vectors if vector is not None})
    if len(widths) > 1:
        raise BadVector(f"{service} gave vectors of different dimensions at once: {widths}.")
    if widths and dimensions is not None and widths != [dimensions]:
        raise BadVector(
            f"{service} gave vectors of {widths[0]} dimensions instead of {dimensions}.",
            remedy="The model behind this name has changed: set another model, or rebuild the index.",
        )
    width = widths[0] if widths else dimensions
    if width is None:
        raise BadVector(f"{service} gave no vector for any of {count} texts.")
    filled = np.full((count, width), np.nan)
    for target, vector in zip(filled, vectors, strict=True):
        if vector is not None:
            target[:] = vector
    return filled


def _vector(row: Any, service: str) -> NDArray[np.float64] | None:
    """Return one row as a vector, or None if it is missing or empty."""
    import numpy as np

    if row is None or row in ([], ""):
        return None
    try:
        if isinstance(row, str):
            return np.frombuffer(base64.b64decode(row, validate=True), "<f4").astype(np.float64)
        numbers = cast("list[Any]", row)
        return np.array([np.nan if number is None else _number(number) for number in numbers], np.float64)
    except (TypeError, ValueError, OverflowError, binascii.Error) as error:
        raise BadVector(f"{service} gave something that is not a vector: {error_value_text(row)!r}.") from error


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    return float(value)


def error_text(body: bytes, *, secrets: Sequence[str] = (), most: int = MOST_SHOWN) -> str:
    """Return a service's error message as one short line that is safe to show: no markup, control characters, keys."""
    text = body[:_MOST_SEARCHED].decode("utf-8", "replace")
    try:
        message = _message(json.loads(body))
    except (ValueError, RecursionError):
        import html

        title = _TITLE.search(text)
        message = html.unescape(_MARKUP.sub(" ", title[1] if title else text))
    return redact_line(message or text, secrets=secrets, most=most)


def error_value_text(value: object) -> str:
    """Return part of a response as text, formatted as `error_text` does."""
    try:
        return error_text(json_body(value))
    except (RecursionError, TypeError, ValueError):
        return f"a JSON {type(value).__name__}"


def word_of(value: Any) -> str:
    """Return a string or number of a response as text, or an empty string for anything else."""
    return str(value) if isinstance(value, str | int | float) else ""


def tokens_in(body: bytes) -> int | None:
    """Return the tokens that a service reports at the beginning or the end of a response, or None."""
    match = _USAGE.search(body[:_USAGE_BYTES]) or _USAGE.search(body[-_USAGE_BYTES:])
    return int(match[1]) if match else None


def redact_line(text: str, *, secrets: Sequence[str] = (), most: int = MOST_SHOWN) -> str:
    """Return one short line without anything that looks like a key, or like one of the secrets or its beginning."""
    text = text.encode("utf-8", "replace").decode()  # JSON can hold lone surrogates, which cannot be printed
    text = _UNPRINTABLE.sub(" ", _KEY_LIKE.sub(_MASK, redact(text, secrets))).strip()
    return text if len(text) <= most else text[: most - 1] + "…"


def redact(text: str, secrets: Sequence[str]) -> str:
    """Return the text without the secrets and without words that begin like one of them."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, _MASK)
        if len(secret) >= 12:
            text = re.sub(re.escape(secret[:8]) + r"\S*", _MASK, text)
    return text


def _message(value: Any, depth: int = _MAX_DEPTH) -> str:
    """Return the message in an error object of any usual shape, or an empty string."""
    if isinstance(value, str):
        return value
    if depth == 0:
        return ""
    if isinstance(value, list):
        parts = cast("list[Any]", value)[:3]
        return "; ".join(filter(None, (_message(part, depth - 1) for part in parts)))
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        names = ("error", "message", "detail", "msg")
        return next(filter(None, (_message(fields.get(name), depth - 1) for name in names)), "")
    return ""


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """A response that is not a success."""

    service: str
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
    message = f"{refusal.service} answered {refusal.status}: {sentence(refusal.words or 'nothing')}"
    wait = retry_after if retry_after is not None else retry_after_of(refusal.headers)
    match kind:
        case "throttled":
            return Throttled(
                message, remedy=remedy or "Wait a moment; missing vectors are computed later.", retry_after=wait
            )
        case "transient":
            return TransientFailure(message, remedy=remedy or "Try again later.", retry_after=wait)
        case "quota":
            return OutOfQuota(
                message, remedy=remedy or f"Look at plan and billing of your account at {refusal.service}."
            )
        case "unauthorised":
            return Unauthorised(
                message, remedy=remedy or f"Check the key for {refusal.service} and what it may be used for."
            )
        case "too_large":
            return InputTooLarge(message, remedy=remedy or "Set memorySearch.chunking.tokens lower.")
        case "rejected":
            return InputRejected(message, remedy=remedy)
        case "unavailable":
            return ProviderUnavailable(message, remedy=remedy or "Check memorySearch.model and remote.baseUrl.")
        case _:
            assert_never(kind)


def usual_error(refusal: ErrorResponse) -> EmbeddingError:
    """Return the error that most services mean by a status and a message."""
    return to_exception(refusal, classify(refusal.status, refusal.whole))


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from `retry-after-ms`, or from `retry-after` in seconds or as a date.

    None if there is no valid value. A date is compared with the response's own `date`, so that our clock does not
    matter.
    """
    milliseconds = _seconds_in(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _seconds_in(value)
    if seconds is not None or value is None:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        now = parsedate_to_datetime(headers.get("date", ""))
        return max((parsedate_to_datetime(value) - now).total_seconds(), 0.0)
    except (LookupError, OverflowError, TypeError, ValueError):
        return None


def _seconds_in(text: str | None) -> float | None:
    if text is None or not re.fullmatch(r"[ \t]*[0-9]{1,9}(?:\.[0-9]{1,9})?[ \t]*", text):
        return None
    return float(text)


def error_object(body: bytes) -> dict[str, Any]:
    """Return the `error` of a JSON response as an object, or an empty one."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, list):  # some gateways wrap the error in a list
        value = next(iter(cast("list[Any]", value)), None)
    error = cast("dict[str, Any]", value).get("error", cast("Any", value)) if isinstance(value, dict) else None
    return cast("dict[str, Any]", error) if isinstance(error, dict) else {}
