"""The style sheets, scripts and pictures of the pages, from the installed package, under addresses with their hash."""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

FOLDER = Path(__file__).parent / "static"
KEEP = "private, max-age=31536000, immutable"
"""A browser may keep a file for a year: whenever a file changes, all addresses change."""
mimetypes.add_type("text/javascript", ".js")


class StaticFiles:
    """The files in `static/` and in those of packages, read once.

    All files share one hash, so that a script can import another one by its relative address.
    """

    ROUTE = "/static/{version}/{name}"

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        """Read all files; `folders` are those of packages."""
        files = [file for folder in (*folders, FOLDER) for file in sorted(folder.glob("*")) if file.is_file()]
        self._contents = {file.name: file.read_bytes() for file in files}
        digest = hashlib.sha256()
        for name, content in self._contents.items():
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
        self.version = digest.hexdigest()[:16]

    def address(self, name: str) -> str:
        """Return the address of a file. Raises KeyError if there is no such file."""
        if name not in self._contents:
            raise KeyError(name)
        return f"/static/{self.version}/{name}"

    async def answer(self, request: Request) -> Response:
        """Return the response with a file; an address of another version leads nowhere."""
        name = request.path_params["name"]
        content = self._contents.get(name)
        if content is None or request.path_params["version"] != self.version:
            return PlainTextResponse("The pages have no file with this address. Load the page again.\n", 404)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(content, headers={"Cache-Control": KEEP}, media_type=kind)
