"""llama.cpp through an installed Python package: `xllamacpp`, or else `llama-cpp-python`.

With `xllamacpp`, llama.cpp's server runs inside this process. Embedding is a function call, but llama.cpp counts tokens
over HTTP only, so the server must listen. Where the system supports it, it listens on a socket in a private folder,
elsewhere on 127.0.0.1. In both cases it requires a random key.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed._artefact import write_whole
from memoriter.embed.bundled._native import processor_flags
from memoriter.errors import BadScores, BadVector, InputRejected, InputTooLarge, ProviderUnavailable, sentence
from memoriter.extras import install_command

if TYPE_CHECKING:
    import http.client
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.local._local import LocalEngine

_PROCESSOR = {"avx2", "f16c", "fma"}
"""Processor flags that the x86 build uses without checking."""
_TRIAL_SECONDS = 300
_TRIAL = """
import json, os, sys, tempfile
os.environ["GGML_NO_BACKTRACE"] = "1"
given = json.loads(sys.argv[1])
sys.path[:] = given["modules"]
tempfile.tempdir = given["folder"]
from memoriter.embed.local._llama import LlamaServer
from memoriter.errors import ProviderUnavailable
try:
    engine = LlamaServer(given["path"], pooling=given["pooling"], most_tokens=given["most_tokens"], threads=1)
except ProviderUnavailable:
    sys.exit()
