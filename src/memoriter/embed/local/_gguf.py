"""The provider `local`: a GGUF file, whose header shows the model and whether it is complete, run by llama.cpp.

All numbers in a file are little-endian. It holds, in this order: the magic, a version and two counts; keys with typed
values; one entry for each tensor (name, shape, type, offset); the tensors, from the next multiple of the alignment on.

The header is read by hand because gguf.GGUFReader makes NumPy arrays of every word of a vocabulary, which takes a
hundred times as long, and does not notice a list that goes on after the end of the file.

llama.cpp comes with an installed Python package: `xllamacpp`, or else `llama-cpp-python`. With `xllamacpp`, llama.cpp's
server runs inside this process. Embedding is a function call, but llama.cpp counts tokens over HTTP only, so the server
must listen. Where the system supports it, it listens on a socket in a private folder, elsewhere on 127.0.0.1. In both
cases it requires a random key.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import secrets
import shutil
import socket
import struct
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed._artefact import revision_of, write_whole
from memoriter.embed._provider import threads_to_use
from memoriter.embed.bundled._native import can_try, processor_flags, trial_failure
from memoriter.embed.local._local import MOST_TOKENS, LocalProvider, LocalReranker, RankingEngine, family_of
from memoriter.errors import BadScores, BadVector, InputRejected, InputTooLarge, ProviderUnavailable, sentence
from memoriter.extras import install_command
from memoriter.types import ModelSpec
from memoriter.values import dataclass

if TYPE_CHECKING:
    import http.client
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.local._local import Form, LocalEngine

_UNKNOWN_CONTEXT = 512
_USABLE_POOLINGS = {"mean", "cls", "last"}
_VECTOR_POOLINGS = {"none", *_USABLE_POOLINGS}
_NAME_A_FILE = "Set memorySearch.query.rerank.local.modelPath to the GGUF file of a reranker."
_LEAST_CHARACTERS = 8
"""Texts that are too long together are not cut below this."""
_CHOOSE_ANOTHER = "Choose an embedding model."
_MAGIC = b"GGUF"
_VERSIONS = {2, 3}
_AGAIN = "Download the file again."
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT = 8
_LIST = 9
_MAX_DEPTH = 4
"""Maximum nesting of lists. No known writer nests lists at all."""
_LONGEST_TEXT = 1 << 20
"""Bytes of a text that are kept. Longer texts (a chat template, a licence) are not needed here."""
_MOST_DIMENSIONS = 8
# Elements and bytes of one block of each tensor type. An unlisted type counts as one byte.
_BLOCKS = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
    40: (64, 36),
    41: (128, 18),
}
_POOLINGS = {0: "none", 1: "mean", 2: "cls", 3: "last", 4: "rank"}
Scalar = str | int | float | bool
_PROCESSOR = {"avx2", "f16c", "fma"}
"""Processor flags that the x86 build uses without checking."""
_TRIAL_SECONDS = 300
_TRIAL = """
import json, os, sys, tempfile
os.environ["GGML_NO_BACKTRACE"] = "1"
given = json.loads(sys.argv[1])
sys.path[:] = given["modules"]
tempfile.tempdir = given["folder"]
from memoriter.embed.local._gguf import LlamaServer
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


def open_gguf(path: Path, *, cache_dir: Path, threads: int | None = None) -> LocalProvider:
    """Return the model of a GGUF file, ready to embed. llama.cpp loads it at the first use.

    Raises:
        ProviderUnavailable: llama.cpp is not installed, or the file is not a complete embedding model.
    """
    package = usable_package()
    spec = gguf_spec(path, cache_dir=cache_dir)
    threads = threads_to_use(threads)

    def load() -> LocalEngine:
        passed = cache_dir / "trials" / spec.revision
        return package(str(path), pooling=spec.pooling, most_tokens=spec.max_tokens, threads=threads, passed=passed)

    form: Form = "NFKC" if spec.normaliser == "nfkc" else "NFC"
    return LocalProvider(spec, form, load)


def open_gguf_reranker(path: Path, *, cache_dir: Path, clock: Callable[[], float]) -> LocalReranker:
    """Return the reranker of a GGUF file. llama.cpp loads it at the first use.

    Raises ProviderUnavailable: llama.cpp is not installed, or the file is no complete reranker.
    """
    usable_package()
    if importlib.util.find_spec("xllamacpp") is None:
        raise ProviderUnavailable(
            "GGUF rerankers need the package xllamacpp, which is not installed; llama-cpp-python does not rerank.",
            remedy=f"Run `{install_command('local')}`.",
        )
    try:
        header = read_gguf(path)
    except ProviderUnavailable as error:
        raise ProviderUnavailable(error.message, remedy=_NAME_A_FILE) from error
    if header.pooling in _VECTOR_POOLINGS:
        raise ProviderUnavailable(
            f"The model makes vectors, it does not rank texts: {path}.",
            remedy="Choose a reranker, such as bge-reranker-v2-m3, or set memorySearch.query.rerank to off.",
        )
    most_tokens = min(header.context_length or _UNKNOWN_CONTEXT, MOST_TOKENS)

    def load() -> RankingEngine:
        passed = cache_dir / "trials" / revision_of([path], cache_dir)
        threads = threads_to_use(None)
        return GgufRanker(
            _with_xllamacpp(str(path), pooling="rank", most_tokens=most_tokens, threads=threads, passed=passed)
        )

    return LocalReranker(header.name or path.stem, load, clock)


