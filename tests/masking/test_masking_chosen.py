"""Passwords that are plain words are masked where their name says what they are, and nothing else is."""

from __future__ import annotations

import keyword
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chosen_secrets import FORMS, LONG_FORMS, PLAIN, WEAK
from memoriter.masking import mask

LONG = "correcthorsebattery"


@pytest.mark.parametrize("form", FORMS)
def test_a_password_of_one_word_is_masked_wherever_its_name_stands(form: str) -> None:
    for word in WEAK:
        text = form.replace("{0}", word)
        assert mask(text) == form.replace("{0}", "***"), text


@pytest.mark.parametrize("form", LONG_FORMS)
def test_a_long_word_behind_the_name_of_a_key_is_masked(form: str) -> None:
    assert mask(form.replace("{0}", LONG)) == form.replace("{0}", "***")


@pytest.mark.parametrize("text", PLAIN)
def test_placeholders_types_code_and_sentences_stay(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize("before", ["", "- Yesterday we set this up:\n", "```\n", "> "])
@pytest.mark.parametrize("after", ["", "\nThe rest of the note.\n", "\n```\n"])
def test_what_stands_around_the_line_does_not_matter(before: str, after: str) -> None:
    assert mask(f"{before}password: hunter2{after}") == f"{before}password: ***{after}"
    assert mask(f"{before}DB_PASS=tiger{after}") == f"{before}DB_PASS=***{after}"


CHOSEN = st.builds(
    lambda word, digits: word + digits,
    st.text(string.ascii_letters, min_size=5, max_size=10).filter(lambda word: not keyword.iskeyword(word)),
    st.text(string.digits, min_size=1, max_size=4),
)


@given(CHOSEN, st.sampled_from(FORMS[:6]))
def test_a_word_with_digits_is_masked_in_json_and_yaml(word: str, form: str) -> None:
    from memoriter.masking._words import is_ordinary

    if is_ordinary(word) or mask(form.replace("{0}", word)) == form.replace("{0}", "***"):
        return
    # What is left are words such as `yourpass1` and `abc123`, which stand for a password.
    from memoriter.masking._words import is_placeholder

    assert is_placeholder(word)


def test_of_ten_thousand_lines_without_a_secret_none_is_touched() -> None:
    draw = random.Random(1)
    subjects = ("The password", "A token", "Her secret", "The API key", "비밀번호", "密码", "パスワード")
    verbs = ("is kept in", "was moved to", "belongs to", "must not be in", "opens", "expires before")
    objects = ("the safe", "Bitwarden", "the second drawer", "a file of its own", "the vault", "Monday's meeting")
    made = [f"{draw.choice(subjects)} {draw.choice(verbs)} {draw.choice(objects)}." for _ in range(5_000)]
    names = ("password", "passwordHash", "api_key", "secret_name", "token_count", "max_tokens")
    types = (
        "str",
        "string",
        "required",
        "Optional[str]",
        "SecretStr",
        "null",
        "process.env.KEY",
        "${VALUE}",
        "<yours>",
    )
    made += [f"{draw.choice(names)}: {draw.choice(types)}" for _ in range(5_000)]

    assert [text for text in set(made) if mask(text) != text] == []
