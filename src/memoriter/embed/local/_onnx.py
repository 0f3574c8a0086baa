"""Embedding models and cross-encoders exported to ONNX, read from their folders and run by onnxruntime.

The layout of the folder is that of sentence-transformers and of the hub: `model.onnx` or `onnx/model.onnx`,
`tokenizer.json`, and further JSON files, each of which may be missing. Some graphs leave out the pooling, which is done
here.
"""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed._artefact import revision_of
from memoriter.embed._provider import threads_to_use
from memoriter.embed.local._local import MOST_TOKENS, LocalProvider, LocalReranker, family_of
from memoriter.errors import InputRejected, ProviderUnavailable, sentence
from memoriter.extras import install_command
from memoriter.types import ModelSpec
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.local._local import Family, LocalEngine

_GRAPHS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_CONFIGURATION = ("config.json", "config_sentence_transformers.json", "modules.json", "sentence_bert_config.json")
_TOKENIZER = "tokenizer.json"
_POOLING_NAMES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
    "lasttoken": "last",
    "pooling_mode_max_tokens": "max",
}
_UNUSED_POSITIONS = {"roberta": 2, "xlm-roberta": 2, "camembert": 2, "mpnet": 2}
"""Number of positions that these kinds of model never use."""
_UNKNOWN_LIMIT = 512
_LEAST_TOKENS = 16
"""The least limit that a tokenizer gets, because it must be larger than the number of markers of a pair."""
_EXPORT = "Export it with its tokenizer: `optimum-cli export onnx --task feature-extraction`."
_EXPORT_RERANKER = "Export a cross-encoder with its tokenizer: `optimum-cli export onnx --task text-classification`."
_NEEDED = ("onnxruntime", "tokenizers")
_DTYPES = {
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(bool)": "bool",
}
"""NumPy's names of onnxruntime's types."""
_POOLED = ("sentence_embedding", "embeddings")
_STATES = ("last_hidden_state", "token_embeddings", "hidden_states")
_EXPORT_AGAIN = "Export the model again, with the task feature-extraction."
_NOTHING_TO_READ = "."
"""Replaces a text without any token."""
_POOLINGS: dict[str, Callable[[Any], NDArray[np.float32]]] = {
    "mean": lambda states: states.mean(axis=0),
    "cls": lambda states: states[0],
    "last": lambda states: states[-1],
    "max": lambda states: states.max(axis=0),
}


@dataclass(frozen=True, slots=True)
class OnnxFolder:
    """The properties of an exported model, known before it is loaded."""

    graph: Path
    tokenizer: Path
    files: tuple[Path, ...]
    """All files that influence the vectors."""
    name: str
    dimensions: int | None
    max_tokens: int
    pooling: str
    """`mean`, `cls`, `last` or `max`. It is ignored if the graph itself pools."""
    dense: bool
    """Whether layers follow the pooling. Only a graph that pools can contain them."""
    query_template: str
    document_template: str
    background: tuple[float, float]


def read_onnx_folder(path: Path) -> OnnxFolder:
    """Return the model in a folder, or the model of an `.onnx` file.

    Raises ProviderUnavailable: a file is missing or cannot be read.
    """
    graph = path if path.suffix == ".onnx" and not path.is_dir() else _find_graph(path)
    root = graph.parent.parent if graph.parent.name == "onnx" else graph.parent
    tokenizer = next((file for file in (root / _TOKENIZER, graph.parent / _TOKENIZER) if file.is_file()), None)
    if not graph.is_file() or tokenizer is None:
        missing = _TOKENIZER if graph.is_file() else graph.name
        raise ProviderUnavailable(f"The model has no {missing}: {root}.", remedy=_EXPORT)
    config = _json(root / "config.json")
    modules = [str(module.get("type", "")) for module in _entries(_read(root / "modules.json"))]
    pooling_file = root / "1_Pooling" / "config.json"
    family = _family(config, root)
    query, document = _templates(_json(root / "config_sentence_transformers.json"), family)
    return OnnxFolder(
        graph=graph,
        tokenizer=tokenizer,
        files=_vector_files(graph, tokenizer, root),
        name=_name(config, root),
        dimensions=_dimensions(config, _json(pooling_file), root),
        max_tokens=_max_tokens(config, root),
        pooling=_pooling(_json(pooling_file), family, root),
        dense=any(module.endswith(".Dense") for module in modules),
        query_template=query,
        document_template=document,
        background=family.background,
    )


