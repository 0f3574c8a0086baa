"""QMD for tests: the released program from npm, the scripted one, and a driver for either."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.extensions.qmd.api import QmdDriver, QmdPlace, plan_qmd
from memoriter.extensions.qmd.settings import QmdSettings
from memoriter.workspace import Workspace
from released_clients import released_packages

if TYPE_CHECKING:
    from memoriter.workspace import Transcripts

VERSION = "2.8.3"
SCRIPT = Path(__file__).with_name("scripted_qmd.py")


@dataclass(frozen=True)
class ScriptedQmd:
    """A copy of the scripted program."""

    program: Path

    @classmethod
    def at(cls, folder: Path) -> ScriptedQmd:
        folder.mkdir(parents=True)
        program = folder / "qmd"
        program.write_text(f"#!{sys.executable} -IS\n{SCRIPT.read_text(encoding='utf-8')}", encoding="utf-8")
        program.chmod(0o755)
        return cls(program)

    def break_(self, **faults: str) -> None:
        """Let commands fail from now on, and no others: `search="hang"`; `mcp_query` is the tool of the MCP server."""
        content = {name.replace("_", " "): fault for name, fault in faults.items()}
        (self.program.parent / "faults.json").write_text(json.dumps(content), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What was started: `arguments`, `cwd`, `environ` and `pid`."""
        file = self.program.parent / "calls.jsonl"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    @property
    def commands(self) -> list[str]:
        return [call["arguments"][0] for call in self.calls]

    @property
    def child(self) -> int:
        """The process that a hanging program started."""
        return int((self.program.parent / "child").read_text(encoding="utf-8"))


def released_qmd() -> Path:
    """Return the released program, installed once for this user; skip the test where npm or its registry is absent."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        pytest.skip(f"NOT TESTED with QMD {VERSION}: its packages are known for Linux only")
    packages = [f"node-linux-{machine}@22", f"@tobilu/qmd@{VERSION}", f"sqlite-vec-linux-{machine}@0.1.9"]
    packages += [f"@node-llama-cpp/linux-{machine}@3.20.0"]  # the models run on the processor
    flags = ["--ignore-scripts", "--omit=optional", "--omit=peer"]
    return released_packages(f"qmd-{VERSION}", packages, "qmd", flags)


@dataclass
class QmdMemory:
    """Notes, a home, and drivers of one program for them; the wall clock moves only by `wait`."""

    folder: Path
    program: Path
    environ: dict[str, str] = field(default_factory=dict)
    transcripts: Transcripts | None = None
    seconds: float = 1_780_000_000.0
    opened: list[QmdDriver] = field(default_factory=list)

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def home(self) -> Path:
        """QMD's private home."""
        return self.folder / "home" / "agents" / "main" / "qmd"

    def write(self, path: str, text: str) -> Path:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def wait(self, seconds: float) -> None:
        self.seconds += seconds

    def driver(self, *, real_time: bool = False, **settings: Any) -> QmdDriver:
        """A driver with these settings of `memory.qmd`."""
        self.notes.mkdir(exist_ok=True)
        chosen = replace(QmdSettings(), command=str(self.program), **settings)
        home = self.folder / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.environ}
        place = QmdPlace(
            agent="main",
            workspace=Workspace(self.notes),
            state_dir=home,
            environ=environ,
            wall=time.time if real_time else lambda: self.seconds,
            monotonic=time.monotonic,
            transcripts=self.transcripts,
        )
        plan = plan_qmd(chosen, "main", workspace=self.notes, user_home=self.folder)
        self.opened.append(QmdDriver(plan, place))
        return self.opened[-1]

    def close(self) -> None:
        for driver in self.opened:
            driver.close()


WORDS = ("ledger", "postgres", "database", "decisions", "omada", "router", "network", "printer", "which", "the")


def bag_of_words_model(file: Path) -> Path:
    """Write an embedding model of a few words as GGUF: a BERT whose layers add nothing, so that it averages its words.

    Words it does not know do not count.
    """
    import gguf
    import numpy as np

    random = np.random.default_rng(7)
    size = inner = 64
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = [*special, *(f"\u2581{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789#.,:-|")]
    tokens += [f"\u2581{word}" for word in WORDS]
    writer: Any = gguf.GGUFWriter(file, "bert")
    writer.add_name("bag of words")
    writer.add_block_count(1)
    writer.add_context_length(512)
    writer.add_embedding_length(size)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(4)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(value=False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(special) + [1] * (len(tokens) - len(special)))
    writer.add_token_type_count(2)
    for name, place in (("pad", 0), ("unk", 1), ("cls", 2), ("bos", 2), ("sep", 3), ("eos", 3), ("mask", 4)):
        if add := getattr(writer, f"add_{name}_token_id", None):
            add(place)

    def add(name: str, *shape: int, value: float = 0.0) -> None:
        writer.add_tensor(name, np.full(shape, value, dtype=np.float32))

    embeddings = random.standard_normal((len(tokens), size)).astype(np.float32)
    embeddings[: len(tokens) - len(WORDS)] = 0  # also after the first norm, so that other words do not count
    writer.add_tensor("token_embd.weight", embeddings)
    add("position_embd.weight", 512, size)
    add("token_types.weight", 2, size)
    add("token_embd_norm.weight", size, value=1.0)
    add("token_embd_norm.bias", size)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(f"blk.0.{part}.weight", size, size)
        add(f"blk.0.{part}.bias", size)
    for part, shape in (("ffn_up", (inner, size)), ("ffn_down", (size, inner))):
        add(f"blk.0.{part}.weight", *shape)
        add(f"blk.0.{part}.bias", shape[0])
    for part in ("attn_output_norm", "layer_output_norm"):
        add(f"blk.0.{part}.weight", size, value=1.0)
        add(f"blk.0.{part}.bias", size)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file
