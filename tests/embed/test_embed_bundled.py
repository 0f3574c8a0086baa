"""The bundled model: two engines, one set of vectors of cleaned texts."""

from __future__ import annotations

import base64
import json
import logging
import os
import subprocess
import sys
import threading
import unicodedata
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.metadata import Metadata

import memoriter
from graph_script import graph_script
from memoriter.embed import open_provider, question_centres, spec_of
from memoriter.embed._artefact import load_or_create, sha256_of
from memoriter.embed.bundled import _bundled, _graph, _weightfile
from memoriter.embed.bundled._native import MOST_CHARACTERS, WEIGHTS_SHA256, clean
from memoriter.embed.bundled._weightfile import Tokenizer, codes, open_weights
from memoriter.errors import ProviderUnavailable
from memoriter.extras import FRAMEWORKS, PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.embed.bundled._bundled import BundledProvider

ROOT = Path(__file__).parents[2]
VARIED = {
    "english": "The team met on Tuesday; Alice wants a cosine score, Bob keyword matches.",
    "german": "Die Fähre legt jeden Sonntag um sieben am alten Hafen ab, und Ada hat beide Karten bezahlt.",
    "spanish": "El ferry sale del viejo muelle cada domingo a las siete; los billetes cuestan cuarenta euros.",
    "russian": "Паром отходит от старого причала каждое воскресенье в семь, билеты стоят сорок евро.",
    "arabic": "تغادر العبارة رصيف الميناء القديم كل يوم أحد في الساعة السابعة.",
    "hindi": "नौका हर रविवार सुबह सात बजे पुराने बंदरगाह से निकलती है।",
    "thai": "เรือข้ามฟากออกจากท่าเรือเก่าทุกวันอาทิตย์เวลาเจ็ดโมง",
    "vietnamese": "Phà rời bến cũ lúc bảy giờ mỗi Chủ nhật, hai vé giá bốn mươi euro.",
    "korean": "회의는 3월 15일로 결정했다. 나는 매운 음식을 좋아한다.",
    "chinese": "该项目的数据库选择了 PostgreSQL,因为需要事务保证。",
    "japanese": "辛いラーメンが好きです。オランダの鉄道は都市間輸送を担う。",
    "decomposed": "\u1106\u1162\u110b\u116e\u11ab cafe\u0301",
    "full-width": "ＡＢＣ１２３ ﬁne  double  spaces\n\nnew line … test™",
    "code": "def answer(x: int) -> dict[str, int]:\n\treturn {'x': x << 2}  # a828e60",
    "unknown": "獴鸲鹟缊 𝔘𝔫𝔦 ᚠᛇᚻ 𓀀𓀁𓀂",
    "emoji": "👩🏽‍💻 🏳️‍🌈 ❤️ 🎉🎉🎉",
    "marks": "<s> [SEP] </s> <unk> <pad> ▁x",
    "controls": "a\0b\x07c\u200bd\ud800e",
    "empty": "",
    "blank": " \n ",
    "letter": "a",
    "limit": " ".join(f"Item {i}: the router answers on port {8000 + i}." for i in range(60)),
    "over": "회의록 정리와 결정 사항을 모두 기록한다. " * 120,
    "base64": "QmFzZTY0IHRleHQgd2l0aG91dCBzcGFjZXM" * 100,
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundled")


def opened(cache: Path, threads: int = 2) -> BundledProvider:
    try:
        return open_provider("bundled", cache_dir=cache, threads=threads)
    except ProviderUnavailable as error:
        pytest.skip(f"the bundled model cannot run on {sys.platform}: {error.message}")


@pytest.fixture
def provider(cache: Path) -> Iterator[BundledProvider]:
    provider = opened(cache)
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def both(cache: Path) -> dict[str, tuple[Any, Any]]:
    """Each text's vector by the C engine and by the graph."""
    provider = opened(cache)
    few = provider.embed(list(VARIED.values()), role="document")
    provider.hint_batch_size(1_000)
    many = provider.embed(list(VARIED.values()), role="document")
    assert provider._graph is not None
    provider.close()
    return dict(zip(VARIED, zip(few, many, strict=True), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIED)
def test_both_engines_give_one_vector(both: dict[str, tuple[Any, Any]], name: str) -> None:
    few, many = both[name]
    assert float(few @ many) > 0.999


@pytest.mark.slow
def test_the_bulk_engine_serves_documents_in_bulk_and_nothing_else(provider: BundledProvider) -> None:
    provider.hint_batch_size(39)
    provider.embed(["a"], role="document")
    assert provider._graph is None
    provider.hint_batch_size(40)
    provider.embed(["a"], role="query")
    assert provider._graph is None
    provider.embed(["a"], role="document")
    assert provider._graph is not None


@pytest.mark.slow
def test_the_bulk_engine_stays_through_small_batches_and_goes_when_the_work_is_done(provider: BundledProvider) -> None:
    provider.hint_batch_size(500)
    provider.hint_batch_size(3)
    provider.embed(["a"], role="document")
    assert provider._graph is not None
    provider.hint_batch_size(0)
    assert provider._graph is None


@pytest.mark.slow
def test_tokens_are_counted_alike_by_both_engines(provider: BundledProvider) -> None:
    few = [provider.count_tokens(text) for text in VARIED.values()]
    provider.hint_batch_size(1_000)
    assert [provider.count_tokens(text) for text in VARIED.values()] == few


def test_a_count_near_the_limit_is_exact_and_beyond_it_grows_with_the_text(provider: BundledProvider) -> None:
    assert provider.count_tokens("word " * 300) == 2 + 2 + 300
    assert 18_000 < provider.count_tokens("word " * 20_000) < 22_000


@pytest.mark.parametrize("damage", [b"", b"short", None], ids=["empty", "cut", "flipped"])
def test_a_damaged_artefact_is_made_again(tmp_path: Path, damage: bytes | None) -> None:
    file = tmp_path / "deep" / "thing"
    assert load_or_create(file, lambda: b"made once" * 100) == b"made once" * 100
    whole = file.read_bytes()
    file.write_bytes(bytes([whole[0] ^ 1]) + whole[1:] if damage is None else damage)
    assert load_or_create(file, lambda: b"made again") == b"made again"
    assert load_or_create(file, lambda: pytest.fail("it was there")) == b"made again"
    assert [path.name for path in file.parent.iterdir()] == ["thing"]


def test_an_artefact_that_cannot_be_kept_is_still_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert load_or_create(tmp_path / "file" / "thing", lambda: b"made") == b"made"


BULK_VECTOR = """
import json, sys
from pathlib import Path
from memoriter.embed import open_provider, question_centres, spec_of
provider = open_provider("bundled", cache_dir=Path(sys.argv[1]), threads=1)
provider.hint_batch_size(100)
print(json.dumps([provider.embed(["two at once"], role="document")[0].tolist(), provider._graph is not None]))
"""


@pytest.mark.slow
def test_two_processes_may_build_the_bulk_engine_at_once(provider: BundledProvider, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
    command = [sys.executable, "-c", BULK_VECTOR, str(tmp_path)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(2)]
    (left, left_bulk), (right, right_bulk) = (json.loads(run.communicate()[0]) for run in runs)
    assert (left_bulk, right_bulk) == (True, True)
    assert left == right
    assert float(np.array(left) @ provider.embed(["two at once"], role="document")[0]) > 0.999


@pytest.mark.matrix
@pytest.mark.parametrize("fault", ["does not start", "gives other vectors", "fails later"])
def test_a_bulk_engine_with_a_fault_leaves_the_work_to_the_other(
    provider: BundledProvider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    def refuse(*_: Any) -> Any:
        raise RuntimeError(fault)

    match fault:
        case "does not start":
            monkeypatch.setattr(_graph, "open_session", refuse)
        case "gives other vectors":
            monkeypatch.setattr(_graph.GraphEngine, "agrees_with", lambda *_: False)
        case _:
            monkeypatch.setattr(_graph.GraphEngine, "agrees_with", lambda *_: True)
            monkeypatch.setattr(_graph.GraphEngine, "embed", refuse)
    expected = provider.embed(["one", "two"], role="document")
    provider.hint_batch_size(100)
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(provider.embed(["one", "two"], role="document"), expected)
        assert np.array_equal(provider.embed(["one", "two"], role="document"), expected)
    assert len(caplog.records) == 1


def test_weights_that_do_not_load_are_a_reason_and_not_a_crash(tmp_path: Path, cache: Path) -> None:
    provider = opened(cache)
    (tmp_path / "weights").write_bytes(b"no weights at all")
    provider._released = tmp_path / "weights"
    with pytest.raises(ProviderUnavailable, match="does not load"):
        provider.embed(["a"], role="query")


@pytest.mark.parametrize("damage", [b"", b"no patch", None], ids=["empty", "other", "missing"])
def test_weights_of_memoriter_that_are_damaged_are_a_reason_and_not_a_crash(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    patch = tmp_path / "retriever.npz"
    if damage is not None:
        patch.write_bytes(damage)
    monkeypatch.setattr(_weightfile, "RETRIEVER", patch)
    monkeypatch.setattr(_bundled, "_ENGINES", {})
    with pytest.raises(ProviderUnavailable, match="missing or damaged"):
        opened(cache).embed(["a"], role="query")


def test_all_memories_of_a_process_share_one_engine_while_one_of_them_uses_it(cache: Path) -> None:
    one = opened(cache)
    two = opened(cache)
    for each in (one, two):
        each.embed(["a"], role="query")
    assert one._native is two._native
    one.close()
    assert float(two.embed(["a"], role="query")[0] @ two.embed(["a"], role="document")[0]) > 0
    two.close()


def test_the_trained_weights_stay_in_memory_and_the_released_file_as_it_was(provider: BundledProvider) -> None:
    provider.embed(["a"], role="query")
    assert sha256_of(provider._released) == WEIGHTS_SHA256
    assert provider._native is not None
    released = open_weights(provider._released)
    trained = provider._native.weights
    before, after = (codes(each.blocks("l3.fi.w", each.shape.hidden)) for each in (released, trained))
    assert np.array_equal(before[0], after[0])
    gain = after[1] / before[1]
    assert 0.02 < float(np.abs(gain - 1).mean()) < 0.5
    assert not np.array_equal(released.floats("emb.pos"), trained.floats("emb.pos"))


def test_a_question_is_nearer_to_its_answer_in_another_language_than_to_others_in_its_own(
    provider: BundledProvider,
) -> None:
    question = provider.embed(["Wann fährt die Fähre?"], role="query")[0]
    answer, *others = provider.embed(
        [
            "The ferry leaves the old pier at seven every Sunday.",
            "Die Rechnung für den Zahnarzt ist bezahlt.",
            "Wann die Prüfung stattfindet, steht noch nicht fest.",
        ],
        role="document",
    )
    assert float(answer @ question) > max(float(other @ question) for other in others)


def test_the_environment_is_as_before_once_the_engine_is_loaded(
    provider: BundledProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    provider.embed(["a"], role="query")
    assert (os.environ["OMP_NUM_THREADS"], os.environ.get("OMP_WAIT_POLICY")) == ("3", None)


@pytest.mark.slow
def test_a_question_does_not_wait_for_the_bulk_engine(
    provider: BundledProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.embed(["warm"], role="query")
    answered: list[int] = []

    def start_slowly(*_: Any) -> bool:
        question = threading.Thread(target=lambda: answered.append(len(provider.embed(["now?"], role="query"))))
        question.start()
        question.join(timeout=10)
        return True

    monkeypatch.setattr(_graph.GraphEngine, "agrees_with", start_slowly)
    provider.hint_batch_size(100)
    provider.embed(["document"], role="document")
    assert answered == [1]


def test_the_shipped_graph_is_the_one_that_the_script_writes_and_holds_no_weights(provider: BundledProvider) -> None:
    shipped = (Path(memoriter.__file__).parent / "embed" / "bundled" / "transformer.onnx").read_bytes()
    assert shipped == graph_script().weightless_graph(open_weights(provider._released).shape)
    assert len(shipped) < 50_000


@pytest.mark.slow
def test_the_shipped_centres_of_general_questions_are_those_that_the_script_measures() -> None:
    script = graph_script("question_centres")
    shipped = question_centres(spec_of("bundled"))
    measured = script.measure_centres()
    assert measured.keys() == shipped.keys()
    for name, centre in shipped.items():
        again = np.frombuffer(base64.b64decode(measured[name]), "<f2").astype(np.float32)
        assert float(np.abs(again - centre).max()) < 0.01


@pytest.mark.slow
def test_the_bulk_engine_needs_neither_onnx_nor_sentencepiece(provider: BundledProvider, tmp_path: Path) -> None:
    hidden = dict.fromkeys(("onnx", "sentencepiece", "tokenizers"))
    code = f"import sys\nsys.modules.update({hidden})\n{BULK_VECTOR}"
    environment = {**os.environ, "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
    command = [sys.executable, "-c", code, str(tmp_path)]
    vector, bulk = json.loads(subprocess.run(command, capture_output=True, env=environment, check=True).stdout)
    assert bulk
    assert float(np.array(vector) @ provider.embed(["two at once"], role="document")[0]) > 0.999


def test_equally_likely_divisions_are_decided_as_in_32_bits(provider: BundledProvider, tmp_path: Path) -> None:
    weights = open_weights(provider._released)
    tokenizer = Tokenizer(weights, tmp_path / "vocabulary")
    pieces = weights.pieces()

    def divided(text: str) -> list[str]:
        return [pieces[token_id] for token_id in tokenizer.ids(text)[1:-1]]

    # Recorded from SentencePiece. What comes before changes the rounding, and so the choice.
    assert divided("passage: aaaaaaaa")[2:] == ["\u2581a", "aaaaa", "a", "a"]
    assert divided("passage: The key is aaaaaaaa")[5:] == ["\u2581a", "a", "a", "aaaaa"]
    assert divided("passage: xxxxxxxx")[2:] == ["\u2581xxx", "xx", "xxx"]
    assert divided("passage: The key is xxxxxxxx")[5:] == ["\u2581xxx", "xxx", "xx"]


BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


@pytest.mark.slow
def test_the_wheel_holds_the_graph_and_its_metadata_is_fit_for_a_registry(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    with zipfile.ZipFile(tmp_path / done.stdout.strip()) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert {f"memoriter/embed/bundled/{name}" for name in ("transformer.onnx", "retriever.npz")} <= set(names)
    assert "memoriter/py.typed" in names
    checked = Metadata.from_email(metadata, validate=True)  # as a registry checks it
    assert set(checked.provides_extra or ()) == {*PACKAGES, *FRAMEWORKS, "all"}
    assert checked.description_content_type == "text/markdown"
    assert checked.description == (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("", ""),
        ("plain", "plain"),
        (" two\n\n  spaces\t", "two spaces"),
        ("before\0after", "before after"),
        ("\x01\x1f\x7f", ""),
        ("zero\u200bwidth\ufeff", "zero width"),
        ("ＡＢＣ１２３ ﬁne™", "ABC123 fineTM"),
        ("lone \ud800 half", "lone half"),
        ("pair \ud83d\ude00", "pair 😀"),
        ("▁piece", "piece"),
    ],
)
def test_what_the_model_cannot_use_is_gone(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_decomposed_and_composed_text_are_one() -> None:
    assert clean(unicodedata.normalize("NFD", "매운 음식, Café")) == clean("매운 음식, Café")


@given(st.text(st.characters()))
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters()))
def test_clean_text_can_be_handed_to_c(text: str) -> None:
    assert b"\0" not in clean(text).encode()


@pytest.mark.parametrize("text", ["a" * 1_000_000, "﷽" * 300_000, " " * 1_000_000, "가 " * 300_000])
def test_a_huge_text_costs_no_more_than_a_large_one(text: str) -> None:
    assert len(clean(text)) <= MOST_CHARACTERS
    assert clean(text) == clean(text[: 4 * MOST_CHARACTERS])
