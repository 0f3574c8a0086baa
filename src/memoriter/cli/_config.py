"""`memoriter config` and `memoriter init`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from memoriter.api_json import error_json, reason_json
from memoriter.cli._options import Command, CommandGroup, GlobalOptions, read_environment
from memoriter.cli._render import FAILED, is_interactive
from memoriter.cli._trust import trust_made_folder
from memoriter.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.app import Environment
    from memoriter.cli._render import Line
    from memoriter.config import Configuration, Origin

FILE = "memoriter.json5"


@click.group(cls=CommandGroup, name="config", invoke_without_command=True)
@click.pass_context
def config_command(context: click.Context) -> None:
    """Show, change and check the settings, or find their file.

        memoriter config show memorySearch
        memoriter config set query.maxResults 10
        memoriter config check

    The file is JSON5 with OpenClaw's keys. --config also accepts an openclaw.json.
    """
    if context.invoked_subcommand is None:
        GlobalOptions.current().screen.text(context.get_help())


@click.command(cls=Command, name="init")
@click.option(
    "--layout",
    type=click.Choice(["auto", "notes", "openclaw"]),
    help="Which Markdown files are memory: notes: all; openclaw: MEMORY.md and memory/; auto: what is there decides.",
)
def init_command(layout: str | None) -> None:
    """Give a folder of notes its own settings: .memoriter.json5.

        memoriter init
        memoriter init -w ~/notes --layout notes

    The file has a comment for each setting. The folder is -w DIR or the current one, and nothing else in it is
    changed. If it has settings already, only --layout changes them. At a terminal you also trust the folder, so that
    agents that work in it use its notes; in a Git repository, whose notes may come from anybody, memoriter asks first.
    Next: memoriter config set --help.
    """
    from memoriter.config import PROJECT_FILE, in_home
    from memoriter.settings_file import TEMPLATE, write_settings

    options = GlobalOptions.current()
    env = read_environment()
    folder = env.cwd / in_home(options.workspace, env.user_home) if options.workspace else env.cwd
    if not folder.is_dir():
        raise UsageError(f"The path {str(folder)!r} is not a folder.", remedy="Create it, or give another with -w DIR.")
    file = Path(os.path.normpath(folder)) / PROJECT_FILE
    existed = os.path.lexists(file)
    if existed and layout is None:
        raise UsageError(
            f"The file {str(file)!r} exists already, and nothing was changed.",
            remedy="Edit it, or change single settings with `memoriter config set KEY VALUE --here`.",
        )
    values: dict[tuple[str, ...], Any] = {("memory", "layout"): layout} if layout else {}
    changed = write_settings(file, values, workspace=folder, text=TEMPLATE)
    ask_for_provider(options, env)
    trust = trust_made_folder(folder, env, options.screen)
    state = "unchanged"
    if changed:
        state = "changed" if existed else "written"
    if options.json:
        options.screen.json({"file": str(file), "state": state})
        return
    options.screen.show([((str(file), "bold"), (f" is {state}.", ""))])
    options.screen.note(*(((line, ""),) for line in trust))


def ask_for_provider(options: GlobalOptions, env: Environment) -> None:
    """Ask once, on a terminal, which provider is to compute the vectors if a key is set and the settings name none.

    The answer is written to the user's settings. Raises ConfigError and WriteError.
    """
    from memoriter.providers import AUTO, PROVIDERS
    from memoriter.settings_file import write_settings

    screen = options.screen
    services = [each.name for each in PROVIDERS if any(env.environ.get(name) for name in each.key_variables)]
    if not services or not is_interactive(screen):
        return
    _, configuration, agent = GlobalOptions.current().settle(env)
    settings = configuration.search_for(agent)
    key = ("agents", "defaults", "memorySearch", "provider")
    named = configuration.origin(key).kind != "default" or settings.provider != AUTO
    if named or settings.remote.api_key or settings.local.model_path or settings.offline or configuration.state:
        return
    keys = ", ".join(name for each in PROVIDERS for name in each.key_variables if env.environ.get(name))
    message = f"{keys} is set, and no setting names the provider that computes the vectors of your notes."
    screen.note(((message, ""),), (("bundled: the model on this machine; nothing is sent.", ""),))
    screen.note(*(((f"{name}: the text of your notes is sent to this service.", ""),) for name in services))
    answer = click.prompt("Provider", type=click.Choice(["bundled", *services]), default="bundled", err=True)
    file = configuration.path or env.home / FILE
    write_settings(file, {key: answer})
    screen.note(((f"memorySearch.provider is set to {answer} in {file}.", ""),))


@config_command.command(cls=Command, name="show")
@click.argument("part", required=False, default="")
@click.option("--changed", is_flag=True, help="Only settings that differ from the defaults.")
def show(part: str, *, changed: bool) -> None:
    """List every setting with its value and source.

        memoriter config show
        memoriter config show query.hybrid
        memoriter config show --changed --json

    PART selects the settings whose name contains it. Keys and passwords are masked. Next: memoriter config check.
    """
    screen = GlobalOptions.current().screen
    _, configuration, _ = GlobalOptions.current().settle()
    rows = [
        (key, _plain(value), origin)
        for key, value, origin in configuration.rows()
        if part.lower() in key.lower() and not (changed and origin.kind == "default")
    ]
    if screen.as_json:
        screen.json({key: {"value": value, "from": _origin_json(origin)} for key, value, origin in rows})
        return
    from memoriter.config import settings_without_effect

    idle = settings_without_effect(configuration)

    def note(key: str, origin: Origin) -> str:
        has_effect = not any(f"{key}.".startswith(f"{name}.") for name in idle)
        return "" if origin.kind == "default" else f"  ({origin}{'' if has_effect else '; no effect'})"

    lines: list[Line] = [
        ((key, "bold"), (f" = {_shown(value)}", ""), (note(key, origin), "dim")) for key, value, origin in rows
    ]
    screen.show(lines, wrapped=False)
    if not rows:
        screen.note(((f"No setting {'differs from its default' if changed else f'has {part!r} in its name'}.", ""),))


@config_command.command(cls=Command, name="check")
def check() -> None:
    """Find mistakes in the configuration.

        memoriter config check
        memoriter config check --config ~/.openclaw/openclaw.json

    It prints the file and line of each mistake, and the allowed values. It also warns about settings without effect,
    and about keys of OpenClaw that are not used. The exit code is 1 if there are mistakes. Next: memoriter config show.
    """
    from memoriter.app import backend_setup
    from memoriter.store_setup import load_driver

    screen = GlobalOptions.current().screen
    env = read_environment()
    try:
        place, configuration, agent = GlobalOptions.current().settle(env)
        _check_time_zones(configuration, env)
        load_driver(configuration.search_for(agent).store.driver)
        backend = backend_setup(configuration, agent, env, place.workspace)
    except ConfigError as error:
        if screen.as_json:
            screen.json({"ok": False, **error_json(error.code, error.message, error.remedy)})
        else:
            screen.show([((problem, "red"),) for problem in error.message.splitlines()])
            screen.note(((error.remedy, ""),))
        click.get_current_context().exit(FAILED)
    from memoriter.config import effect_diagnostics, openclaw_keys

    files = [str(file) for file in (configuration.path, configuration.project_path) if file]
    keys = openclaw_keys(configuration, configuration.search_for(agent), agent, env.environ, now=env.wall())
    warnings = (*effect_diagnostics(configuration), *keys.refused, *(backend.problems() if backend else ()))
    if screen.as_json:
        warnings_json = [reason_json(warning) for warning in warnings]
        screen.json({"ok": True, "files": files, "ignored": list(configuration.ignored), "warnings": warnings_json})
        return
    screen.show(
        [((file, "bold"), (" is right.", "green")) for file in files]
        or [(("There is no file, so the defaults apply.", ""),)]
    )
    screen.show_diagnostics(warnings)
    if configuration.ignored:
        screen.note(((f"Without effect here: {', '.join(configuration.ignored)}", "dim"),))


_ZONE_RULE = re.compile(r"(?:[A-Za-z]{3,}|<[A-Za-z\d+-]{3,}>)[+-]?\d{1,2}(?::\d\d){0,2}.*")
"""A rule such as `EST5EDT`, or the beginning of one with the days of daylight saving time."""
TIME_ZONE = ("agents", "defaults", "userTimezone")


def _check_time_zones(configuration: Configuration, env: Environment) -> None:
    """Raise ConfigError for a time zone that this machine does not know: days would silently be those of another."""
    from memoriter.environment import zone_is_known

    zone = configuration.settings.agents.defaults.user_timezone
    if zone and not zone_is_known(zone):
        raise _unknown_zone(f"{configuration.origin(TIME_ZONE)}: {'.'.join(TIME_ZONE)}", zone)
    name = env.environ.get("TZ", "").removeprefix(":")
    # For what is neither a name, a file of a time zone nor a rule, the system uses UTC.
    is_other = _is_zone_file(name) if name.startswith("/") else _ZONE_RULE.fullmatch(name)
    if name and not is_other and not zone_is_known(name):
        raise _unknown_zone("TZ", name)


def _is_zone_file(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == b"TZif"
    except OSError:
        return False


def _unknown_zone(place: str, zone: str) -> ConfigError:
    message = f"{place} is {zone!r}, which is not a time zone that this machine knows."
    return ConfigError(message, remedy="Give a name such as Europe/Berlin or Asia/Seoul.")


@config_command.command(cls=Command, name="get")
@click.argument("key")
def get(key: str) -> None:
    """Print the value of one setting; the end of its key is enough where it is unique.

        memoriter config get memorySearch.provider
        memoriter config get query.maxResults --json

    A key or password is masked. Next: memoriter config set --help.
    """
    screen = GlobalOptions.current().screen
    _, configuration, _ = GlobalOptions.current().settle()
    names = _names(key)
    name = ".".join(names)
    rows = {key: (_plain(value), origin) for key, value, origin in configuration.rows()}
    items = {key: value for key, (value, _) in rows.items() if key.startswith(f"{name}.")}
    if name not in rows and items:
        rows[name] = _nested(items, name), configuration.origin(names)
    if name not in rows:
        raise ConfigError(
            f"The setting {name} has no value.", remedy=f"To set it, run `memoriter config set {name} VALUE`."
        )
    value, origin = rows[name]
    if screen.as_json:
        screen.json({"key": name, "value": value, "from": _origin_json(origin)})
    else:
        screen.text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


@config_command.command(cls=Command, name="set", context_settings={"ignore_unknown_options": True})
@click.argument("key")
@click.argument("value", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--here", is_flag=True, help="In the folder's own file, .memoriter.json5.")
def set_(key: str, value: tuple[str, ...], *, here: bool) -> None:
    """Set one setting in the configuration file; comments in the file stay.

        memoriter config set query.maxResults 10
        memoriter config set memorySearch.provider openai
        memoriter config set extraPaths docs journal --here

    KEY may be the end of a key where it is unique. VALUE is JSON5 or plain text; several values make a list. A value
    that is not valid is refused, and nothing is written. Next: memoriter config show --changed.
    """
    names = _names(key)
    parsed = _parse_value(names, value)
    if names == TIME_ZONE and isinstance(parsed, str):
        from memoriter.environment import zone_is_known

        if not zone_is_known(parsed):
            raise _unknown_zone(".".join(names), parsed)
    _write(names, parsed, here=here)


@config_command.command(cls=Command, name="unset")
@click.argument("key")
@click.option("--here", is_flag=True, help="In the folder's own file, .memoriter.json5.")
def unset(key: str, *, here: bool) -> None:
    """Remove one setting from the configuration file, so that its default holds again.

        memoriter config unset query.maxResults
        memoriter config unset extraPaths --here

    Comments in the file stay. Next: memoriter config show --changed.
    """
    _write(_names(key), None, here=here)


@config_command.command(cls=Command, name="path")
def path() -> None:
    """Print the path of the configuration file, even if it does not exist.

        memoriter config path
        memoriter config path --json

    With --json it also prints the folders in use. Next: memoriter config show.
    """
    screen = GlobalOptions.current().screen
    env = read_environment()
    place, configuration, agent = GlobalOptions.current().settle(env)
    file = configuration.path or env.home / FILE
    if not screen.as_json:
        screen.text(str(file))
        return
    screen.json(
        {
            "config": str(file),
            "exists": file.is_file(),
            "project": str(configuration.project_path) if configuration.project_path else None,
            "home": str(env.home),
            "workspace": str(place.workspace),
            "workspaceReason": place.reason,
            "agent": agent,
        }
    )


def _nested(items: Mapping[str, Any], name: str) -> Any:
    """Return the value of a list or table from the values of the settings in it, by dotted key."""
    tree: dict[str, Any] = {}
    for key, value in items.items():
        *steps, last = key.removeprefix(f"{name}.").split(".")
        below = tree
        for step in steps:
            below = below.setdefault(step, {})
        below[last] = value
    return list(tree.values()) if all(step.isdigit() for step in tree) else tree


def _names(key: str) -> tuple[str, ...]:
    """Return the names of the setting that a key means. Raises ConfigError."""
    from memoriter.config import reference, setting_names

    # A setting inside the items of a list is set with the whole list.
    return setting_names(key, list(dict.fromkeys(row.key.partition("[]")[0] for row in reference())))


def _parse_value(names: tuple[str, ...], words: tuple[str, ...]) -> Any:
    """Return the value that words on the command line stand for: JSON5 where the setting is no text, else text."""
    from memoriter.config import parse_value, reference

    key = ".".join(names)
    kinds = ((row.key, row.type) for row in reference())
    kind = next((kind if name == key else "list" for name, kind in kinds if name.partition("[]")[0] == key), "")
    values: list[Any] = [parse_value(word) for word in words]
    if kind.startswith("list"):
        return cast("Any", values[0]) if len(values) == 1 and isinstance(values[0], list) else values
    if len(words) == 1 and kind not in {"text", ""} and not kind.startswith('"'):
        return values[0]
    return values[0] if len(words) == 1 and words[0][:1] in {'"', "'"} else " ".join(words)


def _write(names: tuple[str, ...], value: Any, *, here: bool) -> None:
    """Set a setting in the user's file or in the folder's own, or remove it if the value is None."""
    from memoriter.config import PROJECT_FILE
    from memoriter.settings_file import write_settings

    screen = GlobalOptions.current().screen
    env = read_environment()
    place, configuration, _ = GlobalOptions.current().settle(env)
    file = place.workspace / PROJECT_FILE if here else configuration.path or env.home / FILE
    workspace = place.workspace if here else None
    key = ".".join(names)
    if value is None:
        changed = write_settings(file, {}, removed=[names], workspace=workspace) if file.exists() else False
        message = (
            f"{key} is removed from {file}." if changed else f"{key} is not written in {file}; nothing was changed."
        )
    else:
        changed = write_settings(file, {names: value}, workspace=workspace)
        message = f"{key} is set in {file}." if changed else f"{key} has this value in {file} already."
    if screen.as_json:
        screen.json({"key": key, "file": str(file), "changed": changed})
    else:
        screen.show([((message, ""),)])
        if value is not None and (remark := _difference(env, key, value, file)):
            screen.note(((remark, "yellow"),))


def _difference(env: Environment, key: str, value: Any, file: Path) -> str:
    """Return why another value than the one just written is in force; empty if there is no difference."""
    from memoriter.config import reference

    _, configuration, _ = GlobalOptions.current().settle(env)
    found = next(((_plain(value), origin) for name, value, origin in configuration.rows() if name == key), None)
    if found is None or found[0] == value or isinstance(value, str):
        return ""
    in_force, origin = found
    if origin.path is not None and origin.path != file:
        return f"The value in force is {_shown(in_force)}, because {origin} takes precedence."
    description = next((row.description for row in reference() if row.key == key), "")
    return f"The value in force is {_shown(in_force)}: {description}."


def _origin_json(origin: Origin) -> dict[str, Any]:
    place = {"path": str(origin.path), "line": origin.line} if origin.path else {}
    return {"kind": origin.kind, **place}


def _shown(value: Any) -> str:
    """Return a value as it is written in the file."""
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Return a value in a form that JSON can hold."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return value
