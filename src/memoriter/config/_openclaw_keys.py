"""The keys that OpenClaw keeps for embedding services, besides those of `models.providers`; they are only read.

They count only with a configuration of OpenClaw, and only if it names a service: a key that happens to be there never
decides that notes leave the machine. Where OpenClaw would use it, a diagnostic says how to. A file that other users of
the machine can read is left out.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from memoriter.config._document import REFERENCE, table
from memoriter.config._places import agent_name
from memoriter.permissions import is_loose
from memoriter.plain_file import read_plain
from memoriter.providers import AUTO, BY_NAME, NONE, PROCESS
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from memoriter.config._configuration import Configuration
    from memoriter.config._schema import MemorySearch

LONGEST = 1 << 20
"""Maximum bytes of a file with keys."""
VENDORS = {"google": "gemini"}
"""Names of OpenClaw's providers that are called otherwise in `memorySearch.provider`."""
LINE = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*"""
    r"""(?:'([^'\n]*)'|"([^"\n]*)"|([^#\n]*))[ \t\r]*(?:\#.*)?$""",
    re.MULTILINE,
)
"""An assignment in `.env`: the name, then the value in single quotes, in double quotes or without quotes."""


@dataclass(frozen=True, slots=True)
class OpenClawKeys:
    """What was found; no value is ever shown."""

    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables of `.env` and `env.vars`, for `${NAME}` where the environment has none of the name."""
    keys: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]], repr=False)
    """The key of each vendor, and where it is from, in words that can be shown."""
    refused: tuple[Diagnostic, ...] = ()
    """Diagnostics for files that are left out, and for a key that only OpenClaw uses."""


def openclaw_keys(
    configuration: Configuration, settings: MemorySearch, agent: str, environ: Mapping[str, str], *, now: float
) -> OpenClawKeys:
    """Return the keys that OpenClaw has for an agent; none unless the settings name a service."""
    state = configuration.state
    if state is None:
        return OpenClawKeys()
    found = _find(configuration, state, agent, environ, now)
    if not names_a_service(settings):
        is_auto = settings.provider.strip() in {"", AUTO}
        decided = settings.offline or settings.remote.api_key or settings.local.model_path
        return OpenClawKeys(refused=_unused_key(configuration, found, environ) if is_auto and not decided else ())
    for vendor in (settings.provider.strip(), settings.fallback.strip()):
        if vendor in found.sign_ins and not _has_key(vendor, configuration, settings, found):
            found.refuse_sign_in(vendor)
    return OpenClawKeys(found.variables, found.keys, tuple(found.refused))


def _unused_key(configuration: Configuration, found: _Finder, environ: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Return a diagnostic about the key with which OpenClaw's `auto` selects a service; memoriter's selects none."""
    entries = configuration.settings.models.providers
    places = {VENDORS.get(name, name): f"models.providers.{name}.apiKey" for name in entries if entries[name].api_key}
    for vendor, provider in BY_NAME.items():
        profile = [found.keys[vendor][1]] if vendor in found.keys else []
        variables = [f"environment {name}" for name in provider.key_variables if environ.get(name, "").strip()]
        for place in [*profile, *variables, *filter(None, [places.get(vendor)])][:1]:
            message = f"OpenClaw sends notes to {vendor} (key from {place}); memoriter does so only if you name it."
            remedy = f'To use it here too, set agents.defaults.memorySearch.provider to "{vendor}".'
            return (Diagnostic("key_unused", message, remedy),)
    return ()


def _find(configuration: Configuration, state: Path, agent: str, environ: Mapping[str, str], now: float) -> _Finder:
    """Return what `.env`, the configuration and the profiles of an agent hold."""
    found = _Finder(environ, now)
    found.read_dotenv(state / ".env")
    for document in configuration.documents:
        if document.kind == "file" and document.path and document.variables:
            found.add_variables(document.variables, document.path)
    for name in dict.fromkeys([agent_name(agent), configuration.default_agent, "main"]):
        found.read_profiles(state / "agents" / name / "agent" / "auth-profiles.json")
    for vendor, provider in BY_NAME.items():
        for name in provider.key_variables:
            if name in found.variables and not environ.get(name):
                found.keys.setdefault(vendor, (found.variables[name], f"{found.places[name]} {name}"))
    return found


def names_a_service(settings: MemorySearch) -> bool:
    """Return whether the provider or its fallback is a service that the settings name themselves."""
    names = (settings.provider.strip(), settings.fallback.strip())
    return any(name not in {"", AUTO, NONE, *PROCESS} for name in names)


