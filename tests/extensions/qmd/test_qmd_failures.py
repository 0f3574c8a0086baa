"""What the driver reports when QMD does not do what it should, and what it leaves behind: nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoriter.errors import (
    QmdBusy,
    QmdCrashed,
    QmdFailure,
    QmdMissing,
    QmdNoVectors,
    QmdTimeout,
    QmdUnreadable,
)
from memoriter.extensions.qmd.settings import QmdLimits, QmdUpdate

if TYPE_CHECKING:
    from qmd_programs import QmdMemory, ScriptedQmd

FAULTS = {
    "garbage": (QmdUnreadable, "QMD printed something other than its results: not json."),
    "silent": (QmdUnreadable, "QMD printed no answer."),
    "trace": (QmdCrashed, "The command `qmd search` failed with the exit code 1: Error: boom while reading the index."),
    "locked": (QmdBusy, "The command `qmd search` failed, because another process holds QMD's database."),
    "crash": (QmdCrashed, "The command `qmd search` was ended by the signal SIGSEGV."),
    "flood": (QmdUnreadable, "The command `qmd search` printed more than 8 MB and was stopped."),
    "hang": (QmdTimeout, "The command `qmd search` did not end within"),
    "no model": (QmdNoVectors, "The command `qmd search` has no usable model: Error: No model file found at"),
}
PATIENT = QmdLimits(timeout_ms=60_000)
BRIEF = QmdLimits(timeout_ms=500)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.matrix(quick=6)
@pytest.mark.parametrize("fault", sorted(FAULTS, key=["flood", "hang"].__contains__))
def test_a_failure_has_a_cause_and_the_next_search_works(memory: QmdMemory, qmd: ScriptedQmd, fault: str) -> None:
    driver = memory.driver(limits=BRIEF if fault == "hang" else PATIENT)
    driver.update(force=True)
    qmd.break_(search=fault)
    with pytest.raises(QmdFailure) as raised:
        driver.search("ledger")
    kind, message = FAULTS[fault]
    assert type(raised.value) is kind
    assert raised.value.message.startswith(message)
    assert (driver.status().last_error or raised.value).message == raised.value.message

    qmd.break_()
    again = memory.driver(limits=PATIENT)
    assert [hit.path for hit in again.search("ledger").hits] == ["MEMORY.md"]
    assert driver.status().last_error is None


@pytest.mark.slow
def test_a_program_that_hangs_is_killed_with_its_children(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(limits=QmdLimits(timeout_ms=5_000))  # enough for a start on a busy machine
    driver.update(force=True)
    qmd.break_(search="hang")
    with pytest.raises(QmdTimeout, match="did not end within 5 seconds"):
        driver.search("ledger")
    deadline = time.monotonic() + 30
    while is_alive(qmd.child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(qmd.child)
    assert not is_alive(qmd.calls[-1]["pid"])


def test_a_missing_program_is_named(memory: QmdMemory) -> None:
    memory.program.unlink()
    driver = memory.driver(limits=PATIENT)
    with pytest.raises(QmdMissing, match=r"There is no program '.*/qmd', which memory\.backend") as raised:
        driver.search("ledger")
    assert "npm install -g @tobilu/qmd" in raised.value.remedy
    assert driver.status().binary == ""
    assert driver.status().last_error is not None


def test_a_program_for_an_older_node_names_the_version_that_it_needs(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    qmd.break_(**{"--version": "crash"})
    with pytest.raises(QmdCrashed) as raised:
        memory.driver(limits=PATIENT).probe()
    assert raised.value.remedy == "QMD needs Node 22 or newer; put the folder of its `node` first in PATH."


def test_a_program_without_a_version_is_used_all_the_same(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    qmd.break_(**{"--version": "silent"})
    driver = memory.driver(limits=PATIENT)
    assert driver.probe().version == ""
    assert len(driver.search("ledger").hits) == 1


def test_a_program_that_refuses_an_option_is_asked_by_the_command_query(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(limits=PATIENT)
    driver.update(force=True)
    qmd.break_(search="refuses")
    assert driver.search("ledger").mode == "query"
    assert qmd.commands[-2:] == ["search", "query"]


def test_an_older_program_that_prints_a_sentence_found_nothing(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(limits=PATIENT)
    driver.update(force=True)
    qmd.break_(search="sentence")
    assert driver.search("ledger").hits == ()


def test_a_collection_that_qmd_forgot_is_configured_again(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(limits=PATIENT)
    driver.update(force=True)
    (memory.home / "xdg-config" / "qmd" / "index.yml").write_text('{"collections": {}}', encoding="utf-8")
    assert [hit.path for hit in driver.search("ledger").hits] == ["MEMORY.md"]
    assert qmd.commands[-3:] == ["search", "update", "search"]


@pytest.mark.matrix(quick=2)
@pytest.mark.parametrize("content", ["collections: [", "- a\n- b\n", "\0", ""])
def test_a_broken_configuration_is_replaced(memory: QmdMemory, content: str) -> None:
    driver = memory.driver(limits=PATIENT)
    driver.update(force=True)
    (memory.home / "xdg-config" / "qmd" / "index.yml").write_text(content, encoding="utf-8")
    driver.update(force=True)
    assert len(driver.search("ledger").hits) == 1


@pytest.mark.matrix(quick=2)
@pytest.mark.parametrize("content", ["", "[]", '{"files": 3', '{"probed": 7}', '{"later": 1}'])
def test_a_broken_record_of_the_state_counts_as_none(memory: QmdMemory, content: str) -> None:
    driver = memory.driver(limits=PATIENT)
    driver.update(force=True)
    (memory.home / "state.json").write_text(content, encoding="utf-8")
    again = memory.driver(limits=PATIENT)
    assert again.status().last_update is None
    assert len(again.search("ledger").hits) == 1


def test_a_first_update_that_hangs_is_not_tried_by_every_search(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    qmd.break_(update="hang")
    driver = memory.driver(update=QmdUpdate(update_timeout_ms=300))
    for _ in range(2):
        with pytest.raises(QmdTimeout, match="`qmd update` did not end"):
            driver.search("ledger")
    assert qmd.commands.count("update") == 1
    memory.wait(61)
    qmd.break_()
    assert len(memory.driver(limits=PATIENT).search("ledger").hits) == 1


def test_an_answer_from_an_older_index_says_so(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(limits=PATIENT)
    driver.update(force=True)
    memory.write("memory/zoo.md", "# Zoo\n\nThe zebra is striped.\n")
    qmd.break_(update="trace")
    answer = driver.search("ledger")
    assert len(answer.hits) == 1
    assert [notice.code for notice in answer.notices] == ["qmd_crashed", "stale"]


def test_a_home_that_cannot_be_created_is_an_error_of_its_own(memory: QmdMemory) -> None:
    (memory.folder / "home").mkdir(mode=0o700)
    (memory.folder / "home" / "agents").write_text("in the way", encoding="utf-8")
    with pytest.raises(QmdFailure, match=r"QMD's home '.*' cannot be created"):
        memory.driver(limits=PATIENT).search("ledger")


def test_a_closed_driver_starts_nothing(memory: QmdMemory, qmd: ScriptedQmd) -> None:
    driver = memory.driver(limits=PATIENT)
    driver.update(force=True)
    count = len(qmd.calls)
    driver.close()
    with pytest.raises(QmdFailure, match="QMD is closed"):
        driver.search("ledger")
    assert len(qmd.calls) == count
