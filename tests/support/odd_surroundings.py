"""Runs every command in surroundings that something else got wrong, each in a process that is forked."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoriter.config._check import parse_settings
from odd_environments import modules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDLESS = {"serve", "watch"}
ENDLESS_SECONDS = 1.5
COMMANDS: dict[str, tuple[str, ...]] = {
    "search": ("ledger",),
    "day": ("2026-02-10",),
    "recent": (),
    "get": ("MEMORY.md",),
    "history": ("MEMORY.md",),
    "diff": ("--since", "7d"),
    "review": (),
    "undo": ("3f2a91bc04",),
    "rollback": ("--since", "2h", "--yes"),
    "tidy": (),
    "why-not": ("ledger", "MEMORY.md#L3"),
    "remember": ("A fact.",),
    "index": (),
    "watch": (),
    "capture list": (),
    "capture undo": ("0",),
    "capture": (),
    "forget": ("memory/gone.md", "--yes"),
    "mcp": (),
    "serve": ("--port", "0"),
    "token create": ("phone",),
    "token list": (),
    "token revoke": ("laptop",),
    "token": (),
    "install": ("claude-code", "--dry-run"),
    "trust": (".",),
    "hook": ("session-start",),
    "store copy": ("--to", "sqlite"),
    "store drop": ("other", "--yes"),
    "store list": (),
    "store": (),
    "status": (),
    "doctor": (),
    "cost": (),
    "compact": (),
    "config check": (),
    "config get": ("memorySearch.provider",),
    "config path": (),
    "config set": ("memorySearch.query.maxResults", "5"),
    "config show": (),
    "config unset": ("memorySearch.query.maxResults",),
    "config": (),
    "init": (),
    "eval run": (),
    "eval tune": (),
    "export": ("-",),
    "import": (),
    "ltm accept": ("1",),
    "ltm edit": ("1", "tea"),
    "ltm export": (),
    "ltm forget": ("tea", "--yes"),
    "ltm import": (),
    "ltm inbox": (),
    "ltm list": (),
    "ltm rebuild": (),
    "ltm reject": ("1",),
    "ltm search": ("tea",),
    "ltm stats": (),
    "ltm store": ("I like tea.",),
    "ltm trust": ("review",),
    "ltm": (),
    "": (),
}
"""Each command with arguments."""


def commands() -> list[str]:
    """Return the names of all commands, the subcommands with the name of their group."""
    from memoriter.cli import main

    return [" ".join(path) for path in _leaves(main, (), click.Context(main))]


def _leaves(command: click.Command, path: tuple[str, ...], context: click.Context) -> Iterator[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        yield path
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _leaves(inner, (*path, name), context)
    if command.invoke_without_command:
        yield path


def _closed(*descriptors: int) -> Callable[[], None]:
    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return close


def _full(*descriptors: int) -> Callable[[], None]:
    def fill() -> None:
        full = os.open("/dev/full", os.O_WRONLY)
        for descriptor in descriptors:
            os.dup2(full, descriptor)
        os.close(full)

    return fill


def _without_home() -> None:
    os.environ.pop("HOME", None)
    os.environ.pop("MEMORITER_HOME", None)
    os.environ["MEMORITER_HOME"] = str(Path.cwd().parent / "home")


def _unknown_user() -> None:
    """Let the system know no name and no home of this user, as in a container that runs as any number."""
    import pwd

    def getpwuid(number: int) -> pwd.struct_passwd:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    pwd.getpwuid = getpwuid


def _unknown_user_without_home() -> None:
    _unknown_user()
    os.environ.pop("HOME", None)
    os.environ.pop("MEMORITER_HOME", None)


def _deleted_folder() -> None:
    gone = Path.cwd().parent / "gone"
    gone.mkdir(exist_ok=True)
    os.chdir(gone)
    gone.rmdir()


def _set(**values: str) -> Callable[[], None]:
    return lambda: os.environ.update(values)


SURROUNDINGS: dict[str, Callable[[], None]] = {
    "usual": lambda: None,
    "no HOME": _without_home,
    "unknown user": _unknown_user,
    "unknown user without HOME": _unknown_user_without_home,
    "deleted folder": _deleted_folder,
    "stdin closed": _closed(0),
    "stdout closed": _closed(1),
    "stderr closed": _closed(2),
    "all closed": _closed(0, 1, 2),
    "stdout full": _full(1),
    "stderr full": _full(2),
    "both full": _full(1, 2),
}
SERVICES: dict[str, Callable[[], None]] = {
    "proxy without scheme": _set(HTTP_PROXY="nonsense", http_proxy="nonsense"),
    "proxy of another kind": _set(ALL_PROXY="socks5://127.0.0.1:1", all_proxy="socks5://127.0.0.1:1"),
    "proxy of an unknown kind": _set(ALL_PROXY="ftp://127.0.0.1:1", HTTP_PROXY="ftp://127.0.0.1:1"),
    "proxy that is no address": _set(HTTP_PROXY="http://[", HTTPS_PROXY="http://["),
    "proxy with a wrong port": _set(HTTP_PROXY="http://localhost:port"),
    "proxy that is away": _set(HTTP_PROXY="http://127.0.0.1:1"),
    "exceptions that are none": _set(NO_PROXY="[,:::,http://", HTTP_PROXY="http://127.0.0.1:1"),
    "certificates that are not there": _set(SSL_CERT_FILE="/nope.pem"),
    "certificates that are none": _set(SSL_CERT_FILE=__file__),
    "certificates in no folder": _set(SSL_CERT_DIR="/nope", SSL_CERT_FILE="/tmp"),
}


def run(words: list[str], enter: Callable[[], None], folder: Path) -> tuple[int, str]:
    """Return the exit code, negative for a signal, and what was printed, of the program in some surroundings."""
    kept = folder.parent / "printed"
    with kept.open("w+b") as printed:
        pid = os.fork()
        if not pid:
            os._exit(_child(words, enter, folder, printed.fileno()))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        printed.seek(0)
        return code, printed.read().decode("utf-8", "replace")


def _child(words: list[str], enter: Callable[[], None], folder: Path, printed: int) -> int:
    os.chdir(folder)
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    kept = os.dup(printed)
    code: Any = 0
    os.closerange(3, kept)
    try:
        enter()
        sys.stdin, sys.stdout, sys.stderr = (_stream(number) for number in range(3))
        if words and words[0] in ENDLESS:
            signal.signal(signal.SIGALRM, _end)
            signal.setitimer(signal.ITIMER_REAL, ENDLESS_SECONDS, ENDLESS_SECONDS)
        else:
            signal.alarm(60)
        time.tzset()
        from memoriter.cli import main

        main([*words], prog_name="memoriter")
    except SystemExit as error:
        code = error.code
    except BaseException:  # noqa: BLE001 - a test reports it
        import traceback

        os.write(kept, traceback.format_exc().encode())
        code = 99
    try:  # as Python does when it ends
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError as error:
        os.write(kept, f"Exception ignored: {error}".encode())
        code = code or 120
    return code if isinstance(code, int) else 0 if code is None else 1


def _end(*_: Any) -> None:
    """End the process once it has begun to expect that."""
    if signal.getsignal(signal.SIGTERM) not in {signal.SIG_DFL, None}:
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.kill(os.getpid(), signal.SIGTERM)


def _stream(number: int) -> Any:
    """Return a stream as Python opens it at its start: None for a descriptor that is closed."""
    try:
        os.fstat(number)
    except OSError:
        return None
    mode = "wb" if number else "rb"
    buffered = os.fdopen(number, mode, closefd=False)
    return io.TextIOWrapper(buffered, encoding="utf-8", errors="surrogateescape", line_buffering=number == 2)


def main() -> None:
    """Print one line of JSON for each command and each of the surroundings: of the commands or of the services."""
    folder = Path(sys.argv[1])
    chosen = {"commands": SURROUNDINGS, "services": SERVICES}[sys.argv[2]]
    names = sys.argv[3:] or list(COMMANDS)
    prepared = folder.with_name("prepared")
    os.environ["MEMORITER_HOME"] = os.environ["HOME"] = str(prepared / "home")
    for words in (["search", "ledger", "-w", str(prepared / "notes")], ["serve", "--help"]):
        for module in modules_of(words, b""):  # so that not each process imports them
            with suppress(ImportError):
                import_module(module)
    commands()
    parse_settings({})  # which builds the schema of the settings
    for place, enter in chosen.items():
        shutil.rmtree(folder, ignore_errors=True)
        for name in names:
            own = folder / "case"
            shutil.rmtree(own, ignore_errors=True)
            shutil.copytree(folder.with_name("prepared"), own)
            os.environ["MEMORITER_HOME"] = os.environ["HOME"] = str(own / "home")
            began = time.monotonic()
            code, printed = run([*name.split(), *COMMANDS[name]], enter, own / "notes")
            sys.stdout.write(json.dumps([place, name, code, printed, round(time.monotonic() - began, 2)]) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
