"""Train the retriever and the judge on one GPU: scales, biases, norms and positions of the 4-bit weights.

usage: train.py DATA.npz OUT [--both 75 --trunk 130 --branch 85 --finish 150] [--given DIR] [--from DIR] [--tiny]
  two retrievers of `--both` seconds each (the second with negatives that the first finds), and their mean: retriever.npz
  a judge that begins with the mean retriever: `--trunk` seconds at the full rate, then twice from there `--branch` seconds to its end with other
  batches, and the mean of both: judge-mean.npz
  then `--finish` seconds from that mean with a term that puts the note of a question before other notes, smoother labels, and questions about dates:
  judge-finish.npz; the mean of judge-mean.npz and judge-finish.npz is judge.npz
  --given DIR: measure other weights (retriever.npz, judge.npz) on the same questions; --from DIR: begin with retriever.npz and judge-mean.npz
"""

import argparse, copy, json, math, random, sys, time
from pathlib import Path
import numpy as np, torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent))
import model as M
from model import Judge, Linear, Retriever

ap = argparse.ArgumentParser()
ap.add_argument("data")
ap.add_argument("out", type=Path)
ap.add_argument("--both", type=float, default=75)
ap.add_argument("--trunk", type=float, default=130)
ap.add_argument("--branch", type=float, default=85)
ap.add_argument("--finish", type=float, default=150)
ap.add_argument("--from", dest="start", type=Path)
ap.add_argument("--given", type=Path)
ap.add_argument("--tiny", action="store_true")
ap.add_argument("--public", type=float, default=0.33)
ap.add_argument("--judge-public", type=float, default=0.25)
ap.add_argument("--swapped", type=float, default=0.14)
ap.add_argument("--dates", type=float, default=0)
ap.add_argument("--workers", type=int, default=14)
ap.add_argument("--seed", type=int, default=0)
ap.add_argument("--rank", type=float, default=0)
ap.add_argument("--smooth", type=float, default=0)
ap.add_argument("--gain", type=float, default=1.5e-3)
ap.add_argument("--rest", type=float, default=3e-4)
ap.add_argument("--scale", type=float, default=40.0)
ap.add_argument("--rb", type=int, default=768)
ap.add_argument("--jb", type=int, default=200)
o = ap.parse_args()
o.out.mkdir(parents=True, exist_ok=True)
T0 = time.time()
dev = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(o.seed)
LOG = (o.out / "train.log").open("a")


def say(*a):
    text = " ".join([f"[{time.time() - T0:6.1f}s]", *map(str, a)])
    print(text, flush=True)
    LOG.write(text + "\n")
    LOG.flush()


Z = np.load(o.data)
data = {k: Z[k] for k in Z.files}
J = json.loads(data["json"].tobytes())
shape = J["shape"]
flat, off = data["flat"].astype(np.int64), data["off"]
P = [flat[off[i] : off[i + 1]] for i in range(len(off) - 1)]
remap = {int(u): i for i, u in enumerate(data["used"])}
BOS, EOS = [remap[0]], [remap[2]]
Wq, Wp, Wd = (P[J["words"][w]] for w in ("query:", "passage:", "-"))
asks, dh, dl, dlo, db = data["asks"], data["dh"], data["dl"], data["dlo"], data["db"]
lines = [dl[dlo[i] : dlo[i + 1]] for i in range(len(dh))]
group = db[:, 1]
written = db[:, 2] == 0
by_group = {}
for i, g in enumerate(group):
    by_group.setdefault(int(g), []).append(i)
wg = sorted({int(g) for g in group[written]})
names = J["groups"]
batch_of = np.array([int(names[g][2:4]) if names[g].startswith("w/") else -1 for g in range(len(names))])
val_groups = {
    names.index(f"w/{x}") for x in json.loads(Path(__file__).with_name("held_out.json").read_text())
}  # every twelfth person of 00 to 14, every ninth of 16 to 18
is_val = np.array([g in val_groups for g in group])
A = asks
av = A[is_val[A[:, 0]]]
va, vs = av[av[:, 5] == 0], av[av[:, 5] == 2]
tr = A[~is_val[A[:, 0]]]
ts, td = tr[tr[:, 5] == 2], tr[tr[:, 5] == 3]
tr = tr[tr[:, 5] < 2]
tw, tp = tr[tr[:, 5] == 0], tr[tr[:, 5] == 1]
own = np.isin(db[:, 2], (0, 2))  # notes, also with exchanged names
by_group = {}
for i, g in enumerate(group):
    if db[i, 2] != 2:
        by_group.setdefault(int(g), []).append(i)
