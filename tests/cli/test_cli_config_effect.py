"""Settings without effect are reported wherever the owner looks, and searches go on working."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Program

CODE = "settings_without_effect"
QMD = 'memory: {backend: "qmd", qmd: {command: "no-such-qmd", mcporter: {enabled: true, serverName: "x"}}}'
QMD_MESSAGE = (
    "memory.qmd.mcporter.enabled, memory.qmd.mcporter.serverName: no effect, "
    "because QMD is started without mcporter, as `memory.qmd.transport` says."
)
LONG_TERM = "plugins: {entries: {'memory-lancedb': {config: {autoCapture: true}}}}"


def configure(program: Program, text: str) -> None:
    provider = 'agents: {defaults: {memorySearch: {provider: "fake"}}}'
    (program.home / "memoriter.json5").write_text(f"{{{provider}, {text}}}", encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (QMD, [QMD_MESSAGE]),
        (LONG_TERM, []),
        (f"{QMD}, {LONG_TERM}", [QMD_MESSAGE]),
        ("memory: {backend: 'builtin', qmd: {limits: {maxInjectedChars: 900}}}", []),
        ("memory: {citations: 'on'}, plugins: {slots: {memory: 'memory-core'}}", []),
    ],
)
def test_settings_without_effect_are_reported_by_status_doctor_and_config_check(
    program: Program, text: str, messages: list[str]
) -> None:
    configure(program, text)
    program("index")
    status, doctor, check = (program(*words, "--json") for words in (("status",), ("doctor",), ("config", "check")))
    assert [notice["message"] for notice in status.json[0].get("notices", [])] == messages
    findings = [finding for finding in doctor.json["findings"] if finding["check"] == CODE]
    assert [(finding["state"], finding["message"]) for finding in findings] == [("note", each) for each in messages]
    assert [(warning["code"], warning["message"]) for warning in check.json["warnings"] if warning["code"] == CODE] == [
        (CODE, message) for message in messages
    ]
    for words in (("status",), ("config", "check")):
        outcome = program(*words)
        assert outcome.exit_code == 0
        told = [line[2:] for line in outcome.err.splitlines() if line.startswith("! ")]
        assert [line for line in told if "no effect" in line] == messages


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ({"sources": ["memory", "sessions"]}, 'memorySearch.sources ("sessions"): no effect, because'),
        ({"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}, ""),
        ({"sync": {"watch": False, "intervalMinutes": 5}}, "memorySearch.sync.intervalMinutes: no effect, because"),
        ({"sync": {"watch": True, "intervalMinutes": 5}}, ""),
        ({"sync": {"watch": False}}, ""),
    ],
)
def test_what_another_setting_keeps_from_acting_is_reported(
    program: Program, search: dict[str, Any], told: str
) -> None:
    settings = {"agents": {"defaults": {"memorySearch": {"provider": "none", **search}}}}
    (program.home / "memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")
    for words in (("config", "check"), ("status",)):
        outcome = program(*words)
        assert outcome.exit_code == 0
        assert told in outcome.err
        assert ("no effect" in outcome.err) is bool(told)


def test_the_list_of_settings_marks_those_without_effect(program: Program) -> None:
    configure(program, QMD)
    lines = program("config", "show", "memory.").out.splitlines()
    marked = {line.split(" = ")[0] for line in lines if line.endswith("; no effect)")}
    assert marked == {"memory.qmd.mcporter.enabled", "memory.qmd.mcporter.serverName"}


def test_the_doctor_names_a_plugin_of_the_memory_slot_that_is_not_installed(program: Program) -> None:
    configure(program, 'plugins: {slots: {memory: "memory-cloud"}}')
    doctor = program("doctor", "--json")
    (finding,) = [finding for finding in doctor.json["findings"] if finding["check"] == "plugins"]
    assert (doctor.exit_code, finding["state"]) == (1, "broken")
    assert finding["message"].startswith("The setting plugins.slots.memory names 'memory-cloud', which is not")
