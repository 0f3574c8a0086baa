"""Fixtures of the tests with released clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servers.agent_model import AgentModel

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def model() -> Iterator[AgentModel]:
    with AgentModel() as model:
        yield model