say(
    "written train/val asks",
    len(tw),
    len(va),
    "exchanged",
    len(ts),
    len(vs),
    "dates",
    len(td),
    "public",
    len(tp),
    dev,
    torch.__version__,
)


def query(piece):
    return np.concatenate([BOS, Wq, P[piece][:64], EOS])


def passage(doc, keep, most=300, more=None, before=False):
    """Tokens of a passage with the lines `keep` (and those of the note `more`), and for each line (start, end)."""
    parts, spans = [np.array(BOS), Wp, P[dh[doc]][:60]], {}
    at = sum(map(len, parts))
    rest = [(more, k) for k in range(len(lines[more]))] if more is not None else []
    for d, k in [*(rest if before else ()), *((doc, k) for k in keep), *(() if before else rest)]:
        x = P[lines[d][k]]
        x = np.concatenate([Wd, x]) if db[d, 0] else x
        x = x[: max(0, most - at)]
        if d == doc:
            spans[k] = (at, at + len(x))
        parts.append(x)
        at += len(x)
    return np.concatenate([*parts, EOS]), spans


def item(doc, k):
    return np.concatenate([BOS, Wp, P[dh[doc]][:60], P[lines[doc][k]][:120], EOS])


def window(doc, line, r, without=False):
    n = len(lines[doc])
    if own[doc]:
        if r.random() < 0.5 or line < 0:
            keep = list(range(n))
        elif r.random() < 0.7:
            a, b = r.randint(0, max(line, 0)), r.randint(line, n - 1)
            keep = list(range(a, b + 1))
        else:
            keep = [line]
    else:
        size = r.choice([1, 2, 3, 4, 5, 6])
        c = line if line >= 0 else r.randrange(n)
        a = max(0, c - r.randrange(size))
        keep = list(range(a, min(n, a + size)))
        if line < 0:
            keep = list(range(n))
    return [k for k in keep if k != line] if without else keep


def near(doc, line, budget):
    """Lines around a line that fit a number of tokens, as the product reads a hit."""
    n = len(lines[doc])
    size = lambda k: len(P[lines[doc][k]]) + 1
    a = b = line
    left = budget - min(60, len(P[dh[doc]])) - size(line)
    while True:
        c = [k for k in (a - 1, b + 1) if 0 <= k < n and size(k) <= left]
        if not c:
            return list(range(a, b + 1))
        k = c[(a + b) % len(c)]
        left -= size(k)
        a, b = min(a, k), max(b, k)


def packed(seqs):
    n = np.array([len(s) for s in seqs])
    cu = np.concatenate([[0], np.cumsum(n)])
    return (
        torch.from_numpy(np.concatenate(seqs)),
        torch.from_numpy(np.arange(cu[-1]) - np.repeat(cu[:-1], n)),
        torch.from_numpy(cu.astype(np.int32)),
        torch.from_numpy(np.repeat(np.arange(len(n)), n)),
        int(n.max()),
    )


def to(x):
    return [t.to(dev, non_blocking=True) if torch.is_tensor(t) else t for t in x]


class Stream(torch.utils.data.IterableDataset):
    def __init__(self, make):
        self.make = make

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        r = random.Random((info.id if info else 0) * 7919 + o.seed * 104729 + 1)
        while True:
            yield self.make(r)


def batches(make):
    w = 0 if o.tiny else o.workers
    return iter(
        torch.utils.data.DataLoader(Stream(make), batch_size=None, num_workers=w, prefetch_factor=3 if w else None)
    )


