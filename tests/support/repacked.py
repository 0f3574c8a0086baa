"""The bundled model's weights in the files that others use: real models of the user's, without a download."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock

from memoriter.embed.bundled._native import RETRIEVER_SHA256, usable_weights
from memoriter.embed.bundled._weightfile import BLOCK, RETRIEVER, tuned_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from memoriter.embed.bundled._weightfile import WeightFile

_START = 0
_PADDING = 1
_END = 2
_UNKNOWN = 3
_CONTROL = 3
_NORMAL = 1
_UNKNOWN_TYPE = 2


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A file or folder that all processes of one test run share."""
    base = factory.getbasetemp()
    place = (base.parent if base.name.startswith("popen-") else base) / "repacked" / name
    place.parent.mkdir(exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not place.exists():
            part = place.with_name(f"part-{name}")
            make(part)
            part.rename(place)
    return place


def gguf_model(factory: pytest.TempPathFactory) -> Path:
    """The bundled model as GGUF (74 MB). Raises ProviderUnavailable where its weights cannot be used."""
    weights = bundled_weights(factory.mktemp("weights"))
    return made_once(factory, "bundled-q4_0.gguf", lambda file: write_gguf(weights, file))


def bundled_weights(cache: Path) -> WeightFile:
    """The weights of the bundled retriever. Raises ProviderUnavailable where they cannot be used."""
    return tuned_weights(usable_weights(cache), RETRIEVER, RETRIEVER_SHA256)


def write_gguf(weights: WeightFile, file: Path) -> None:
    """Its blocks are byte for byte those of GGML's Q4_0."""
    import gguf

    writer: Any = gguf.GGUFWriter(file, "bert")
    shape = weights.shape
    writer.add_name("multilingual e5 small")
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.positions)
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.inner)
    writer.add_head_count(shape.heads)
    writer.add_layer_norm_eps(shape.epsilon)
    writer.add_causal_attention(value=False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    _add_vocabulary(writer, weights)
    for name, tensor in _floats(weights).items():
        writer.add_tensor(name, tensor)
    for name, (source, columns) in _matrices(weights).items():
        blocks = np.array(weights.blocks(source, columns))
        packed = blocks.reshape(len(blocks), -1)
        writer.add_tensor(name, packed, raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: Any, weights: WeightFile) -> None:
    pieces = weights.pieces()
    scores = weights.scores()
    kinds = [_NORMAL] * len(pieces)
    kinds[_START] = kinds[_PADDING] = kinds[_END] = _CONTROL
    kinds[_UNKNOWN] = _UNKNOWN_TYPE
    spare = weights.shape.words - len(pieces)
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([*pieces, *(f"[spare {number}]" for number in range(spare))])
    writer.add_token_scores([*scores.tolist(), *[-1000.0] * spare])
    writer.add_token_types([*kinds, *[_CONTROL] * spare])
    writer.add_token_type_count(2)
    writer.add_add_space_prefix(value=True)
    writer.add_remove_extra_whitespaces(value=True)
    writer.add_bos_token_id(_START)
    writer.add_eos_token_id(_END)
    writer.add_sep_token_id(_END)
    writer.add_unk_token_id(_UNKNOWN)
    writer.add_pad_token_id(_PADDING)
    writer.add_add_bos_token(value=True)
    writer.add_add_eos_token(value=True)


_PARTS = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "ao": "attn_output",
    "fi": "ffn_up",
    "fo": "ffn_down",
}
_NORMS = {"aln": "attn_output_norm", "oln": "layer_output_norm"}


def _floats(weights: WeightFile) -> dict[str, Any]:
    hidden = weights.shape.hidden
    kinds = weights.floats("emb.type")[:hidden]
    tensors: dict[str, Any] = {
        "position_embd.weight": weights.floats("emb.pos").reshape(-1, hidden),
        "token_types.weight": np.tile(kinds, (2, 1)),
        "token_embd_norm.weight": weights.floats("emb.ln.w"),
        "token_embd_norm.bias": weights.floats("emb.ln.b"),
    }
    for layer in range(weights.shape.layers):
        for source, name in _PARTS.items():
            tensors[f"blk.{layer}.{name}.bias"] = weights.floats(f"l{layer}.{source}.b")
        for source, name in _NORMS.items():
            tensors[f"blk.{layer}.{name}.weight"] = weights.floats(f"l{layer}.{source}.w")
            tensors[f"blk.{layer}.{name}.bias"] = weights.floats(f"l{layer}.{source}.b")
    return {name: np.array(tensor) for name, tensor in tensors.items()}


def _matrices(weights: WeightFile) -> dict[str, tuple[str, int]]:
    """Name in GGUF to name and columns in the weight file."""
    hidden = weights.shape.hidden
    inner = weights.shape.inner
    assert hidden % BLOCK == inner % BLOCK == 0
    found = {"token_embd.weight": ("emb.word", hidden)}
    for layer in range(weights.shape.layers):
        for source, name in _PARTS.items():
            found[f"blk.{layer}.{name}.weight"] = (f"l{layer}.{source}.w", inner if source == "fo" else hidden)
    return found


def written(folder: Path, architecture: str = "bert", **values: Any) -> Path:
    """A GGUF file with these values (`__` stands for a dot) and no model in it."""
    import gguf

    file = folder / "model.gguf"
    writer: Any = gguf.GGUFWriter(file, architecture)
    for key, value in values.items():
        name = key.replace("__", ".")
        if isinstance(value, str):
            writer.add_string(name, value)
        elif isinstance(value, list):
            writer.add_array(name, value)
        else:
            writer.add_uint32(name, value)
    writer.add_tensor("blk.0.weight", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.add_tensor("blk.1.weight", np.ones(40, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


if __name__ == "__main__":  # just gguf FILE
    with TemporaryDirectory() as scratch:
        write_gguf(bundled_weights(Path(scratch)), Path(sys.argv[1]))
