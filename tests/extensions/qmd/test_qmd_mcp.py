"""The MCP server that stays: how long it is used, and when another one takes its place."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from memoriter.errors import QmdCrashed, QmdFailure, QmdTimeout, QmdUnreadable
from memoriter.extensions.qmd.settings import QmdLimits, QmdPath

if TYPE_CHECKING:
    from memoriter.extensions.qmd.api import QmdDriver
    from qmd_programs import QmdMemory, ScriptedQmd


def opened(memory: QmdMemory, timeout_ms: int = 60_000, **settings: object) -> QmdDriver:
    driver = memory.driver(transport="mcp", limits=QmdLimits(timeout_ms=timeout_ms), **settings)
    driver.update(force=True)
    return driver


def test_one_server_answers_all_searches_of_all_threads(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = opened(memory)
    found: list[str] = []

    def search() -> None:
        found.extend(hit.path for hit in driver.search("ledger").hits)

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["MEMORY.md"] * 8
    assert qmd.commands == ["--version", "update", "mcp"]


def test_a_server_that_was_killed_is_started_again(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = opened(memory)
    driver.search("ledger")
    os.kill(qmd.calls[-1]["pid"], signal.SIGKILL)
    assert [hit.path for hit in driver.search("ledger").hits] == ["MEMORY.md"]
    assert qmd.commands.count("mcp") == 2


def test_a_server_that_crashes_on_every_search_is_started_twice_and_no_more(
    memory: QmdMemory, qmd: ScriptedQmd
) -> None:
    driver = opened(memory)
    driver.search("ledger")
    qmd.break_(mcp_query="crash")
    with pytest.raises(QmdCrashed, match="`qmd mcp` was ended by the signal SIGSEGV"):
        driver.search("ledger")
    assert qmd.commands.count("mcp") == 2


@pytest.mark.slow
def test_a_server_that_hangs_is_replaced(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = opened(memory, timeout_ms=3_000)
    qmd.break_(mcp_query="hang")
    with pytest.raises(QmdTimeout, match="`qmd mcp` did not reply in time"):
        driver.search("ledger")
    qmd.break_()
    assert [hit.path for hit in driver.search("ledger").hits] == ["MEMORY.md"]


@pytest.mark.parametrize("fault", ["flood", "chatter"])
def test_a_server_that_floods_is_stopped_before_it_takes_memory(
    memory: QmdMemory, qmd: ScriptedQmd, fault: str
) -> None:
    driver = opened(memory)
    qmd.break_(mcp_query=fault)
    with pytest.raises(QmdUnreadable, match="`qmd mcp` printed more than 8 MB and was stopped"):
        driver.search("ledger")
    qmd.break_()
    assert [hit.path for hit in driver.search("ledger").hits] == ["MEMORY.md"]


def test_a_server_that_does_not_start_is_an_error(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = opened(memory)
    qmd.break_(mcp="trace")
    with pytest.raises(QmdFailure, match="`qmd mcp` failed with the exit code 1: Error: boom while reading the index"):
        driver.search("ledger")


def test_output_that_is_no_message_is_skipped_and_no_result_is_an_error(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    program = qmd.program.read_text(encoding="utf-8")
    qmd.program.write_text(program.replace('"structuredContent": {"results": rows}', '"other": 1'), encoding="utf-8")
    with pytest.raises(QmdUnreadable, match="replied with something other than results"):
        opened(memory).search("ledger")


def test_a_folder_that_was_configured_later_is_searched(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = opened(memory, paths=(QmdPath(path="../papers", name="papers"),))
    assert driver.search("attic").hits == ()
    memory.write("../papers/cables.md", "# Cables\n\nThe blue cable leads to the attic.\n")
    assert [hit.path for hit in driver.search("attic").hits] == ["qmd/papers-main/cables.md"]
    assert qmd.commands.count("mcp") == 2


def test_closing_ends_the_server(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = opened(memory)
    driver.search("ledger")
    driver.close()
    with pytest.raises(ProcessLookupError):
        os.kill(qmd.calls[-1]["pid"], 0)