def gguf_spec(path: Path, *, cache_dir: Path) -> ModelSpec:
    """Return the model of a GGUF file, without llama.cpp.

    Raises ProviderUnavailable: the file is not a complete embedding model.
    """
    header = read_gguf(path)
    if not header.embedding_length:
        raise ProviderUnavailable(
            f"The model file does not say how long its vectors are: {path}.", remedy=_CHOOSE_ANOTHER
        )
    if header.pooling == "rank":
        raise ProviderUnavailable(f"The model ranks texts, it makes no vectors: {path}.", remedy=_CHOOSE_ANOTHER)
    family = family_of(header.architecture, header.name, header.base_model, path.stem)
    pooling = header.pooling if header.pooling in _USABLE_POOLINGS else family.pooling
    # llama.cpp needs one more position when it reads a text piece by piece.
    max_tokens = (header.context_length or _UNKNOWN_CONTEXT) - (pooling == "last")
    return ModelSpec(
        provider="local",
        # Not the file's name: renaming the file must not invalidate all vectors.
        model=header.name or header.architecture,
        dimensions=header.embedding_length,
        revision=revision_of([path], cache_dir),
        query_template=family.query,
        document_template=family.document,
        pooling=pooling,
        # Unigram models were trained on NFKC, and not every file contains its table; other models distinguish forms.
        normaliser="nfkc" if header.tokenizer == "t5" else "nfc",
        max_tokens=min(max_tokens, MOST_TOKENS),
        background=family.background,
    )


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The properties of a model, known before it is loaded. Empty or 0 if the file does not state them."""

    architecture: str
    name: str
    """The model's own name."""
    base_model: str
    """Further names in the file: the base model, and the purpose of the fine-tuning."""
    context_length: int
    """Number of tokens in the model's training context."""
    embedding_length: int
    """Dimensions of the vectors."""
    pooling: str
    """`none`, `mean`, `cls`, `last`, `rank`, or empty."""
    tokenizer: str
    """`t5` (unigram), `llama`, `gpt2`, `bert` and so on."""


def read_gguf(file: Path) -> GgufHeader:
    """Return the header of a GGUF file, after checking that the file is complete.

    Raises ProviderUnavailable: the file cannot be read, has another format, or is too short.
    """
    try:
        with file.open("rb") as stream:
            if not stream.read(1):
                raise ProviderUnavailable(f"The model file is empty: {file}.", remedy=_AGAIN)
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return parse_gguf(content, str(file))
    except OSError as error:
        raise ProviderUnavailable(
            f"The model file cannot be read: {file}: {sentence(error.strerror or error)}",
            remedy="Set memorySearch.local.modelPath to a GGUF file.",
        ) from error


def parse_gguf(content: bytes | mmap.mmap, name: str) -> GgufHeader:
    """Return the header of a file's content; `name` is used in messages. This function is pure.

    Raises ProviderUnavailable: the content has another format, or is too short.
    """
    if content[:4] != _MAGIC:
        raise _not_gguf(bytes(content[:512]), name)
    try:
        return _Reader(content).header()
    except _Damaged as error:
        remedy = "Convert the model again." if isinstance(error, _Malformed) else _AGAIN
        raise ProviderUnavailable(f"The model file is damaged: {name}: {sentence(error)}", remedy=remedy) from error


class _Damaged(Exception):
    """The file is too short."""


class _Malformed(_Damaged):
    """The file does not follow the format."""


def _not_gguf(start: bytes, name: str) -> ProviderUnavailable:
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        return ProviderUnavailable(
            f"The model file is a web page, not a model: {name}.",
            remedy="The address gave a page (a login or a licence?): download the file itself.",
        )
    if text.startswith(b"version https://git-lfs"):
        return ProviderUnavailable(
            f"The model file only points to the model: {name}.", remedy="Fetch the file itself with `git lfs pull`."
        )
    return ProviderUnavailable(
        f"The model file is not GGUF (it starts with {start[:4]!r}): {name}.",
        remedy="Set memorySearch.local.modelPath to a GGUF file; llama.cpp converts other formats.",
    )


