"""QMD's private home: its configuration, what memoriter remembers of it, and its models."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.codes import stored_code
from memoriter.errors import QmdFailure, QmdNoVectors, sentence
from memoriter.permissions import folder_lock, make_private_folder, replace_private
from memoriter.plain_file import read_plain
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from memoriter.extensions.qmd._collections import Folder

MODEL_VARIABLES = {"embed": "QMD_EMBED_MODEL", "generate": "QMD_GENERATE_MODEL", "rerank": "QMD_RERANK_MODEL"}
DEFAULT_MODELS = {
    "embed": "embeddinggemma-300M-Q8_0.gguf",
    "generate": "qmd-query-expansion-1.7B-q4_k_m.gguf",
    "rerank": "qwen3-reranker-0.6b-q8_0.gguf",
}
"""File names of the models that QMD downloads by itself."""
KEPT_KEYS = ("context", "ignore")
"""Settings of a collection that the owner may add in QMD; a command to run before an update is not among them."""
MOST_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class StoredState:
    """What memoriter remembers of QMD, for all processes. Times are seconds since 1970."""

    probed: tuple[str, int, str] | None = None
    """The path of the program, the time of its last change in nanoseconds, and its version."""
    files: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of files of each collection."""
    fingerprint: str = ""
    """Of the files that the last update indexed."""
    documents: int | None = None
    vectors: int | None = None
    pending: int | None = None
    last_update: float | None = None
    update_failures: int = 0
    """Failures since the last update that succeeded."""
    update_failed_at: float | None = None
    last_embed: float | None = None
    embed_failures: int = 0
    embed_failed_at: float | None = None
    error: tuple[str, str, str] | None = None
    """Code, message and remedy of the last failure; None if the last run succeeded."""
    error_at: float | None = None
    exported: Mapping[str, int] = field(default_factory=dict[str, int])
    """The exported transcripts, with the time of the last change of each in nanoseconds."""

    @property
    def failure(self) -> Diagnostic | None:
        if self.error is None:
            return None
        code, message, remedy = self.error
        return Diagnostic(stored_code(code), message, remedy)


