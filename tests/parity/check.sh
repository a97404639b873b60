#!/bin/sh
# What can be proved on a machine with a GPU and little else: run from the root of the tree, with the programs of the `cuda`
# preset in build/cuda/bin.  Needs python3 with Pillow (pictures to PPM: such a machine has no recto-decode).
#   tests/parity/check.sh [WORK_DIR]
set -u
work=${1:-/tmp/recto-check}
bin=build/cuda/bin
mkdir -p "$work/tiny" "$work/pages"
failed=0

say() { printf '\n== %s\n' "$*"; }
try() { "$@" || { echo "FAILED ($?): $*"; failed=1; }; }

python3 - "$work" <<'PY'
import pathlib, sys
from PIL import Image
work = pathlib.Path(sys.argv[1])
for src, dst in (("tests/golden/tiny", work / "tiny"), ("models/mini/pages", work / "pages")):
    for p in pathlib.Path(src).glob("*.png"):
        Image.open(p).convert("RGB").save(dst / (p.stem + ".ppm"))
PY
cp tests/golden/tiny/*.safetensors tests/golden/tiny/*.json "$work/tiny"

say "slots against the CPU (test_cuda)"
try env LD_LIBRARY_PATH="$bin:${LD_LIBRARY_PATH:-}" "$bin/test_cuda"
say "golden cases in fp32"
try "$bin/recto" verify --golden "$work/tiny" --device cuda
say "the mini model: pages by CPU and GPU in fp32, and GPU in bf16"
mkdir -p "$work/cpu" "$work/gpu" "$work/bf16"
try "$bin/recto" read --model models/mini --device cpu --precision fp32 --guard off -f raw -o "$work/cpu/" "$work"/pages/*.ppm --quiet
try "$bin/recto" read --model models/mini --device cuda --precision fp32 --guard off -f raw -o "$work/gpu/" "$work"/pages/*.ppm --quiet
try "$bin/recto" read --model models/mini --device cuda --precision bf16 --guard off -f raw -o "$work/bf16/" "$work"/pages/*.ppm --quiet
try diff -rq "$work/cpu" "$work/gpu" && echo "fp32: the same texts"
diff -rq "$work/cpu" "$work/bf16"
exit $failed
