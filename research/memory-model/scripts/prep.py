"""Tokenise hand-written notes, questions with exchanged names and public reading sets into one file for the GPU.

usage: prep.py --sources DIR --exclude FILE... --candidates FILE... --out train.npz   (run with the product's own environment)

DIR holds the files that `sources.py` reads, and `idk-mrc.json` (rifkiaputri/IDK-MRC, dataset/idk_mrc/train.json) and `xquad.LANG.json`
(google-deepmind/xquad). Left out because their licence, or that of the text in them, is not clear: the Portuguese SQuAD, TQuAD, PersianQA (a licence for
programs) and FriendsQA (the script of a television series).
"""

import argparse, collections, json, random, sys, tempfile
from pathlib import Path

import numpy as np

from memoriter.embed.bundled._native import clean
from memoriter.embed.bundled._native import usable_weights
from memoriter.embed.bundled._weightfile import Tokenizer, open_weights

sys.path.insert(0, str(Path(__file__).parent))
from notes import ASK, read_all
from swaps import swaps
import sources as S
from prepare import is_known, is_shared, shingles, shingles_of_files

LIMITS = {
    "squad": 1600,
    "jaquad": 6000,
    "jsquad-test": 1200,
    "drcd": 5000,
    "cmrc-trial": 600,
    "molweni": 2500,
    "nq": 2500,
    "idk-mrc": 6000,
    "xquad": 9000,
}


def public(folder, excluded, rnd):
    rows = []

    def add(reader, name):
        got = [a for a in reader if a.sentence >= 0 or not a.answerable]
        rnd.shuffle(got)
        rows.extend(got[: LIMITS[name]])

    f = folder
    add(S.squad(f / "squad.json", "squad", "en", without=S.HELD_OUT), "squad")
    add((a for p in sorted(f.glob("jaquad/*.json")) for a in S.squad(p, "jaquad", "ja")), "jaquad")
    add(S.squad(f / "jsquad-test.json", "jsquad-test", "ja"), "jsquad-test")
    add((a for p in sorted(f.glob("drcd-*.json")) for a in S.squad(p, "drcd", "zh")), "drcd")
    add(S.squad(f / "cmrc-trial.json", "cmrc-trial", "zh"), "cmrc-trial")
    add(S.molweni(f / "molweni-test.json"), "molweni")
    add(S.natural_questions(f / "nq-oracle.jsonl.gz"), "nq")
    add(idk(f / "idk-mrc.json"), "idk-mrc")
    before = collections.Counter(a.source for a in rows)
    rows = [a for a in rows if not is_known(a.text, excluded) and not is_shared(a.paragraph, excluded)]
    # XQuAD: the same questions and paragraphs in many languages: ask in one, read in another
    langs = ["ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh", "en"]
    data = {l: json.loads((f / f"xquad.{l}.json").read_text("utf-8"))["data"] for l in langs}
    cross = []
    for ai, art in enumerate(data["en"]):
        for pi, par in enumerate(art["paragraphs"]):
            if is_shared(S.Paragraph("x", S.sentences_of(par["context"])), excluded):
                continue
            for qi in range(len(par["qas"])):
                for _ in range(9):
                    ql, dl = rnd.sample(langs, 2)
                    if rnd.random() < 0.3:
                        ql = "en"
                    d = data[dl][ai]["paragraphs"][pi]
                    ans = d["qas"][qi]["answers"][0]["text"]
                    sents = S.sentences_of(d["context"])
                    where = [i for i, s in enumerate(sents) if ans in s]
                    if where:
                        cross.append(
                            S.Asked(
                                "xquad",
                                ql,
                                data[ql][ai]["paragraphs"][pi]["qas"][qi]["question"],
                                S.Paragraph(f"xquad/{ai}/{dl}", sents),
                                ans,
                                where[0],
                                True,
                            )
                        )
    rnd.shuffle(cross)
    print("read", before, "left", collections.Counter(a.source for a in rows), "xquad", len(cross))
    return rows + cross[: LIMITS["xquad"]]


