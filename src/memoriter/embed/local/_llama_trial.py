"""Try a model in a separate process, because llama.cpp ends the whole process on some faulty models."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from memoriter.embed.bundled._artefact import write_whole
from memoriter.errors import ProviderUnavailable, sentence

if TYPE_CHECKING:
    from pathlib import Path

_TRIAL_SECONDS = 300
_TRIAL = """
import json, os, sys, tempfile
os.environ["GGML_NO_BACKTRACE"] = "1"
given = json.loads(sys.argv[1])
sys.path[:] = given["modules"]
tempfile.tempdir = given["folder"]
from memoriter.embed.local._llama_server import LlamaServer
from memoriter.errors import ProviderUnavailable
try:
    engine = LlamaServer(given["path"], pooling=given["pooling"], most_tokens=given["most_tokens"], threads=1)
except ProviderUnavailable:
    sys.exit()
engine.embed("ready")
engine.close()
"""
"""The program of the trial. A model that fails to load is no crash: `LlamaServer` reports it later, with the reason."""


def try_model(path: str, *, pooling: str, most_tokens: int, passed: Path) -> None:
    """Check once that a model works. If no interpreter can be started, skip the check.

    A file in the folder `passed` records success for each version of llama.cpp.

    Raises:
        ProviderUnavailable: the process crashed or did not end.
    """
    import subprocess
    import tempfile

    record = passed / metadata.version("xllamacpp")
    if record.exists() or not sys.executable or getattr(sys, "frozen", False):
        return
    arguments = {"path": path, "pooling": pooling, "most_tokens": most_tokens, "modules": sys.path}
    try:
        # If the process crashes, its temporary files are deleted with the folder.
        with tempfile.TemporaryDirectory(prefix="llama-", ignore_cleanup_errors=True) as folder:
            result = subprocess.run(  # noqa: S603 - our own interpreter on a constant
                [sys.executable, "-c", _TRIAL, json.dumps({**arguments, "folder": folder})],
                capture_output=True,
                check=False,
                timeout=_TRIAL_SECONDS,
            )
        failure = f"it ended with status {result.returncode}" if result.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    if failure:
        raise ProviderUnavailable(
            f"The model {path} makes llama.cpp crash: {sentence(failure)}",
            remedy="Try another file or a newer xllamacpp.",
        )
    write_whole(record, b"")