def parts(seqs, tokens=120_000 if dev == "cuda" else 4_000):
    order = sorted(range(len(seqs)), key=lambda i: len(seqs[i]))
    at = 0
    while at < len(order):
        b, total = at, 0
        while b < len(order) and (b == at or total + len(seqs[order[b]]) <= tokens):
            total += len(seqs[order[b]])
            b += 1
        yield order[at:b], [seqs[i] for i in order[at:b]]
        at = b


@torch.no_grad()
def embed(model, seqs):
    model.eval()
    model.enc.prepare()
    out = torch.empty(len(seqs), shape[0], device=dev)
    for part, s in parts(seqs):
        out[torch.tensor(part, device=dev)] = model(*to(packed(s)))
    model.train()
    return out


docs_w = [i for i in range(len(dh)) if written[i]]
items_w = [(d, k) for d in docs_w for k in range(len(lines[d]))]


def retrieval(mq, md=None, fixed=None, va=va, every=False):
    """Ranks of validation questions' notes among all written notes (.8 best item + .2 passage, as the product scores vectors), and of items."""
    pos = {d: i for i, d in enumerate(docs_w)}
    pv, iv = (
        fixed
        if fixed is not None
        else (embed(md, [passage(d, range(len(lines[d])))[0] for d in docs_w]), embed(md, [item(*x) for x in items_w]))
    )
    good = va[(va[:, 4] == 1)]
    qv = embed(mq, [query(q) for q in good[:, 2]])
    owner = torch.tensor([pos[d] for d, _ in items_w], device=dev)
    si = qv @ iv.T
    best = torch.full((len(good), len(docs_w)), -1.0, device=dev).scatter_reduce(
        1, owner[None].expand(len(good), -1), si, "amax"
    )
    s = 0.8 * best + 0.2 * (qv @ pv.T)
    part = batch_of[group[good[:, 0]]]
    gold = torch.tensor([pos[d] for d in good[:, 0]], device=dev)
    rank = (s > s.gather(1, gold[:, None])).sum(1).cpu().numpy() + 1
    cross = good[:, 3] != db[good[:, 0], 3]
    where = {x: i for i, x in enumerate(items_w)}
    gi = torch.tensor([where[(d, k)] for d, k in good[:, :2].tolist()], device=dev)
    ri = (si > si.gather(1, gi[:, None])).sum(1).cpu().numpy() + 1
    f = lambda m: (
        f"n {int(m.sum())} note @1 {np.mean(rank[m] <= 1):.3f} @3 {np.mean(rank[m] <= 3):.3f} @10 {np.mean(rank[m] <= 10):.3f} mrr {np.mean(1 / rank[m]):.3f} item @1 {np.mean(ri[m] <= 1):.3f} mrr {np.mean(1 / ri[m]):.3f}"
    )
    if every:
        return "".join(f"\n      {b}: {f(part == b)}" for b in sorted(set(part.tolist())))
    return (
        f"among {len(docs_w)} notes:\n      00-14: {f(part < 15)}\n      00-14 same language: {f((part < 15) & ~cross)}\n      00-14 cross: {f((part < 15) & cross)}\n      16-18: {f(part > 14)}\n      16-18 cross: {f((part > 14) & cross)}"
        + "".join(f"\n      {b}: {f(part == b)}" for b in (16, 17, 18))
    )


HARD, SWAPPED = {}, [i for i in range(len(dh)) if db[i, 2] == 2]


@torch.no_grad()
def mine(model):
    """The nearest other documents of each training question."""
    if o.tiny:
        return
    pv = embed(model, [passage(d, range(len(lines[d])), 200)[0] for d in range(len(dh))])
    qv = embed(model, [query(q) for q in tr[:, 2]])
    for a in range(0, len(tr), 4096):
        s = qv[a : a + 4096] @ pv.T
        s[:, SWAPPED] = -9
        mine_ = torch.tensor(tr[a : a + 4096, 0].astype(np.int64), device=dev)
        s.scatter_(1, mine_[:, None], -9)
        top = s.topk(24, dim=1).indices.cpu().numpy()
        for i, row in enumerate(top):
            HARD[(int(tr[a + i, 0]), int(tr[a + i, 2]))] = row[2:]  # the first two may be right, too
    say("mined", len(HARD))


