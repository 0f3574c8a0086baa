"""What long-term memories are made of, as the settings name it, and the copy of their vectors."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from memoriter.array_file import read_arrays
from memoriter.config import expand, in_home, workspace_key
from memoriter.errors import ConfigError
from memoriter.extensions.longterm._lance import TABLE, LanceStore
from memoriter.extensions.longterm._note import OwnStatementsFile
from memoriter.extensions.longterm._records import OWN_FOLDER, Origin
from memoriter.extensions.longterm.settings import KEY, LongTermEntry
from memoriter.ids import text_key
from memoriter.permissions import make_private_folder
from memoriter.values import dataclass
from memoriter.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from memoriter.backends import Embedding, MemoryBackend
    from memoriter.config import MemorySearch
    from memoriter.extensions.longterm._results import LongTermStore, Vector
    from memoriter.extensions.longterm.settings import LongTerm
    from memoriter.hookspecs import PluginContext

    Rows = dict[str, tuple[str, Vector]]

LONGEST_PRINCIPAL = 200
SERVICE = "openai"
"""The provider of OpenClaw's plugin, for settings that name a key or an address and no provider."""


@dataclass(frozen=True, slots=True)
class LongTermParts:
    """The parts of the long-term memories of one folder of notes."""

    workspace: Workspace
    """Where `memory/long-term.md` and `memory/inbox.md` are."""
    apart: bool
    """Whether this is not the folder of the notes: OpenClaw's stays as it is."""
    backend: MemoryBackend
    embedding: Embedding
    open_store: Callable[[str, int], LongTermStore]
    """Returns the store for vectors of a model: its fingerprint, and the length of a vector."""
    database: str
    vectors: VectorFile
    """A copy of the vectors, for recall before a turn."""
    principal: str
    """Whose memories these are."""
    shared: bool
    """Whether other folders of notes have memories of the same principal in the database."""
    note: str
    """The key of this folder of notes."""
    own: OwnStatementsFile
    """What the owner approved on this machine, and what they wrote in the note of a project."""
    owned: bool
    """Whether the notes are the owner's, and not those of a project."""
    trusted: frozenset[Origin]
    """Whose memories, besides those of the owner, may be put before a turn without approval."""
    openclaw: Path | None
    """The folder of a table of OpenClaw that the settings name, which is only read; None: they name none."""
    inbox_days: int
    """Days after which a candidate of the inbox is dropped."""
    wall: Callable[[], float]
    new_id: Callable[[], str]


def parts_of(context: PluginContext) -> LongTermParts:
    """Return the parts that the settings name. Raises ConfigError if a setting is wrong."""
    services = context.services
    place = context.memory.place
    settings = context.memory.configuration.extension(KEY, LongTermEntry).config
    database = database_place(settings, services.home, services.user_home)
    note = workspace_key(place.workspace)
    principal = principal_of(settings, note)
    state = context.memory.configuration.state
    apart = state is not None
    folder = services.home / "memory" / "long-term-notes" / note
    workspace = Workspace(folder, layout="openclaw", make=make_private_folder) if apart else services.workspace
    recalls_agents = context.memory.configuration.settings.trust.agent == "recall"
    trusted = frozenset[Origin]({"agent"} if recalls_agents else ())
    options = {name: expand(value, services.environ) for name, value in settings.storage_options.items()}

    def open_store(model: str, dimensions: int) -> LongTermStore:
        wanted = settings.embedding.dimensions
        if wanted is not None and wanted != dimensions:
            raise ConfigError(
                f"The embedding model has vectors of {dimensions} numbers, and "
                f"plugins.entries.memory-lancedb.config.embedding.dimensions is {wanted}.",
                remedy="Remove that setting, or name another model.",
            )
        return LanceStore(database, model=model, dimensions=dimensions, options=options, trusted=trusted)

    return LongTermParts(
        workspace=workspace,
        apart=apart,
        backend=services.backend,
        embedding=services.embedding(embedding_settings(settings, context.memory.settings)),
        open_store=open_store,
        database=database,
        vectors=VectorFile(services.home / "memory" / "long-term-vectors", note),
        principal=principal,
        shared=not principal.startswith(OWN_FOLDER),
        note=note,
        own=OwnStatementsFile(services.home / "memory" / "long-term-own" / f"{note}.json"),
        owned=place.trust == "owner",
        trusted=trusted,
        openclaw=openclaw_folder(settings, database, state),
        inbox_days=settings.inbox_days,
        wall=context.wall,
        new_id=services.new_id,
    )