def _find_graph(folder: Path) -> Path:
    if not folder.is_dir():
        raise ProviderUnavailable(f"There is no such model: {folder}.", remedy="Name a folder with model.onnx in it.")
    graph = next((folder / name for name in _GRAPHS if (folder / name).is_file()), None)
    others = sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    if graph is None and len(others) > 1:
        names = ", ".join(file.name for file in others[:8])
        raise ProviderUnavailable(f"The model has several graphs: {folder}.", remedy=f"Name one of its files: {names}.")
    return graph or (others[0] if others else folder / _GRAPHS[0])


def _vector_files(graph: Path, tokenizer: Path, root: Path) -> tuple[Path, ...]:
    weights = sorted(graph.parent.glob(f"{graph.name}?data*"))  # `model.onnx_data`, for a graph over 2 GB
    names = (*_CONFIGURATION, "1_Pooling/config.json")
    return (graph, *weights, tokenizer, *(root / name for name in names if (root / name).is_file()))


def _family(config: dict[str, Any], root: Path) -> Family:
    # In the hub's own cache, a parent folder holds the repository's name.
    cached = next((part for part in reversed(root.parts) if part.startswith("models--")), "")
    architecture = "nomic-bert" if config.get("model_type") == "nomic_bert" else ""
    return family_of(architecture, _name(config, root), cached or root.name)


def _name(config: dict[str, Any], root: Path) -> str:
    name = str(config.get("_name_or_path") or "").replace("\\", "/").rstrip("/.")
    return name.rpartition("/")[2] or root.name


def _pooling(config: dict[str, Any], family: Family, root: Path) -> str:
    if not config:
        return family.pooling
    modes = [key for key, chosen in config.items() if key.startswith("pooling_mode_") and chosen is True]
    if "pooling_mode" in config:
        modes = [str(config["pooling_mode"])]
    names = [_POOLING_NAMES.get(key, key) for key in modes]
    if len(names) == 1 and names[0] in _POOLING_NAMES.values():
        return names[0]
    raise ProviderUnavailable(
        f"The pooling of the model is not supported: {', '.join(names) or 'none'}: {root}.",
        remedy="Choose a model that pools by mean, cls, last or max.",
    )


def _templates(config: dict[str, Any], family: Family) -> tuple[str, str]:
    """Return the query and document templates.

    They come from the model's own prompts, or from the family if all prompts are empty.
    """
    value: Any = config.get("prompts")
    prompts = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    default = prompts.get(config.get("default_prompt_name") or "", "")
    query, document = (
        next((prompts[name] for name in names if name in prompts), default)
        for names in (("query", "search_query"), ("document", "passage", "search_document", "corpus"))
    )
    if isinstance(query, str) and isinstance(document, str) and (query or document):
        return query + "{text}", document + "{text}"
    return family.query, family.document


def _dimensions(config: dict[str, Any], pooling: dict[str, Any], root: Path) -> int | None:
    dense = sorted(root.glob("[0-9]*_Dense/config.json"))
    last = _json(dense[-1]).get("out_features") if dense else None
    candidates = (last, pooling.get("word_embedding_dimension"), config.get("hidden_size"), config.get("dim"))
    return next((length for length in candidates if isinstance(length, int) and length > 0), None)


def _max_tokens(config: dict[str, Any], root: Path) -> int:
    sentence_limit = _json(root / "sentence_bert_config.json").get("max_seq_length")
    tokenizer_limit = _json(root / "tokenizer_config.json").get("model_max_length")
    positions: Any = config.get("max_position_embeddings")
    if isinstance(positions, int):
        positions -= _UNUSED_POSITIONS.get(str(config.get("model_type")), 0)
    limits = [limit for limit in (sentence_limit, tokenizer_limit, positions) if isinstance(limit, int) and limit > 0]
    return min([*limits, MOST_TOKENS] if limits else [_UNKNOWN_LIMIT])


def _json(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or an empty one if the file is missing or holds something else."""
    content = _read(file)
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}


def _entries(content: Any) -> list[dict[str, Any]]:
    """Return the objects in a list."""
    items = cast("list[Any]", content) if isinstance(content, list) else []
    return [cast("dict[str, Any]", entry) for entry in items if isinstance(entry, dict)]


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ProviderUnavailable(
            f"The model's {file.name} cannot be read: {sentence(error)}", remedy="Fetch the model again."
        ) from error


def open_onnx(path: Path, *, cache_dir: Path, threads: int | None = None) -> LocalProvider:
    """Return the model of a folder or an `.onnx` file, ready to embed. It is loaded at the first use.

    Raises:
        ProviderUnavailable: a package is not installed, or the folder does not hold an embedding model.
    """
    _require_packages()
    model = read_onnx_folder(path)

    def load() -> LocalEngine:
        return OnnxEngine(model, threads_to_use(threads))

    # A graph without configuration files must run once to show its dimensions.
    dimensions = model.dimensions or load().embed("how long?").size
    return LocalProvider(_spec(model, dimensions, cache_dir), "NFC", load)


def open_onnx_reranker(path: Path, *, clock: Callable[[], float]) -> LocalReranker:
    """Return the cross-encoder of a folder or an `.onnx` file. It is loaded at the first use.

    Raises ProviderUnavailable: a package is not installed, or a file is missing.
    """
    _require_packages()
    try:
        model = read_onnx_folder(path)
    except ProviderUnavailable as error:
        raise ProviderUnavailable(error.message, remedy=_EXPORT_RERANKER) from error
    return LocalReranker(model.name, lambda: OnnxCrossEncoder(model, threads_to_use(None)), clock)


def _require_packages() -> None:
    """Raise ProviderUnavailable if a package that runs ONNX models is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        message = f"To run ONNX models, {' and '.join(missing)} must be installed."
        raise ProviderUnavailable(message, remedy=f"Run `{install_command('onnx')}`.")


def onnx_spec(path: Path, *, cache_dir: Path) -> ModelSpec | None:
    """Return the model of a folder without loading it, or None if its configuration does not state the dimensions.

    Raises ProviderUnavailable: the folder does not hold an embedding model.
    """
    model = read_onnx_folder(path)
    return _spec(model, model.dimensions, cache_dir) if model.dimensions else None


def _spec(model: OnnxFolder, dimensions: int, cache_dir: Path) -> ModelSpec:
    return ModelSpec(
        provider="onnx",
        model=model.name,
        dimensions=dimensions,
        revision=revision_of(list(model.files), cache_dir),
        query_template=model.query_template,
        document_template=model.document_template,
        pooling=model.pooling,
        normaliser="nfc",
        max_tokens=model.max_tokens,
        background=model.background,
    )


class OnnxEngine:
    """Embeds one text per run: padding would cost more than it saves, and other texts could change a vector."""

    def __init__(self, model: OnnxFolder, threads: int) -> None:
        """Load tokenizer and graph.

        Raises ProviderUnavailable: the tokenizer or graph does not load, or the graph has unknown inputs or outputs.
        """
        self._model = model
        self._tokenizer = _load_tokenizer(model)
        session = _load_session(model, threads)
        self._session = session
        self._inputs = {node.name: _input_builder(node, model) for node in session.get_inputs()}
        self._output, rank = _choose_output(session.get_outputs(), model)
        self._pool: Callable[[Any], NDArray[np.float32]] | None = None if rank == 2 else _POOLINGS[model.pooling]
        if self._pool is not None and model.dense:
            raise ProviderUnavailable(
                f"Layers follow the model's pooling, and the graph does not contain them: {model.graph}.",
                remedy="Export the model with the output sentence_embedding.",
            )

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text).ids)

    def embed(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        encoded = self._tokenizer.encode(text)
        if not encoded.ids:
            encoded = self._tokenizer.encode(_NOTHING_TO_READ)
        ids, type_ids = self._truncate(encoded)
        inputs = {name: fill(ids, type_ids) for name, fill in self._inputs.items()}
        try:
            (output,) = self._session.run([self._output], inputs)
        except Exception as error:
            raise InputRejected(f"The engine onnxruntime refused the text: {sentence(error)}") from error
        states = np.asarray(output[0], np.float32)
        return states if self._pool is None else self._pool(states)

    def close(self) -> None:
        """Do nothing. The memory is freed with the last reference to the engine."""

    def _truncate(self, encoded: Any) -> tuple[list[int], list[int]]:
        """Return ids and type ids, cut to the model's limit. An end marker stays at the end."""
        ids = encoded.ids
        type_ids = encoded.type_ids
        limit = self._model.max_tokens
        if len(ids) <= limit:
            return ids, type_ids
        end = -1 if encoded.special_tokens_mask[-1] else len(ids)
        head_length = limit - len(ids[end:])
        return [*ids[:head_length], *ids[end:]], [*type_ids[:head_length], *type_ids[end:]]


class OnnxCrossEncoder:
    """Scores one pair per run, by a graph with one label (relevant), or with two (not relevant, relevant)."""

    def __init__(self, model: OnnxFolder, threads: int) -> None:
        """Load tokenizer and graph.

        Raises ProviderUnavailable: one of them does not load, or the graph is no cross-encoder.
        """
        self._tokenizer = _load_tokenizer(model)
        self._tokenizer.enable_truncation(max(model.max_tokens, _LEAST_TOKENS), strategy="longest_first")
        self._session = _load_session(model, threads)
        self._inputs = {node.name: _input_builder(node, model) for node in self._session.get_inputs()}
        outputs: dict[str, list[Any]] = {node.name: node.shape for node in self._session.get_outputs()}
        self._output = "logits" if "logits" in outputs else next(iter(outputs), "")
        shape = outputs.get(self._output, [])
        if len(shape) != 2 or (isinstance(shape[1], int) and shape[1] not in {1, 2}):
            raise ProviderUnavailable(
                f"The graph gives no score of a question and a passage: {model.graph}.", remedy=_EXPORT_RERANKER
            )

    def relevance(self, query: str, passage: str) -> float:
        import numpy as np

        try:
            encoded = self._tokenizer.encode(query, passage)
            inputs = {name: fill(encoded.ids, encoded.type_ids) for name, fill in self._inputs.items()}
            (output,) = self._session.run([self._output], inputs)
        except Exception as error:
            raise InputRejected(f"The engine onnxruntime refused the text: {sentence(error)}") from error
        logits: Any = np.asarray(output, np.float32).reshape(-1)
        if logits.size not in {1, 2}:
            raise ProviderUnavailable(f"The graph gives {logits.size} scores for a passage.", remedy=_EXPORT_RERANKER)
        return float(logits[-1] - logits[0]) if logits.size == 2 else float(logits[0])

    def close(self) -> None:
        """Do nothing. The memory is freed with the last reference to the model."""


def _load_tokenizer(model: OnnxFolder) -> Any:
    """Return the tokenizer, which neither cuts nor pads. Raises ProviderUnavailable."""
    import tokenizers

    try:
        tokenizer: Any = tokenizers.Tokenizer.from_file(str(model.tokenizer))
    except Exception as error:
        raise ProviderUnavailable(
            f"The model's tokenizer does not load: {model.tokenizer}: {sentence(error)}",
            remedy="Fetch the model again.",
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # a marker written in a note is plain text
    return tokenizer


def _load_session(model: OnnxFolder, threads: int) -> Any:
    """Return the graph, ready to run. Raises ProviderUnavailable."""
    import onnxruntime

    runtime = cast("Any", onnxruntime)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(str(model.graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ProviderUnavailable(
            f"The model {model.graph} cannot be loaded by onnxruntime: {sentence(error)}",
            remedy="Fetch the model again.",
        ) from error


def _input_builder(node: Any, model: OnnxFolder) -> Callable[[list[int], list[int]], Any]:
    """Return a function that computes an input from the ids and type ids of one text."""
    import numpy as np

    dtype = _DTYPES.get(node.type)
    if dtype is not None:
        match node.name:
            case "input_ids":
                return lambda ids, _: np.asarray([ids], dtype)
            case "attention_mask":
                return lambda ids, _: np.ones((1, len(ids)), dtype)
            case "token_type_ids":
                return lambda _, type_ids: np.asarray([type_ids], dtype)
            case "position_ids":
                return lambda ids, _: np.arange(len(ids), dtype=dtype)[None]
            case str(name) if name.startswith("past_key_values"):
                # One text, which no tokens precede.
                shape = [1, *(size if isinstance(size, int) else 0 for size in node.shape[1:])]
                empty: Any = np.zeros(shape, dtype)
                return lambda _, __: empty
            case _:
                pass
    raise ProviderUnavailable(f"The graph asks for {node.name!r} ({node.type}): {model.graph}.", remedy=_EXPORT_AGAIN)


def _choose_output(outputs: list[Any], model: OnnxFolder) -> tuple[str, int]:
    """Return the name and rank of the output to use, preferably the pooled one."""
    ranks = {node.name: len(node.shape) for node in outputs if node.type in _DTYPES}
    for names, rank in ((_POOLED, 2), (_STATES, 3)):
        if output := next((name for name in names if ranks.get(name) == rank), None):
            return output, rank
    if len(ranks) == 1 and (only := next(iter(ranks.items())))[1] in {2, 3}:
        return only
    listing = ", ".join(sorted(ranks)) or "nothing"
    raise ProviderUnavailable(
        f"The graph gives {listing}, and no vector of a text: {model.graph}.", remedy=_EXPORT_AGAIN
    )
