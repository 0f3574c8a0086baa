"""What is captured at the end of a turn, and where it goes, through a session with the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from long_term import NOTE, configure_long_term, long_term_env
from memoriter.agent import Message

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.agent import Captured

INBOX = "memory/inbox.md"
STATEMENT = "나는 Python보다 TypeScript를 선호해."
KOREAN = f"{STATEMENT} 기억해줘."


class Conversation:
    """A conversation of the owner with an agent whose long-term memories are on."""

    def __init__(self, folder: Path, **config: Any) -> None:
        pytest.importorskip("lancedb")
        self.env = long_term_env(folder, **({"autoCapture": True} | config))
        self.memory = self.env.open()

    def say(self, *texts: str, session: str = "s", audience: Any = "private", success: bool = True) -> Captured:
        messages = [Message("user", text) for text in texts]
        return self.memory.session(session, audience=audience).capture(messages, success=success)

    def note(self, name: str = NOTE) -> str:
        file = self.env.notes / name
        return file.read_text(encoding="utf-8") if file.exists() else ""


def test_a_preference_in_korean_is_stored_word_for_word_with_its_place(tmp_path: Path) -> None:
    talk = Conversation(tmp_path)
    assert talk.say(KOREAN).texts == (f"Remembered [preference]: {STATEMENT}",)
    (line,) = [line for line in talk.note().splitlines() if line.startswith("- ")]
    assert line.startswith(f"- [preference] {STATEMENT} <!-- memory: ")
    assert f"session=s span=user:0:0:{len(STATEMENT)}" in line


def test_nothing_is_captured_until_the_owner_turns_it_on(tmp_path: Path) -> None:
    talk = Conversation(tmp_path, autoCapture=False)
    assert talk.say(KOREAN).texts == ()
    assert (talk.note(), talk.note(INBOX)) == ("", "")


def test_only_the_words_of_the_user_are_captured(tmp_path: Path) -> None:
    talk = Conversation(tmp_path)
    session = talk.memory.session("s", audience="private")
    assert session.capture([Message("assistant", "I always prefer tea.")]).texts == ()


@pytest.mark.parametrize(("audience", "success"), [("shared", True), ("private", False)])
def test_a_shared_conversation_and_a_failed_turn_are_not_captured(tmp_path: Path, audience: Any, success: bool) -> None:
    assert Conversation(tmp_path).say(KOREAN, audience=audience, success=success).texts == ()


def test_three_statements_of_a_conversation_are_captured_at_most(tmp_path: Path) -> None:
    talk = Conversation(tmp_path)
    said = ["My name is Ingrid Dale.", "I live in Bergen.", "I hate early meetings.", "I work as a pilot in Oslo."]
    assert len(talk.say(*said[:2]).texts) == 2
    assert len(talk.say(*said[2:]).texts) == 1
    assert talk.say("I'm allergic to peanuts.").texts == ()
    assert len(talk.say("I'm allergic to peanuts.", session="another").texts) == 1


def test_a_statement_that_is_stored_already_is_not_stored_again(tmp_path: Path) -> None:
    talk = Conversation(tmp_path)
    assert len(talk.say("I live in Bergen.").texts) == 1
    assert talk.say("I live in Bergen.", session="later").texts == ()
    assert talk.note().count("Bergen") == 1


def test_a_statement_replaces_the_older_one_on_its_subject_which_is_kept(tmp_path: Path) -> None:
    talk = Conversation(tmp_path)
    talk.say("My favourite framework is Django.")
    later = talk.say("My favourite framework is FastAPI.", session="later")
    assert later.texts == ("Remembered [preference]: My favourite framework is FastAPI. It replaces an older memory.",)
    old, new = (line for line in talk.note().splitlines() if line.startswith("- "))
    assert "Django" in old
    assert " superseded -->" in old
    assert "FastAPI" in new
    assert "supersedes=" in new


def test_a_secret_never_reaches_the_notes(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    for mode in (True, "inbox"):
        talk = Conversation(tmp_path / str(mode), autoCapture=mode)
        talk.say(f"Remember that my GitHub token is {key} for the badges.")
        assert "badges" in talk.note() + talk.note(INBOX)
        assert key not in talk.note() + talk.note(INBOX)


def test_a_quoted_line_between_two_statements_is_not_stored_with_them(tmp_path: Path) -> None:
    talk = Conversation(tmp_path)
    first = "I work for a bakery in Graz."
    quoted = "> The bakery pays to Evilbank."
    second = "I prefer short answers."
    assert talk.say(f"{first}\n{quoted}\n{second}").texts == (
        f"Remembered [fact]: {first}",
        f"Remembered [preference]: {second}",
    )
    assert "Evilbank" not in talk.note()
    start = len(f"{first}\n{quoted}\n")
    assert f"span=user:0:{start}:{start + len(second)}" in talk.note()


def test_four_statements_of_one_message_are_captured_within_the_limit_of_a_conversation(tmp_path: Path) -> None:
    talk = Conversation(tmp_path)
    said = ["My name is Ingrid Dale.", "I live in Bergen.", "I hate early meetings.", "I work as a pilot in Oslo."]
    assert len(talk.say("\n> ok\n".join(said)).texts) == 3


@pytest.mark.parametrize("tag", ["relevant-memories", "memoriter-recall"])
def test_what_memory_put_into_a_message_is_not_captured_again(tmp_path: Path, tag: str) -> None:
    talk = Conversation(tmp_path)
    block = f"<{tag}>\n1. [preference] I prefer dark mode in every editor.\n</{tag}>"
    assert talk.say(f"{block}\n\nWhat time is it?").texts == ()
    assert talk.say(f"{block}\n\nI live in Bergen.").texts == ("Remembered [fact]: I live in Bergen.",)
    assert "dark mode" not in talk.note()


def test_with_the_inbox_a_statement_waits_for_the_owner(tmp_path: Path) -> None:
    talk = Conversation(tmp_path, autoCapture="inbox")
    waits = "In the inbox [fact]: I live in Bergen. To decide: `memoriter ltm inbox`."
    assert talk.say("I live in Bergen.").texts == (waits,)
    assert "- [fact] I live in Bergen. <!-- candidate: " in talk.note(INBOX)
    assert talk.note() == ""
    assert talk.say("I live in Bergen.", session="later").texts == ()


def test_a_sure_statement_is_accepted_without_asking_if_the_owner_wants_that(tmp_path: Path) -> None:
    talk = Conversation(tmp_path, autoCapture="inbox", autoAcceptScore=0.9)
    said = talk.say("Remember that the gate code is on the fridge.", "I live in Bergen.")
    assert said.texts == (
        "Remembered [fact]: Remember that the gate code is on the fridge.",
        "In the inbox [fact]: I live in Bergen. To decide: `memoriter ltm inbox`.",
    )
    assert "gate code" in talk.note()
    assert "gate code" not in talk.note(INBOX)


def test_an_expired_candidate_leaves_the_note_with_the_next_turn(tmp_path: Path) -> None:
    talk = Conversation(tmp_path, autoCapture="inbox", inboxDays=2)
    talk.say("I live in Bergen.")
    talk.env.wait(2 * 86_400 - 1)
    talk.say("What time is it?", session="later")
    assert "Bergen" in talk.note(INBOX)
    talk.env.wait(2)
    talk.say("What time is it?", session="later")
    assert "Bergen" not in talk.note(INBOX)


def test_what_waits_already_is_never_accepted_without_asking(tmp_path: Path) -> None:
    talk = Conversation(tmp_path, autoCapture="inbox", autoAcceptScore=0.5)
    talk.env.write(INBOX, "- [fact] I live in Oslo.\n")
    assert talk.say("I prefer tea to coffee.").texts == ("Remembered [preference]: I prefer tea to coffee.",)
    assert "Oslo" not in talk.note()
    assert "Oslo" in talk.note(INBOX)


def test_the_owners_own_phrase_triggers_a_capture(tmp_path: Path) -> None:
    talk = Conversation(tmp_path, customTriggers=["muista tämä"])
    assert len(talk.say("Muista tämä: avain on maton alla.").texts) == 1


def test_the_rules_of_openclaw_can_be_chosen(tmp_path: Path) -> None:
    talk = Conversation(tmp_path, captureRules="classic")
    assert talk.say(KOREAN).texts == ()
    assert talk.say("nevertheless we continue").texts == ("Remembered [other]: nevertheless we continue",)


def test_what_is_used_now_replaces_the_fact_that_something_else_was_used(tmp_path: Path) -> None:
    talk = Conversation(tmp_path)
    long_term = talk.memory.long_term
    older = long_term.store("We use npm.", origin="owner", category="fact").memory
    assert talk.say("We now use pnpm.").texts == (
        "Remembered [decision]: We now use pnpm. It replaces an older memory.",
    )
    assert {each.text: each.status for each in long_term.memories()} == {
        older.text: "superseded",
        "We now use pnpm.": "active",
    }


@pytest.mark.parametrize("mode", ["inbox", True])
def test_a_capture_that_could_not_compare_older_memories_says_so_once(tmp_path: Path, mode: Any) -> None:
    talk = Conversation(tmp_path, autoCapture=mode)
    talk.memory.long_term.store("My favourite framework is Django.", origin="owner", category="preference")
    configure_long_term(talk.env, provider="none", autoCapture=mode)
    talk.memory = talk.env.open()
    kept = talk.say("My favourite framework is FastAPI.", "My cat is called Miso.")
    assert len(kept.texts) == 2
    compared = [reason.message for reason in kept.reasons if "may repeat or contradict one" in reason.message]
    assert len(compared) == 1