def pick(r):
    return tuple(
        int(x) for x in (tp[r.randrange(len(tp))] if r.random() < o.public and len(tp) else tw[r.randrange(len(tw))])
    )


def other(doc, q, r, strangers=False):
    """A document that does not answer: a near one, or another of the same person (never for a near-miss: a sibling may answer it)."""
    h = HARD.get((doc, q))
    mates = [d for d in by_group[int(group[doc])] if d != doc]
    if strangers:
        far = [int(x) for x in (h if h is not None else ()) if group[x] != group[doc]]
        return r.choice(far) if far else r.randrange(len(dh))
    return (
        int(r.choice(list(h)))
        if h is not None and (not mates or r.random() < 0.6)
        else r.choice(mates)
        if mates
        else r.randrange(len(dh))
    )


def both_batch(r):
    B = 24 if o.tiny else o.rb
    qs, ps, ns, its, ins, own, odoc, iown = [], [], [], [], [], [], [], []
    while len(qs) < B:
        d, k, q, _, good, _ = pick(r)
        if not good or k < 0:
            continue
        n = other(d, q, r)
        qs.append(query(q))
        ps.append(passage(d, window(d, k, r), 160)[0])
        ns.append(passage(n, window(n, r.randrange(len(lines[n])), r), 160)[0])
        its.append(item(d, k))
        own.append(d)
        odoc.append(n)
        iown.append(d * 4096 + k)
        rest = [x for x in range(len(lines[d])) if x != k]
        x = (d, r.choice(rest)) if rest and r.random() < 0.6 else (n, r.randrange(len(lines[n])))
        ins.append((item(*x), x[0] * 4096 + x[1]))
    return [
        *packed(qs + ps + ns + its + [x for x, _ in ins]),
        torch.tensor(own),
        torch.tensor(own + odoc),
        torch.tensor(iown),
        torch.tensor(iown + [x for _, x in ins]),
    ]


def nce(q, v, mine, theirs):
    n = len(q)
    eye = torch.arange(n, device=q.device)
    s = q @ v.T * o.scale
    same = mine[:, None] == theirs[None]
    same[eye, eye] = False
    s = s.masked_fill(same, -1e4)
    return F.cross_entropy(s, eye) + 0.3 * F.cross_entropy(s[:, :n].T.contiguous(), eye)


def both_loss(model, b):
    own, pdoc, iown, iall = b[5:]
    v = model(*b[:5])
    n = len(own)
    q, p, i = v[:n], v[n : 3 * n], v[3 * n :]
    return nce(q, p, own, pdoc) + nce(q, i, iown, iall)


def judge_pick(r):
    x = r.random()
    t = (
        tp
        if x < o.judge_public
        else ts
        if x < o.judge_public + o.swapped and len(ts)
        else td
        if x < o.judge_public + o.swapped + o.dates and len(td)
        else tw
    )
    return tuple(int(x) for x in t[r.randrange(len(t))])


