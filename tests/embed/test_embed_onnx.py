"""Exported models of the user's, through the real onnxruntime: a large one, and small ones of every build."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
import tokenizers
from onnx import helper, numpy_helper

import memoriter
from memoriter.embed import cosine
from memoriter.embed.local._onnx import open_onnx, read_onnx_folder
from memoriter.errors import InputRejected, ProviderUnavailable
from memoriter.extras import install_command
from repacked_onnx import onnx_model, write_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.embed import EmbeddingProvider

TEXTS = {
    "english": "The team met on Tuesday; Alice wants a cosine score, Bob keyword matches.",
    "korean": "회의는 3월 15일로 결정했다. 나는 매운 음식을 좋아한다.",
    "chinese": "该项目的数据库选择了 PostgreSQL,因为需要事务保证。",
    "japanese": "辛いラーメンが好きです。オランダの鉄道は都市間輸送を担う。",
    "decomposed": "\u1106\u1162\u110b\u116e\u11ab cafe\u0301",
    "code": "def answer(x: int) -> dict[str, int]:\n\treturn {'x': x << 2}",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return onnx_model(tmp_path_factory)
    except ProviderUnavailable as error:
        pytest.skip(f"no weights to pack on {sys.platform}: {error.message}")


@pytest.fixture(scope="module")
def provider(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddingProvider]:
    opened = open_onnx(model, cache_dir=tmp_path_factory.mktemp("cache"), threads=1)
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("role", ["query", "document"])
@pytest.mark.parametrize("language", TEXTS)
def test_onnxruntime_gives_the_vectors_of_the_bundled_engine(
    provider: EmbeddingProvider, bundled: EmbeddingProvider, language: str, role: Any
) -> None:
    ours, theirs = (engine.embed([TEXTS[language]], role=role)[0] for engine in (provider, bundled))
    assert float(ours @ theirs) > 0.999


@pytest.mark.slow
def test_tokens_are_counted_as_the_model_reads_them(provider: EmbeddingProvider, bundled: EmbeddingProvider) -> None:
    text = "Item 7: the router answers on port 8007. " * 40
    assert provider.count_tokens(text) == bundled.count_tokens(text)
    assert provider.count_tokens("word " * 300) == 300 + len(["<s>", "passage", ":", "</s>"])


@pytest.mark.slow
def test_a_text_of_exactly_the_limit_is_read_and_what_is_beyond_is_left_out(provider: EmbeddingProvider) -> None:
    room = provider.spec.max_tokens - provider.count_tokens("word " * 300) + 300
    exact = "word " * room
    over = "word " * room + "Bananas ripen at night. " * 40
    assert provider.count_tokens(exact) == provider.spec.max_tokens
    vectors = provider.embed([exact, over], role="document")
    assert float(vectors[0] @ vectors[1]) == pytest.approx(1, abs=1e-5)


def test_opening_a_model_loads_no_engine(model: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from memoriter.embed.local._onnx import open_onnx;"
        "p = open_onnx(Path(sys.argv[1]), cache_dir=Path(sys.argv[2])); p.count_tokens('short');"
        "print({'onnxruntime', 'numpy', 'tokenizers'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
    command = [sys.executable, "-c", code, str(model), str(tmp_path)]
    shown = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
    assert shown.stdout.strip() == "set()"


# Small models: seven words with vectors that can be told apart by eye.
WORDS = ["[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "."]
TABLE = np.array(
    [[1, 1, 1, 1], [9, 0, 0, 0], [0, 9, 0, 0], [1, 0, 2, 0], [0, 1, 3, 0], [0, 0, 1, 4], [0, 0, 0, 1]], np.float32
)


def small_model(folder: Path, *, specials: bool = True, **changed: Any) -> Path:
    """A folder with a graph that looks words up, and nothing else."""
    folder.mkdir(exist_ok=True)
    write_configuration(folder, **{"config": {"hidden_size": 4}, "1_Pooling": None, "modules": None, **changed})
    tokenizer: Any = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if specials:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    tokenizer.enable_truncation(2)  # exports carry such settings; the provider's own limit counts
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_graph(folder / "model.onnx")
    return folder


def write_graph(
    file: Path,
    nodes: list[Any] | None = None,
    outputs: dict[str, list[Any]] | None = None,
    inputs: dict[str, list[Any]] | None = None,
    kind: int = onnx.TensorProto.FLOAT,
) -> None:
    nodes = nodes or [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    outputs = outputs or {"last_hidden_state": ["b", "n", 4]}
    inputs = inputs or {"input_ids": ["b", "n"]}
    table = TABLE.astype(helper.tensor_dtype_to_np_dtype(kind))
    axis = numpy_helper.from_array(np.array([1]), "axis")
    graph = helper.make_graph(
        nodes,
        "small",
        [
            helper.make_tensor_value_info(
                name, onnx.TensorProto.FLOAT if "past" in name else onnx.TensorProto.INT64, shape
            )
            for name, shape in inputs.items()
        ],
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(table, "table"), axis],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    file.write_bytes(made.SerializeToString())


def vector_of(folder: Path, text: str = "red green blue", role: Any = "document") -> Any:
    return open_onnx(folder, cache_dir=folder / "cache", threads=1).embed([text], role=role)[0]


PLAIN = {"config_sentence_transformers": None}
STATES = TABLE[[1, 3, 4, 5, 2]]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("pooling_mode_mean_tokens", STATES.mean(axis=0)),
        ("pooling_mode_cls_token", STATES[0]),
        ("pooling_mode_lasttoken", STATES[-1]),
        ("pooling_mode_max_tokens", STATES.max(axis=0)),
    ],
)
def test_the_model_pools_as_its_configuration_says(tmp_path: Path, mode: str, expected: Any) -> None:
    folder = small_model(tmp_path / "m", **PLAIN, **{"1_Pooling": {mode: True, "pooling_mode_other": False}})
    assert cosine(vector_of(folder), expected) == pytest.approx(1)


def test_pooling_in_one_word_is_read_too(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "m", **PLAIN, **{"1_Pooling": {"pooling_mode": "lasttoken"}})
    assert cosine(vector_of(folder), STATES[-1]) == pytest.approx(1)


def test_an_unknown_pooling_is_refused(tmp_path: Path) -> None:
    pooling = {"pooling_mode_weightedmean_tokens": True}
    with pytest.raises(ProviderUnavailable, match="weightedmean"):
        read_onnx_folder(small_model(tmp_path / "m", **{"1_Pooling": pooling}))


@pytest.mark.parametrize("kind", [onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16])
def test_a_graph_that_pools_by_itself_is_preferred(tmp_path: Path, kind: int) -> None:
    folder = small_model(tmp_path / "m", **PLAIN)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"]),
        helper.make_node("ReduceMax", ["last_hidden_state", "axis"], ["sentence_embedding"], keepdims=0),
    ]
    outputs = {"last_hidden_state": ["b", "n", 4], "sentence_embedding": ["b", 4]}
    write_graph(folder / "model.onnx", nodes, outputs, kind=kind)
    assert cosine(vector_of(folder), STATES.max(axis=0)) == pytest.approx(1, abs=1e-3)


def test_a_graph_is_given_every_input_that_exports_ask_for(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "m", **PLAIN)
    inputs: dict[str, list[Any]] = {
        "input_ids": ["b", "n"],
        "attention_mask": ["b", "n"],
        "token_type_ids": ["b", "n"],
        "position_ids": ["b", "n"],
        "past_key_values.0.key": ["b", 1, "past", 4],
    }
    # The mask is 1, the types are 0, the positions count: the words are looked up only if all of that holds.
    nodes = [
        helper.make_node("Mul", ["input_ids", "attention_mask"], ["masked"]),
        helper.make_node("Add", ["masked", "token_type_ids"], ["typed"]),
        helper.make_node("Mul", ["position_ids", "token_type_ids"], ["nothing"]),
        helper.make_node("Add", ["typed", "nothing"], ["ids"]),
        helper.make_node("Gather", ["table", "ids"], ["states"]),
        helper.make_node("Squeeze", ["past_key_values.0.key", "axis"], ["past"]),
        helper.make_node("Concat", ["past", "states"], ["last_hidden_state"], axis=1),
    ]
    write_graph(folder / "model.onnx", nodes, inputs=inputs)
    assert cosine(vector_of(folder), STATES.mean(axis=0)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ({"input_ids": ["b", "n"], "pixel_values": ["b"]}, None, "asks for 'pixel_values'"),
        (None, {"last_hidden_state": ["n"], "other": ["b", "n", 4]}, "gives last_hidden_state, other"),
    ],
)
def test_a_graph_of_another_kind_is_refused(
    tmp_path: Path, inputs: dict[str, list[Any]] | None, outputs: dict[str, list[Any]] | None, message: str
) -> None:
    folder = small_model(tmp_path / "m")
    nodes = outputs and [
        helper.make_node("Gather", ["table", "input_ids"], ["other"]),
        helper.make_node("Reshape", ["other", "minus"], ["last_hidden_state"]),
        helper.make_node("Constant", [], ["minus"], value=numpy_helper.from_array(np.array([-1]))),
    ]
    write_graph(folder / "model.onnx", nodes and [nodes[0], nodes[2], nodes[1]], outputs, inputs)
    with pytest.raises(ProviderUnavailable, match=message):
        vector_of(folder)


def test_layers_that_the_graph_does_not_contain_are_not_passed_over(tmp_path: Path) -> None:
    modules = [{"type": "sentence_transformers.models.Dense"}]
    with pytest.raises(ProviderUnavailable, match="Layers follow") as refused:
        vector_of(small_model(tmp_path / "m", modules=modules))
    assert "sentence_embedding" in refused.value.remedy


@pytest.mark.parametrize(
    ("prompts", "name", "templates"),
    [
        ({"prompts": {"query": "q: ", "document": "d: "}}, "any", ("q: {text}", "d: {text}")),
        ({"prompts": {"query": "q: "}}, "any", ("q: {text}", "{text}")),
        (
            {"prompts": {"query": "", "document": ""}},
            "nomic-embed",
            ("search_query: {text}", "search_document: {text}"),
        ),
        ({"prompts": {"x": "both: "}, "default_prompt_name": "x"}, "any", ("both: {text}", "both: {text}")),
        ({"prompts": {"query": 7}}, "any", ("{text}", "{text}")),
        (None, "multilingual-e5-small", ("query: {text}", "passage: {text}")),
        (None, "any", ("{text}", "{text}")),
    ],
)
def test_prompts_are_the_models_own_or_those_of_its_family(
    tmp_path: Path, prompts: Any, name: str, templates: tuple[str, str]
) -> None:
    found = read_onnx_folder(small_model(tmp_path / name, config_sentence_transformers=prompts))
    assert (found.query_template, found.document_template) == templates


@pytest.mark.parametrize(
    ("changed", "limit"),
    [
        ({"sentence_bert_config": {"max_seq_length": 256}}, 256),
        ({"sentence_bert_config": None}, 512),
        (
            {"sentence_bert_config": None, "config": {"model_type": "xlm-roberta", "max_position_embeddings": 514}},
            512,
        ),
        ({"sentence_bert_config": None, "config": {"max_position_embeddings": 32768}}, 2048),
    ],
)
def test_the_limit_is_the_lowest_that_is_stated(tmp_path: Path, changed: dict[str, Any], limit: int) -> None:
    assert read_onnx_folder(small_model(tmp_path / "m", **changed)).max_tokens == limit


@pytest.mark.parametrize("specials", [True, False])
def test_what_is_over_the_limit_is_left_out_and_the_mark_of_the_end_stays(tmp_path: Path, *, specials: bool) -> None:
    limits = {"sentence_bert_config": {"max_seq_length": 4}, "1_Pooling": {"pooling_mode_lasttoken": True}}
    folder = small_model(tmp_path / "m", specials=specials, **PLAIN, **limits)
    last = TABLE[2] if specials else TABLE[5]
    assert cosine(vector_of(folder, "red green red blue green red"), last) == pytest.approx(1)


def test_a_text_without_any_token_has_a_vector(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "m", specials=False, **PLAIN)
    assert cosine(vector_of(folder, " "), TABLE[6]) == pytest.approx(1)


def test_marks_that_are_spelled_out_stay_text(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "m", **PLAIN)
    tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_special_tokens(["[SEP]"])
    tokenizer.save(str(folder / "tokenizer.json"))
    assert cosine(vector_of(folder, "[SEP]"), TABLE[[1, 0, 0, 0, 2]].mean(axis=0)) == pytest.approx(1)


def test_a_graph_alone_with_its_tokenizer_is_enough(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "m", config=None, config_sentence_transformers=None, sentence_bert_config=None)
    opened = open_onnx(folder, cache_dir=tmp_path, threads=1)
    assert (opened.spec.dimensions, opened.spec.model, opened.spec.max_tokens) == (4, "m", 512)


def test_a_text_that_the_graph_refuses_is_rejected(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "m", specials=False, **PLAIN)
    nodes = [
        helper.make_node("Add", ["input_ids", "input_ids"], ["far"]),
        helper.make_node("Gather", ["table", "far"], ["last_hidden_state"]),
    ]
    write_graph(folder / "model.onnx", nodes)
    with pytest.raises(InputRejected, match="onnxruntime"):
        vector_of(folder, "blue blue")


def test_a_file_among_several_is_named(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "m", **PLAIN)
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model_int8.onnx")
    assert read_onnx_folder(folder).graph.name == "model_int8.onnx"
    write_graph(folder / "onnx" / "model_fp16.onnx")
    with pytest.raises(ProviderUnavailable, match="several graphs") as refused:
        read_onnx_folder(folder)
    assert "model_fp16.onnx, model_int8.onnx" in refused.value.remedy
    assert vector_of(folder / "onnx" / "model_int8.onnx").shape == (4,)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named_with_how_to_make_it(tmp_path: Path, missing: str) -> None:
    folder = small_model(tmp_path / "m")
    (folder / missing).unlink()
    with pytest.raises(ProviderUnavailable, match=f"has no {missing}") as refused:
        open_onnx(folder, cache_dir=tmp_path)
    assert "optimum-cli" in refused.value.remedy


def test_a_folder_that_is_not_there_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="no such model"):
        open_onnx(tmp_path / "nowhere", cache_dir=tmp_path)


@pytest.mark.parametrize("name", ["config.json", "config_sentence_transformers.json"])
@pytest.mark.parametrize("content", ["{", "\0"])
def test_a_damaged_configuration_is_a_reason(tmp_path: Path, name: str, content: str) -> None:
    folder = small_model(tmp_path / "m")
    (folder / name).write_text(content, "utf-8")
    with pytest.raises(ProviderUnavailable, match=f"{name} cannot be read"):
        open_onnx(folder, cache_dir=tmp_path)


@pytest.mark.parametrize("content", [[], {"prompts": []}, {"prompts": {"query": None}}, 7])
def test_a_strange_configuration_does_no_harm(tmp_path: Path, content: Any) -> None:
    folder = small_model(tmp_path / "m")
    for name in ("config_sentence_transformers", "modules", "sentence_bert_config", "tokenizer_config"):
        (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
    assert read_onnx_folder(folder).max_tokens == 512


@pytest.mark.parametrize(
    ("name", "message"),
    [("model.onnx", "cannot be loaded by onnxruntime"), ("tokenizer.json", "tokenizer does not load")],
)
def test_a_damaged_model_is_a_reason(tmp_path: Path, name: str, message: str) -> None:
    folder = small_model(tmp_path / "m")
    (folder / name).write_text("no model", "utf-8")
    with pytest.raises(ProviderUnavailable, match=message):
        vector_of(folder)


def test_every_file_that_shapes_the_vectors_is_part_of_the_identity(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "m", **{"1_Pooling": {"pooling_mode_mean_tokens": True}})
    seen = set()
    for name in ("", "tokenizer.json", "model.onnx_data", "1_Pooling/config.json"):
        if name:
            with (folder / name).open("a", encoding="utf-8") as file:
                file.write("\n")
        seen.add(open_onnx(folder, cache_dir=tmp_path / "cache").spec.revision)
    assert len(seen) == 4


def test_without_its_packages_the_line_that_installs_them_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name != "tokenizers" or None)
    with pytest.raises(ProviderUnavailable, match="tokenizers must be installed") as refused:
        open_onnx(tmp_path, cache_dir=tmp_path)
    assert refused.value.remedy == f"Run `{install_command('onnx')}`."
