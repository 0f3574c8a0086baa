"""The entry points of installed packages, memoriter's own among them.

They are read by hand, because `importlib.metadata` takes as long to load as a tenth of a search.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memoriter.errors import ConfigError, MissingPackage, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

_T = TypeVar("_T")
BACKENDS = "memoriter.backends"
"""The group of backends beside the builtin one, each with a name for `memory.backend`."""
STORES = "memoriter.stores"
"""The group of stores beside SQLite, each with a name for `memorySearch.store.driver`."""
SETTINGS = "memoriter.settings"
"""The group of the settings of extensions: each is an `ExtensionSection` with its dotted key as the name."""


class EntryPoint(NamedTuple):
    """An object that a package offers; nothing of it is imported yet."""

    name: str
    place: str
    """The module and, after a colon, the attribute of it that is offered; without one, the module itself."""

    def load(self) -> object:
        """Import and return the object.

        Raises what the import raises, AttributeError, and ImportError instead of SystemExit, which would end a server.
        """
        module, _, attribute = self.place.partition(":")
        try:
            loaded = import_module(module)
        except SystemExit as error:
            raise ImportError(f"The module {module} raised {error!r}") from error
        return getattr(loaded, attribute) if attribute else loaded


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, by name; of two packages with one name, the first on Python's path counts."""
    packages = dict[str, Path]()
    for folder in sys.path:
        for package in _packages(Path(folder or ".")):
            packages.setdefault(package.name.partition("-")[0].lower(), package)
    return tuple(sorted(point for package in packages.values() for point in _points(package, group)))


def load_all(group: str, kind: type[_T]) -> tuple[_T, ...]:
    """Import and return the objects of a group, by name; what fails or has another type is logged, and left out."""
    import logging

    loaded = list[_T]()
    for point in entry_points(group):
        try:
            found = point.load()
        except Exception as error:  # noqa: BLE001 - third-party code
            found = error
        if isinstance(found, kind):
            loaded.append(found)
        else:
            error = found if isinstance(found, Exception) else None
            message = "The entry point %r of %s, %s, is left out: %r"
            logging.getLogger(__name__).warning(message, point.name, group, point.place, found, exc_info=error)
    return tuple(loaded)


def load_named(group: str, name: str, *, setting: str, default: str) -> object:
    """Import and return what a setting names.

    Raises:
        ConfigError: no installed package offers it, or it cannot be loaded.
    """
    point = next((each for each in entry_points(group) if each.name == name), None)
    if point is None:
        raise ConfigError(
            f"The setting {setting} names {name!r}, which is not installed.",
            remedy=f"Install the package that has {name!r}, or set {setting} to {default!r}.",
        )
    try:
        return point.load()
    except Exception as error:
        raise unusable(name, error, setting=setting, default=default) from error


def unusable(name: str, error: Exception, *, setting: str, default: str) -> ConfigError:
    """Return the error for what a setting names and an installed package offers, but that does not work here."""
    remedy = f"Repair its package, or set {setting} to {default!r}."
    return ConfigError(
        f"The setting {setting} names {name!r}, which cannot be loaded: {sentence(error)}",
        remedy=error.remedy if isinstance(error, MissingPackage) else remedy,
    )


def _packages(folder: Path) -> list[Path]:
    with suppress(OSError):  # no folder, such as the archive of the standard library
        return [path for path in folder.iterdir() if path.suffix in {".dist-info", ".egg-info"}]
    return []


def _points(package: Path, group: str) -> Iterator[EntryPoint]:
    text = ""
    with suppress(OSError):
        text = (package / "entry_points.txt").read_text(encoding="utf-8", errors="replace")
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == group and "=" in line and not line.startswith("#"):
            name, _, place = line.partition("=")
            yield EntryPoint(name.strip(), place.partition("[")[0].strip())
