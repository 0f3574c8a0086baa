"""llama.cpp's server inside this process, provided by `xllamacpp`.

Embedding is a function call, but llama.cpp counts tokens over HTTP only, so the server must listen. Where the system
supports it, it listens on a socket in a private folder, elsewhere on 127.0.0.1. In both cases it requires a random key.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import BadVector, InputRejected, InputTooLarge, ProviderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ANSWER_SECONDS = 60
_QUIET = -1
_SOCKET = "s.sock"
_LONGEST_FOLDER = 75
"""Bytes. The path of a socket has at most 103 on macOS, and `/llama-12345678/s.sock` is added."""
_POOLINGS = {
    "mean": "LLAMA_POOLING_TYPE_MEAN",
    "cls": "LLAMA_POOLING_TYPE_CLS",
    "last": "LLAMA_POOLING_TYPE_LAST",
}
_NOTHING_TO_READ = "."
"""Replaces a text without any token."""


class LlamaServer:
    """Embeds one text at a time, so that no vector depends on other texts. llama.cpp uses several threads for each."""

    def __init__(self, path: str, *, pooling: str, most_tokens: int, threads: int, tcp: bool = False) -> None:
        """Load the model. This takes about one second per gigabyte.

        Raises:
            ProviderUnavailable: llama.cpp rejects the model.
        """
        self._most_tokens = most_tokens
        self._key = secrets.token_urlsafe()
        self._folder = None if tcp or not _may_listen_in_folders() else _own_folder()
        if self._folder is not None:
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        try:
            import xllamacpp as library

            xllamacpp = cast("Any", library)
            self._server: Any = xllamacpp.Server(self._settings(xllamacpp, path, pooling, threads))
            # If the server ends before its queue starts, it waits for the queue forever and holds the GIL.
            self._server.handle_embeddings({"input": _NOTHING_TO_READ})
        except Exception as error:
            self._remove_folder()
            raise ProviderUnavailable(
                f"llama.cpp does not load the model {path}: {error}",
                remedy="try a newer xllamacpp or another file; the model may be of a kind that llama.cpp does not know",
            ) from error
        self._address: str = self._server.listening_address

    def count(self, text: str) -> int:
        return len(self._tokens(text))

    def embed(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        # Keep a reference during the call: another thread may close the server.
        if (server := self._server) is None:
            raise _gone("it was closed")
        tokens = self._tokens(text) or self._tokens(_NOTHING_TO_READ)
        if len(tokens) > self._most_tokens:
            # The last token may be the end marker, from which some models take their vector.
            tokens = [*tokens[: self._most_tokens - 1], tokens[-1]]
        answer: dict[str, Any] = server.handle_embeddings({"input": [tokens]})
        if "error" in answer:
            raise _refusal(answer["error"])
        try:
            return np.asarray(answer["data"][0]["embedding"], np.float32)
        except (LookupError, TypeError, ValueError) as error:
            raise BadVector("llama.cpp answered without a vector") from error

    def close(self) -> None:
        self._server = None
        self._remove_folder()

    def _settings(self, xllamacpp: Any, path: str, pooling: str, threads: int) -> Any:
        wanted = xllamacpp.CommonParams()
        wanted.model.path = path
        wanted.embedding = True
        wanted.pooling_type = getattr(xllamacpp.llama_pooling_type, _POOLINGS[pooling])
        # llama.cpp refuses an input that is longer than one physical batch or that fills the context. One context per
        # text would cost memory.
        wanted.n_batch = wanted.n_ubatch = self._most_tokens
        wanted.n_ctx = self._most_tokens + 1
        wanted.n_parallel = 1
        wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
        wanted.cache_ram_mib = 0
        wanted.warmup = wanted.fit_params = wanted.ui = wanted.endpoint_slots = False
        wanted.offline = True
        wanted.verbosity = _QUIET
        wanted.api_keys = [self._key]
        if self._folder is not None:
            wanted.hostnames = [str(self._folder / _SOCKET)]
        return wanted

    def _tokens(self, text: str) -> list[int]:
        """Return the tokens of a text with start and end markers. A marker written in the text is plain text."""
        connection = self._connection()
        try:
            if self._folder is not None:
                connection.sock.connect(str(self._folder / _SOCKET))
            body = json.dumps({"content": text, "add_special": True, "parse_special": False})
            headers = {
                "Authorization": f"Bearer {self._key}",
                "Content-Type": "application/json",
                "Connection": "close",
            }
            connection.request("POST", "/tokenize", body, headers)
            return cast("list[int]", json.loads(connection.getresponse().read())["tokens"])
        except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
            raise _gone(str(error)) from error
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._folder is None:
            return http.client.HTTPConnection(self._address.removeprefix("http://"), timeout=_ANSWER_SECONDS)
        connection = http.client.HTTPConnection("localhost", timeout=_ANSWER_SECONDS)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(_ANSWER_SECONDS)
        return connection

    def _remove_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _may_listen_in_folders() -> bool:
    """Return whether the system has Unix sockets and the path of one in the temporary folder is short enough."""
    short = len(os.fsencode(tempfile.gettempdir())) <= _LONGEST_FOLDER
    return short and sys.platform != "win32" and hasattr(socket, "AF_UNIX")


def _own_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="llama-"))
    except OSError as error:
        raise ProviderUnavailable(
            f"llama.cpp has no place for its socket in {tempfile.gettempdir()}: {error.strerror}",
            remedy="make room there, or set TMPDIR to a folder that may be written",
        ) from error


def _gone(why: str) -> ProviderUnavailable:
    return ProviderUnavailable(f"llama.cpp does not answer any more: {why}", remedy="start the program again")


def _refusal(error: Any) -> InputTooLarge | InputRejected:
    message = str(cast("dict[str, Any]", error).get("message", error) if isinstance(error, dict) else error)
    if "too large" in message or "larger than" in message:
        return InputTooLarge(f"llama.cpp: {message}")
    return InputRejected(f"llama.cpp: {message}")
