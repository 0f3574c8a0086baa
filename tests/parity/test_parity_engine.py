"""OpenClaw's recorded searches, asked of the real engine in classic mode: real files, a real index, its embedding."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from memoriter.app import Environment, assemble
from memoriter.ids import content_hash
from memoriter.types import Query

A_DAY = 86_400
OLDER = 20 * A_DAY


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Engines by variant, each opened once."""
    engines: dict[str, Any] = {}
    yield lambda workspace, variant: engines.setdefault(variant, _engine(workspace, variant, tmp_path_factory))
    for engine in engines.values():
        engine.close()


def _engine(data, variant, tmp_path_factory):
    base = tmp_path_factory.mktemp(variant)
    now = data["now_ms"] / 1000
    root = base / "workspace"
    for path, text in data["workspace_files"].items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        os.utime(file, (now - OLDER, now - OLDER))
    sessions = base / "home" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    for name, text in data["session_files"].items():
        (sessions / name).write_text(text, encoding="utf-8")
        os.utime(sessions / name, (now - OLDER, now - OLDER))
    search = json.loads(json.dumps(data["variants"][variant]).replace("@BASE@", str(base)))
    search |= {"provider": "fake", "query": {**search.get("query", {}), "scoring": "classic"}}
    config = base / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search, "workspace": str(root)}}}))
    environment = Environment({"MEMORITER_HOME": str(base / "home")}, base, base, lambda: now, lambda: 0.0)
    backend = assemble(root, config=config, env=environment).backend
    backend.sync()
    return backend


def _rendered(hit):
    return {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": hit.score,
        "snippet": hit.snippet,
        "source": hit.source,
    }


def _comparable(hits, shape):
    """Only our keys; where the order is that of the scores, equal scores may come in any order."""
    hits = [{name: hit[name] for name in shape} for hit in hits]
    scores = [round(hit["score"], 5) for hit in hits]
    if scores != sorted(scores, reverse=True):
        return hits
    return sorted(hits, key=lambda hit: (-round(hit["score"], 5), hit["path"], hit["startLine"], hit["snippet"]))


@pytest.mark.matrix(quick=24)
@pytest.mark.vectors("e2eSearch")
def test_a_search_gives_what_openclaw_gave(case, recorded, opened, agree):
    backend = opened(recorded("e2eWorkspace"), case["input"]["variant"])
    hits = backend.search(Query(case["input"]["query"], explain=True)).hits if case["input"]["query"].strip() else ()
    shape = ("path", "startLine", "endLine", "score", "snippet", "source")
    assert agree(_comparable(map(_rendered, hits), shape), _comparable(case["output"], shape))


def unmasked(text):
    """OpenClaw's mask of the one word that is no secret to us, since it says what it stands for."""
    return text.replace("supers…7890", "supersecretvalue1234567890")


@pytest.mark.vectors("e2eIndex")
def test_the_index_holds_the_chunks_that_openclaw_made(case, recorded, opened):
    backend = opened(recorded("e2eWorkspace"), case["input"]["variant"])
    rows = backend.index.rows(backend.index.all_ids()).values()
    ours = {
        (row.path, row.chunk.start_line, row.chunk.end_line, row.chunk.text, content_hash(row.chunk.text))
        for row in rows
    }
    theirs = {
        (chunk["path"], chunk["start_line"], chunk["end_line"], text, content_hash(text))
        for chunk in case["output"]["chunks"]
        for text in [unmasked(chunk["text"])]
    }
    assert ours == theirs
    files = {file["path"]: file["hash"] for file in case["output"]["files"] if file["source"] == "memory"}
    assert {path: file.hash for path, file in backend.index.files().items() if file.kind == "memory"} == files
