"""The schema of a configuration file: all supported settings with their defaults, and those of search as they apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from memoriter.config._section import ANY, Doc, Section, Whole
from memoriter.entry_points import BACKENDS, STORES
from memoriter.layout import DAILY_NOTE
from memoriter.providers import AUTO, DEFAULT_LOCAL_MODEL, DEFAULT_MODELS
from memoriter.types import SourceKind
from memoriter.values import dataclass, field

Engine = Literal["auto", "exact", "codes", "sqlite-vec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorStoreSection(Section):
    """Storage and comparison of vectors."""

    enabled: Annotated[bool, Doc("False compares a query with every vector, as the engine `exact` does")] = True
    extension_path: Annotated[str | None, Doc("The library of sqlite-vec, for OpenClaw")] = None
    engine: Annotated[
        Engine,
        Doc("How vectors are compared; `auto` picks by size; `sqlite-vec` means `auto`, on PostgreSQL `codes` too"),
    ] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Section):
    """Storage of the index."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"fts"})

    driver: Annotated[
        str,
        Doc(
            "Where the index is: `sqlite`, a file; `postgres`, a server; or a name that an installed package offers",
            entry_points=STORES,
        ),
    ] = "sqlite"
    path: Annotated[str | None, Doc("The index file; `{agentId}` and a leading `~` are replaced")] = None
    vector: Annotated[VectorStoreSection, Doc("Vector search")] = VectorStoreSection()


Scoring = Literal["calibrated", "rrf", "classic"]
Strategy = Literal["markdown", "lines"]

ClientMemory = Literal["claude-code", "codex"]

