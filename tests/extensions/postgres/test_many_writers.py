"""Eight processes of a team on one memory, killed again and again, and a server that starts anew among them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest

import soak
from breakable_postgres import new_server
from servers.compatible import CompatibleServer
from team_writers import ROLES, Team

if TYPE_CHECKING:
    from collections.abc import Iterator

    from breakable_postgres import BreakableServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

KILLS = 50
"""They take about two minutes, so that CI does all of them, too."""
SECONDS_BETWEEN = 1.5
SERVER_IS_GONE = ("does not answer", "did not answer", "refused a statement")


@dataclass
class Outcome:
    """What became of the team's memory."""

    team: Team
    killed: Counter[str] = field(default_factory=Counter)
    in_flight: list[str] = field(default_factory=list)
    """Passages that a process was waiting for, or had got and not yet kept, when it or the server ended."""
    words: list[str] = field(default_factory=list)
    """One of each note that was written meanwhile."""
    sent: Counter[str] = field(default_factory=Counter)
    """How often each passage was sent to be embedded, until everything was."""


def change(team: Team, draw: Random, outcome: Outcome) -> None:
    """Write notes that nobody has embedded yet."""
    for _ in range(3):
        word = f"fresh{draw.randrange(10**12)}"
        place = team.notes / "memory" / "fresh" / f"{word}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"# Note\n\nThe word of this note is {word}.\n", encoding="utf-8")
        outcome.words.append(word)


def run(team: Team, server: BreakableServer) -> Outcome:
    draw = Random(7)
    outcome = Outcome(team)
    with team.place(0).memory() as memory:
        memory.sync()
    for member in range(len(ROLES)):
        team.start(member, member)
    for kill in range(KILLS):
        change(team, draw, outcome)
        time.sleep(SECONDS_BETWEEN)
        if kill == KILLS // 2:
            before = len(team.service.calls)
            ended = team.lines("done")
            server.restart()
            calls = list(team.service.calls)
            outcome.in_flight += team.in_flight(calls[:before], ended) + team.in_flight(calls[before:], ended)
        member = draw.choice(range(3, len(ROLES)))
        team.kill(member)
        outcome.killed[ROLES[member]] += 1
        team.start(member, 100 + kill)
    for _ in range(300):  # each of them has done something since the last kill
        if {*team.lines("role")} == {*ROLES}:
            break
        time.sleep(0.1)
    team.end()
    outcome.in_flight += team.in_flight(list(team.service.calls))
    with team.place(0).memory() as memory:
        memory.sync()
    outcome.sent = Counter(team.service.documents)
    return outcome


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    server = new_server()
    folder = tmp_path_factory.mktemp("team")
    place = {"dsn": server.dsn(), "workspace": "team"}
    try:
        with CompatibleServer() as service:
            team = Team(folder, {"driver": "postgres", "postgres": place}, service)
            team.notes.mkdir()
            for number in range(soak.STEADY):
                team.place(0).write(
                    f"memory/steady/{number:02}.md", f"# Steady {number}\n\nsteadfast word{number}steady\n"
                )
            try:
                yield run(team, server)
            finally:
                team.end()
    finally:
        server.remove()


@pytest.mark.soak
def test_no_process_of_a_team_gets_a_torn_answer_or_an_error_but_of_the_restart(outcome: Outcome) -> None:
    team = outcome.team
    print(outcome.killed, Counter(team.lines("role")), f"{len(team.lines('error'))} errors")  # noqa: T201
    assert outcome.killed.total() == KILLS
    assert team.lines("torn") == []
    assert [error for error in team.lines("error") if not any(part in error for part in SERVER_IS_GONE)] == []
    assert "Traceback" not in team.crashes()


@pytest.mark.soak
def test_nothing_that_a_team_wrote_is_lost(outcome: Outcome) -> None:
    team = outcome.team
    written = [*team.lines("written"), *outcome.words]
    with team.place(0).memory() as memory:
        report = memory.sync()
        assert (report.pending, report.failed, report.reasons) == (0, 0, ())
        status = memory.status(deep=True)
        assert status.health.ok, status.health
        for word in written:
            hits = memory.search(word, max_results=3, min_score=0.0).hits
            assert any(word in memory.read(hit.path, start=hit.start_line, lines=40).text for hit in hits), word
    assert len(written) > KILLS


@pytest.mark.soak
def test_a_team_embeds_no_text_twice_beyond_the_batches_in_flight(outcome: Outcome) -> None:
    sent = outcome.sent
    allowed = Counter(outcome.in_flight)
    print(f"{len(outcome.in_flight)} in flight, {sent.total()} passages sent, {len(sent)} different")  # noqa: T201
    again = {text for text, count in sent.items() if count > 1 + allowed[text]}
    assert [outcome.team.acts_of(text) for text in again] == []
    assert len(sent) > soak.STEADY