def _has_key(vendor: str, configuration: Configuration, settings: MemorySearch, found: _Finder) -> bool:
    """Return whether a service has a key, wherever it is from."""
    written = configuration.settings.models.providers
    entries = [written[name] for name in (vendor, *VENDORS) if name in written and VENDORS.get(name, name) == vendor]
    return (
        vendor in found.keys
        or bool(settings.remote.api_key)
        or any(entry.api_key for entry in entries)
        or any(found.environ.get(name) for name in BY_NAME[vendor].key_variables)
    )


class _Finder:
    """Collects variables and keys, the most important file first."""

    def __init__(self, environ: Mapping[str, str], now: float) -> None:
        self.environ = environ
        self.now = now
        self.variables: dict[str, str] = {}
        self.places: dict[str, str] = {}
        self.keys: dict[str, tuple[str, str]] = {}
        self.sign_ins: dict[str, tuple[Path, str]] = {}
        """The first OAuth profile of each vendor: its file and its name."""
        self.refused: list[Diagnostic] = []

    def read_dotenv(self, path: Path) -> None:
        text = self._read(path)
        for name, single, double, plain in cast("list[tuple[str, str, str, str]]", LINE.findall(text)):
            self._add(name, single or double or plain, str(path))

    def add_variables(self, variables: Mapping[str, str], path: Path) -> None:
        if is_loose(path):
            self._refuse(path, "the keys in its section env are", "it can be read by other users")
            return
        for name, value in variables.items():
            self._add(name, value, "env.vars")

    def read_profiles(self, path: Path) -> None:
        """Add the first API key or token of each vendor, in the order that the file prefers."""
        try:
            store = table(json.loads(self._read(path) or "{}"))
        except (ValueError, RecursionError):
            self._refuse(path, "its keys are", "it is not JSON")
            return
        profiles = table(store.get("profiles"))
        order = table(store.get("order"))
        preferred = [name for names in order.values() if isinstance(names, list) for name in cast("list[Any]", names)]
        for name in dict.fromkeys([*(str(each) for each in preferred if each in profiles), *profiles]):
            profile = table(profiles.get(name))
            vendor = str(profile.get("provider", ""))
            vendor = VENDORS.get(vendor, vendor)
            if key := self._key_of(profile):
                self.keys.setdefault(vendor, (key, f"OpenClaw's auth profile {name}"))
            elif profile.get("type") == "oauth":
                self.sign_ins.setdefault(vendor, (path, name))

    def refuse_sign_in(self, vendor: str) -> None:
        """Report that the only profile of a vendor is a sign-in."""
        path, name = self.sign_ins[vendor]
        message = f"{str(path)!r}: the OAuth profile {name} is not used, because only OpenClaw can renew its token."
        variables = " or ".join(BY_NAME[vendor].key_variables)
        self.refused.append(
            Diagnostic("keys_refused", message, f"Give the service an API key, for example in {variables}.")
        )

    def _key_of(self, profile: Mapping[str, Any]) -> str:
        """Return the API key or token of a profile, or that of the variable it refers to; empty if there is none."""
        name = {"api_key": "key", "token": "token"}.get(str(profile.get("type")))
        if name is None or self._is_expired(profile):
            return ""
        reference = table(profile.get(f"{name}Ref"))
        written = profile.get(name)
        if reference.get("source") == "env":
            return self._variable(str(reference.get("id", "")))
        if not isinstance(written, str):
            return ""
        match = REFERENCE.fullmatch(written.strip())
        return self._variable(match[1]) if match else written.strip()

    def _is_expired(self, profile: Mapping[str, Any]) -> bool:
        """Return whether a token has an end, in milliseconds since 1970, that has passed or is no time."""
        expires = profile.get("expires")
        if profile.get("type") != "token" or expires is None:
            return False
        return not isinstance(expires, int | float) or expires <= self.now * 1_000

    def _variable(self, name: str) -> str:
        return (self.environ.get(name) or self.variables.get(name) or "").strip()

    def _add(self, name: str, value: str, place: str) -> None:
        if value.strip() and name not in self.variables:
            self.variables[name] = value.strip()
            self.places[name] = place

    def _read(self, path: Path) -> str:
        """Return the text of a file; empty if there is none, or if it is not private."""
        if is_loose(path):
            self._refuse(path, "its keys are", "it can be read by other users")
            return ""
        try:
            return read_plain(path, LONGEST, owned=True).decode("utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
            self._refuse(path, "its keys are", reason)
            return ""

    def _refuse(self, path: Path, subject: str, reason: str) -> None:
        message = f"{str(path)!r}: {subject} not used, because {reason}."
        self.refused.append(Diagnostic("keys_refused", message, "Let only its owner read it: run `chmod 600` on it."))