def idk(file):
    """Yield the questions of IDK-MRC: a list of paragraphs, each with its questions."""
    for n, part in enumerate(json.loads(file.read_text("utf-8"))):
        paragraph = S.Paragraph(f"idk-mrc/{n}", S.sentences_of(part["context"]))
        for question in part["qas"]:
            yield S._squad_question(
                {**question, "is_impossible": question.get("is_impossible", not question.get("answers"))},
                paragraph,
                "idk-mrc",
                "id",
            )


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sources", type=Path, required=True)
    p.add_argument("--exclude", type=Path, nargs="+", required=True)
    p.add_argument("--candidates", type=Path, nargs="*", default=[])
    p.add_argument("--out", type=Path, required=True)
    o = p.parse_args()
    rnd = random.Random(26)
    weights = open_weights(usable_weights(Path(tempfile.mkdtemp())))
    tok = Tokenizer(weights, Path(tempfile.mkdtemp()) / "vocabulary")
    excluded = shingles_of_files(o.exclude)
    for a in S.squad(o.sources / "squad.json", "squad", "en", only=S.HELD_OUT):
        excluded |= shingles("".join(a.paragraph.sentences))
    pieces, known = [], {}

    def piece(text):
        text = clean(text)
        if text not in known:
            known[text] = len(pieces)
            pieces.append(np.array(tok.ids(text)[1:-1] if text else [], np.int32))
        return known[text]

    docs, doc_at, asks, meta = [], {}, [], []  # docs: (heading piece, [line pieces], bullets, group, source)
    groups, langs = {}, {}
    G = lambda k: groups.setdefault(k, len(groups))
    L = lambda k: langs.setdefault(k, len(langs))
    found = read_all()
    at_of = {}
    for n in found:
        at_of[n.file, n.at] = len(docs)
        docs.append(
            (
                piece(n.heading.replace("›", ">")),
                [piece(x) for x in n.lines],
                1,
                G(f"w/{n.file}/{n.at // 5}"),
                0,
                L(n.lang),
            )
        )
        asks += [
            (len(docs) - 1, line, piece(q), L(lang), int(good), 0)
            for good, line, lang, q in n.asks
            if 0 <= line < len(n.lines)
        ]
    written = len(docs), len(asks)
    other_of = {}
    for n, heading, lines, k, lang, q, q2 in swaps(found, random.Random(3)):  # source 2: names exchanged
        own = at_of[n.file, n.at]
        text = (heading, *lines)
        if (own, text) not in other_of:
            other_of[own, text] = len(docs)
            docs.append((piece(heading.replace("›", ">")), [piece(x) for x in lines], 1, docs[own][3], 2, docs[own][5]))
        d = other_of[own, text]
        asks += [(own, k, piece(q2), L(lang), 0, 2), (d, k, piece(q), L(lang), 0, 2), (d, k, piece(q2), L(lang), 1, 2)]
    for line in (
        Path(__file__).with_name("dates.txt").read_text("utf-8").splitlines()
    ):  # source 3: when something was said or done, in the heading only
        if line.startswith("@"):
            file, _, at = line[1:].partition("/")
            own = at_of[file, int(at)]
            note = next(n for n in found if (n.file, n.at) == (file, int(at)))
        else:
            m = ASK.match(line)
            assert 0 < int(m[2]) <= len(note.lines), line
            asks.append((own, int(m[2]) - 1, piece(m[4]), L(m[3] or note.lang), int(m[1] == "+"), 3))
    for a in public(o.sources, excluded, rnd):
        k = (a.paragraph.key, a.paragraph.sentences)
        if k not in doc_at:
            title = (
                a.paragraph.key.split("/", 1)[1].replace("_", " ")
                if a.source in ("squad", "squad-pt", "nq", "idk-mrc", "jaquad")
                and not a.paragraph.key.split("/", 1)[1].isdigit()
                else ""
            )
            doc_at[k] = len(docs)
            docs.append(
                (piece(title), [piece(s) for s in a.paragraph.sentences], 0, G(f"p/{a.paragraph.key}"), 1, L(a.lang))
            )
        asks.append((doc_at[k], a.sentence, piece(a.text), L(a.lang), int(a.answerable), 1))
    cand = []
    for file in o.candidates:
        for row in map(json.loads, file.open(encoding="utf-8")):
            if (
                row["set"] in ("korquad1_dev", "cmrc2018_dev", "jsquad_valid", "xquad_en", "xquad_zh_to_en")
                and rnd.random() > 0.5
            ):
                continue
            if row["set"] == "locomo10_turns" and rnd.random() > 0.25:
                continue
            cand.append(
                {
                    "set": row["set"],
                    "lang": row["lang"],
                    "q": piece(row["question"]),
                    "answerable": row["answerable"],
                    "needed": row["needed"],
                    "p": [piece(x["text"]) for x in row["passages"]],
                    "rel": [bool(x["relevant"]) for x in row["passages"]],
                    "score": [x.get("score", 0) for x in row["passages"]],
                }
            )
    words = {w: piece(w) for w in ("query:", "passage:", "-")}
    used = np.unique(np.concatenate([*pieces, np.array([0, 1, 2, 3], np.int32)]))
    remap = np.zeros(weights.shape.words, np.int32)
    remap[used] = np.arange(len(used))
    flat = remap[np.concatenate(pieces)]
    off = np.cumsum([0, *map(len, pieces)])
    hidden = weights.shape.hidden
    raw = {
        f"t.{n}": np.frombuffer(weights.content, np.uint8, s, at)
        for n, (at, s) in weights.tensors.items()
        if not n.startswith("emb.word") and n.startswith(("l", "emb"))
    }
    np.savez_compressed(
        o.out,
        flat=flat.astype(np.uint32),
        off=off,
        used=used,
        emb=weights.blocks("emb.word", hidden)[used],
        asks=np.array(asks, np.int32),
        dh=np.array([d[0] for d in docs], np.int32),
        dl=np.array([x for d in docs for x in d[1]], np.int32),
        dlo=np.cumsum([0, *(len(d[1]) for d in docs)]),
        db=np.array([d[2:] for d in docs], np.int32),
        json=np.frombuffer(
            json.dumps(
                {
                    "langs": list(langs),
                    "groups": list(groups),
                    "cand": cand,
                    "words": words,
                    "shape": [
                        hidden,
                        weights.shape.layers,
                        weights.shape.heads,
                        weights.shape.inner,
                        weights.shape.epsilon,
                    ],
                }
            ).encode(),
            np.uint8,
        ),
        **raw,
    )
    print(
        "written",
        written,
        "docs",
        len(docs),
        "asks",
        len(asks),
        "pieces",
        len(pieces),
        "tokens",
        len(flat),
        "vocabulary",
        len(used),
        "MB",
        o.out.stat().st_size / 1e6,
    )
    print(collections.Counter((a[5], a[4]) for a in asks), "cand", collections.Counter(c["set"] for c in cand))


main()
