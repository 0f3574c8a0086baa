"""Tiny rerankers: a cross-encoder in ONNX that counts shared words, and a BERT with a ranking head as GGUF."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = [
    *("red", "green", "blue", "which", "database", "did", "we", "choose", "chose", "for", "the"),
    *("ledger", "postgresql", "bananas", "ripen", "at", "night", "slowly", "gateway", "runs", "on"),
    *("mac", "studio", "in", "office", "who", "why", "when", "because", "of", "acid", "sqlite"),
    *("queue", "cache", "vault"),
]
HIDDEN = 32
INNER = 64
HEADS = 4
POSITIONS = 64


def write_cross_encoder(folder: Path, *, labels: int = 1, words: list[str] | None = None, limit: int = 64) -> Path:
    """A folder whose graph gives the number of words that question and passage share; each word counts as one token.

    With two labels, the first is `not relevant`.
    """
    import onnx
    import tokenizers
    from onnx import helper, numpy_helper

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *(words or WORDS)])}
    tokenizer: Any = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"_name_or_path": "tiny-cross-encoder", "model_type": "bert", "max_position_embeddings": limit}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")

    constants = {"first": [1], "second": [2], "both": [1, 2], "last_special": np.array(len(SPECIAL) - 1)}
    node = helper.make_node
    nodes = [
        node("Unsqueeze", ["input_ids", "second"], ["rows"]),
        node("Unsqueeze", ["input_ids", "first"], ["columns"]),
        node("Equal", ["rows", "columns"], ["same"]),
        node("Cast", ["same"], ["same_number"], to=1),
        node("Greater", ["rows", "last_special"], ["word"]),
        node("Cast", ["word"], ["word_number"], to=1),
        node("Cast", ["token_type_ids"], ["kind"], to=1),
        node("Unsqueeze", ["kind", "second"], ["of_row"]),
        node("Unsqueeze", ["kind", "first"], ["of_column"]),
        node("Sub", ["of_column", "of_row"], ["difference"]),
        node("Relu", ["difference"], ["from_question_to_passage"]),
        node("Mul", ["same_number", "word_number"], ["same_word"]),
        node("Mul", ["same_word", "from_question_to_passage"], ["shared"]),
        node("ReduceSum", ["shared", "both"], ["count"], keepdims=0),
        node("Unsqueeze", ["count", "first"], ["score"]),
        node("Neg", ["score"], ["opposite"]),
        node("Identity", ["score"], ["logits"])
        if labels == 1
        else node("Concat", [*["opposite"] * (labels - 1), "score"], ["logits"], axis=1),
    ]
    inputs = [helper.make_tensor_value_info(name, 7, ["b", "n"]) for name in ("input_ids", "token_type_ids")]
    initializers = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in constants.items()]
    outputs = [helper.make_tensor_value_info("logits", 1, ["b", labels])]
    graph = helper.make_graph(nodes, "cross-encoder", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "model.onnx"))
    return folder


def write_gguf_reranker(file: Path, *, pooling: int | None = None) -> Path:
    """A BERT of one layer with random weights, always the same, and a ranking head."""
    import gguf

    writer: Any = gguf.GGUFWriter(file, "bert")
    tokens = [*SPECIAL, *(f"\u2581{word}" for word in WORDS), *(chr(letter) for letter in range(97, 123))]
    writer.add_name("tiny reranker")
    writer.add_block_count(1)
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(value=False)
    writer.add_pooling_type(gguf.PoolingType.RANK if pooling is None else gguf.PoolingType(pooling))
    writer.add_array("bert.classifier.output_labels", ["relevant"])
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_token_type_count(2)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(3)
    writer.add_sep_token_id(3)
    writer.add_unk_token_id(1)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(value=True)
    writer.add_add_eos_token(value=True)
    random = np.random.default_rng(7)
    for name, shape in _shapes(len(tokens)).items():
        if "norm.weight" in name:
            values = np.ones(shape)
        else:
            values = np.zeros(shape) if name.endswith(".bias") else random.normal(0, 0.5, shape)
        writer.add_tensor(name, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _shapes(words: int) -> dict[str, tuple[int, ...]]:
    matrices = {
        **{f"blk.0.attn_{part}": (HIDDEN, HIDDEN) for part in ("q", "k", "v", "output")},
        "blk.0.ffn_up": (INNER, HIDDEN),
        "blk.0.ffn_down": (HIDDEN, INNER),
        "cls": (HIDDEN, HIDDEN),
        "cls.output": (1, HIDDEN),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (words, HIDDEN),
        "position_embd.weight": (POSITIONS, HIDDEN),
        "token_types.weight": (2, HIDDEN),
    }
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        shapes |= {f"{name}.weight": (HIDDEN,), f"{name}.bias": (HIDDEN,)}
    for name, shape in matrices.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes
