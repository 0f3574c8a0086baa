"""Read the folder of an embedding model exported to ONNX: its files, and how its configuration says to use it.

The layout is that of sentence-transformers and of the hub: `model.onnx` or `onnx/model.onnx`, `tokenizer.json`, and
further JSON files, each of which may be missing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed.local._families import family_of
from memoriter.embed.local._local import MOST_TOKENS
from memoriter.errors import ProviderUnavailable, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.embed.local._families import Family

_GRAPHS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_CONFIGURATION = ("config.json", "config_sentence_transformers.json", "modules.json", "sentence_bert_config.json")
_TOKENIZER = "tokenizer.json"
_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
    "lasttoken": "last",
    "pooling_mode_max_tokens": "max",
}
_UNUSED_POSITIONS = {"roberta": 2, "xlm-roberta": 2, "camembert": 2, "mpnet": 2}
"""Number of positions that these kinds of model never use."""
_UNKNOWN_LIMIT = 512
_EXPORT = "Export it with its tokenizer: `optimum-cli export onnx --task feature-extraction`."


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

    Raises:
        ProviderUnavailable: a file is missing or cannot be read.
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
    names = [_POOLINGS.get(key, key) for key in modes]
    if len(names) == 1 and names[0] in _POOLINGS.values():
        return names[0]
    raise ProviderUnavailable(
        f"The model pools in a way that is not known here: {', '.join(names) or 'none'}: {root}.",
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
