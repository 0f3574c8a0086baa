"""Whatever a service replies, the caller gets vectors of the right shape or one of our errors, with a remedy."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memoriter.embed import normalise
from memoriter.embed.remote._remote import remote_names, vendor_of
from memoriter.embed.remote._wire import error_object, error_text, redact_line, retry_after_of
from memoriter.embed.remote.batch._run import _APIS
from memoriter.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable

VENDORS = remote_names()
NUMBERS = st.one_of(
    st.floats(),
    st.integers(),
    st.sampled_from([1e308, -1e308, 5e-324, 10**400, -(10**4000), True, False, "1", "\ud800", None, [], {}]),
)
SCALARS = st.one_of(NUMBERS, st.text(st.characters(codec=None), max_size=20), st.none(), st.booleans())
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=20,
)
VECTORS = st.one_of(st.lists(NUMBERS, max_size=5), st.text(max_size=12), JSON)
NAMES = ("error", "data", "embeddings", "code", "type", "param", "message", "details", "status", "detail", "reason")
WORDS = st.one_of(
    JSON,
    st.sampled_from(["PerDay", "API_KEY_INVALID", "insufficient_quota", "3210", 3210, "9" * 500 + "s", "1e9s"]),
)
ERRORS = st.recursive(
    WORDS, lambda inner: st.dictionaries(st.sampled_from([*NAMES, "violations", "retryDelay"]), inner), max_leaves=12
)
HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "retry-after-ms", "date", "content-type", "location"]),
    st.one_of(st.text(max_size=40), st.sampled_from(["9" * 5000, "Mon, 01 Jan 99999 00:00:00 GMT", "-1", "inf"])),
)
EVERYTHING = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def written(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def replies(count: int = 2) -> st.SearchStrategy[bytes]:
    """Bytes of any kind, JSON of any shape, and replies that are nearly right."""
    row = st.one_of(
        st.fixed_dictionaries({"embedding": VECTORS, "values": VECTORS}, optional={"index": st.one_of(JSON)}), VECTORS
    )
    rows = st.one_of(st.lists(row, min_size=count, max_size=count), st.lists(row, max_size=4), JSON)
    nearly = st.fixed_dictionaries({}, optional={"data": rows, "embeddings": rows, "error": ERRORS, "message": WORDS})
    return st.one_of(st.binary(max_size=200), st.one_of(nearly, JSON).map(written))


def check(error: EmbeddingError) -> None:
    assert error.message
    assert error.remedy
    error.message.encode()
    assert len(error.message) < 2_000


@pytest.mark.matrix
@pytest.mark.parametrize("vendor", VENDORS)
@given(data=st.data(), dimensions=st.sampled_from([None, 1, 3]))
@EVERYTHING
def test_a_success_of_any_shape_gives_vectors_or_our_error(vendor: str, data: st.DataObject, dimensions: Any) -> None:
    body = data.draw(replies())
    try:
        rows = vendor_of(vendor).parse_response(body, 2, dimensions, "it")
    except EmbeddingError as error:
        check(error)
        return
    assert rows.shape[0] == 2
    assert dimensions in {None, rows.shape[1]}
    vectors, usable = normalise(rows)
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors[usable].astype(np.float64), axis=1), 1.0, atol=1e-3)


@pytest.mark.matrix
@pytest.mark.parametrize("vendor", VENDORS)
@given(data=st.data(), status=st.integers(100, 999), headers=HEADERS)
@EVERYTHING
def test_a_refusal_of_any_shape_is_one_of_our_errors(
    vendor: str, data: st.DataObject, status: int, headers: dict[str, str]
) -> None:
    body = data.draw(st.one_of(ERRORS.map(written), replies()))
    error = vendor_of(vendor).error_of(status, headers, body, ("sk-planted-secret",), "it")
    assert isinstance(error, EmbeddingError)
    check(error)


@pytest.mark.matrix
@pytest.mark.parametrize("vendor", sorted(_APIS))
@given(data=st.data())
@EVERYTHING
def test_replies_about_batches_give_rows_or_our_error(vendor: str, data: st.DataObject) -> None:
    api = _APIS[vendor]
    names = ["status", "done", "metadata", "state", "response", "output", "errors", "output_file_id", "responsesFile"]
    named = st.dictionaries(st.sampled_from([*names, "inlinedResponses", "custom_id", "body", "operations"]), JSON)
    body = data.draw(st.one_of(named.map(written), replies()))
    reads: list[Callable[[], Any]] = [
        lambda: api.progress(body, "it"),
        lambda: api.rows(body),
        lambda: api.parse_job_id(body, "name", "it"),
    ]
    for read in reads:
        try:
            read()
        except EmbeddingError as error:
            check(error)


DEEP = [b"[" * 900 + b"]" * 900, b'{"error":' * 900 + b"1" + b"}" * 900, b'{"data":' * 200 + b"[]" + b"}" * 200]


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("body", DEEP, ids=["lists", "errors", "data"])
def test_what_is_nested_deeply_is_refused(vendor: str, body: bytes) -> None:
    with pytest.raises(EmbeddingError):
        vendor_of(vendor).parse_response(body, 1, None, "it")
    check(vendor_of(vendor).error_of(400, {}, body, (), "it"))
    assert isinstance(error_object(body), dict)


@given(rows=st.lists(st.lists(st.floats(), min_size=3, max_size=3), min_size=1, max_size=4))
@example(rows=[[1e308, 1e308, 1e308], [1.7e308, -1.7e308, 0.0], [5e-324, 0.0, 0.0]])
@EVERYTHING
def test_a_vector_has_unit_length_or_is_not_usable(rows: list[list[float]]) -> None:
    vectors, usable = normalise(np.array(rows))
    for row, vector, good in zip(rows, vectors, usable, strict=True):
        length = math.hypot(*map(float, vector))
        assert length == (pytest.approx(1.0, abs=1e-5) if good else 0.0)
        assert not good or all(map(math.isfinite, row))


@given(headers=HEADERS)
@EVERYTHING
def test_a_wait_is_read_or_none(headers: dict[str, str]) -> None:
    wait = retry_after_of(headers)
    assert wait is None or wait >= 0


PARTS = [
    "<",
    "<script",
    "<title>",
    "a",
    "*",
    "-",
    "exceed",
    "Bearer ",
    "Bearer\t",
    "dimension",
    "token",
    "model ",
    "\\",
]


@pytest.mark.matrix
@pytest.mark.parametrize("part", PARTS)
def test_the_time_to_read_what_a_service_says_grows_with_its_length(part: str) -> None:
    body = (part * (200_000 // len(part))).encode()
    started = time.process_time()
    assert len(error_text(body)) <= 240
    for vendor in VENDORS:
        vendor_of(vendor).error_of(400, {}, body[: 64 << 10], (), "it")
    redact_line(body.decode()[:8_000])
    assert time.process_time() - started < 3
