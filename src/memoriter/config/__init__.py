"""The settings: OpenClaw's keys and defaults, read from JSON5, each with its origin."""

from typing import TYPE_CHECKING

from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.config._check import SettingRow, reference
    from memoriter.config._configuration import Configuration, check_text, load, with_values
    from memoriter.config._document import Origin, OriginKind, expand
    from memoriter.config._edit import remove_value, set_value, setting_names
    from memoriter.config._effects import effect_diagnostics, names_file, settings_without_effect
    from memoriter.config._home import check_home, foreign_diagnostics, locate_index, notices_of, usual_index_path
    from memoriter.config._openclaw import openclaw_file, secret_files, state_of
    from memoriter.config._openclaw_keys import OpenClawKeys, openclaw_keys
    from memoriter.config._places import (
        LONGEST_FILE,
        PROJECT_FILE,
        IndexPlace,
        Place,
        agent_name,
        cache_of,
        check_trust,
        chosen_file,
        distrust_reason,
        find_workspace,
        home_of,
        in_home,
        in_repository,
        index_path,
        missing_remedy,
        place_index,
        untrusted_diagnostic,
        user_home_of,
        workspace_key,
    )
    from memoriter.config._schema import (
        AgentDefaults,
        AgentSettings,
        Citations,
        Compaction,
        MemoryFlush,
        MemorySettings,
        ModelProvider,
        Settings,
    )
    from memoriter.config._search import (
        Batch,
        Cache,
        Chunking,
        DayBudget,
        Engine,
        Experimental,
        ExtraPathSetting,
        Hybrid,
        Local,
        MemorySearch,
        Mmr,
        QuerySettings,
        RemoteSection,
        Rerank,
        RerankLocal,
        RerankRemote,
        Scoring,
        SessionSync,
        Store,
        Strategy,
        SyncSection,
        TemporalDecay,
        VectorStoreSection,
        default_local_model,
    )
    from memoriter.config._section import Doc, ExtensionSection, Section, Whole, positive_or_default
    from memoriter.config._tree import parse_value
    from memoriter.config._trust import TrustedFolder, TrustStore

__all__ = [
    "LONGEST_FILE",
    "PROJECT_FILE",
    "AgentDefaults",
    "AgentSettings",
    "Batch",
    "Cache",
    "Chunking",
    "Citations",
    "Compaction",
    "Configuration",
    "DayBudget",
    "Doc",
    "Engine",
    "Experimental",
    "ExtensionSection",
    "ExtraPathSetting",
    "Hybrid",
    "IndexPlace",
    "Local",
    "MemoryFlush",
    "MemorySearch",
    "MemorySettings",
    "Mmr",
    "ModelProvider",
    "OpenClawKeys",
    "Origin",
    "OriginKind",
    "Place",
    "QuerySettings",
    "RemoteSection",
    "Rerank",
    "RerankLocal",
    "RerankRemote",
    "Scoring",
    "Section",
    "SessionSync",
    "SettingRow",
    "Settings",
    "Store",
    "Strategy",
    "SyncSection",
    "TemporalDecay",
    "TrustStore",
    "TrustedFolder",
    "VectorStoreSection",
    "Whole",
    "agent_name",
    "cache_of",
    "check_home",
    "check_text",
    "check_trust",
    "chosen_file",
    "default_local_model",
    "distrust_reason",
    "effect_diagnostics",
    "expand",
    "find_workspace",
    "foreign_diagnostics",
    "home_of",
    "in_home",
    "in_repository",
    "index_path",
    "load",
    "locate_index",
    "missing_remedy",
    "names_file",
    "notices_of",
    "openclaw_file",
    "openclaw_keys",
    "parse_value",
    "place_index",
    "positive_or_default",
    "reference",
    "remove_value",
    "secret_files",
    "set_value",
    "setting_names",
    "settings_without_effect",
    "state_of",
    "untrusted_diagnostic",
    "user_home_of",
    "usual_index_path",
    "with_values",
    "workspace_key",
]


# Import a name on first use: a caller that only needs paths does not import the settings.
__getattr__ = lazy_names(
    __name__,
    {
        "_check": "SettingRow reference",
        "_configuration": "Configuration check_text load with_values",
        "_document": "Origin OriginKind expand",
        "_edit": "remove_value set_value setting_names",
        "_effects": "effect_diagnostics names_file settings_without_effect",
        "_home": "check_home foreign_diagnostics locate_index notices_of usual_index_path",
        "_openclaw": "openclaw_file secret_files state_of",
        "_openclaw_keys": "OpenClawKeys openclaw_keys",
        "_places": (
            "LONGEST_FILE PROJECT_FILE IndexPlace Place agent_name cache_of check_trust chosen_file distrust_reason "
            "find_workspace home_of in_home in_repository index_path missing_remedy place_index untrusted_diagnostic "
            "user_home_of workspace_key"
        ),
        "_schema": "AgentDefaults AgentSettings Citations Compaction MemoryFlush MemorySettings ModelProvider Settings",
        "_search": (
            "Batch Cache Chunking DayBudget Experimental ExtraPathSetting Hybrid Local MemorySearch Mmr "
            "QuerySettings RemoteSection Rerank RerankLocal RerankRemote Scoring SessionSync Strategy SyncSection "
            "TemporalDecay default_local_model Engine Store VectorStoreSection"
        ),
        "_section": "Doc ExtensionSection Section Whole positive_or_default",
        "_tree": "parse_value",
        "_trust": "TrustStore TrustedFolder",
    },
)
