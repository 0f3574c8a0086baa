"""The schema of a configuration file: all supported settings with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from memoriter.config._search import MemorySearch
from memoriter.config._section import ANY, Doc, Section, Whole
from memoriter.entry_points import BACKENDS
from memoriter.layout import DAILY_NOTE
from memoriter.values import dataclass, field

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
