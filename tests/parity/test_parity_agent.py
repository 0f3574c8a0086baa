"""What the original does around an agent's turns, replayed."""

from __future__ import annotations

from typing import Any

import pytest

from memoriter.agent import escape_for_prompt, looks_like_injection
from memoriter.agent.flush._decision import Thresholds, flush_due


@pytest.mark.vectors("shouldRunMemoryFlush")
def test_a_flush_is_due_when_the_original_would_ask_for_one(case: Any) -> None:
    parameters = case["input"]
    limits = Thresholds(
        parameters["contextWindowTokens"], parameters["reserveTokensFloor"], parameters["softThresholdTokens"]
    )
    assert flush_due(parameters.get("entry") or {}, limits) is case["output"]


@pytest.mark.vectors("escapeMemoryForPrompt")
def test_a_memory_is_escaped_as_in_the_original(case: Any) -> None:
    assert escape_for_prompt(case["input"]) == case["output"]


@pytest.mark.vectors("looksLikePromptInjection")
def test_a_text_looks_like_an_injection_where_it_does_to_the_original(case: Any) -> None:
    assert looks_like_injection(case["input"]) is case["output"]