def judge_batch(r):
    Q = 6 if o.tiny else o.jb
    seqs, inside, label, weight, gid, tags, has, level = [], [], [], [], [], [], [], []
    g = 0

    def put(qt, doc, keep, y, w, g, line=-1, more=None, before=False, near=1):
        p, spans = passage(doc, keep, 260, more, before)
        s = np.concatenate([qt, EOS, p[1:]])
        seqs.append(s)
        i = np.zeros(len(s), np.int64)
        i[len(qt) :] = 1
        inside.append(i)
        label.append(y)
        weight.append(w)
        gid.append(g)
        level.append(near)
        t = np.zeros(len(s), np.float32)
        ok = bool(y) and line in spans
        if ok:
            t[spans[line][0] + len(qt) : spans[line][1] + len(qt)] = 1
        tags.append(t)
        has.append(np.full(len(s), float(ok), np.float32))

    def some(doc, line):
        return near(doc, line, r.randint(40, 112)) if r.random() < 0.4 and line >= 0 else window(doc, line, r)

    def stretch(doc):
        """Another note of the same person behind or before: a long passage with several speakers and subjects."""
        mates = [d for d in by_group[int(group[doc])] if d != doc] if written[doc] else []
        return (r.choice(mates), r.random() < 0.5) if mates and r.random() < 0.15 else (None, False)

    while g < Q:
        d, k, q, _, good, pub = judge_pick(r)
        qt = query(q)
        more, before = stretch(d)
        if good:
            keep = list(range(len(lines[d]))) if more is not None else some(d, k)
            put(qt, d, keep, 1, 1.0, g, k, more, before)
            cut = [x for x in (keep if len(keep) > 1 else range(len(lines[d]))) if x != k]
            if cut and r.random() < 0.6 and pub != 2:
                put(qt, d, cut[:12], 0, 0.8, g)
            for _ in range(1 if pub == 2 else 2):
                n = other(d, q, r)
                put(qt, n, some(n, r.randrange(len(lines[n]))), 0, 0.5, g, near=0)
        else:
            keep = list(range(len(lines[d]))) if more is not None else some(d, k)
            put(qt, d, keep, 0, 0.8 if more is not None else 1.2 if pub < 2 else 1.0, g, -1, more, before)
            if r.random() < (0.6 if o.rank else 0.3) and pub != 2:
                far = not o.rank or r.random() < 0.5
                n = other(d, q, r, far)
                put(qt, n, some(n, r.randrange(len(lines[n]))), 0, 0.4 if far else 0, g, near=0)
        g += 1
    c = lambda x: torch.from_numpy(np.concatenate(x))
    return [
        *packed(seqs),
        c(inside),
        torch.tensor(label).float(),
        torch.tensor(weight),
        torch.tensor(gid),
        c(tags),
        c(has),
        torch.tensor(level),
    ]


def judge_loss(model, b):
    y, w, g, tag, has, level = b[6:]
    s, marks = model(*b[:6])
    bce = (
        F.binary_cross_entropy_with_logits(s, y * (1 - 2 * o.smooth) + o.smooth, reduction="none") * w
    ).sum() / w.sum()
    G = len(g)
    m = torch.full((G,), -1e4, device=s.device).scatter_reduce(0, g, s.detach(), "amax")
    e = torch.exp(s - m[g])
    z = torch.zeros(G, device=s.device).scatter_add(0, g, e)
    lp = s - m[g] - torch.log(z[g] + 1e-20)
    lst = -(lp * y).sum() / y.sum().clamp(min=1)
    tb = F.binary_cross_entropy_with_logits(marks, tag, reduction="none") * has * b[5]
    loss = bce + 0.5 * lst + 0.3 * tb.sum() / (has * b[5]).sum().clamp(min=1)
    if o.rank:  # the note of a question without its answer stands before other notes
        pair = ((g[:, None] == g[None]) & (level[:, None] == 1) & (level[None] == 0)).float()
        loss = loss + o.rank * (F.softplus(1 - s[:, None] + s[None]) * pair).sum() / pair.sum().clamp(min=1)
    return loss


def clone(model):
    for m in model.modules():
        if isinstance(m, Linear):
            m.now = None
    return copy.deepcopy(model)


@torch.no_grad()
def start_from(judge, tuned):
    """Begin with the tuned retriever's encoder."""
    judge.enc.load_state_dict(tuned.enc.state_dict())


@torch.no_grad()
def mean(a, b):
    m = clone(a)
    x, y = a.state_dict(), b.state_dict()
    m.load_state_dict({k: (x[k] + y[k]) / 2 for k in x})
    return m


def load(model, file):
    p = np.load(file)
    model.load_state_dict({k: torch.from_numpy(p[k].astype(np.float32)) for k in model.state_dict()})
    return model.to(dev)


def optimizer(model):
    groups = {"gain": [], "rest": [], "head": []}
    for n, p in model.named_parameters():
        groups["gain" if n.endswith(".gain") else "head" if not n.startswith("enc.") else "rest"].append(p)
    lr = {"gain": o.gain, "rest": o.rest, "head": 5e-4}
    return torch.optim.AdamW(
        [
            {"params": v, "base": lr[k], "weight_decay": 0.02 if k == "gain" else 0.01 if k == "head" else 0}
            for k, v in groups.items()
            if v
        ],
        lr=1e-4,
        betas=(0.9, 0.98),
        fused=dev == "cuda",
    )


