"""Every setting has an effect, or is named as one without effect."""

from __future__ import annotations

import ast
from pathlib import Path

from memoriter.config import Configuration, reference, settings_without_effect, with_values
from memoriter.config._section import OTHER_NAMES, file_name
from setting_effects import FEATURES, effect_of, setting_key
from source_texts import parsed

PACKAGE = Path(__file__).parents[2] / "src" / "memoriter"
IN_CONFIG = ("_schema.py", "_configuration.py")
"""Files of the package that give settings an effect themselves."""
ONE_VALUE = {"agents.defaults.memorySearch.store.driver"}
"""Settings with a single possible value."""


def attributes_read() -> set[str]:
    """Return the names of all attributes that the program reads, as they are spelled in a configuration file."""
    files = [file for file in PACKAGE.rglob("*.py") if file.parent.name != "config" or file.name in IN_CONFIG]
    names = {node.attr for file in files for node in ast.walk(parsed(file)) if isinstance(node, ast.Attribute)}
    return {file_name(name) for name in names} | set(OTHER_NAMES.values())


def test_every_setting_is_read_by_the_program_or_named_as_without_effect() -> None:
    read = attributes_read()
    for row in reference():
        key = setting_key(row.key)
        if row.key not in ONE_VALUE and effect_of(key).kind != "not yet":
            assert key[-1] in read, row.key


def test_every_missing_feature_names_settings_that_exist() -> None:
    keys = [tuple(row.key.split(".")) for row in reference()]
    for feature in FEATURES:
        assert any(key[: len(feature.key)] == feature.key for key in keys), feature


def test_settings_of_mcporter_have_no_effect_because_memoriter_starts_qmd_itself() -> None:
    written = with_values(Configuration(), {"memory.backend": "qmd", "memory.qmd.mcporter.enabled": True}, kind="file")
    assert settings_without_effect(written) == ("memory.qmd.mcporter.enabled",)
    assert settings_without_effect(with_values(Configuration(), {"memory.backend": "qmd"}, kind="file")) == ()


def test_a_model_that_the_named_provider_does_not_run_is_named_as_without_effect() -> None:
    def idle(provider: str, model: str, **more: str) -> tuple[str, ...]:
        search = {"provider": provider, "model": model, **more}
        values = {f"agents.defaults.memorySearch.{name}": value for name, value in search.items()}
        return settings_without_effect(with_values(Configuration(), values, kind="file"))

    key = ("agents.defaults.memorySearch.model",)
    assert idle("bundled", "text-embedding-3-small") == key
    assert idle("local", "text-embedding-3-small") == key
    assert idle("local", "~/a.gguf", **{"local.modelPath": "~/b.gguf"}) == key
    assert idle("local", "~/a.gguf") == idle("onnx", "/models/a") == idle("local", "hf:one/two/a.gguf") == ()
    assert idle("openai", "text-embedding-3-small") == idle("auto", "text-embedding-3-small") == ()
