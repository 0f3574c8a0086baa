"""Names exchanged between a question and its note, so that a judge has to read who did or said it.

For a question with one name X whose answering line is X's (said by X, or it names X and not Y), and another name Y of the note: the question with Y
is not answered by the note; the note with X and Y exchanged does not answer the question, but answers the question with Y. So each name, and each
question, is as often answered as not, and nothing but reading tells which.
"""

import collections, re

SPEAKER = re.compile(r"^([^\s:：|`#~*\d][^:：|`~*\d]{0,23}?)\s?[:：]\s*\S")
WORD = re.compile(r"[^\W\d_][\w'’-]*", re.UNICODE)
NOUNS = {"de", "lb"}  # languages that write every noun with a capital
CASELESS = {"ko", "zh", "ja", "th", "hi", "ar", "fa", "he", "bn", "ta", "ur"}


def speakers(note):
    found = [m[1] if (m := SPEAKER.match(line)) else None for line in note.lines]
    names = set(found) - {None}
    turns = sum(s is not None for s in found)
    return (
        found
        if len(names) >= 2
        and turns >= 0.7 * len(found)
        and len(names) <= 0.8 * turns + 1
        and all(len(n.split()) <= 3 for n in names)
        else None
    )


class Names:
    def __init__(self, notes):
        self.small = collections.defaultdict(set)
        self.seen = collections.defaultdict(lambda: collections.defaultdict(set))
        self.langs = collections.defaultdict(set)
        self.talk = collections.defaultdict(set)
        for n in notes:
            g = (n.file, n.at // 5)
            for lang, text in [*((n.lang, x) for x in n.lines), *((l, q) for _, _, l, q in n.asks)]:
                for w in WORD.findall(text):
                    if w[0].islower():
                        self.small[lang].add(w)
                        self.small["*"].add(w)
                    elif w[0].isupper():
                        self.langs[n.file, w].add(lang)
            for w in {w for x in n.lines for w in WORD.findall(x) if w[0].isupper()}:
                self.seen[g][w].add(n.at)
            self.talk[g] |= set(speakers(n) or ()) - {None}

    def of(self, note):
        """Names of persons (mostly) in a note."""
        g = (note.file, note.at // 5)
        text = "\n".join(note.lines)
        found = {s for s in self.talk[g] if s in text and len(s) >= 2}
        if note.lang not in CASELESS:
            for w, where in self.seen[g].items():
                if (
                    len(w) >= 3
                    and len(where) >= 2
                    and w in text
                    and not w.isupper()
                    and w.lower() not in self.small[note.lang]
                    and w.lower() not in self.small["en"]
                    and (note.lang not in NOUNS or len(self.langs[note.file, w]) >= 2)
                ):
                    found.add(w)
        return {w for w in found if not any(w != v and w in v for v in found)}


def holds(name, text):
    if name[0].isascii() or name[0].isupper():
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
    return name in text


def exchange(text, a, b):
    edge = (r"(?<!\w)", r"(?!\w)") if a[0].isupper() and b[0].isupper() else ("", "")
    return re.sub(rf"{edge[0]}(?:{re.escape(a)}|{re.escape(b)}){edge[1]}", lambda m: b if m[0] == a else a, text)


def swaps(notes, rnd):
    """Yield (note, other heading, other lines, line, lang, question, other question) for each question with one name to exchange."""
    names = Names(notes)
    for n in notes:
        if len(known := names.of(n)) < 2:
            continue
        said = speakers(n)
        for good, k, lang, q in n.asks:
            if not good or not 0 <= k < len(n.lines):
                continue
            inside = [x for x in known if holds(x, q)]
            if len(inside) != 1:
                continue
            x = inside[0]
            own = (said[k] == x) if said and said[k] in known else holds(x, n.lines[k])
            if not own:
                continue
            others = [y for y in known if y != x and not holds(y, n.lines[k]) and any(holds(y, l) for l in n.lines)]
            if said:
                others = [y for y in others if y in said] or others
            if not others:
                continue
            y = rnd.choice(sorted(others))
            yield n, exchange(n.heading, x, y), [exchange(l, x, y) for l in n.lines], k, lang, q, exchange(q, x, y)


if __name__ == "__main__":
    import random
    from notes import read_all

    al = list(swaps(read_all(), random.Random(3)))
    c = collections.Counter(n.file[:2] for n, *_ in al)
    print(len(al), sorted(c.items()))
    print(collections.Counter(n.lang for n, *_ in al))
    for n, h, ls, k, lang, q, q2 in random.Random(5).sample(al, 40):
        print(n.lang, lang, "|", q, "|", q2, "|", n.lines[k][:90])