def rate(t, shape):
    """Share of the learning rate at a share of the time: up, then down; trunk: up, then level; branch: up quickly, then down."""
    up = min(t / (0.04 if shape == "branch" else 0.08), 1)
    return up if shape == "trunk" else up * max(0.02, (1 - t) / 0.92 if t > 0.08 else 1)


def train(model, make, loss_of, seconds, evaluate, name, evals=1, shape="whole"):
    model.to(dev).train()
    opt = optimizer(model)
    it = batches(make)
    first = next(it)
    start = time.time()
    spent = 0.0
    step, quarter, tokens, total = 0, 1, 0, None
    while (t := (time.time() - start - spent) / seconds) < 1:
        f = rate(t, shape)
        for gp in opt.param_groups:
            gp["lr"] = gp["base"] * f
        b = to(first if step == 0 else next(it))
        tokens += int(b[0].shape[0])
        model.enc.prepare()
        loss = loss_of(model, b)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        step += 1
        total = loss.detach() if total is None else total * 0.95 + loss.detach() * 0.05
        if t > quarter / (evals + 1):
            quarter += 1
            e = time.time()
            say(
                name,
                "step",
                step,
                f"loss {float(total):.4f} {e - start - spent:.0f}s tokens {tokens / 1e6:.1f}M |",
                evaluate(model),
            )
            spent += time.time() - e
    say(name, "end: steps", step, f"loss {float(total):.4f} tokens {tokens / 1e6:.1f}M |", evaluate(model))
    del it
    return model


def auc(pos, neg):
    a = np.concatenate([pos, neg])
    u, inv, cnt = np.unique(a, return_inverse=True, return_counts=True)
    c = np.cumsum(cnt)
    r = (c - (cnt - 1) / 2)[inv]
    return (r[: len(pos)].sum() - len(pos) * (len(pos) + 1) / 2) / max(1, len(pos) * len(neg))


@torch.no_grad()
def judge_scores(model, pairs):
    model.eval()
    model.enc.prepare()
    out = np.zeros(len(pairs), np.float32)
    seqs = [np.concatenate([q, EOS, p[1:]]) for q, p in pairs]
    for part, s in parts(seqs):
        i = torch.from_numpy(
            np.concatenate([np.arange(len(x)) >= len(pairs[k][0]) for x, k in zip(s, part)]).astype(np.int64)
        )
        v, _ = model(*to(packed(s)), i.to(dev))
        out[part] = v.float().cpu().numpy()
    model.train()
    return out


def ndcg(rel, needed):
    return sum(1 / math.log2(i + 2) for i, x in enumerate(rel[:10]) if x) / max(
        1e-9, sum(1 / math.log2(i + 2) for i in range(min(10, max(1, needed))))
    )


def judge_notes(model, a, most=320, short=0):
    """Scores of asks with the whole note, or the lines around the nearest one."""
    return judge_scores(
        model,
        [
            (query(q), passage(d, near(d, k, short) if short else range(len(lines[d])), most)[0])
            for d, k, q in a[:, :3].tolist()
        ],
    )


def judge_brief(model, va=va, vs=vs):
    s = judge_notes(model, va)
    y = va[:, 4] == 1
    part = batch_of[group[va[:, 0]]]
    cross = va[:, 3] != db[va[:, 0], 3]
    f = lambda m, s=s: f"{auc(s[m & y], s[m & ~y]):.3f}"
    short = judge_notes(model, va, short=84)
    k = va[y & np.array([len(lines[d]) > 1 for d in va[:, 0]])]
    cut = judge_scores(
        model,
        [(query(q), passage(d, [i for i in range(len(lines[d])) if i != l], 320)[0]) for d, l, q in k[:, :3].tolist()],
    )
    w = judge_notes(model, vs)
    z = vs[:, 4] == 1
    base = {(d, l) for d, l in vs[:, :2].tolist()}
    yes = np.array([(d, l) in base for d, l in va[:, :2].tolist()]) & y
    p = 1 / (1 + np.exp(-s))
    loss = -np.mean(np.where(y, np.log(p + 1e-7), np.log(1 - p + 1e-7)))
    return f"near-miss AUC 00-14 {f(part < 15)} (cross {f((part < 15) & cross)}) 16-18 {f(part > 14)} (16 {f(part == 16)} 17 {f(part == 17)} 18 {f(part == 18)}) | about 84 tokens: 00-14 {f(part < 15, short)} 16-18 {f(part > 14, short)} | line removed {auc(s[y], cut):.3f} | names exchanged {auc(np.concatenate([w[z], s[yes]]), w[~z]):.3f} | loss {loss:.3f} at .5 yes {np.mean(s[y] > 0):.3f} no {np.mean(s[~y] < 0):.3f}"


