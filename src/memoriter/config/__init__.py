"""The settings: OpenClaw's keys and defaults, read from JSON5, each with its origin."""

from typing import TYPE_CHECKING

from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.config._check import reference
    from memoriter.config._configuration import Configuration, check_text, load, with_values
    from memoriter.config._document import Origin, expand, parse_value
    from memoriter.config._edit import remove_value, set_value, setting_names
    from memoriter.config._effects import effect_diagnostics, names_file, settings_without_effect
    from memoriter.config._home import check_home, foreign_diagnostics, locate_index, notices_of, usual_index_path
    from memoriter.config._openclaw_keys import openclaw_keys
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
        openclaw_file,
        secret_files,
        state_of,
        untrusted_diagnostic,
        user_home_of,
        workspace_key,
    )
    from memoriter.config._schema import (
        Batch,
        Cache,
        Citations,
        Compaction,
        DayBudget,
        Engine,
        Local,
        MemorySearch,
        ModelProvider,
        RemoteSection,
        RerankRemote,
        Settings,
        Store,
        default_local_model,
    )
    from memoriter.config._section import Doc, ExtensionSection, Section, Whole, positive_or_default
    from memoriter.config._trust import TrustedFolder, TrustStore

__all__ = [
    "LONGEST_FILE",
    "PROJECT_FILE",
    "Batch",
    "Cache",
    "Citations",
    "Compaction",
    "Configuration",
    "DayBudget",
    "Doc",
    "Engine",
    "ExtensionSection",
    "IndexPlace",
    "Local",
    "MemorySearch",
    "ModelProvider",
    "Origin",
    "Place",
    "RemoteSection",
    "RerankRemote",
    "Section",
    "Settings",
    "Store",
    "TrustStore",
    "TrustedFolder",
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
        "_check": "reference",
        "_configuration": "Configuration check_text load with_values",
        "_document": "Origin expand parse_value",
        "_edit": "remove_value set_value setting_names",
        "_effects": "effect_diagnostics names_file settings_without_effect",
        "_home": "check_home foreign_diagnostics locate_index notices_of usual_index_path",
        "_openclaw_keys": "openclaw_keys",
        "_places": (
            "LONGEST_FILE PROJECT_FILE IndexPlace Place agent_name cache_of check_trust chosen_file distrust_reason "
            "find_workspace home_of in_home in_repository index_path missing_remedy openclaw_file secret_files "
            "state_of untrusted_diagnostic user_home_of workspace_key"
        ),
        "_schema": (
            "Batch Cache Citations Compaction DayBudget Engine Local MemorySearch ModelProvider RemoteSection "
            "RerankRemote Settings Store default_local_model"
        ),
        "_section": "Doc ExtensionSection Section Whole positive_or_default",
        "_trust": "TrustStore TrustedFolder",
    },
)
