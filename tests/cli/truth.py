#!/usr/bin/env python3
"""What recto-corpus knows of its pages, as the scripted device says it, and compared with what recto made of that.

    truth.py script TRUTH_JSON SCRIPT_JSON     the ideal model: markers, boxes and text of each page
    truth.py compare TRUTH_JSON LAYOUT_JSON    labels, kinds, boxes and text of all blocks, in order; exit 1 names the first that differs
"""
import json
import sys


def pages(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)["pages"]


def as_the_model_writes(block):
    boxes = ", ".join("[%d, %d, %d, %d]" % tuple(box) for box in block["boxes_999"])
    return "<|ref|>%s<|/ref|><|det|>[%s]<|/det|>\n%s" % (block["label"], boxes, block["raw"])


def script(truth, out):
    entries = [{"page": page["page"], "text": "\n\n".join(map(as_the_model_writes, page["blocks"]))} for page in pages(truth)]
    with open(out, "w", encoding="utf-8") as f:
        json.dump({"pages": entries}, f)


def facts(block):
    return [block[key] for key in ("label", "kind", "boxes_999", "text")] + [block.get("level", 0)]


def compare(truth, layout):
    want, got = pages(truth), pages(layout)
    assert len(want) == len(got), "%d pages, expected %d" % (len(got), len(want))
    for a, b in zip(want, got):
        assert b["status"] == "ok", "page %d is %s" % (b["page"], b["status"])
        assert len(a["blocks"]) == len(b["blocks"]), "page %d has %d blocks" % (b["page"], len(b["blocks"]))
        for x, y in zip(a["blocks"], b["blocks"]):
            assert facts(x) == facts(y), "page %d: %s, expected %s" % (a["page"], facts(y), facts(x))
            width, height = b["size_px"]
            for u, v in zip(y["boxes_999"], y["boxes_px"]):
                exact = [int(n / 999 * size) for n, size in zip(u, (width, height, width, height))]
                assert v == exact, "page %d: pixels %s, expected %s" % (a["page"], v, exact)


try:
    {"script": script, "compare": compare}[sys.argv[1]](*sys.argv[2:])
except AssertionError as e:
    sys.exit(str(e))