def judge_eval(model):
    text = judge_brief(model)
    C = J["cand"][::60] if o.tiny else J["cand"]
    pairs = [(query(c["q"]), np.concatenate([BOS, Wp, P[p][:320], EOS])) for c in C for p in c["p"]]
    sc = judge_scores(model, pairs)
    at = 0
    per = {}
    for c in C:
        x = sc[at : at + len(c["p"])]
        at += len(c["p"])
        rel = np.array(c["rel"], bool)
        e = np.array(c["score"], float)
        r = per.setdefault(
            c["set"],
            {k: [] for k in ("eng", "jud", "fus", "p1e", "p1f", "yes", "no", "eyes", "eno", "rem", "both", "bno")},
        )
        top = x[:8].max() if len(x) else -9
        et = e.max() if len(e) else 0
        mix = et + 0.05 * np.clip(top, -6, 6)
        if not c["answerable"]:
            r["no"].append(top)
            r["eno"].append(et)
            r["bno"].append(mix)
            continue
        r["yes"].append(top)
        r["eyes"].append(et)
        r["both"].append(mix)
        if not len(x):
            continue
        if (~rel).any():
            r["rem"].append(x[~rel][:8].max())
        fus = e + 0.05 * np.clip(x, -6, 6) if e.any() else -np.arange(len(x)) * 0.01 + 0.05 * np.clip(x, -6, 6)
        o1, o2 = np.argsort(-x, kind="stable"), np.argsort(-fus, kind="stable")
        r["eng"].append(ndcg(rel, c["needed"]))
        r["jud"].append(ndcg(rel[o1], c["needed"]))
        r["fus"].append(ndcg(rel[o2], c["needed"]))
        r["p1e"].append(rel[:1].any())
        r["p1f"].append(rel[o2][:1].any())
    m = lambda v: np.mean(v) if len(v) else 0
    tot = {k: [] for k in ("eng", "jud", "fus", "p1e", "p1f", "yes", "no", "rem")}
    for k, r in per.items():
        text += f"\n      {k:15} n {len(r['eng']):3} nDCG {m(r['eng']):.3f} judge {m(r['jud']):.3f} fused {m(r['fus']):.3f} p@1 {m(r['p1e']):.3f}>{m(r['p1f']):.3f} near-miss AUC {auc(np.array(r['eyes']), np.array(r['eno'])) if r['no'] else 0:.3f}>{auc(np.array(r['yes']), np.array(r['no'])) if r['no'] else 0:.3f} both {auc(np.array(r['both']), np.array(r['bno'])) if r['no'] else 0:.3f} removed {auc(np.array(r['yes']), np.array(r['rem'])):.3f}"
        for key in tot:
            tot[key] += r[key]
    return (
        text
        + f"\n      ALL n {len(tot['eng'])} nDCG {m(tot['eng']):.3f} judge {m(tot['jud']):.3f} fused {m(tot['fus']):.3f} p@1 {m(tot['p1e']):.3f}>{m(tot['p1f']):.3f} near-miss AUC {auc(np.array(tot['yes']), np.array(tot['no'])):.3f} removed {auc(np.array(tot['yes']), np.array(tot['rem'])):.3f}"
    )


