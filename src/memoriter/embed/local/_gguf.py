"""The provider `local`: a GGUF file, run by llama.cpp. Its header shows the model, and whether it is complete.

All numbers are little-endian. A file holds, in this order: the magic, a version and two counts; keys with typed values;
one entry for each tensor (name, shape, type, offset); the tensors, from the next multiple of the alignment on.

The header is read by hand because gguf.GGUFReader makes NumPy arrays of every word of a vocabulary, which takes a
hundred times as long, and does not notice a list that goes on after the end of the file.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, cast

from memoriter.embed._artefact import revision_of
from memoriter.embed.local._llama import usable_package
from memoriter.embed.local._local import MOST_TOKENS, LocalProvider, family_of, threads_to_use
from memoriter.errors import ProviderUnavailable, sentence
from memoriter.types import ModelSpec
from memoriter.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.embed.local._local import Form, LocalEngine

_UNKNOWN_CONTEXT = 512
_USABLE_POOLINGS = {"mean", "cls", "last"}
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