def embedding_settings(settings: LongTerm, search: MemorySearch) -> MemorySearch:
    """Return the settings of search with the provider of long-term memories; the same if that has no settings."""
    own = settings.embedding
    if not (own.provider or own.model or own.api_key or own.base_url):
        return search
    remote = search.remote
    if own.provider or own.api_key or own.base_url:
        remote = replace(remote, api_key=own.api_key or None, base_url=own.base_url or None)
    provider = own.provider or (SERVICE if own.api_key or own.base_url else search.provider)
    return replace(search, provider=provider, model=own.model or "", fallback="none", remote=remote)


def database_place(settings: LongTerm, home: Path, user_home: Path) -> str:
    """Return the folder or the address of the database."""
    written = settings.db_path
    if not written:
        return str(home / "memory" / "lancedb")
    return written if "://" in written else os.path.abspath(in_home(written, user_home))  # noqa: PTH100


def openclaw_folder(settings: LongTerm, database: str, state: Path | None) -> Path | None:
    """Return the folder with the table of OpenClaw's plugin that the settings name; None: they name none.

    If the configuration is OpenClaw's, the table has a default place in its folder `state`.
    """
    if settings.db_path:
        folder = None if "://" in database else Path(database)
    else:
        folder = state / "memory" / "lancedb" if state else None
    return folder if folder is not None and (folder / f"{TABLE}.lance").is_dir() else None


def principal_of(settings: LongTerm, note: str) -> str:
    """Return whose memories they are: the configured principal, or that of the folder of notes.

    Raises ConfigError: the configured principal could be that of a folder, or is too long.
    """
    chosen = (settings.principal or "").strip()
    if chosen.startswith(OWN_FOLDER) or not chosen.isprintable() or len(chosen) > LONGEST_PRINCIPAL:
        rule = f"a name of at most {LONGEST_PRINCIPAL} printable characters that does not begin with {OWN_FOLDER!r}"
        raise ConfigError(
            f"The setting plugins.entries.memory-lancedb.config.principal is {chosen[:40]!r}, and must be {rule}.",
            remedy="Give a name, such as 'team'.",
        )
    return chosen or f"{OWN_FOLDER}{note}"


def key_of(text: str) -> str:
    """Return the key of a text whose vector is kept."""
    return text_key(text).hex()


class VectorFile:
    """Vectors by the ids of their memories, each with the key of its text; one file for each model."""

    def __init__(self, folder: Path, note: str) -> None:
        self._folder = folder
        self._note = note

    def read(self, model: str) -> Rows:
        """Return the vectors of a model; none if the file is missing or damaged."""
        try:
            stored = read_arrays(self._path(model))
            ids = stored["ids"]
            keys = stored["keys"]
            vectors = stored["vectors"]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return {}
        return {str(ids[at]): (str(keys[at]), vectors[at]) for at in range(min(len(ids), len(keys), len(vectors)))}

    def write(self, model: str, rows: Mapping[str, tuple[str, Vector]]) -> None:
        """Replace the vectors of a model. Raises OSError."""
        import numpy as np

        make_private_folder(self._folder)
        draft = self._folder / f".{os.getpid()}-{self._path(model).name}"
        try:
            with draft.open("wb") as file:
                np.savez(
                    file,
                    ids=np.array(list(rows), dtype="U36"),
                    keys=np.array([key for key, _ in rows.values()], dtype="U32"),
                    vectors=np.array([vector for _, vector in rows.values()], dtype=np.float32),
                )
            draft.replace(self._path(model))
        finally:
            draft.unlink(missing_ok=True)

    def add(self, model: str, rows: Mapping[str, tuple[str, Vector]]) -> None:
        """Add vectors. Raises OSError."""
        self.write(model, self.read(model) | dict(rows))

    def remove(self, ids: Collection[str]) -> None:
        """Remove the vectors of memories, of every model. Raises OSError."""
        for file in Path(self._folder).glob(f"{self._note}-*.npz"):
            model = file.stem.removeprefix(f"{self._note}-")
            rows = self.read(model)
            if any(key in rows for key in ids):
                self.write(model, {key: row for key, row in rows.items() if key not in ids})

    def _path(self, model: str) -> Path:
        return self._folder / f"{self._note}-{model}.npz"
