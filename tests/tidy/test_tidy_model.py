"""`memory.tidy`: a language model compares statements in other words, and only lines of the notes are proposed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import json5
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoriter import Memory
from memoriter.app import Environment, assemble
from memoriter.errors import ConfigError
from memory_env import MemoryEnv
from servers import KEY, ChatServer, half_written, html_page, refused, reset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.tidy import TidyReport

DAY = "memory/2026-02-10.md"
STRANGER = "- Ben eats peanuts. <!-- from: phone via HTTP, 2026-02-10 -->\n"
NOTES = {
    "MEMORY.md": (
        "# Memory\n\n- Ben is allergic to peanuts.\n"
        "- The office rents for 400 euros. <!-- from: agent, 2026-01-02 -->\n- The bins go out on Mondays.\n"
    ),
    DAY: (
        "# 2026-02-10\n\n- Ben can't eat peanuts.\n- The office rent rose to 450 euros.\n"
        f"- The bins go out on Mondays.\n{STRANGER}"
    ),
}


def verdict(one: str, other: str) -> str:
    """What a good model says."""
    if "Ben" in one and "Ben" in other:
        return "same"
    return "newer_replaces" if "office" in one and "office" in other else "different"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        running.judge = verdict
        yield running


def configure(env: MemoryEnv, server: ChatServer, **more: Any) -> None:
    tidy = {"model": "gpt-x", "baseUrl": server.base_url, "apiKey": KEY, **more}
    search = {"defaults": {"memorySearch": {"provider": "fake"}}}
    env.config.write_text(json5.dumps({"agents": search, "memory": {"tidy": tidy}}), encoding="utf-8")


@pytest.fixture
def env(tmp_path: Path, server: ChatServer) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, NOTES)
    configure(env, server)
    yield env
    env.close()


def contents(env: MemoryEnv) -> dict[str, bytes]:
    return {path: (env.notes / path).read_bytes() for path in NOTES}


def shown(report: TidyReport) -> list[tuple[str, str, list[str]]]:
    return [(each.kind, each.reason, [gone.citation for gone in each.removed]) for each in report.proposals]


BY_RULES = ("merge", "It is said 2 times; MEMORY.md#L5 stays.", [f"{DAY}#L5"])
SAME = ("merge", "gpt-x says that they mean the same; MEMORY.md#L3 stays.", [f"{DAY}#L3"])
REPLACED = ("outdated", f"gpt-x says that {DAY}#L4 replaces it since 2026-02-10.", ["MEMORY.md#L4", f"{DAY}#L4"])


def test_statements_in_other_words_are_proposed_with_the_name_of_the_model(env: MemoryEnv) -> None:
    before = contents(env)
    memory = env.open()
    report = memory.tidy()

    assert shown(report)[0] == BY_RULES
    assert sorted(shown(report)[1:]) == [SAME, REPLACED]
    assert report.reasons == ()
    assert contents(env) == before
    for proposal in report.proposals:
        memory.accept_proposal(proposal)
    assert (env.notes / "MEMORY.md").read_text(encoding="utf-8") == (
        "# Memory\n\n- Ben is allergic to peanuts.\n- The office rent rose to 450 euros.\n"
        "- The bins go out on Mondays.\n"
    )
    assert (env.notes / DAY).read_text(encoding="utf-8") == f"# 2026-02-10\n\n{STRANGER}"


def test_only_near_statements_of_the_owner_are_sent_once_without_secrets(env: MemoryEnv, server: ChatServer) -> None:
    env.write("memory/2026-02-11.md", f"- Ben eats no peanuts, his token is {KEY}.\n- It snowed all day long.\n")
    memory = env.open()
    memory.tidy()

    sent = {text for pair in server.pairs for text in pair}
    assert {"Ben is allergic to peanuts.", "Ben can't eat peanuts."} <= sent
    assert "Ben eats no peanuts, his token is ***." in sent
    assert not sent & {"Ben eats peanuts.", "It snowed all day long.", "The bins go out on Mondays."}
    assert len(set(map(frozenset, server.pairs))) == len(server.pairs)
    assert all(KEY not in call.body.decode() for call in server.calls)


@pytest.mark.slow
def test_pairs_go_in_messages_of_25_and_300_at_most(env: MemoryEnv, server: ChatServer) -> None:
    env.write("MEMORY.md", "".join(f"- Shelf {name} holds the winter coats.\n" for name in map(chr, range(65, 91))))
    env.open().tidy()

    assert [len(server.pairs_of(call)) for call in server.calls] == [25] * 12


def test_what_was_refused_is_not_sent_again(env: MemoryEnv, server: ChatServer) -> None:
    env.write("memory/2026-02-11.md", "- The bins go out on Mondays.\n")
    memory = env.open()
    for proposal in memory.tidy().proposals:
        memory.refuse_proposal(proposal)
    server.calls.clear()

    assert memory.tidy().proposals == ()
    assert ("Ben is allergic to peanuts.", "Ben can't eat peanuts.") not in server.pairs
    assert not any("bins" in one and "bins" in other for one, other in server.pairs)


def test_a_model_is_not_asked_again_about_what_it_said_differs(env: MemoryEnv, server: ChatServer) -> None:
    shelves = "".join(f"- The shelf {name} holds the winter coats.\n" for name in ("Oak", "Elm", "Ash"))
    env.write("MEMORY.md", NOTES["MEMORY.md"] + shelves)
    memory = env.open()
    first = memory.tidy().proposals
    assert any("shelf" in one and "shelf" in other for one, other in server.pairs)
    server.calls.clear()

    assert memory.tidy().proposals == first
    assert server.pairs
    assert all(verdict(one, other) != "different" for one, other in server.pairs)

    server.calls.clear()
    configure(env, server, model="gpt-y")
    env.open().tidy()
    assert any("shelf" in one and "shelf" in other for one, other in server.pairs)


def test_a_pair_that_an_answer_leaves_out_is_asked_about_again(env: MemoryEnv, server: ChatServer) -> None:
    memory = env.open()
    server.said = '{"99": "different", "1": "different"}'
    memory.tidy()
    asked = server.pairs
    assert len(asked) > 1
    server.calls.clear()
    memory.tidy()
    assert server.pairs == asked[1:]


@pytest.mark.parametrize(
    ("memory_line", "day_line"),
    [
        ("- The office rents for 400 euros.\n", "- The office rent rose to 450 euros.\n"),  # from when is not known
        ("# Graz\n\n- The office rents for 400 euros.\n", "# Linz\n\n- The office rent rose to 450 euros.\n"),
    ],
)
def test_what_has_another_subject_or_no_known_day_is_not_replaced(
    env: MemoryEnv, memory_line: str, day_line: str
) -> None:
    env.write("MEMORY.md", memory_line)
    env.write(DAY, day_line)
    assert env.open().tidy().proposals == ()


@pytest.mark.matrix(quick=2)
@pytest.mark.parametrize("fault", ["No idea.", "key", "{}", "quota", html_page(), html_page(502), reset, half_written])
def test_without_a_usable_answer_the_rules_propose_and_a_reason_is_given(
    env: MemoryEnv, server: ChatServer, fault: Any
) -> None:
    known = {"quota": refused(server.quota()), "key": refused(server.wrong_key())}
    if isinstance(fault, str) and fault not in known:
        server.said = fault
    else:
        server.always = known.get(fault, fault)
    report = env.open().tidy()

    assert shown(report) == [BY_RULES]
    (reason,) = report.reasons
    assert reason.code == "not_compared"
    assert reason.message.startswith("The model 'gpt-x' did not compare all statements in other words. ")
    assert KEY not in reason.message + reason.remedy
    assert "memorySearch.provider" not in reason.remedy


@pytest.mark.parametrize(
    ("tidy", "said"),
    [
        ({"baseUrl": ""}, "memory.tidy.baseUrl is not the address of a service"),
        ({"baseUrl": "ftp://models.example"}, "memory.tidy.baseUrl is not the address of a service"),
        ({"apiKey": "${NOT_SET}"}, "NOT_SET"),
        ({"apiKey": "two\nlines"}, "characters that no key has"),
    ],
)
def test_wrong_settings_are_reported_and_nothing_is_sent(
    env: MemoryEnv, server: ChatServer, tidy: dict[str, str], said: str
) -> None:
    configure(env, server, **tidy)
    report = env.open().tidy()

    assert shown(report) == [BY_RULES]
    assert said in report.reasons[0].message
    assert server.calls == []


def test_answers_with_thoughts_and_fences_are_read_and_whatever_else_they_say_is_ignored(
    env: MemoryEnv, server: ChatServer
) -> None:
    env.write("MEMORY.md", "- Ben is allergic to peanuts.\n")
    server.said = (
        '<think>{"1": "different"}?</think>\n```json\n{"1": "same", "2": "same", "99": "same", "x": 7}\n```\nDone.'
    )
    assert [each.removed[0].text for each in env.open().tidy().proposals] == ["Ben can't eat peanuts."]


_VERDICTS = st.sampled_from(["same", "newer_replaces", "different", "SAME", "", None, 1, ["same"], {"same": 1}])
ANSWERS = st.text(max_size=60) | st.dictionaries(
    st.integers(-1, 30).map(str) | st.text(max_size=3), _VERDICTS, max_size=30
).map(json.dumps)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANSWERS)
def test_whatever_the_model_answers_notes_stay_and_only_their_lines_are_proposed(
    env: MemoryEnv, server: ChatServer, answer: str
) -> None:
    before = contents(env)
    server.said = answer
    report = (env.opened[-1] if env.opened else env.open()).tidy()

    assert contents(env) == before
    lines = {(path, line) for path, text in before.items() for line in text.decode().split("\n")}
    texts = {line.removeprefix("- ").partition(" <!--")[0] for _, line in lines}
    gone = [each for proposal in report.proposals for each in proposal.removed]
    assert len({each.citation for each in gone}) == len(gone)
    assert all((each.path, line) in lines for each in gone for line in each.lines)
    assert all(proposal.text in texts for proposal in report.proposals)
    assert STRANGER not in {f"{each.lines[0]}\n" for each in gone}


# where statements go


def test_nothing_is_sent_before_a_person_saw_the_notice(
    env: MemoryEnv, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoriter.embed.remote.is_loopback", lambda _: False)

    def opened(*, attended: bool) -> Memory:
        around = Environment({}, env.home, env.notes, lambda: env.seconds, lambda: env.ticks)
        env.opened.append(Memory(assemble(env.notes, env=around, attended=attended, config=env.config)))
        return env.opened[-1]

    report = opened(attended=False).tidy()
    assert f"Nothing is sent to gpt-x at {server.base_url}" in report.reasons[0].message
    assert server.calls == []
    person = opened(attended=True)
    assert person.egress_notice() is None
    notice = f"gpt-x at {server.base_url} (memory.tidy.apiKey) to compare statements"
    assert (person.egress_notice(tidy=True), person.egress_notice(tidy=True)) == (notice, None)
    assert len(opened(attended=False).tidy().proposals) == 3
    plan = person.plan_forget("MEMORY.md#L3")
    assert [each.code for each in plan.unreached if "gpt-x" in each.message] == ["sent"]


def test_offline_sends_nothing_to_another_machine(env: MemoryEnv) -> None:
    search = {"defaults": {"memorySearch": {"provider": "fake", "offline": True}}}
    tidy = {"model": "gpt-x", "baseUrl": "http://models.example/v1"}
    env.config.write_text(json5.dumps({"agents": search, "memory": {"tidy": tidy}}), encoding="utf-8")
    memory = env.open()

    assert "The setting offline is on, so nothing is sent to models.example." in memory.tidy().reasons[0].message
    assert memory.egress_notice(tidy=True) is None


def test_a_file_that_comes_with_a_folder_names_no_model(env: MemoryEnv, server: ChatServer) -> None:
    env.config.unlink()
    env.write(".memoriter.json5", json.dumps({"memory": {"tidy": {"model": "gpt-x", "baseUrl": server.base_url}}}))
    with pytest.raises(ConfigError, match=r"memory.tidy.model may not be set by"):
        env.open()


@pytest.mark.slow
def test_the_command_tells_where_statements_go_and_why_they_were_not_compared(
    env: MemoryEnv, server: ChatServer
) -> None:
    far = "import memoriter.embed.remote as remote; remote.is_loopback = lambda _: False"
    first = env.run("tidy", before=far)
    assert (
        f"Note text will be sent to gpt-x at {server.base_url} (memory.tidy.apiKey) to compare statements." in first.err
    )
    assert 'To stay on this machine, set memory.tidy.model to "" (memoriter config path).' in first.err
    assert "Asking gpt-x about statements in other words." in first.err
    assert "gpt-x says that they mean the same; MEMORY.md#L3 stays." in first.out
    assert "Decide with `memoriter review --tidy`." in first.err
    server.said = "No idea."
    again = env.run("tidy", "--json", before=far)
    assert "Note text will be sent" not in again.err
    assert [each["code"] for each in again.json["reasons"]] == ["not_compared"]
    assert [each["kind"] for each in again.json["proposals"]] == ["merge"]
    shown = " ".join(env.run("tidy").err.split())
    assert "It answered without the JSON object that it was asked for." in shown