def save(model, name):
    """Scales in 16 bits, everything else in 32."""
    np.savez(
        o.out / f"{name}.npz",
        **{
            k: v.detach().half().cpu().numpy() if k.endswith(".gain") else v.detach().float().cpu().numpy()
            for k, v in model.state_dict().items()
        },
    )
    say("saved", name, f"{(o.out / f'{name}.npz').stat().st_size / 1e6:.1f} MB")


def attention():
    """Choose the attention that works here."""
    q = torch.randn(600, 12, 32, device=dev, dtype=torch.bfloat16, requires_grad=True)
    cu = torch.tensor([0, 100, 350, 600], device=dev, dtype=torch.int32)
    want = torch.cat(
        [
            F.scaled_dot_product_attention(*(q[a:b].transpose(0, 1)[None].float() for _ in range(3)))[0].transpose(0, 1)
            for a, b in ((0, 100), (100, 350), (350, 600))
        ]
    )
    for f in (M._varlen, M._flash):
        try:
            got = f(q, q, q, cu, 250)
            got.float().pow(2).sum().backward()
            say(f.__name__, "error", float((got.float() - want).abs().max()))
            M.VARLEN = f
            return
        except Exception as e:
            say(f.__name__, "fails:", repr(e)[:300])


def seeded(n):
    o.seed = n
    torch.manual_seed(n)


def fresh():
    return Retriever(data, shape).to(dev)


if __name__ == "__main__":
    if dev == "cuda":
        attention()
    base = fresh()
    if not o.start:
        say("untrained:", retrieval(base, base))
    if o.given:
        r, j = load(fresh(), o.given / "retriever.npz"), load(Judge(data, shape, None, "scales"), o.given / "judge.npz")
        say("given retriever:", retrieval(r, r))
        say("given judge:", judge_eval(j))
        a16 = A[(batch_of[group[A[:, 0]]] > 14) & (A[:, 5] == 0)]
        s16 = A[(A[:, 5] == 2) & (batch_of[group[A[:, 0]]] > 14)]
        say(
            "given, all of 16-18 (never trained on):",
            retrieval(r, r, va=a16, every=True),
            "\n     ",
            judge_brief(j, a16, s16),
        )
        del r, j
    if o.start:
        tuned, m = (
            load(fresh(), o.start / "retriever.npz"),
            load(Judge(data, shape, None, "scales"), o.start / "judge-mean.npz"),
        )
        mine(tuned)
    else:
        mine(base)
        found = []
        for n in (0, 1):
            seeded(n)
            m = train(fresh(), both_batch, both_loss, o.both, lambda x: retrieval(x, x), f"retriever {n}")
            save(m, "retriever-" + "ab"[n])
            found.append(m)
            mine(m)
        tuned = mean(*found)
        save(tuned, "retriever")
        say("mean retriever:", retrieval(tuned, tuned))
        mine(tuned)
        seeded(2)
        o.rest, o.gain = 6e-4, 3e-3
        j = Judge(data, shape, None, "scales").to(dev)
        start_from(j, tuned)
        j.enc.drop = 0.1
        trunk = train(j, judge_batch, judge_loss, o.trunk, judge_brief, "judge", 0, "trunk")
        found = []
        for n in (0, 1):
            seeded(3 + n)
            m = train(
                clone(trunk),
                judge_batch,
                judge_loss,
                o.branch,
                judge_brief if n else judge_eval,
                f"judge {n}",
                0,
                "branch",
            )
            save(m, "judge-" + "ab"[n])
            found.append(m)
        m = mean(*found)
        save(m, "judge-mean")
        say("mean judge:", judge_eval(m))
    if o.finish:
        seeded(7)
        o.rest, o.gain, o.judge_public, o.swapped, o.dates, o.rank, o.smooth = (
            3.6e-4,
            1.8e-3,
            0.31,
            0.12,
            0.05,
            0.3,
            0.03,
        )
        j = clone(m)
        j.enc.drop = 0.1
        j = train(j, judge_batch, judge_loss, o.finish, judge_eval, "finish", 2, "branch")
        save(j, "judge-finish")
        k = mean(j, m)
        save(k, "judge")
        say("judge:", judge_eval(k))
    say("done")
