"""Build a release of the last commit: `python scripts/release.py DIR`; `just release` builds into `dist`, and tries it.

DIR gets the source archive and the wheel, a list of every package that the wheel needs with the extras of a server
(SBOM, in the form of CycloneDX), and SHA256SUMS. Both archives are built twice, from two copies of the commit, and must
be equal byte for byte. Nothing is published.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
PIN = re.compile(r"^([\w.-]+==\S+(?: ; [^\\\n]+?)?) \\$", re.MULTILINE)


def main(folder: Path) -> None:
    commit_time = _run("git", "log", "-1", "--format=%ct").decode().strip()
    commit = _run("git", "archive", "HEAD")
    with tempfile.TemporaryDirectory() as scratch:
        first = _built(commit, Path(scratch, "first"), commit_time, umask=0o022)
        second = _built(commit, Path(scratch, "second"), commit_time, umask=0o077)
        _require(first == second, "Two builds of one commit differ.")
        (wheel,) = [content for name, content in first.items() if name.endswith(".whl")]
        name, version = _checked_metadata(wheel)
        sbom = _sbom(Path(scratch, "sbom"), name, version, commit_time)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}-*"):
        old.unlink()
    files = {**first, f"{name}-{version}.sbom.cdx.json": sbom}
    files["SHA256SUMS"] = "".join(f"{sha256(files[file]).hexdigest()}  {file}\n" for file in sorted(files)).encode()
    for file, content in files.items():
        (folder / file).write_bytes(content)
        print(f"{len(content):>10,} bytes  {folder / file}")


def _run(*words: str | Path, cwd: Path = ROOT, umask: int = -1, **variables: str) -> bytes:
    return subprocess.run(
        words, cwd=cwd, env={**os.environ, **variables}, umask=umask, stdout=subprocess.PIPE, check=True
    ).stdout


def _require(condition: object, message: str) -> None:
    if not condition:
        raise SystemExit(message)


def _built(commit: bytes, folder: Path, commit_time: str, umask: int) -> dict[str, bytes]:
    """Build both archives in a copy of the commit, and return their contents by name."""
    with tarfile.open(fileobj=BytesIO(commit)) as archive:
        archive.extractall(folder / "source", filter="data")
    words = [sys.executable, "-m", "hatchling", "build", "--directory", folder / "built"]
    _run(*words, cwd=folder / "source", umask=umask, SOURCE_DATE_EPOCH=commit_time)
    return {file.name: file.read_bytes() for file in (folder / "built").iterdir()}


def _checked_metadata(wheel: bytes) -> tuple[str, str]:
    """Return the name and the version of a wheel whose metadata an index would accept."""
    with zipfile.ZipFile(BytesIO(wheel)) as archive:
        (file,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Metadata.from_email(archive.read(file), validate=True)
        names = {name.rpartition("/")[2] for name in archive.namelist()}
    _require({"LICENSE", "MODEL_CARD.md"} <= names, "The wheel lacks the licence or the card of the models.")
    _require(metadata.description_content_type == "text/markdown", "The description is not Markdown.")
    version = str(metadata.version)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    _require(f"\n## {version}," in changes, f"CHANGELOG.md has no section {version}.")
    return metadata.name, version


def _sbom(folder: Path, name: str, version: str, commit_time: str) -> bytes:
    """Return what uv says about the pinned packages, without the time and the number of this run."""
    pins = PIN.findall((ROOT / "requirements" / "serve.txt").read_text(encoding="utf-8"))
    python = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    folder.mkdir()
    project = {"name": name, "version": version, "requires-python": python, "dependencies": pins}
    lines = [f"{key} = {json.dumps(value)}" for key, value in project.items()]
    (folder / "pyproject.toml").write_text("\n".join(["[project]", *lines]), encoding="utf-8")
    exported = _run(UV, "export", "--quiet", "--preview", "--no-dev", "--format", "cyclonedx1.5", cwd=folder)
    sbom: dict[str, Any] = json.loads(exported)
    _require(len(sbom["components"]) == len(pins), "The SBOM has not the packages that are pinned.")
    del sbom["serialNumber"]
    sbom["metadata"]["timestamp"] = datetime.fromtimestamp(int(commit_time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (json.dumps(sbom, indent=2) + "\n").encode()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
