"""The plugin beside this file, built into a wheel and unpacked where Python looks for packages."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).parent / "plugin"
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


def install_plugin(into: Path) -> Path:
    """A folder for Python's path that holds the installed plugin."""
    copy = into / "source"
    wheels = into / "wheels"
    site = into / "site"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    wheels.mkdir()
    subprocess.run([sys.executable, "-c", BUILD, str(wheels)], cwd=copy, check=True, capture_output=True, timeout=100)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    return site
