"""Exports that were sent to the page Import, each kept in a private folder until it is imported."""

from __future__ import annotations

import re
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from memoriter.errors import UsageError, WriteError, sentence
from memoriter.ids import content_hash
from memoriter.permissions import make_private_folder, open_private

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path
    from typing import IO

    from starlette.requests import Request

    from memoriter.environment import Environment

UPLOADS = "uploads"
"""The folder below the home."""
MOST_BYTES = 500_000_000
"""Bytes of an upload."""
MORE = 100_000
"""Bytes of its form besides the file."""
KEPT_SECONDS = 24 * 3_600
"""Seconds after which an upload that nobody imported is removed, with the next upload."""
LONGEST_NAME = 150
AGAIN = "Choose the file again."


@asynccontextmanager
async def received(request: Request) -> AsyncGenerator[tuple[str, IO[bytes], dict[str, str]]]:
    """Yield the name of the file in a form, the open file, and the other fields of the form. Raises UsageError."""
    from starlette.datastructures import UploadFile
    from starlette.exceptions import HTTPException
    from starlette.formparsers import MultiPartException

    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length) > MOST_BYTES + MORE:
        message = f"The file has more than {MOST_BYTES // 1_000_000} MB."
        raise UsageError(message, remedy="Import it with `memoriter import`, which takes any size.")
    try:
        form = await request.form(max_files=1, max_fields=10, max_part_size=10_000)
    except (MultiPartException, HTTPException) as error:
        raise UsageError("The form cannot be read.", remedy=AGAIN) from error
    try:
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise UsageError("No file was chosen.", remedy="Choose the file that the other app has exported.")
        yield _plain_name(file.filename), file.file, fields
    finally:
        await form.close()


def keep(env: Environment, caller: str, name: str, content: IO[bytes]) -> str:
    """Keep a file until its owner decides, instead of their last one, and return its state. Raises WriteError."""
    folder = _folder(env, caller)
    try:
        make_private_folder(folder.parent)
        for each in folder.parent.iterdir():
            if each == folder or env.wall() - each.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(each)
        make_private_folder(folder)
        with open(folder / name, "xb", opener=open_private) as file:
            shutil.copyfileobj(content, file)
    except OSError as error:
        message = f"The file cannot be kept in {str(folder)!r}: {sentence(error.strerror or error)}"
        raise WriteError(message, remedy="Free some space, and try again.") from error
    return _state_of(folder / name)


def kept(env: Environment, caller: str, name: str, state: str) -> Path:
    """Return the file that a caller sent and saw. Raises UsageError."""
    file = _folder(env, caller) / _plain_name(name)
    if not file.is_file() or _state_of(file) != state:
        raise UsageError("The file is not kept any more, or another one was chosen meanwhile.", remedy=AGAIN)
    return file


def drop(env: Environment, caller: str) -> None:
    """Remove what a caller sent."""
    shutil.rmtree(_folder(env, caller), ignore_errors=True)


def _folder(env: Environment, caller: str) -> Path:
    return env.home / UPLOADS / content_hash(caller)[:16]


def _state_of(file: Path) -> str:
    status = file.stat()
    return f"{status.st_mtime_ns}-{status.st_size}"


def _plain_name(name: str) -> str:
    """Return the name of a file without folders and without what a file system may not take."""
    last = re.sub(r"[\x00-\x1f\x7f]", "", re.split(r"[/\\]", name)[-1]).lstrip(".")
    stem, dot, suffix = last.rpartition(".")
    return f"{stem[:LONGEST_NAME] or 'export'}{dot}{suffix[:20]}" if dot else last[:LONGEST_NAME] or "export"
