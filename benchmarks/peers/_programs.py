"""Other programs that search notes: how each is installed, configured, asked and understood."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers._basic_memory import BasicMemory
from benchmarks.peers._endpoint import MODEL
from benchmarks.peers._peer import ANSWER_SECONDS, mcp_session, parse_json, relative
from benchmarks.peers._process import LineSession, PeerFailed
from memoriter.types import Hit
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from benchmarks.peers._peer import Peer, PeerPlace, Search


@dataclass(frozen=True, slots=True)
class Qmd:
    """QMD: BM25 by SQLite and vectors of a GGUF file, fused by reciprocal rank; without its two language models."""

    name: str = "qmd"
    install: str = "npm install -g @tobilu/qmd (Node 22 or newer)"

    def vectors(self, place: PeerPlace) -> str:
        return place.model_file.name if place.model_file else "none"

    def configure(self, place: PeerPlace) -> dict[str, str]:
        config = place.state / "config" / "qmd" / "index.yml"
        config.parent.mkdir(parents=True)
        models = f"models: {{embed: {json.dumps(str(place.model_file))}}}\n" if place.model_file else ""
        config.write_text(
            f'collections:\n  notes:\n    path: {json.dumps(str(place.notes))}\n    pattern: "**/*.md"\n{models}',
            "utf-8",
        )
        folders = {"XDG_CONFIG_HOME": str(place.state / "config"), "XDG_CACHE_HOME": str(place.state / "cache")}
        return place.variables(QMD_FORCE_CPU="1", **folders)

    def index(self, place: PeerPlace) -> list[list[str]]:
        return [["qmd", "update"], *([["qmd", "embed"]] if place.model_file else [])]

    def search(self, place: PeerPlace, question: str, limit: int) -> list[str]:
        lines = [f"{search['type']}: {search['query']}" for search in self._searches(place, question)]
        return ["qmd", "query", "--json", "--no-rerank", "-n", str(limit), "--", "\n".join(lines)]

    def hits(self, place: PeerPlace, output: str) -> list[Hit]:
        return [self._hit(place, row) for row in parse_json(output)]

    @contextmanager
    def session(self, place: PeerPlace, environ: Mapping[str, str]) -> Generator[Search]:
        with mcp_session(["qmd", "mcp"], place, environ) as call:

            def search(question: str, limit: int) -> list[Hit]:
                asked = {"searches": self._searches(place, question), "limit": limit, "rerank": False}
                return [self._hit(place, row) for row in call("query", asked)["results"]]

            yield search

    def _searches(self, place: PeerPlace, question: str) -> list[dict[str, str]]:
        """Return the typed searches: each longer word by itself, as QMD wants all words of a line, and the meaning."""
        words = dict.fromkeys(re.findall(r"\w+", question))
        content = [word for word in words if len(word) > 3 or not word.isascii()] or list(words)
        plain = " ".join(re.sub(r'["\n]', " ", question).replace(" -", " ").split()).lstrip("-")
        meaning = [{"type": "vec", "query": plain}] if place.model_file else []
        return [*({"type": "lex", "query": word} for word in content[: 10 - len(meaning)]), *meaning]

    def _hit(self, place: PeerPlace, row: Mapping[str, Any]) -> Hit:
        path = str(row["file"]).removeprefix("qmd://").partition("?")[0].removeprefix("notes/")
        first = last = int(row.get("line") or 1)
        if shown := re.search(r"@@ -(\d+),(\d+) @@", str(row.get("snippet", ""))):
            first = int(shown[1])
            last = int(shown[1]) + int(shown[2]) - 1
        return Hit(_spelled(path, place.notes), first, last, float(row.get("score") or 0), "", "memory")


def _spelled(path: str, notes: Path) -> str:
    """Return the path of the note that a program spells in its own way, in lower case and with `-`."""
    if (notes / path).is_file():
        return path

    def form(text: str) -> str:
        return re.sub(r"[\W_]+", "-", text.casefold())

    wanted = form(path)
    spelled = (file.relative_to(notes).as_posix() for file in sorted(notes.rglob("*.md")))
    return next((each for each in spelled if form(each) == wanted), path)


_MEMSEARCH_WORKER = """
import asyncio, json, sys
from memsearch import MemSearch
async def main():
    memory = MemSearch(**json.loads(sys.argv[1]))
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(await memory.search(asked["question"], top_k=asked["limit"])), flush=True)
asyncio.run(main())
"""


@dataclass(frozen=True, slots=True)
class Memsearch:
    """memsearch: chunks by heading, Milvus Lite, dense vectors and BM25, fused by reciprocal rank."""

    name: str = "memsearch"
    install: str = "pip install memsearch milvus-lite"

    def vectors(self, place: PeerPlace) -> str:  # noqa: ARG002 (as the Protocol has it)
        return "same endpoint"

    def configure(self, place: PeerPlace) -> dict[str, str]:
        return place.variables(OPENAI_API_KEY="x")

    def index(self, place: PeerPlace) -> list[list[str]]:
        return [["memsearch", "index", str(place.notes), *self._flags(place)]]

    def search(self, place: PeerPlace, question: str, limit: int) -> list[str]:
        return ["memsearch", "search", "-k", str(limit), "-j", *self._flags(place), "--", question]

    def hits(self, place: PeerPlace, output: str) -> list[Hit]:
        return self._hits(place, parse_json(output))

    @contextmanager
    def session(self, place: PeerPlace, environ: Mapping[str, str]) -> Generator[Search]:
        options = {
            "paths": [str(place.notes)],
            "embedding_provider": "openai",
            "embedding_model": MODEL,
            "embedding_base_url": place.endpoint,
            "embedding_api_key": "x",
            "milvus_uri": str(place.state / "store.db"),
        }
        command = [interpreter_of("memsearch", environ), "-c", _MEMSEARCH_WORKER, json.dumps(options)]
        with LineSession(command, environ, place.state, ANSWER_SECONDS) as session:

            def search(question: str, limit: int) -> list[Hit]:
                session.send({"question": question, "limit": limit})
                return self._hits(place, session.receive())

            yield search

    def _flags(self, place: PeerPlace) -> list[str]:
        provider = ["--provider", "openai", "--model", "same-as-memoriter"]
        return [
            *provider,
            "--base-url",
            place.endpoint,
            "--api-key",
            "x",
            "--milvus-uri",
            str(place.state / "store.db"),
        ]

    def _hits(self, place: PeerPlace, rows: Sequence[Mapping[str, Any]]) -> list[Hit]:
        return [
            Hit(
                relative(str(row["source"]), place.notes),
                int(row["start_line"]),
                int(row["end_line"]),
                float(row["score"]),
                "",
                "memory",
            )
            for row in rows
        ]


def interpreter_of(program: str, environ: Mapping[str, str]) -> str:
    """Return the Python that runs a program, from the first line of its script. Raises PeerFailed."""
    script = shutil.which(program, path=environ.get("PATH"))
    first = Path(script).read_bytes().partition(b"\n")[0].decode("utf-8", "replace") if script else ""
    words = shlex.split(first.removeprefix("#!"))
    if not first.startswith("#!") or not words or "python" not in Path(words[-1]).name:
        raise PeerFailed(f"{program} is no Python script")
    return (
        words[-1] if Path(words[-1]).is_absolute() else shutil.which(words[-1], path=environ.get("PATH")) or words[-1]
    )


@dataclass(frozen=True, slots=True)
class OpenClaw:
    """OpenClaw's memory: chunks of lines, FTS5 with all words, vectors, a weighted sum; by its command line only."""

    name: str = "openclaw"
    install: str = "npm install -g openclaw (Node 22 or newer)"
    own_threshold: bool = False
    """Whether it leaves out hits below its own lowest score."""

    def vectors(self, place: PeerPlace) -> str:  # noqa: ARG002 (as the Protocol has it)
        return "same endpoint"

    def configure(self, place: PeerPlace) -> dict[str, str]:
        own = {"MEMORY.md", "memory.md", "memory"}
        extra = sorted(str(entry) for entry in place.notes.iterdir() if entry.name not in own)
        search = {
            "provider": "openai",
            "model": "text-embedding-3-small",
            "fallback": "none",
            "remote": {"baseUrl": f"{place.endpoint}/", "apiKey": "x"},
            "sync": {"watch": False, "onSearch": False, "onSessionStart": False},
            "extraPaths": extra,
        }
        config = place.state / "openclaw.json"
        defaults = {"workspace": str(place.notes), "memorySearch": search}
        config.write_text(json.dumps({"agents": {"defaults": defaults}}), "utf-8")
        return place.variables(
            OPENCLAW_STATE_DIR=str(place.state / "state"), OPENCLAW_CONFIG_PATH=str(config), OPENCLAW_NO_RESPAWN="1"
        )

    def index(self, place: PeerPlace) -> list[list[str]]:  # noqa: ARG002 (as the Protocol has it)
        return [["openclaw", "memory", "index", "--force"]]

    def search(self, place: PeerPlace, question: str, limit: int) -> list[str]:  # noqa: ARG002
        limits = ["--max-results", str(limit), *([] if self.own_threshold else ["--min-score", "0"])]
        return ["openclaw", "memory", "search", "--json", *limits, "--query", question]

    def hits(self, place: PeerPlace, output: str) -> list[Hit]:
        return [
            Hit(
                relative(str(row["path"]), place.notes),
                int(row["startLine"]),
                int(row["endLine"]),
                float(row["score"]),
                "",
                "memory",
            )
            for row in parse_json(output)["results"]
        ]

    def session(self, place: PeerPlace, environ: Mapping[str, str]) -> None:
        """Return None: its process for many questions is the whole gateway."""


