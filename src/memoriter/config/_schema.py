"""All settings that we know, as they stand in a file, with their defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from memoriter.config._qmd import QmdSettings
from memoriter.config._search import MemorySearch
from memoriter.config._section import ANY, About, Section, Whole

Citations = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFlush(Section):
    """Writing memories down before a conversation is compacted."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    enabled: Annotated[bool, About("Save what matters before a conversation is compacted")] = True
    soft_threshold_tokens: Annotated[Whole, About("Tokens before compaction at which that happens", low=0)] = 4000
    prompt: Annotated[str | None, About("Request to the agent, in place of ours")] = None
    system_prompt: Annotated[str | None, About("System prompt of that turn, in place of ours")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Section):
    """When a conversation is compacted."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    reserve_tokens_floor: Annotated[Whole, About("Tokens of the context window that stay free", low=0)] = 20_000
    memory_flush: Annotated[MemoryFlush, About("The turn before compaction")] = MemoryFlush()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefaults(Section):
    """What holds for every agent that does not say otherwise."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    workspace: Annotated[str | None, About("Folder with the default agent's memory; `~` is your home")] = None
    user_timezone: Annotated[str | None, About("Time zone that decides which day it is, such as `Asia/Seoul`")] = None
    bootstrap_max_chars: Annotated[
        Whole, About("Characters of notes that an agent gets when a session begins", low=1000)
    ] = 20_000
    context_tokens: Annotated[Whole | None, About("Size of the model's context window", low=1)] = None
    memory_search: Annotated[MemorySearch, About("Indexing and search")] = field(default_factory=MemorySearch)
    compaction: Annotated[Compaction, About("Long conversations")] = Compaction()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings(Section):
    """One agent."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    id: Annotated[str, About("Name of the agent")] = "main"
    default: Annotated[bool, About("The agent that is meant when none is named")] = False
    workspace: Annotated[str | None, About("Folder with this agent's memory; `~` is your home")] = None
    memory_search: Annotated[
        MemorySearch | None, About("Keys of `agents.defaults.memorySearch` that differ for this agent")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents(Section):
    """All agents."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    defaults: Annotated[AgentDefaults, About("For every agent")] = AgentDefaults()
    list: Annotated[tuple[AgentSettings, ...], About("The agents that differ from the defaults")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings(Section):
    """The memory as a whole: who answers, and with citations or not."""

    backend: Annotated[Literal["builtin", "qmd"], About("Who searches: memoriter itself, or QMD")] = "builtin"
    citations: Annotated[Citations, About("Add `Source: path#L1-L2` to snippets; `auto`: in direct chats only")] = (
        "auto"
    )
    qmd: Annotated[QmdSettings, About("The QMD back end")] = field(default_factory=QmdSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermEmbedding(Section):
    """The model of the long-term store."""

    provider: Annotated[str | None, About("Provider for long-term memories; unset: as `memorySearch`")] = None
    model: Annotated[str | None, About("Embedding model for long-term memories; unset: the provider's default")] = None
    api_key: Annotated[
        str | None, About("Key of the embedding service; `${NAME}` is read from the environment", secret=True)
    ] = field(default=None, repr=False)
    base_url: Annotated[str | None, About("Address of the embedding service", address=True)] = field(
        default=None, repr=False
    )
    dimensions: Annotated[Whole | None, About("Length of a vector; unset: the model's", low=1)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTerm(Section):
    """The long-term store of single memories."""

    elsewhere: ClassVar[frozenset[str]] = frozenset({"dreaming", "storageOptions"})

    embedding: Annotated[LongTermEmbedding, About("Vectors of long-term memories")] = LongTermEmbedding()
    db_path: Annotated[str | None, About("Folder of the database; unset: `memory/lancedb` in memoriter's home")] = None
    auto_capture: Annotated[bool, About("Keep what the user asks to remember, unasked")] = False
    auto_recall: Annotated[bool, About("Put fitting memories before the agent's turn")] = True
    capture_max_chars: Annotated[
        Whole, About("Longest message that is captured, in characters", low=100, high=10_000)
    ] = 500
    recall_max_chars: Annotated[Whole, About("Characters of all memories put before a turn", low=100, high=10_000)] = (
        1000
    )
    custom_triggers: Annotated[tuple[str, ...], About("Further phrases that mean: remember this")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermEntry(Section):
    """The long-term store as a plugin entry."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    enabled: Annotated[bool, About("Long-term memories at all")] = True
    config: Annotated[LongTerm, About("Capture and recall")] = LongTerm()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginEntries(Section):
    """The plugins that concern memory."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    memory_lancedb: Annotated[LongTermEntry, About("Long-term memories")] = LongTermEntry()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSlots(Section):
    """Which plugin fills which slot."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    memory: Annotated[str, About("`memory-core`, `memory-lancedb` or `none`")] = "memory-core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugins(Section):
    """Plugins."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    slots: Annotated[PluginSlots, About("Which plugin does what")] = PluginSlots()
    entries: Annotated[PluginEntries, About("Settings of plugins")] = PluginEntries()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider(Section):
    """A provider of models, by its own id."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    base_url: Annotated[str | None, About("Address of the service", address=True)] = field(default=None, repr=False)
    api_key: Annotated[str | None, About("Key of the service; `${NAME}` is read from the environment", secret=True)] = (
        field(default=None, repr=False)
    )
    api: Annotated[str | None, About("Which interface the service speaks, such as `ollama`; unset: OpenAI's")] = None
    headers: Annotated[
        Mapping[str, str], About("Extra HTTP headers; `${NAME}` is read from the environment", secret=True)
    ] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Models(Section):
    """All providers of models."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    providers: Annotated[
        Mapping[str, ModelProvider], About("Services by name, for `memorySearch.provider` and `memoriter chat`")
    ] = field(default_factory=dict[str, ModelProvider])


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Section):
    """The whole configuration. Keys that OpenClaw has beside these are left alone."""

    elsewhere: ClassVar[frozenset[str]] = ANY

    agents: Annotated[Agents, About("The agents")] = Agents()
    memory: Annotated[MemorySettings, About("Memory in general")] = MemorySettings()
    plugins: Annotated[Plugins, About("Plugins")] = Plugins()
    models: Annotated[Models, About("Model services")] = Models()
