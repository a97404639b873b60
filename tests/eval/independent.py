"""The metrics of `recto eval --pred` against others, written here from their definitions in plain Python.

    python3 tests/eval/independent.py RECTO

300 pairs of random texts in several scripts, with CJK, combining marks and white space of all kinds: CER, CER-ns, WER and NED
within 1e-9.  200 pairs of random tables with spans, empty and nested cells: TEDS and TEDS-S within 1e-6.  Edit distances come
from the textbook's table over lists of Python strings, tree distances from the recursion over forests that defines them, tables
from html.parser: nothing is shared with the program.
"""
import functools
import html.parser
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

WORDS = ["page", "Zeile", "naïve", "нет", "слово", "ligne", "e\u0301te\u0301", "x\u0302\u0323y", "中文字", "日本語", "かな",
         "한글", "\u1112\u1161\u11ab", "42", "3.14", "a,b", "Ωmega", "\U0001f600", "ﬁn", "Straße"]
SPACES = [" ", "  ", "\n", "\u00a0", "\u3000", " \n ", "\t"]


# ---- texts ---------------------------------------------------------------------------------------------------------------


def text(rng):
    return "".join(rng.choice(WORDS) + rng.choice(SPACES if rng.random() < 0.3 else [" "]) for _ in range(rng.randrange(40)))


def damaged(rng, s):
    out = []
    for c in s:
        what = rng.random()
        if what < 0.04:
            continue
        out.append(rng.choice("aeé中 ") if what < 0.08 else c)
        if what > 0.97:
            out.append(rng.choice("xyz\u0301 字"))
    return "".join(out)


def normal(s):
    """N1 of a text without marks: NFC, runs of white space as one space, ends stripped."""
    return " ".join(unicodedata.normalize("NFC", s).split())


def words(s):
    out = []
    for part in s.split():
        word = ""
        for c in part:
            if 0x3040 <= ord(c) <= 0x30FF or 0x3400 <= ord(c) <= 0x9FFF:
                out += [word, c] if word else [c]
                word = ""
            else:
                word += c
        out += [word] if word else []
    return out


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return row[-1]


def rate(truth, read):
    return distance(truth, read) / len(truth) if truth else float(len(read) > 0)


def ned(a, b):
    return distance(a, b) / max(len(a), len(b)) if a or b else 0.0


# ---- tables --------------------------------------------------------------------------------------------------------------


def cell(rng, depth):
    what = rng.random()
    if what < 0.15:
        return ""
    if what < 0.25 and depth == 0:
        return table(rng, 1)
    inner = "".join(rng.choice("ab1中é ") for _ in range(rng.randrange(1, 5)))
    return f"<b>{inner}</b>" if what < 0.35 else inner.strip() or "a"


def table(rng, depth=0):
    rows = []
    for _ in range(rng.randrange(1, 3 if depth else 4)):
        cells = []
        for _ in range(rng.randrange(1, 3)):
            span = rng.choice(["", "", "", ' colspan="2"', ' rowspan="2"', ' colspan="2" rowspan="3"'])
            cells.append(f"<td{span}>{cell(rng, depth)}</td>")
        rows.append("<tr>" + "".join(cells) + "</tr>")
    return "<table>" + "".join(rows) + "</table>"


class Tree(html.parser.HTMLParser):
    """Nodes [tag, colspan, rowspan, tokens, children]; a td has tokens instead of children."""

    def __init__(self, markup):
        super().__init__()
        self.root, self.open, self.td, self.count = None, [], None, 0
        self.inner = 0
        self.feed(markup)

    def handle_starttag(self, tag, attrs):
        self.count += 1
        if self.td is not None:
            self.td[3].append(f"<{tag}>")
            self.inner += 1
            return
        attrs = dict(attrs)
        node = [tag, attrs.get("colspan", "1"), attrs.get("rowspan", "1"), [], []]
        if self.open:
            self.open[-1][4].append(node)
        else:
            self.root = node
        if tag == "td":
            self.td = node
        else:
            self.open.append(node)

    def handle_endtag(self, tag):
        if self.td is None:
            self.open.pop()
        elif self.inner:
            self.td[3].append(f"</{tag}>")
            self.inner -= 1
        else:
            self.td = None

    def handle_data(self, data):
        if self.td is not None:
            self.td[3] += list(data)


def frozen(node, structure_only):
    tag, colspan, rowspan, tokens, children = node
    return (tag, colspan, rowspan, () if structure_only else tuple(tokens),
            tuple(frozen(c, structure_only) for c in children))


def size(forest):
    return sum(1 + size(node[4]) for node in forest)


@functools.lru_cache(maxsize=None)
def rename(a, b):
    if a[:3] != b[:3]:
        return 1.0
    return ned(a[3], b[3]) if a[0] == "td" else 0.0


@functools.lru_cache(maxsize=None)
def forests(f, g):
    """Zhang and Shasha's definition: the last tree's root goes, comes, or is matched."""
    if not f or not g:
        return float(size(f) + size(g))
    a, b = f[-1], g[-1]
    return min(forests(f[:-1] + a[4], g) + 1, forests(f, g[:-1] + b[4]) + 1,
               forests(a[4], b[4]) + forests(f[:-1], g[:-1]) + rename(a, b))


def teds(a, b, structure_only):
    x, y = Tree(a), Tree(b)
    d = forests((frozen(x.root, structure_only),), (frozen(y.root, structure_only),))
    return 1 - d / (max(x.count, y.count) - 1)  # the table itself does not count


# ---- both ----------------------------------------------------------------------------------------------------------------


def write(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content.encode())


def main(recto):
    rng = random.Random(1)
    texts, tables, worst = {}, {}, {}
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for i in range(300):
            truth = text(rng) if i else ""
            texts[f"text{i:03}"] = truth, damaged(rng, truth) if i % 10 else text(rng)
        for i in range(200):
            truth = table(rng)
            tables[f"table{i:03}"] = truth, rng.choice([truth.replace("中", "é"), table(rng), truth.replace("<tr>", "<tr><td>1</td>", 1)])
        for name, (truth, read) in (texts | tables).items():
            write(work / "set/truth", f"{name}.{'txt' if name in texts else 'html'}", truth)
            write(work / "pred", f"{name}.{'txt' if name in texts else 'md'}", read)
        subprocess.run([recto, "eval", "-q", "--pred", work / "pred", "-o", work / "out", work / "set"], check=True)
        report = json.loads((work / "out/report.json").read_text())
    assert len(report["pages"]) == 500

    def check(what, name, got, want, most):
        worst[what] = max(worst.get(what, 0), abs(got - want))
        assert abs(got - want) <= most, f"{name}: {what} is {got}, by its definition {want}: {(texts | tables)[name]}"

    for page in report["pages"]:
        name = page["name"]
        if name in tables:
            check("TEDS", name, page["tables"]["teds"], teds(*tables[name], False), 1e-6)
            check("TEDS-S", name, page["tables"]["teds_s"], teds(*tables[name], True), 1e-6)
            continue
        truth, read = map(normal, texts[name])
        got = page["text"]["N1"]
        check("CER", name, got["cer"], rate(truth, read), 1e-9)
        check("CER-ns", name, got["cer_ns"], rate(truth.replace(" ", ""), read.replace(" ", "")), 1e-9)
        check("WER", name, got["wer"], rate(words(truth), words(read)), 1e-9)
        check("NED", name, got["ned"], ned(truth, read), 1e-9)
    print(", ".join(f"{what} within {d:.1e}" for what, d in worst.items()))


if __name__ == "__main__":
    main(sys.argv[1])