@dataclass(frozen=True, slots=True)
class Ours:
    """memoriter as a program, for its times, memory and disk; its quality is measured in this process."""

    config: Path | None
    name: str = "memoriter"
    install: str = "pip install memoriter"

    def vectors(self, place: PeerPlace) -> str:  # noqa: ARG002 (as the Protocol has it)
        return "its own"

    def configure(self, place: PeerPlace) -> dict[str, str]:
        variables = place.variables(MEMORITER_HOME=str(place.state / "home"), MEMORITER_BACKGROUND="off")
        return {**variables, "PYTHONPATH": os.pathsep.join(sys.path)}

    def index(self, place: PeerPlace) -> list[list[str]]:
        return [[*self._program(place), "index"]]

    def search(self, place: PeerPlace, question: str, limit: int) -> list[str]:
        return [*self._program(place), "search", "--json", "-n", str(limit), "--", question]

    def hits(self, place: PeerPlace, output: str) -> list[Hit]:  # noqa: ARG002 (as the Protocol has it)
        return [
            Hit(row["path"], row["startLine"], row["endLine"], row["score"], "", "memory")
            for row in parse_json(output)["results"]
        ]

    def session(self, place: PeerPlace, environ: Mapping[str, str]) -> None:
        """Return None: the searches of the evaluation itself are its session."""

    def _program(self, place: PeerPlace) -> list[str]:
        settings = ["--config", str(self.config)] if self.config else []
        return [sys.executable, "-m", "memoriter", *settings, "-w", str(place.notes)]


PEERS: dict[str, Peer] = {peer.name: peer for peer in (Qmd(), OpenClaw(), Memsearch(), BasicMemory())}
