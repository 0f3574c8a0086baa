"""The bundled model's weights as an export that sentence-transformers could have made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from graph_script import graph_script
from memoriter.embed.bundled._graph import convert_weights, split_weights
from memoriter.embed.bundled._weightfile import BLOCK
from repacked import bundled_weights, made_once

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from memoriter.embed.bundled._weightfile import WeightFile

_START = 0
_END = 2
_UNKNOWN = 3
CONFIGURATION: dict[str, Any] = {
    "config.json": {"model_type": "bert", "hidden_size": 384, "max_position_embeddings": 512},
    "sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": False},
    "config_sentence_transformers.json": {"prompts": {"query": "query: ", "passage": "passage: "}},
    "modules.json": [
        {"idx": 0, "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "type": "sentence_transformers.models.Normalize"},
    ],
    "1_Pooling/config.json": {
        "word_embedding_dimension": 384,
        "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": True,
    },
}


def onnx_model(factory: pytest.TempPathFactory) -> Path:
    """The folder (90 MB). Raises ProviderUnavailable where the weights cannot be used."""
    weights = bundled_weights(factory.mktemp("weights"))
    return made_once(factory, "bundled-onnx", lambda folder: _write(weights, folder))


def write_configuration(folder: Path, **changed: Any) -> None:
    """The files of JSON; `changed` replaces the file of that stem, None leaves it out."""
    for name, content in CONFIGURATION.items():
        file = folder / name
        value = changed.get(file.parent.name if file.parent.name == "1_Pooling" else file.stem, content)
        if value is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")


def _write(weights: WeightFile, folder: Path) -> None:
    write_configuration(folder)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(graph(weights))
    _tokenizer(weights).save(str(folder / "tokenizer.json"), pretty=False)


def _tokenizer(weights: WeightFile) -> Any:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = weights.pieces()
    scores = weights.scores()
    vocabulary = list(zip(pieces, scores.tolist(), strict=True))
    tokenizer: Any = Tokenizer(models.Unigram(vocabulary, unk_id=_UNKNOWN))
    steps = [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", _START), ("</s>", _END)]
    )
    return tokenizer


def graph(weights: WeightFile) -> bytes:
    """Ids to states: the word embeddings stay in their blocks of 4 bits, the rest is that of the bulk engine."""
    import onnx
    from onnx import helper, numpy_helper

    whole = graph_script().Graph(weights.shape)
    constants = _embed(whole, weights) | split_weights(convert_weights(weights), weights.shape)
    whole.transformer()
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [1, "n"]) for name in names]
    shape = [1, "n", weights.shape.hidden]
    outputs = [helper.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, shape)]
    whole.node("Identity", ["states"], "last_hidden_state")
    initializers = [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items()]
    versions = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_graph(whole.nodes, "exported", inputs, outputs, initializers)
    return helper.make_model(made, opset_imports=versions, ir_version=9).SerializeToString()


def _embed(whole: Any, weights: WeightFile) -> dict[str, Any]:
    """Add the nodes, and return the constants that they name."""
    hidden = weights.shape.hidden
    blocks = np.array(weights.blocks("emb.word", hidden))
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2")
    constants = {
        "words": blocks[..., 2:],
        "scales": scales,
        "places": weights.floats("emb.pos").reshape(-1, hidden),
        "kinds": np.tile(weights.floats("emb.type")[:hidden], (2, 1)),
        "fifteen": np.array(15, np.uint8),
        "four": np.array(4, np.uint8),
        "eight": np.array(8, np.float32),
        "rows": np.array([1, -1, hidden]),
        "zero": np.array([0]),
        "one": np.array([1]),
        "two": np.array([2]),
    }
    packed = whole.node("Gather", ["words", "input_ids"], "packed")
    low = whole.node("BitwiseAnd", [packed, "fifteen"], "low")
    high = whole.node("BitShift", [packed, "four"], "high", direction="RIGHT")
    both = whole.node("Concat", [low, high], "both", axis=-1)
    values = whole.node("Cast", [both], "values", to=1)
    centred = whole.node("Sub", [values, "eight"], "centred")
    scale = whole.node("Cast", [whole.node("Gather", ["scales", "input_ids"], "scale16")], "scale", to=1)
    assert hidden % BLOCK == 0
    words = whole.node("Reshape", [whole.node("Mul", [centred, scale], "scaled"), "rows"], "word")
    length = whole.node("Slice", [whole.node("Shape", ["input_ids"], "shape"), "one", "two"], "length")
    place = whole.node("Slice", ["places", "zero", length], "place")
    kind = whole.node("Gather", ["kinds", "token_type_ids"], "kind")
    whole.node("Add", [whole.node("Add", [words, place], "placed"), kind], "tokens")
    return constants
