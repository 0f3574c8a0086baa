"""No secret reaches an embedding service in any request; models of this machine read the text as it is."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chosen_secrets import FORMS
from memoriter.embed import SendsTexts, embed_in_batches, open_provider
from memoriter.embed.remote.batch import BatchRules, BatchRun
from memoriter.masking import mask, mask_outgoing
from memory_env import MemoryEnv, codes, compatible
from secret_samples import LookAlikes, Secrets
from servers import SERVERS, Watch, provider_of
from servers.batches import BATCHES
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.embed.remote._remote import RemoteProvider
    from servers.base import ScriptedServer

SAMPLES = [sample for sample in Secrets(5).samples(200) if sample.secret not in mask(sample.text)]
"""Those that the masker knows; how many it does is measured where it is tested."""


@pytest.fixture(scope="module", params=sorted(SERVERS))
def service(request: pytest.FixtureRequest) -> Iterator[tuple[ScriptedServer, RemoteProvider]]:
    with SERVERS[request.param]() as server:
        yield server, provider_of(server)


def sent(server: ScriptedServer) -> str:
    """All that a service was sent, with every text as it was before it became JSON, and forgotten afterwards."""
    bodies = [call.body.decode("utf-8", "replace") for call in server.calls]
    server.calls.clear()
    return "\n".join([*bodies, *itertools.chain.from_iterable(map(_strings, bodies))])


def _strings(body: str) -> Iterator[str]:
    for line in [body, *body.splitlines()]:
        try:
            waiting = [json.loads(line)]
        except ValueError:
            continue
        while waiting:
            match waiting.pop():
                case str() as text:
                    yield text
                case list() as items:
                    waiting += items
                case dict() as fields:
                    waiting += [*fields, *fields.values()]


@pytest.mark.matrix
@pytest.mark.parametrize("role", ["document", "query"])
def test_no_vendor_is_sent_a_secret(service: tuple[ScriptedServer, RemoteProvider], role: str) -> None:
    server, provider = service
    texts = [sample.text for sample in SAMPLES] + [form.replace("{0}", "hunter2") for form in FORMS]

    for start in range(0, len(texts), 40):
        list(embed_in_batches(provider, texts[start : start + 40], role=role))
        provider.embed(texts[start : start + 4], role=role)
    read = sent(server)

    assert [sample.kind for sample in SAMPLES if sample.secret in read] == []
    assert "hunter2" not in read
    assert "***" in read


@pytest.mark.matrix
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(sample=st.sampled_from(SAMPLES), before=st.text(max_size=30), filler=st.integers(0, 300))
def test_nor_one_in_the_middle_of_a_long_text(
    service: tuple[ScriptedServer, RemoteProvider], sample, before: str, filler: int
) -> None:
    server, provider = service
    text = f"{before}\n{'lorem ipsum ' * filler}\n{sample.text}\n{'dolor sit ' * (300 - filler)}"

    list(embed_in_batches(provider, [text], role="document"))

    assert (sample.secret in sent(server)) == (sample.secret in mask(text))


def test_a_text_without_a_secret_is_sent_as_it_is(service: tuple[ScriptedServer, RemoteProvider]) -> None:
    _, provider = service

    assert [text for text in LookAlikes(5).samples(300) if provider.outgoing(text) is not text] == []


def test_a_passage_from_the_middle_of_a_private_key_is_masked() -> None:
    key, _ = Secrets(9).pem()
    lines = key.splitlines()

    for start in range(1, len(lines) - 1):
        for text in ("\n".join(lines[start:]), "\n".join(lines[start : start + 2]), " ".join(lines[start:])):
            left = mask_outgoing(f"# Keys\n\n{text}\n")
            assert [line for line in lines[start:-2] if line in left and line in text] == []


def test_the_model_of_this_machine_reads_what_is_written(tmp_path: Path) -> None:
    assert not isinstance(open_provider("fake", cache_dir=tmp_path), SendsTexts)


@pytest.mark.parametrize("vendor", sorted(BATCHES))
def test_a_job_holds_no_secret_and_no_hash_of_one(vendor: str) -> None:
    texts = {f"k{number}": sample.text for number, sample in enumerate(SAMPLES[:20])} | {"plain": "a cup of cocoa"}
    with BATCHES[vendor]() as server:
        watch = Watch()
        provider = provider_of(server, watch, dimensions={"openai": 1536}.get(vendor))

        class Store(dict):
            def load(self):
                return list(self.values())

            def save(self, job):
                self[job.name] = job

            def drop(self, job):
                self.pop(job.name, None)

        run = BatchRun(provider, server.clients[-1], Store(), wall=watch, sleep=watch.sleep, rules=BatchRules())
        collected = list(run.run(texts))
        read = sent(server)

    assert {key for each in collected for key in each.keys} == {"plain"}
    assert {key for each in collected for key in each.again} == texts.keys() - {"plain"}
    assert [sample.kind for sample in SAMPLES[:20] if sample.secret in read] == []


def test_the_note_the_index_and_the_answer_keep_what_the_service_never_saw(tmp_path: Path) -> None:
    with CompatibleServer() as server:
        env = MemoryEnv.at(tmp_path, {"MEMORY.md": "# Router\n\nThe router of the office: password: hunter2\n"})
        env.configure(**compatible(server))
        memory = env.open()
        report = memory.sync()
        result = memory.search("router password: hunter2")
        again = memory.sync()
        env.close()

        assert "hunter2" not in sent(server)
    assert codes(report) == []
    assert result.mode == "hybrid"
    assert "hunter2" in result.results[0].snippet
    assert (report.embedded, again.embedded) == (1, 0)


def test_what_a_memory_embeds_with_masks_texts_before_they_are_cut(tmp_path: Path) -> None:
    with CompatibleServer() as server:
        env = MemoryEnv.at(tmp_path)
        env.configure(**compatible(server))
        provider = env.open().backend._context.embedding.open()
        assert isinstance(provider, SendsTexts)
        assert "hunter2" not in provider.outgoing("The router: password: hunter2")
        env.close()


@pytest.mark.matrix
def test_a_text_is_masked_before_it_is_cut_to_the_length_of_the_model(
    service: tuple[ScriptedServer, RemoteProvider],
) -> None:
    _, real = service
    read: list[str] = []

    class Short:
        """A model that reads thirty tokens at a time."""

        spec = replace(real.spec, max_tokens=30)
        count_tokens = real.count_tokens
        outgoing = real.outgoing
        hint_batch_size = real.hint_batch_size

        def embed(self, texts, *, role):
            read.extend(texts)
            return np.ones((len(texts), self.spec.dimensions), np.float32)

    for sample in SAMPLES[:60]:
        list(embed_in_batches(Short(), [f"{'lorem ipsum ' * 9}\n{sample.text}\n{'dolor ' * 60}"], role="document"))

    parts = "\n".join(read)
    pieces = [sample.secret[at : at + 12] for sample in SAMPLES[:60] for at in range(0, len(sample.secret) - 11, 6)]
    assert [piece for piece in pieces if piece in parts] == []
