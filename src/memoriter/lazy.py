"""Names of a package that are imported on first use, so that a command which does not need them starts at once."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    Args:
        package: the name of the package.
        modules: the names to import from each of its modules, separated by spaces.
    """

    def import_name(name: str) -> Any:
        for module, names in modules.items():
            if name in names.split():
                value = getattr(import_module(f"{package}.{module}"), name)
                setattr(sys.modules[package], name, value)  # so that the next use does not come here
                return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return import_name
