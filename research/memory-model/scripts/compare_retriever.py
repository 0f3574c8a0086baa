"""Measure a retriever in the product: its ranking with other weights, question centres and background, all else as it is.

usage: compare_retriever.py NAME WEIGHTS.bin CACHE CENTRES_SCRIPT SET.json...   (WEIGHTS.bin: written by patch_weights.py)
"""

import importlib.util, json, random, sys
from dataclasses import replace
from pathlib import Path
import numpy as np
from memoriter.embed import _choice
from memoriter.embed.bundled import _bundled, _graph

name, weights, cache, centres = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
sets = [Path(x) for x in sys.argv[5:]]
_bundled.usable_weights = lambda folder: weights
_graph.WEIGHTS_SHA256 = f"{name:_<16}"
_graph._LEAST_COSINE = 0.998  # tuned vectors lie further apart, so that rounding to 8 bits shows more: .9989 to .9991
cache.mkdir(parents=True, exist_ok=True)
provider = _bundled.BundledProvider(weights, cache, 2)
provider.hint_batch_size(300)

r, pairs = random.Random(5), []
for file in sorted({x.parent.parent for x in sets}.pop().glob("*.json")):
    docs = r.sample(json.loads(file.read_text("utf-8"))["docs"], 50)
    v = provider.embed([d["text"][:600] for d in docs], role="document")
    c = (v @ v.T)[np.triu_indices(len(v), 1)]
    pairs.append((float(c.mean()), float(c.std())))
    print(file.stem, "unrelated passages", np.round(pairs[-1], 3), flush=True)
background = (round(float(np.median([m for m, _ in pairs])), 3), round(float(np.median([s for _, s in pairs])), 3))
print("background", background)

spec = replace(_bundled.SPEC, revision=f"{name:_<16}", background=background)
_bundled.SPEC = spec
_bundled.BundledProvider.spec = spec
_choice._SPECS["bundled"] = spec
loaded = importlib.util.spec_from_file_location("centres", centres)
module = importlib.util.module_from_spec(loaded)
loaded.loader.exec_module(module)
means = {
    script: np.mean([provider.embed([q], role="query")[0] for q in text.split("\n") if q], 0).astype(np.float32)
    for script, text in module.QUESTIONS.items()
}
_bundled.question_centres = lambda: means

from memoriter.app import read_environment
from memoriter.extensions.evals.api import load_set, measure_workspace, notes_workspace, pooled, notes_summary

results = []
for file in sets:
    for notes in load_set(file):
        with notes_workspace(notes, cache, "bundled", read_environment()) as (open_memory, _):
            with open_memory() as memory:
                memory.sync()
            results.append(
                measure_workspace(
                    open_memory, notes.name, notes.answerable, notes.unanswerable, baselines=False, scratch=cache
                )
            )
        print(notes.name, flush=True)
everything = pooled(results)
print(*everything.tables()[0].lines(), sep="\n")
print(*notes_summary([*results, everything]).lines(), sep="\n")
