"""Tiny language models as GGUF, with byte-level tokens: one that generates, one that only embeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN = 64
INNER = 128
HEADS = 2
LAYERS = {"qwen3": 2, "gemma-embedding": 6}
"""The second kind has one layer of another sort in six, and llama.cpp does not run it without."""
END = "<|endoftext|>"


def write_generator(
    file: Path, name: str = "Qwen3 Embedding tiny", *, architecture: str = "qwen3", context: int = 64
) -> Path:
    """Random weights, always the same; the file does not say how to pool."""
    import gguf

    writer: Any = gguf.GGUFWriter(file, architecture)
    writer.add_name(name)
    writer.add_block_count(LAYERS[architecture])
    writer.add_context_length(context)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_key_length(HIDDEN // HEADS)
    writer.add_value_length(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    writer.add_sliding_window(context)
    letters = _byte_letters()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([*letters, END])
    writer.add_token_types([1] * len(letters) + [3])
    writer.add_token_merges([f"{letters[0]} {letters[0]}"])
    writer.add_eos_token_id(len(letters))
    writer.add_pad_token_id(len(letters))
    writer.add_add_bos_token(value=False)
    writer.add_add_eos_token(value=True)
    random = np.random.default_rng(7)
    for tensor, shape in _shapes(len(letters) + 1, architecture).items():
        values = random.normal(0, 0.3, shape) if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(tensor, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _shapes(words: int, architecture: str) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (words, HIDDEN), "output_norm.weight": (HIDDEN,)}
    for layer in range(LAYERS[architecture]):
        of = f"blk.{layer}."
        shapes |= {of + f"attn_{part}.weight": (HIDDEN, HIDDEN) for part in ("q", "k", "v", "output")}
        around = ("post_attention", "post_ffw") if architecture == "gemma-embedding" else ()
        shapes |= {of + f"{part}_norm.weight": (HIDDEN,) for part in ("attn", "ffn", *around)}
        shapes |= {of + f"attn_{part}_norm.weight": (HIDDEN // HEADS,) for part in "qk"}
        shapes |= {of + f"ffn_{part}.weight": (INNER, HIDDEN) for part in ("gate", "up")}
        shapes[of + "ffn_down.weight"] = (HIDDEN, INNER)
    return shapes


def _byte_letters() -> list[str]:
    """One printable letter for each byte, as byte-level tokenizers write them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]
