"""The page Search, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser import Tab

pytestmark = pytest.mark.slow


def test_hits_appear_while_someone_types(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search")
    tab.page.keyboard.type("which database for the ledger")
    tab.expect_text("#results", "PostgreSQL")
    assert "q=which+database" in tab.page.url


def test_a_search_works_without_scripts(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search", java_script_enabled=False)
    tab.page.fill("#question", "which database for the ledger")
    tab.page.keyboard.press("Enter")
    tab.expect_text("#results", "PostgreSQL")
