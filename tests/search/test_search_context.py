"""What neighbours add to a score, where chunks have no items."""

from __future__ import annotations

import pytest

from memoriter.embed import open_provider
from memoriter.extensions.evals._datasets import Document, Pool
from memoriter.extensions.evals._run import OURS, PoolIndex
from memoriter.ids import text_key
from memoriter.sync import ChunkingSettings, texts_of
from memoriter.types import Chunk

QUESTION = "Where does Oye keep the upholstery needles?"
ASKED = "Oye, where do you keep the upholstery needles?"
PAUSE = "Let me think about that."
REPLIES = ("In the tin beside the kettle.", "In the box behind the lathe.")
OTHER = "The wool fair was quiet this spring."


@pytest.fixture
def first_reply(tmp_path):
    """Return which of the replies ranks higher in two conversations, one file each."""

    def find(*conversations):
        documents = tuple(
            Document(f"{place}/{turn}", text, session=f"session-{place}")
            for place, turns in enumerate(conversations)
            for turn, text in enumerate(turns)
        )
        provider = open_provider("fake", cache_dir=tmp_path)
        chunks = [Chunk(1, 1, document.text) for document in documents]
        texts = [text for chunk in chunks for text in texts_of(chunk, ChunkingSettings())]
        vectors = {text_key(text): provider.embed([text], role="document")[0] for text in texts}
        pool = Pool("talk", documents, ())
        file = tmp_path / "index.sqlite"
        file.unlink(missing_ok=True)
        with PoolIndex.build(
            file, pool, words="analysed", vectors=vectors, spec=provider.spec, clock=lambda: 0.0
        ) as index:
            found = index.rank(OURS, QUESTION, provider.embed([QUESTION], role="query")[0])
        ranked = [text for name in found.documents for text in (reply_in(documents, name),) if text]
        assert set(ranked) == set(REPLIES)
        return ranked[0]

    def reply_in(documents, name):
        text = next(document.text for document in documents if document.id == name)
        return next((reply for reply in REPLIES if reply in text), None)

    return find


@pytest.mark.parametrize("near", [0, 1])
def test_of_two_replies_that_share_no_word_with_the_question_the_one_near_to_the_asking_turn_is_first(
    first_reply, near
):
    assert first_reply((ASKED, PAUSE, REPLIES[near]), (OTHER, PAUSE, REPLIES[1 - near])) == REPLIES[near]


def test_entries_of_lists_gain_nothing_from_entries_two_places_away(first_reply):
    def listed(*turns):
        return tuple(f"- {text}\n- An entry about the weather." for text in turns)

    first = first_reply(listed(ASKED, PAUSE, REPLIES[0]), listed(OTHER, PAUSE, REPLIES[1]))
    assert first == first_reply(listed(ASKED, PAUSE, REPLIES[1]), listed(OTHER, PAUSE, REPLIES[0]))
