"""Runs a command once for each variable of the environment and each odd value, in processes that are forked."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import memoriter
from memoriter.config._check import parse_settings
from memoriter.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ODD = ("nonsense", "UTC-25", "../relative", "a\nb", "~")
OF_THE_SYSTEM = ("TZ", "LANG", "LC_ALL", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TERM", "HOME", "TMPDIR", "CI")
OF_THE_NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
_READ = re.compile(r'environ(?:\.get\(|\[)\s*"([A-Z][A-Z0-9_]+)"|^[A-Z_]*VARIABLE = "([A-Z][A-Z0-9_]+)"', re.MULTILINE)


def variables() -> list[str]:
    """The variables that memoriter reads, by its source, and those that Python and its packages read."""
    source = Path(memoriter.__file__).parent
    texts = (file.read_text(encoding="utf-8") for file in source.rglob("*.py") if "evals" not in file.parts)
    found = {name for text in texts for pair in _READ.findall(text) for name in pair if name}
    keys = {name for provider in PROVIDERS for name in provider.key_variables}
    return sorted(found | keys | {*OF_THE_SYSTEM, *OF_THE_NETWORK})


def outcome_of(words: Sequence[str], given: bytes, variable: str, value: str) -> tuple[int, str]:
    """Run the program with one more variable; return its exit code, negative for a signal, and what it printed."""
    return _forked(lambda: _run(words, given, variable, value))


def modules_of(words: Sequence[str], given: bytes) -> list[str]:
    """The modules that the program imports."""

    def listed() -> int:
        code = _run(words, given, "CI", "")
        os.write(1, b"\n" + json.dumps([*sys.modules]).encode())
        return code

    return json.loads(_forked(listed)[1].splitlines()[-1])


def _forked(run: Callable[[], int]) -> tuple[int, str]:
    """Return the exit code and the output of a process that is a copy of this one."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        for descriptor in (1, 2):
            os.dup2(writing, descriptor)
        os._exit(run())
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        printed = stream.read().decode("utf-8", "replace")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), printed


def _run(words: Sequence[str], given: bytes, variable: str, value: str) -> int:
    import signal

    signal.alarm(100)
    inner, outer = os.pipe()
    os.write(outer, given)
    os.close(outer)
    os.dup2(inner, 0)
    sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding="utf-8", errors="surrogateescape")
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", closefd=False), encoding="utf-8", errors="surrogateescape")
    os.environ[variable] = value
    time.tzset()
    from memoriter.cli import main

    code: Any = 0
    try:
        main([*words], prog_name="memoriter")
    except SystemExit as error:
        code = error.code
    except BaseException:  # noqa: BLE001 - a test reports it
        import traceback

        traceback.print_exc()
        code = 99
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code or 0


if __name__ == "__main__":
    words = json.loads(sys.argv[1])
    given = sys.argv[2].encode()
    for module in modules_of(words, given):  # so that not each process imports them
        import_module(module)
    parse_settings({})  # which builds the schema of the settings
    for name in variables():
        for odd in ODD:
            code, printed = outcome_of(words, given, name, odd)
            sys.stdout.write(json.dumps([name, odd, code, printed]) + "\n")
            sys.stdout.flush()