class QmdHome:
    """The folder `agents/<agent>/qmd`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "xdg-config" / "qmd" / "index.yml"
        self.database = path / "xdg-cache" / "qmd" / "index.sqlite"
        self.models_folder = path / "xdg-cache" / "qmd" / "models"

    def make(self, shared_models: Path | None = None) -> None:
        """Create the folders, for their owner only. Raises QmdFailure.

        The owner's own QMD keeps models in `shared_models`, which are too large to have twice.
        """
        try:
            for folder in (self.config_file.parent, self.database.parent, self.path / "cwd"):
                make_private_folder(folder)
            if shared_models and shared_models.is_dir() and not os.path.lexists(self.models_folder):
                with suppress(OSError):
                    self.models_folder.symlink_to(shared_models, target_is_directory=True)
        except OSError as error:
            raise QmdFailure(
                f"QMD's home {str(self.path)!r} cannot be created: {sentence(error.strerror or error)}",
                remedy="Make memoriter's home writable.",
            ) from error

    def state(self) -> StoredState:
        """Return what is remembered; an unreadable file counts as nothing."""
        try:
            stored: Any = json.loads(read_plain(self.path / "state.json", MOST_BYTES))
            known = {item.name for item in fields(cast("Any", StoredState))}
            values: dict[str, Any] = {name: value for name, value in stored.items() if name in known}
            for name in ("error", "probed"):
                values[name] = tuple(values[name]) if values.get(name) else None
            return StoredState(**values)
        except (OSError, ValueError, TypeError, AttributeError):
            return StoredState()

    def change(self, change: Callable[[StoredState], StoredState]) -> None:
        """Replace what is remembered; without effect if the folder cannot be written."""
        with suppress(OSError), folder_lock(self.path):
            state = change(self.state())
            content = {item.name: getattr(state, item.name) for item in fields(cast("Any", state))}
            replace_private(self.path / "state.json", json.dumps(content, ensure_ascii=False).encode("utf-8"))

    def failed(self, error: QmdFailure, now: float) -> None:
        told = (error.code, error.message, error.remedy)
        self.change(lambda state: replace(state, error=told, error_at=now))

    def configuration(self) -> dict[str, Any]:
        """Return the content of QMD's configuration; an unreadable one is empty."""
        try:
            text = read_plain(self.config_file, MOST_BYTES)
        except OSError:
            return {}
        with suppress(ValueError, RecursionError):  # as memoriter writes it
            return _table(json.loads(text))
        import yaml

        try:
            return _table(yaml.safe_load(text))
        except (ValueError, RecursionError, yaml.YAMLError):
            return {}

    def write_configuration(self, content: Mapping[str, Any]) -> None:
        """Write QMD's configuration as JSON, which is YAML too, unless it has this meaning already.

        Raises QmdFailure: it cannot be written.
        """
        if self.configuration() == content:
            return
        try:
            if self.config_file.exists() and not self.configuration():
                self.config_file.replace(self.config_file.with_suffix(".yml.broken"))
            replace_private(self.config_file, f"{json.dumps(content, indent=2)}\n".encode())
        except OSError as error:
            raise QmdFailure(
                f"QMD's configuration {str(self.config_file)!r} cannot be written: {sentence(error.strerror or error)}",
                remedy="Make memoriter's home writable.",
            ) from error

    def models(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the models that are configured: by variables, else in QMD's configuration."""
        known = _table(self.configuration().get("models"))
        chosen = {name: str(known.get(name) or "") for name in MODEL_VARIABLES}
        given = {name: environ.get(variable, "").strip() for name, variable in MODEL_VARIABLES.items()}
        return {name: given[name] or chosen[name] for name in MODEL_VARIABLES if given[name] or chosen[name]}

    def has_model(self, name: str, environ: Mapping[str, str]) -> bool:
        """Return whether the model `embed`, `generate` or `rerank` is on this machine."""
        value = self.models(environ).get(name, DEFAULT_MODELS[name])
        if _is_path(value):
            return Path(value).is_file()
        wanted = value.rpartition("/")[2]
        try:
            with os.scandir(self.models_folder) as entries:
                return any(wanted in entry.name and entry.is_file() for entry in entries)
        except OSError:
            return False

    def check_models(self, environ: Mapping[str, str]) -> None:
        """Check the model files that the owner named, because QMD deletes a file that is no model.

        Raises QmdNoVectors: a file is missing, or is not GGUF.
        """
        for name, value in self.models(environ).items():
            if not _is_path(value):
                continue
            remedy = (
                f"Name a GGUF file in the variable {MODEL_VARIABLES[name]}, or set memory.qmd.searchMode to `search`."
            )
            try:
                with open(value, "rb") as file:  # noqa: PTH123 (four bytes of what may be gigabytes)
                    magic = file.read(4)
            except OSError as error:
                raise QmdNoVectors(
                    f"QMD's model {value!r} cannot be read: {sentence(error.strerror or error)}", remedy=remedy
                ) from error
            if magic != b"GGUF":
                raise QmdNoVectors(f"The file {value!r} is not a GGUF model; QMD would delete it.", remedy=remedy)


def _is_path(value: str) -> bool:
    return not value.startswith(("hf:", "http:", "https:")) and ("/" in value or os.sep in value)


def merged_configuration(
    current: Mapping[str, Any], folders: Iterable[Folder], models: Mapping[str, str]
) -> dict[str, Any]:
    """Return QMD's configuration for these collections, with the texts and the models that the owner configured there.

    No collection is among QMD's defaults, so that a typed query without collections is one search of all files. For
    named or default collections, QMD makes one ranking of each, and the first file of the first collection always wins.

    Args:
        current: the configuration as it is.
        folders: the collections whose folders exist. QMD takes a missing folder for one whose files were all deleted.
        models: the models, by `embed`, `generate` and `rerank`.
    """
    known = _table(current.get("collections"))
    collections: dict[str, Any] = {}
    for folder in folders:
        old = _table(known.get(folder.name))
        kept = {key: old[key] for key in KEPT_KEYS if key in old}
        fixed = {"path": str(folder.path), "pattern": folder.pattern, "includeByDefault": False}
        collections[folder.name] = {**fixed, **kept}
    others = {key: current[key] for key in ("global_context",) if key in current}
    return {**others, "collections": collections, **({"models": dict(models)} if models else {})}


def outdated_collections(current: Mapping[str, Any], folders: Iterable[Folder]) -> list[str]:
    """Return the collections that QMD must forget: those that are not configured any more, or are elsewhere now.

    The folders are those of all collections of the settings, whether they exist or not.
    """
    wanted = {folder.name: (str(folder.path), folder.pattern) for folder in folders}
    known = {name: _table(entry) for name, entry in _table(current.get("collections")).items()}
    return [name for name, old in known.items() if wanted.get(name) != (old.get("path"), old.get("pattern", "**/*.md"))]


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