GIBIBYTE = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraPathSetting(Section):
    """An extra file or folder of memory."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"name"})

    path: Annotated[str, Doc("A file or folder, absolute or relative to the workspace")] = ""
    pattern: Annotated[str | None, Doc("Which files below the folder: a glob; unset means every note")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experimental(Section):
    """Experimental features."""

    session_memory: Annotated[bool, Doc("Let `sources` contain `sessions`")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Section):
    """Use of the provider's batch interface."""

    enabled: Annotated[bool, Doc("Use the provider's batch interface for large amounts of text")] = False
    wait: Annotated[bool, Doc("Wait until a batch is done before indexing ends")] = True
    concurrency: Annotated[Whole, Doc("Batches in flight at once", limits="raised to 1")] = 2
    poll_interval_ms: Annotated[Whole, Doc("Milliseconds between two checks whether a batch is done", low=0)] = 2000
    timeout_minutes: Annotated[Whole, Doc("Minutes after which a batch is given up", low=1)] = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class DayBudget(Section):
    """The limit on use of paid services per day (UTC), for all agents together."""

    tokens_per_day: Annotated[Whole, Doc("Tokens; 0 is no limit", low=0)] = 20_000_000
    dollars_per_day: Annotated[float, Doc("US dollars, where prices are known; 0 is no limit", low=0)] = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSection(Section):
    """Embedding by a remote provider."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"nonBatchConcurrency"})

    base_url: Annotated[
        str | None, Doc("Address of the embedding service, instead of the provider's own", address=True)
    ] = field(default=None, repr=False)
    api_key: Annotated[
        str | None, Doc("Key of the embedding service; `${NAME}` is read from the environment", secret=True)
    ] = field(default=None, repr=False)
    headers: Annotated[
        Mapping[str, str], Doc("Extra HTTP headers; `${NAME}` is read from the environment", secret=True)
    ] = field(default_factory=dict[str, str], repr=False)
    batch: Annotated[Batch, Doc("The provider's batch interface")] = Batch()
    budget: Annotated[DayBudget, Doc("The daily limit of spending")] = DayBudget()


@dataclass(frozen=True, slots=True, kw_only=True)
class Local(Section):
    """Embedding by a local model file."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"contextSize"})

    model_path: Annotated[
        str | None,
        Doc("A GGUF file or an `hf:` address, for the provider `local`; a folder with an ONNX export, for `onnx`"),
    ] = None
    model_cache_dir: Annotated[str | None, Doc("Folder where models are kept")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking(Section):
    """Chunking of notes."""

    tokens: Annotated[Whole, Doc("Longest passage, in tokens of four characters", limits="raised to 1")] = 400
    overlap: Annotated[Whole, Doc("Tokens repeated where a passage must be cut", limits="kept within 0..tokens-1")] = 80
    strategy: Annotated[
        Strategy | None,
        Doc("`markdown` follows headings and paragraphs, `lines` is OpenClaw's way; unset: as `scoring` needs"),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSync(Section):
    """The thresholds at which transcripts are indexed again."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"postCompactionForce"})

    delta_bytes: Annotated[Whole, Doc("New bytes after which a transcript is indexed again", limits="raised to 0")] = (
        100_000
    )
    delta_messages: Annotated[
        Whole, Doc("New lines after which a transcript is indexed again", limits="raised to 0")
    ] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSection(Section):
    """The times at which files are checked for changes."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"embeddingBatchTimeoutSeconds"})

    on_session_start: Annotated[bool, Doc("Check for changed files when a session starts")] = True
    on_search: Annotated[bool, Doc("Check for changed files before a search")] = True
    watch: Annotated[bool, Doc("Index files while they change")] = True
    watch_debounce_ms: Annotated[Whole, Doc("Milliseconds after the last change until a file is indexed", low=0)] = 1500
    background: Annotated[bool, Doc("Finish the index in a background process after a search or a hook")] = True
    interval_minutes: Annotated[Whole, Doc("Minutes between two checks of all files; 0 is never", low=0)] = 0
    sessions: Annotated[SessionSync, Doc("Transcripts")] = SessionSync()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mmr(Section):
    """Diversity of hits by maximal marginal relevance (MMR)."""

    enabled: Annotated[bool, Doc("Prefer hits that differ from each other")] = False
    lambda_: Annotated[float, Doc("1 is relevance only, 0 is difference only", limits="kept within 0..1")] = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalDecay(Section):
    """Decay of scores with age."""

    enabled: Annotated[bool, Doc("Reduce the score of dated notes and transcripts as they age")] = False
    half_life_days: Annotated[Whole, Doc("Days after which a score is halved", limits="raised to 1")] = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid(Section):
    """Combination of keyword and vector search."""

    enabled: Annotated[bool, Doc("Search by words and by meaning; off: by meaning only")] = True
    vector_weight: Annotated[
        float | None,
        Doc(
            "Share of meaning; unset: the measured weight of `scoring`",
            limits="kept within 0..1; both divided by their sum",
        ),
    ] = None
    text_weight: Annotated[
        float | None,
        Doc(
            "Share of words; unset: the measured weight of `scoring`",
            limits="kept within 0..1; both divided by their sum",
        ),
    ] = None
    candidate_multiplier: Annotated[
        Whole, Doc("Candidates from each side, as a multiple of `maxResults`", limits="kept within 1..20")
    ] = 4
    mmr: Annotated[Mmr, Doc("Variety")] = Mmr()
    temporal_decay: Annotated[TemporalDecay, Doc("Age")] = TemporalDecay()


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankRemote(Section):
    """Reranking by a service."""

    base_url: Annotated[
        str | None, Doc("Address of the reranking service, in place of the provider's own", address=True)
    ] = field(default=None, repr=False)
    api_key: Annotated[
        str | None, Doc("Key of the reranking service; `${NAME}` is read from the environment", secret=True)
    ] = field(default=None, repr=False)
    headers: Annotated[
        Mapping[str, str], Doc("Extra HTTP headers; `${NAME}` is read from the environment", secret=True)
    ] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankLocal(Section):
    """Reranking by a local model file."""

    model_path: Annotated[
        str | None, Doc("A GGUF file, for the provider `local`; a folder with an ONNX cross-encoder, for `onnx`")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank(Section):
    """Reranking: a model that reads the question and a passage together orders the best hits."""

    provider: Annotated[
        str,
        Doc(
            "Who reads the best hits once more: `auto` (the judge, where a process serves more than one question), "
            "`off`, `judge` (memoriter's own, in every process), `cohere`, `jina`, `voyage`, `compatible`, `onnx`, "
            "`local`, or an id of `models.providers`"
        ),
    ] = AUTO
    model: Annotated[str, Doc("Reranking model; empty: the provider's default")] = ""
    candidates: Annotated[
        Whole | None, Doc("Hits that are read once more; unset: 3 by the judge, 20 by others", low=2, high=50)
    ] = None
    remote: Annotated[RerankRemote, Doc("Reranking over the network")] = RerankRemote()
    local: Annotated[RerankLocal, Doc("Reranking by a model file of your own")] = RerankLocal()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySettings(Section):
    """Settings of queries."""

    max_results: Annotated[Whole, Doc("Hits in an answer", low=1)] = 6
    max_per_note: Annotated[
        Whole | None, Doc("Most hits of one note if other notes have hits; unset: no limit", low=1)
    ] = None
    min_score: Annotated[float, Doc("Lowest score of a hit", limits="kept within 0..1")] = 0.35
    scoring: Annotated[
        Scoring, Doc("`calibrated` scores mean the same for every model; `classic` is OpenClaw's formula")
    ] = "calibrated"
    deadline_ms: Annotated[Whole, Doc("Milliseconds after which the best answer so far is returned", low=1)] = 20_000
    hybrid: Annotated[Hybrid, Doc("How both sides of a search are combined")] = Hybrid()
    rerank: Annotated[Rerank, Doc("A model that reads the best hits once more")] = Rerank()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache(Section):
    """Cache of vectors."""

    enabled: Annotated[bool, Doc("Keep vectors of text that is no longer in any file")] = True
    max_entries: Annotated[Whole, Doc("Vectors kept; those in use are never dropped", limits="raised to 1")] = 50_000
    max_bytes: Annotated[Whole, Doc("Bytes of vectors kept; those in use are never dropped", low=0)] = 2 * GIBIBYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySearch(Section):
    """Indexing and search for one agent. `agents.list[].memorySearch` has the same keys."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset(
        {
            "documentInputType",
            "inputType",
            "multimodal",
            "outputDimensionality",
            "qmd",
            "queryInputType",
            "rememberAcrossConversations",
        }
    )

    enabled: Annotated[bool, Doc("Search memory at all")] = True
    sources: Annotated[tuple[SourceKind, ...], Doc("What is searched: notes (`memory`), transcripts (`sessions`)")] = (
        "memory",
    )
    extra_paths: Annotated[tuple[ExtraPathSetting, ...], Doc("Files and folders that count as memory too")] = ()
    client_memories: Annotated[
        tuple[ClientMemory, ...],
        Doc(
            "Search what these programs remember by themselves: `claude-code`, `codex`. These files are never written; "
            "in a project's folder, only what belongs to that folder is found"
        ),
    ] = ()
    session_paths: Annotated[
        tuple[str, ...],
        Doc(
            "More transcripts: files, folders, or `claude-code` and `codex` for those of this workspace, "
            "`claude-code:all` and `codex:all` for those of all folders; the agent's own always count"
        ),
    ] = ()
    experimental: Annotated[Experimental, Doc("Not settled yet")] = Experimental()
    provider: Annotated[str, Doc("The embedding provider: a built-in name or an id of `models.providers`")] = "auto"
    model: Annotated[str, Doc("Embedding model; empty: the provider's default")] = ""
    fallback: Annotated[str, Doc("Provider to use when the first one fails")] = "none"
    remote: Annotated[RemoteSection, Doc("Embedding over the network")] = RemoteSection()
    local: Annotated[Local, Doc("Embedding by a model file of your own")] = Local()
    store: Annotated[Store, Doc("The index")] = Store()
    chunking: Annotated[Chunking, Doc("How notes are split into passages")] = Chunking()
    sync: Annotated[SyncSection, Doc("When files are checked")] = SyncSection()
    query: Annotated[QuerySettings, Doc("How questions are answered")] = QuerySettings()
    cache: Annotated[Cache, Doc("Vectors kept for later")] = Cache()
    offline: Annotated[bool, Doc("Never use the network, whatever else is set")] = False


ELSEWHERE = ("bedrock", "deepinfra", "github-copilot")
"""Providers that a later OpenClaw has; such a configuration loads, and the provider says that it is not here."""

WEIGHTS = (0.7, 0.3)
"""OpenClaw's shares of vector and keyword scores: if only one is given, the other has this value."""


def resolved(search: MemorySearch) -> MemorySearch:
    """Return the effective settings: numbers within their ranges, allowed sources, the provider's model."""
    return replace(
        search,
        sources=sources(search.sources, sessions=search.experimental.session_memory),
        extra_paths=distinct(search.extra_paths),
        model=search.model or DEFAULT_MODELS.get(search.provider, ""),
        remote=remote(search.remote),
        chunking=chunking(search.chunking),
        sync=replace(search.sync, sessions=session_sync(search.sync.sessions)),
        query=replace(
            search.query,
            min_score=clamped(search.query.min_score, 0.0, 1.0),
            hybrid=hybrid(search.query.hybrid),
        ),
        cache=replace(search.cache, max_entries=max(1, search.cache.max_entries)),
    )


def default_local_model(search: MemorySearch) -> str | None:
    """Return the model of the provider `local` if the settings name none: the one that OpenClaw downloads."""
    chosen = search.provider.strip() == "local" or (search.fallback.strip() == "local" and search.provider != AUTO)
    return DEFAULT_LOCAL_MODEL if chosen else None


def clamped(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))


def sources(kinds: tuple[SourceKind, ...], *, sessions: bool) -> tuple[SourceKind, ...]:
    """`sessions` counts only with `experimental.sessionMemory`; nothing left means notes."""
    return tuple(dict.fromkeys(kind for kind in kinds if kind != "sessions" or sessions)) or ("memory",)


def distinct(paths: tuple[ExtraPathSetting, ...]) -> tuple[ExtraPathSetting, ...]:
    trimmed = (replace(entry, path=entry.path.strip()) for entry in paths)
    return tuple(dict.fromkeys(entry for entry in trimmed if entry.path))


def remote(section: RemoteSection) -> RemoteSection:
    return replace(section, batch=replace(section.batch, concurrency=max(1, section.batch.concurrency)))


def chunking(section: Chunking) -> Chunking:
    tokens = max(1, section.tokens)
    return replace(section, tokens=tokens, overlap=min(max(0, section.overlap), tokens - 1))


def session_sync(section: SessionSync) -> SessionSync:
    return replace(section, delta_bytes=max(0, section.delta_bytes), delta_messages=max(0, section.delta_messages))


def hybrid(section: Hybrid) -> Hybrid:
    vector, text = weights(section.vector_weight, section.text_weight)
    decay = section.temporal_decay
    return Hybrid(
        enabled=section.enabled,
        vector_weight=vector,
        text_weight=text,
        candidate_multiplier=min(20, max(1, section.candidate_multiplier)),
        mmr=replace(section.mmr, lambda_=clamped(section.mmr.lambda_, 0.0, 1.0)),
        temporal_decay=TemporalDecay(enabled=decay.enabled, half_life_days=max(1, decay.half_life_days)),
    )


def weights(vector: float | None, text: float | None) -> tuple[float | None, float | None]:
    """Return shares that add up to 1; both stay unset if neither is given."""
    if vector is None and text is None:
        return None, None
    shares = [
        clamped(default if share is None else share, 0.0, 1.0)
        for share, default in zip((vector, text), WEIGHTS, strict=True)
    ]
    total = sum(shares)
    return (shares[0] / total, shares[1] / total) if total > 0 else WEIGHTS


Citations = Literal["auto", "on", "off"]
Suffix = Literal[".markdown", ".mdx", ".txt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFlush(Section):
    """The memory flush: writing memories down before a conversation is compacted."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    enabled: Annotated[bool, Doc("Save what matters before a conversation is compacted")] = True
    soft_threshold_tokens: Annotated[Whole, Doc("Tokens before compaction at which that happens", low=0)] = 4000
    prompt: Annotated[str | None, Doc("Request to the agent, instead of memoriter's")] = None
    system_prompt: Annotated[str | None, Doc("System prompt of that turn, instead of memoriter's")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Section):
    """Compaction of conversations."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    reserve_tokens_floor: Annotated[Whole, Doc("Tokens of the context window that stay free", low=0)] = 20_000
    memory_flush: Annotated[MemoryFlush, Doc("The turn before compaction")] = MemoryFlush()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefaults(Section):
    """Defaults for every agent."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    workspace: Annotated[str | None, Doc("Folder with the default agent's memory; `~` is your home")] = None
    user_timezone: Annotated[str | None, Doc("Time zone that decides which day it is, such as `Asia/Seoul`")] = None
    bootstrap_max_chars: Annotated[
        Whole, Doc("Characters of notes that an agent gets when a session begins", low=1000)
    ] = 20_000
    context_tokens: Annotated[Whole | None, Doc("Size of the model's context window", low=1)] = None
    memory_search: Annotated[MemorySearch, Doc("Indexing and search")] = field(default_factory=MemorySearch)
    compaction: Annotated[Compaction, Doc("Long conversations")] = Compaction()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings(Section):
    """Settings of one agent."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    id: Annotated[str, Doc("Name of the agent")] = "main"
    default: Annotated[bool, Doc("Whether this is the agent that is used when none is named")] = False
    workspace: Annotated[str | None, Doc("Folder with this agent's memory; `~` is your home")] = None
    memory_search: Annotated[
        MemorySearch | None, Doc("Keys of `agents.defaults.memorySearch` that differ for this agent")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents(Section):
    """Settings of all agents."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    defaults: Annotated[AgentDefaults, Doc("For every agent")] = AgentDefaults()
    list: Annotated[tuple[AgentSettings, ...], Doc("The agents that differ from the defaults")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSettings(Section):
    """The journal of changes."""

    enabled: Annotated[bool, Doc("Enter each change of a note, for `history`, `undo` and `rollback`")] = True
    max_mb: Annotated[Whole, Doc("Megabytes from which the oldest changes are dropped", low=1)] = 64
    max_days: Annotated[Whole, Doc("Days after which changes are dropped", low=1)] = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class TidySettings(Section):
    """A language model for `memoriter tidy`."""

    model: Annotated[
        str, Doc("The language model that `memoriter tidy` asks about statements in other words; empty: none")
    ] = ""
    base_url: Annotated[
        str | None,
        Doc("Address of its service with OpenAI's interface, such as `http://127.0.0.1:11434/v1`", address=True),
    ] = field(default=None, repr=False)
    api_key: Annotated[str | None, Doc("Key of its service; `${NAME}` is read from the environment", secret=True)] = (
        field(default=None, repr=False)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings(Section):
    """Settings of the whole memory: its backend and citations."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"qmd"})  # where the extension is not installed

    backend: Annotated[
        str,
        Doc(
            "The search engine: `builtin`, memoriter itself; `qmd`; or a name that an installed package offers",
            entry_points=BACKENDS,
        ),
    ] = "builtin"
    layout: Annotated[
        Literal["auto", "notes", "openclaw"],
        Doc(
            "Which Markdown files of the folder are memory: `openclaw`: `MEMORY.md` and `memory/`; `notes`: all; "
            "`auto`: all, unless the folder has `MEMORY.md` or Markdown in `memory/` and is no Obsidian vault, "
            "or `extraPaths` names something inside it"
        ),
    ] = "auto"
    extra_suffixes: Annotated[
        tuple[Suffix, ...], Doc("Suffixes of files that are notes too, besides `.md`; their text is read as Markdown")
    ] = ()
    daily_note: Annotated[
        str,
        Doc("Path of a day's note below the folder, with `%Y`, `%m`, `%d` and other date codes of `strftime`"),
    ] = DAILY_NOTE
    capture: Annotated[
        bool, Doc("Record conversations with coding agents in the day's note when they are compacted or end")
    ] = False
    journal: Annotated[JournalSettings, Doc("The journal of changes")] = JournalSettings()
    tidy: Annotated[TidySettings, Doc("A language model for `memoriter tidy`")] = TidySettings()
    citations: Annotated[Citations, Doc("Add `Source: path#L1-L2` to snippets; `auto`: in direct chats only")] = "auto"
    connector_tools: Annotated[
        bool, Doc("List `search` and `fetch`, which ChatGPT's connectors expect, for every client of MCP")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginEntries(Section):
    """The place of the settings of plugins, which declare them."""

    ignored_keys: ClassVar[frozenset[str]] = ANY


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSlots(Section):
    """The plugin in each slot."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    memory: Annotated[
        str | tuple[str, ...],
        Doc("`memory-core` (notes), `memory-lancedb` (long-term memories), a list of both, or `none`"),
    ] = "memory-core"

    @property
    def names(self) -> tuple[str, ...]:
        """The plugins of the memory slot."""
        return (self.memory,) if isinstance(self.memory, str) else self.memory


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSettings(Section):
    """Settings of plugins."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    slots: Annotated[PluginSlots, Doc("Which plugin does what")] = PluginSlots()
    entries: Annotated[PluginEntries, Doc("Settings of plugins")] = PluginEntries()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider(Section):
    """A model provider under an id that the user chooses."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    base_url: Annotated[str | None, Doc("Address of the service", address=True)] = field(default=None, repr=False)
    api_key: Annotated[str | None, Doc("Key of the service; `${NAME}` is read from the environment", secret=True)] = (
        field(default=None, repr=False)
    )
    api: Annotated[str | None, Doc("The interface of the service, such as `ollama`; unset: OpenAI's")] = None
    headers: Annotated[
        Mapping[str, str], Doc("Extra HTTP headers; `${NAME}` is read from the environment", secret=True)
    ] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Models(Section):
    """All model providers."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    providers: Annotated[
        Mapping[str, ModelProvider], Doc("Services by name, for `memorySearch.provider` and `fallback`")
    ] = field(default_factory=dict[str, ModelProvider])


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustSettings(Section):
    """Whose words are put before an agent's turn unasked, besides those of the owner."""

    agent: Annotated[
        Literal["recall", "ask"],
        Doc("What your agents wrote: `recall`: quote it with its author and day; `ask`: only after you approved it"),
    ] = "recall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Section):
    """The whole configuration. Further keys of OpenClaw are ignored."""

    ignored_keys: ClassVar[frozenset[str]] = ANY

    agents: Annotated[Agents, Doc("The agents")] = Agents()
    memory: Annotated[MemorySettings, Doc("Memory in general")] = MemorySettings()
    plugins: Annotated[PluginSettings, Doc("Plugins")] = PluginSettings()
    models: Annotated[Models, Doc("Model services")] = Models()
    trust: Annotated[TrustSettings, Doc("Whose words are put before a turn")] = TrustSettings()
