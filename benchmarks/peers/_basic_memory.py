"""basic-memory as a program that is measured."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from benchmarks.peers._peer import mcp_session, parse_json
from benchmarks.peers._process import PeerFailed
from memoriter.types import Hit
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from benchmarks.peers._peer import PeerPlace, Search


@dataclass(frozen=True, slots=True)
class BasicMemory:
    """basic-memory: a hit is a note; FTS5 and vectors of its passages, the better score with a bonus for both.

    It writes a permalink into every note that it indexes, so it gets a copy of its own. Its hits show the passage that
    matched, without line numbers; they are looked up in the note.
    """

    name: str = "basic-memory"
    install: str = "pip install basic-memory (Python 3.12 or newer, with a sqlite3 that loads extensions)"
    own_threshold: bool = False
    """Whether it leaves out hits below its own lowest score."""

    def vectors(self, place: PeerPlace) -> str:  # noqa: ARG002 (as the Protocol has it)
        return "same endpoint"

    def configure(self, place: PeerPlace) -> dict[str, str]:
        copy = place.notes.with_name(f"{place.notes.name} of {self.name}")
        shutil.copytree(place.notes, copy)
        embedding = {
            "PROVIDER": "litellm",
            "MODEL": "openai/same-as-memoriter",
            "API_BASE": place.endpoint,
            "API_KEY": "x",
            "DIMENSIONS": str(place.dimensions),
            "FORWARD_DIMENSIONS": "false",
            "BATCH_SIZE": "8",
            "SYNC_BATCH_SIZE": "8",
        }
        return place.variables(
            BASIC_MEMORY_HOME=str(copy),
            BASIC_MEMORY_CONFIG_DIR=str(place.state / "config"),
            BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED="true",
            **({} if self.own_threshold else {"BASIC_MEMORY_SEMANTIC_MIN_SIMILARITY": "0"}),
            BASIC_MEMORY_AUTO_UPDATE="false",
            LITELLM_LOCAL_MODEL_COST_MAP="True",
            **{f"BASIC_MEMORY_SEMANTIC_EMBEDDING_{name}": value for name, value in embedding.items()},
        )

    def index(self, place: PeerPlace) -> list[list[str]]:  # noqa: ARG002 (as the Protocol has it)
        return [["basic-memory", "reindex"]]

    def search(self, place: PeerPlace, question: str, limit: int) -> list[str]:  # noqa: ARG002
        options = ["--hybrid", "--json", "--page-size", str(limit)]
        return ["basic-memory", "tool", "search-notes", *options, "--", _plain(question)]

    def hits(self, place: PeerPlace, output: str) -> list[Hit]:
        return [_hit(row, place.notes) for row in parse_json(output)["results"]]

    @contextmanager
    def session(self, place: PeerPlace, environ: Mapping[str, str]) -> Generator[Search]:
        with mcp_session(["basic-memory", "mcp"], place, environ) as call:

            def search(question: str, limit: int) -> list[Hit]:
                options = {"search_type": "hybrid", "page_size": limit, "output_format": "json"}
                match call("search_notes", {"query": _plain(question), **options})["result"]:
                    case {"results": [*rows]}:
                        return [_hit(row, place.notes) for row in cast("list[dict[str, Any]]", rows)]
                    case error:  # a page of advice
                        raise PeerFailed(" ".join(str(error).split())[:300])

            yield search


def _plain(question: str) -> str:
    """Return the words of a question: some punctuation is an operator."""
    return " ".join(re.findall(r"\w+", question))


def _hit(row: Mapping[str, Any], notes: Path) -> Hit:
    """Return a hit with the lines of the passage that matched, or those of the whole note if it is not in there."""
    path = str(row["file_path"])
    file = notes / path
    text = file.read_text("utf-8", "replace") if file.is_file() else ""
    passage = str(row.get("matched_chunk") or row.get("content") or "").strip()
    at = text.find(passage) if passage else -1
    first = text.count("\n", 0, at) + 1 if at >= 0 else 1
    last = first + passage.count("\n") if at >= 0 else max(len(text.splitlines()), 1)
    return Hit(path, first, last, float(row.get("score") or 0), "", "memory")
