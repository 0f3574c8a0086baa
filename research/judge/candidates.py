"""Write the questions that judges are measured on, each with the passages that memoriter finds for it.

    python research/judge/candidates.py --datasets DIR --out candidates.jsonl

It uses the bundled model and default settings. Each line is a question: its set, language and kind, whether the notes
answer it, and the first hits with their text, their score, and whether they contain the answer. Sets of documents are
reduced as `memoriter eval` reduces them; of those without conversations, 80 questions are asked.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.app import read_environment
from memoriter.evals import Dataset, NotesSet, VectorStore, load_questions, load_set, notes_workspace
from memoriter.evals._pool import OURS, PoolIndex, question_key
from memoriter.ids import text_key
from memoriter.search import clean_query
from memoriter.sync import ChunkingSettings, texts_of
from memoriter.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.evals._datasets import Need, Pool
    from memoriter.evals._pool import Rows
    from memoriter.evals._questions import EvalQuestion
    from memoriter.types import Hit

ROOT = Path(__file__).parents[2]
DEPTH = 20
"""Passages that a judge reads, as many as `memorySearch.query.rerank.candidates`."""
PARAGRAPHS, QUESTIONS = 250, 80
DAILY_LOGS, DAILY_LOG_QUESTIONS = "locomo_daylogs", 30
"""The set of conversations as daily notes, and its answerable questions for each conversation."""
SEED = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--datasets", type=Path, required=True, help="sets as docs/evaluation.md describes; notes/ in it"
    )
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "judge-cache", help="kept vectors")
    parser.add_argument("--sets", default="", help="names of the sets, with commas; default: all")
    options = parser.parse_args()
    names = set(filter(None, options.sets.split(",")))
    with options.out.open("w", encoding="utf-8") as out:
        for name, rows in questions(options.datasets, options.cache):
            if names and name not in names:
                continue
            found = [json.dumps({"set": name, **row}, ensure_ascii=False) + "\n" for row in rows]
            out.writelines(found)
            print(f"{name}: {len(found)} questions", flush=True)


def questions(datasets: Path, cache: Path) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Yield the name of each set, and its questions."""
    yield "example", of_notes(workspace_set("example", ROOT / "examples/workspace", ROOT / "tests/e2e"), cache)
    second = ROOT / "tests/e2e/second"
    yield "second", of_notes(workspace_set("second", second / "workspace", second), cache)
    for file in [*sorted((datasets / "notes").glob("*.json")), *sorted(datasets.glob("*.json"))]:
        loaded = load_set(file)
        if isinstance(loaded, Dataset):
            yield file.stem, of_documents(loaded, cache)
        else:
            yield file.stem, (row for each in loaded for row in of_notes(each, cache))


def workspace_set(name: str, workspace: Path, folder: Path) -> NotesSet:
    """Return a workspace in this repository as a set of notes."""
    notes = tuple(
        (file.relative_to(workspace).as_posix(), file.read_text("utf-8")) for file in sorted(workspace.rglob("*.md"))
    )
    answerable = load_questions(folder / "questions.json")
    return NotesSet(name, "any", notes, answerable, load_questions(folder / "unanswerable.json"))


def of_notes(notes: NotesSet, cache: Path) -> Iterator[dict[str, Any]]:
    """Yield the questions about notes with the hits of a search."""
    answerable = notes.answerable
    if notes.name.startswith(DAILY_LOGS):
        answerable = tuple(random.Random(SEED).sample(answerable, min(DAILY_LOG_QUESTIONS, len(answerable))))
    with notes_workspace(notes, cache, "bundled", read_environment()) as (open_memory, _), open_memory() as memory:
        memory.sync()
        for question in (*answerable, *notes.unanswerable):
            hits = memory.search(question.text, min_score=0.0, max_results=DEPTH).hits
            yield {
                "id": question.id,
                "lang": question.lang,
                "kind": question.kind,
                "answerable": bool(question.answers),
                "needed": len(question.answers),
                "question": question.text,
                "passages": [passage(hit, question) for hit in hits],
            }


def passage(hit: Hit, question: EvalQuestion) -> dict[str, Any]:
    relevant = [at for at, answer in enumerate(question.answers) if answer.overlaps(hit)]
    text = "\n".join([" > ".join(hit.heading), hit.text]) if hit.heading else hit.text
    return {"text": text, "relevant": relevant, "score": hit.score}


def of_documents(dataset: Dataset, cache: Path) -> Iterator[dict[str, Any]]:
    """Yield questions about documents with the hits of the default ranking."""
    grouped = any(document.group for document in dataset.documents)
    dataset = dataset if grouped else dataset.cut(PARAGRAPHS)
    env = read_environment()
    store = VectorStore("bundled", cache, env.home / "models")
    texts = [
        text for document in dataset.documents for text in texts_of(Chunk(1, 1, document.text), ChunkingSettings())
    ]
    vectors = store.vectors({text_key(text): text for text in texts}, "document", lambda _: None)
    cleaned = [clean_query(need.text) for need in dataset.needs]
    asked = store.vectors({question_key(text): text for text in cleaned}, "query", lambda _: None)
    for pool in dataset.pools:
        with (
            tempfile.TemporaryDirectory() as folder,
            PoolIndex.build(
                Path(folder) / "pool.sqlite",
                pool,
                words="analysed",
                vectors=vectors,
                spec=store.spec,
                clock=env.wall,
            ) as index,
        ):
            needs = pool.needs if grouped else random.Random(SEED).sample(pool.needs, min(QUESTIONS, len(pool.needs)))
            for need in needs:
                yield {"lang": dataset.lang, **of_need(index, pool, need, asked)}


def of_need(index: PoolIndex, pool: Pool, need: Need, asked: Rows) -> dict[str, Any]:
    texts = {document.id: document.text for document in pool.documents}
    found = index.rank(OURS, need.text, asked.get(question_key(clean_query(need.text))), depth=DEPTH).documents
    wanted = sorted(need.relevant)
    return {
        "id": need.id,
        "kind": need.kind,
        "answerable": True,
        "needed": len(wanted),
        "question": need.text,
        "passages": [
            {"text": texts[document], "relevant": [at for at, one in enumerate(wanted) if one == document]}
            for document in found
        ],
    }


if __name__ == "__main__":
    main()