class _Reader:
    """Reads the content from the start. Each step is checked against the end, so no number in the file is trusted."""

    def __init__(self, content: bytes | mmap.mmap) -> None:
        self._content = content
        self._size = len(content)
        self._position = len(_MAGIC)

    def header(self) -> GgufHeader:
        version = self._number("I")
        if version not in _VERSIONS:
            raise _Malformed(f"version {version} of the format is not known")
        tensors = self._number("Q")
        keys = self._number("Q")
        values: dict[str, Scalar] = {}
        for _ in range(keys):
            key = self._text()
            value = self._value(self._number("I"), 0)
            if value is not None:
                values[key] = value
        if _integer(values, "split.count") > 1:
            raise _Malformed("the model is split into several files; join them with llama-gguf-split --merge")
        end = self._end_of_tensors(tensors, _integer(values, "general.alignment") or 32)
        if end > self._size:
            raise _Damaged(f"it has {self._size:,} bytes of at least {end:,}")
        return _header(values)

    def _end_of_tensors(self, tensors: int, alignment: int) -> int:
        end = 0
        for _ in range(tensors):
            self._text()
            dimensions = self._number("I")
            if dimensions > _MOST_DIMENSIONS:
                raise _Malformed(f"a tensor of {dimensions} dimensions")
            elements = 1
            for _ in range(dimensions):
                elements *= self._number("Q")
            block, size = _BLOCKS.get(self._number("I"), (max(elements, 1), 1))
            end = max(end, self._number("Q") + elements // block * size)
        start = -(-self._position // alignment) * alignment
        return start + end if tensors else self._position

    def _value(self, kind: int, depth: int) -> Scalar | None:
        """Return the next value, or None for a list, which is skipped."""
        if kind == _TEXT:
            return self._text()
        if kind == _LIST:
            return self._skip_list(depth)
        return self._number(_scalar(kind))

    def _skip_list(self, depth: int) -> None:
        kind = self._number("I")
        count = self._number("Q")
        if kind in {_TEXT, _LIST}:
            if depth == _MAX_DEPTH:
                raise _Malformed("lists within lists within lists")
            for _ in range(count):
                if kind == _TEXT:
                    self._skip(self._number("Q"))
                else:
                    self._skip_list(depth + 1)
        else:
            self._skip(count * struct.calcsize(_scalar(kind)))

    def _text(self) -> str:
        length = self._number("Q")
        start = self._position
        self._skip(length)
        return self._content[start : start + min(length, _LONGEST_TEXT)].decode("utf-8", "replace")

    def _number(self, form: str) -> int:
        start = self._position
        self._skip(struct.calcsize(form))
        return cast("int", struct.unpack_from("<" + form, self._content, start)[0])

    def _skip(self, length: int) -> None:
        if length > self._size - self._position:
            raise _Damaged("it ends in the middle of its header")
        self._position += length


def _scalar(kind: int) -> str:
    if kind not in _SCALARS:
        raise _Malformed(f"a value of the unknown type {kind}")
    return _SCALARS[kind]


def _header(values: dict[str, Scalar]) -> GgufHeader:
    architecture = _string(values, "general.architecture")
    pooling = _integer(values, f"{architecture}.pooling_type", -1)
    return GgufHeader(
        architecture=architecture,
        name=_string(values, "general.name"),
        base_model=" ".join(_string(values, f"general.{key}") for key in ("basename", "finetune")).strip(),
        context_length=_integer(values, f"{architecture}.context_length"),
        embedding_length=_integer(values, f"{architecture}.embedding_length_out")
        or _integer(values, f"{architecture}.embedding_length"),
        pooling=_POOLINGS.get(pooling, ""),
        tokenizer=_string(values, "tokenizer.ggml.model"),
    )


def _string(values: dict[str, Scalar], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _integer(values: dict[str, Scalar], key: str, default: int = 0) -> int:
    value = values.get(key)
    return value if isinstance(value, int) and value >= 0 else default


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


def _with_xllamacpp(path: str, *, pooling: str, most_tokens: int, threads: int, passed: Path) -> LlamaServer:
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
    from importlib import metadata

    record = passed / metadata.version("xllamacpp")
    if record.exists() or not can_try():
        return
    arguments = {"path": path, "pooling": pooling, "most_tokens": most_tokens, "modules": sys.path}
    try:
        # If the process crashes, its temporary files are deleted with the folder.
        with tempfile.TemporaryDirectory(prefix="llama-", ignore_cleanup_errors=True) as folder:
            failure = trial_failure(_TRIAL, json.dumps({**arguments, "folder": folder}), seconds=_TRIAL_SECONDS)
    except OSError as error:
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


class GgufRanker:
    """Scores one pair at a time by llama.cpp."""

    def __init__(self, server: LlamaServer) -> None:
        self._server = server

    def relevance(self, query: str, passage: str) -> float:
        """Return the score of a pair. While it is too long for the model, the longer text is cut in half."""
        while True:
            try:
                return self._server.relevance(query, passage)
            except InputTooLarge:
                if max(len(query), len(passage)) <= _LEAST_CHARACTERS:
                    raise
                if len(passage) >= len(query):
                    passage = passage[: len(passage) // 2]
                else:
                    query = query[: len(query) // 2]

    def close(self) -> None:
        self._server.close()
