"""What the original's long-term memory stores, and in which category, replayed."""

from __future__ import annotations

from typing import Any

import pytest

from memoriter.statements import classic_capture, classic_category


@pytest.mark.vectors("shouldCapture")
def test_a_message_is_captured_where_the_original_captures_it(case: Any) -> None:
    given = case["input"]
    text, most = (given, 500) if isinstance(given, str) else (given["text"], given["maxChars"])
    assert classic_capture(text, most=most) is case["output"]


@pytest.mark.vectors("detectCategory")
def test_a_message_has_the_category_of_the_original(case: Any) -> None:
    assert classic_category(case["input"]) == case["output"]
