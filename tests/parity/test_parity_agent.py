"""What the original does around an agent's turns, replayed."""

from __future__ import annotations

from typing import Any

import pytest

from memoriter.agent._flush import Thresholds, flush_due


@pytest.mark.vectors("shouldRunMemoryFlush")
def test_a_flush_is_due_when_the_original_would_ask_for_one(case: Any) -> None:
    asked = case["input"]
    limits = Thresholds(asked["contextWindowTokens"], asked["reserveTokensFloor"], asked["softThresholdTokens"])
    assert flush_due(asked.get("entry") or {}, limits) is case["output"]