engine.embed("ready")
engine.close()
"""
"""The program of the trial. A model that fails to load is no crash: `LlamaServer` reports it later, with the reason."""
_ANSWER_SECONDS = 60
_QUIET = -1
_SOCKET = "s.sock"
_LONGEST_FOLDER = 75
"""Bytes. The path of a socket has at most 103 on macOS, and `/llama-12345678/s.sock` is added."""
_SERVER_POOLINGS = {
    "mean": "LLAMA_POOLING_TYPE_MEAN",
    "cls": "LLAMA_POOLING_TYPE_CLS",
    "last": "LLAMA_POOLING_TYPE_LAST",
    "rank": "LLAMA_POOLING_TYPE_RANK",
}
_NOTHING_TO_READ = "."
"""Replaces a text without any token."""
_BINDING_POOLINGS = {"mean": 1, "cls": 2, "last": 3}


def usable_package() -> Callable[..., LocalEngine]:
    """Return a function that loads a model, called as (path, pooling=…, most_tokens=…, threads=…, passed=…).

    Nothing is imported yet. `passed` is the folder that records the trials of the model. Raises ProviderUnavailable:
    neither package is installed, or llama.cpp would crash on this processor.
    """
    if importlib.util.find_spec("xllamacpp") is not None:
        flags = processor_flags()
        if flags is not None and not flags >= _PROCESSOR:
            raise ProviderUnavailable(
                f"The package xllamacpp needs a processor with {', '.join(sorted(_PROCESSOR - flags)).upper()}.",
                remedy="Run `pip uninstall xllamacpp`, then install llama-cpp-python: it is built for this processor.",
            )
        return _with_xllamacpp
    if importlib.util.find_spec("llama_cpp") is not None:
        return _with_llama_cpp_python
    message = "GGUF models need llama.cpp, which is not installed."
    raise ProviderUnavailable(message, remedy=f"Run `{install_command('local')}`.")


def _with_xllamacpp(path: str, *, pooling: str, most_tokens: int, threads: int, passed: Path) -> LocalEngine:
    try_model(path, pooling=pooling, most_tokens=most_tokens, passed=passed)
    return LlamaServer(path, pooling=pooling, most_tokens=most_tokens, threads=threads)


def _with_llama_cpp_python(path: str, *, pooling: str, most_tokens: int, threads: int, passed: Path) -> LocalEngine:
    del passed  # compiled on this machine, for this machine
    return LlamaBinding(path, pooling=pooling, most_tokens=most_tokens, threads=threads)


def try_model(path: str, *, pooling: str, most_tokens: int, passed: Path) -> None:
    """Check once that a model works. If no interpreter can be started, skip the check.

    A file in the folder `passed` records success for each version of llama.cpp. Raises ProviderUnavailable: the process
    crashed or did not end.
    """
    import subprocess
    from importlib import metadata

    record = passed / metadata.version("xllamacpp")
    if record.exists() or not sys.executable or getattr(sys, "frozen", False):
        return
    arguments = {"path": path, "pooling": pooling, "most_tokens": most_tokens, "modules": sys.path}
    try:
        # If the process crashes, its temporary files are deleted with the folder.
        with tempfile.TemporaryDirectory(prefix="llama-", ignore_cleanup_errors=True) as folder:
            result = subprocess.run(  # noqa: S603 - our own interpreter on a constant
                [sys.executable, "-c", _TRIAL, json.dumps({**arguments, "folder": folder})],
                capture_output=True,
                check=False,
                timeout=_TRIAL_SECONDS,
            )
        failure = f"it ended with status {result.returncode}" if result.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    if failure:
        raise ProviderUnavailable(
            f"The model {path} makes llama.cpp crash: {sentence(failure)}",
            remedy="Try another file or a newer xllamacpp.",
        )
    write_whole(record, b"")


class LlamaServer:
    """Embeds one text at a time, so that no vector depends on other texts. llama.cpp uses several threads for each."""

    def __init__(self, path: str, *, pooling: str, most_tokens: int, threads: int, tcp: bool = False) -> None:
        """Load the model. This takes about one second per gigabyte.

        Raises ProviderUnavailable: llama.cpp rejects the model.
        """
        self._most_tokens = most_tokens
        self._key = secrets.token_urlsafe()
        self._folder = None if tcp or not _can_use_socket() else _private_folder()
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
                f"The model {path} cannot be loaded by llama.cpp: {sentence(error)}",
                remedy="Try a newer xllamacpp or another file; llama.cpp may not know this kind of model.",
            ) from error
        self._address: str = self._server.listening_address

    def count(self, text: str) -> int:
        return len(self._tokens(text))

    def embed(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        # Keep a reference during the call: another thread may close the server.
        if (server := self._server) is None:
            raise _stopped_error("it was closed")
        tokens = self._tokens(text) or self._tokens(_NOTHING_TO_READ)
        if len(tokens) > self._most_tokens:
            # The last token may be the end marker, from which some models take their vector.
            tokens = [*tokens[: self._most_tokens - 1], tokens[-1]]
        response: dict[str, Any] = server.handle_embeddings({"input": [tokens]})
        if "error" in response:
            raise _rejection(response["error"])
        try:
            return np.asarray(response["data"][0]["embedding"], np.float32)
        except (LookupError, TypeError, ValueError) as error:
            raise BadVector("The engine llama.cpp answered without a vector.") from error

    def relevance(self, query: str, passage: str) -> float:
        """Return how relevant a passage is to a question, by a model that was loaded with the pooling `rank`.

        Raises InputTooLarge: both together are longer than the model reads.
        """
        if (server := self._server) is None:
            raise _stopped_error("it was closed")
        response: dict[str, Any] = server.handle_rerank({"query": query, "documents": [passage]})
        if "error" in response:
            raise _rejection(response["error"])
        try:
            return float(response["results"][0]["relevance_score"])
        except (LookupError, TypeError, ValueError) as error:
            raise BadScores("The engine llama.cpp answered without a score.") from error

    def close(self) -> None:
        self._server = None
        self._remove_folder()

    def _settings(self, xllamacpp: Any, path: str, pooling: str, threads: int) -> Any:
        params = xllamacpp.CommonParams()
        params.model.path = path
        params.embedding = True
        params.pooling_type = getattr(xllamacpp.llama_pooling_type, _SERVER_POOLINGS[pooling])
        # llama.cpp refuses an input that is longer than one physical batch or that fills the context. One context per
        # text would cost memory.
        params.n_batch = params.n_ubatch = self._most_tokens
        params.n_ctx = self._most_tokens + 1
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cache_ram_mib = 0
        params.warmup = params.fit_params = params.ui = params.endpoint_slots = False
        params.offline = True
        params.verbosity = _QUIET
        params.api_keys = [self._key]
        if self._folder is not None:
            params.hostnames = [str(self._folder / _SOCKET)]
        return params

    def _tokens(self, text: str) -> list[int]:
        """Return the tokens of a text with start and end markers. A marker written in the text is plain text."""
        import http.client

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
            raise _stopped_error(str(error)) from error
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        import http.client

        if self._folder is None:
            return http.client.HTTPConnection(self._address.removeprefix("http://"), timeout=_ANSWER_SECONDS)
        connection = http.client.HTTPConnection("localhost", timeout=_ANSWER_SECONDS)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(_ANSWER_SECONDS)
        return connection

    def _remove_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _can_use_socket() -> bool:
    """Return whether the system has Unix sockets and the path of one in the temporary folder is short enough."""
    short = len(os.fsencode(tempfile.gettempdir())) <= _LONGEST_FOLDER
    return short and sys.platform != "win32" and hasattr(socket, "AF_UNIX")


def _private_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="llama-"))
    except OSError as error:
        raise ProviderUnavailable(
            f"The engine llama.cpp has no place for its socket in {tempfile.gettempdir()}: {sentence(error.strerror)}",
            remedy="Make room there, or set TMPDIR to a folder that may be written.",
        ) from error


def _stopped_error(reason: str) -> ProviderUnavailable:
    return ProviderUnavailable(
        f"The engine llama.cpp does not answer any more: {sentence(reason)}", remedy="Start the program again."
    )


def _rejection(error: Any) -> InputTooLarge | InputRejected:
    message = str(cast("dict[str, Any]", error).get("message", error) if isinstance(error, dict) else error)
    if "too large" in message or "larger than" in message:
        return InputTooLarge(f"The engine llama.cpp refused the text: {sentence(message)}")
    return InputRejected(f"The engine llama.cpp refused the text: {sentence(message)}")


class LlamaBinding:
    """Embeds one text at a time, because threads must not share the binding's context."""

    def __init__(self, path: str, *, pooling: str, most_tokens: int, threads: int) -> None:
        """Load the model. Raises ProviderUnavailable: llama.cpp rejects the model."""
        import importlib

        self._lock = threading.Lock()
        try:
            library = cast("Any", importlib.import_module("llama_cpp"))
            self._model: Any = library.Llama(
                model_path=path,
                embedding=True,
                pooling_type=_BINDING_POOLINGS[pooling],
                n_ctx=most_tokens,
                n_batch=most_tokens,
                n_ubatch=most_tokens,
                n_threads=threads,
                n_threads_batch=threads,
                verbose=False,
            )
        except Exception as error:
            raise ProviderUnavailable(
                f"The model {path} cannot be loaded by llama.cpp: {sentence(error)}",
                remedy="Try a newer llama-cpp-python, or install xllamacpp.",
            ) from error

    def count(self, text: str) -> int:
        with self._lock:
            return len(self._model.tokenize(text.encode()))

    def embed(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        with self._lock:
            try:
                # The binding itself cuts a text that is too long.
                vector = self._model.embed(text if self._model.tokenize(text.encode()) else _NOTHING_TO_READ)
            except (RuntimeError, ValueError) as error:
                raise InputRejected(f"The engine llama.cpp refused the text: {sentence(error)}") from error
        return np.asarray(vector, np.float32)

    def close(self) -> None:
        with self._lock:
            self._model.close()
