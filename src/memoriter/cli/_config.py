"""`memoriter config`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from memoriter.api_json import error_json, reason_json
from memoriter.cli._options import Command, CommandGroup, GlobalOptions
from memoriter.cli._render import FAILED
from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.app import Environment
    from memoriter.config import Configuration, Origin, Place

FILE = "memoriter.json5"


@click.group(cls=CommandGroup, name="config", invoke_without_command=True)
@click.pass_context
def config_command(context: click.Context) -> None:
    """Show the current settings, check them, or find their file.

        memoriter config show memorySearch
        memoriter config check
        $EDITOR "$(memoriter config path)"

    The file is JSON5 with OpenClaw's keys. --config also accepts an openclaw.json.
    """
    if context.invoked_subcommand is None:
        GlobalOptions.current().screen.text(context.get_help())


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
    _, configuration, _ = _settle()
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

    screen.show([((key, "bold"), (f" = {value!r}", ""), (note(key, origin), "dim")) for key, value, origin in rows])
    if not rows:
        screen.note(((f"No setting {'differs from its default' if changed else f'has {part!r} in its name'}.", ""),))


@config_command.command(cls=Command, name="check")
def check() -> None:
    """Find mistakes in the configuration.

        memoriter config check
        memoriter config check --config ~/.openclaw/openclaw.json

    It prints the file and line of each mistake, and the allowed values. It also warns about settings without effect.
    The exit code is 1 if there are mistakes. Next: memoriter config show.
    """
    screen = GlobalOptions.current().screen
    try:
        _, configuration, _ = _settle()
    except ConfigError as error:
        if screen.as_json:
            screen.json({"ok": False, **error_json(error.code, error.message, error.remedy)})
        else:
            screen.show([((problem, "red"),) for problem in error.message.splitlines()])
            screen.note(((error.remedy, ""),))
        click.get_current_context().exit(FAILED)
    from memoriter.config import effect_diagnostics

    files = [str(file) for file in (configuration.path, configuration.project_path) if file]
    warnings = effect_diagnostics(configuration)
    if screen.as_json:
        warnings_json = [reason_json(warning) for warning in warnings]
        screen.json({"ok": True, "files": files, "ignored": list(configuration.ignored), "warnings": warnings_json})
        return
    screen.show(
        [((file, "bold"), (" is right.", "green")) for file in files]
        or [(("There is no file; the defaults hold.", ""),)]
    )
    screen.show_diagnostics(warnings)
    if configuration.ignored:
        screen.note(((f"Without effect here: {', '.join(configuration.ignored)}", "dim"),))


@config_command.command(cls=Command, name="path")
def path() -> None:
    """Print the path of the configuration file, even if it does not exist.

        memoriter config path
        memoriter config path --json

    With --json it also prints the folders in use. Next: memoriter config show.
    """
    screen = GlobalOptions.current().screen
    env = _environment()
    place, configuration, agent = _settle(env)
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


def _environment() -> Environment:
    from memoriter.app import read_environment

    return read_environment()


def _settle(env: Environment | None = None) -> tuple[Place, Configuration, str]:
    from memoriter.app import settle

    options = GlobalOptions.current()
    return settle(env or _environment(), options.workspace, options.config, options.agent)


def _origin_json(origin: Origin) -> dict[str, Any]:
    place = {"path": str(origin.path), "line": origin.line} if origin.path else {}
    return {"kind": origin.kind, **place}


def _plain(value: Any) -> Any:
    """Return a value in a form that JSON can hold."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return value
