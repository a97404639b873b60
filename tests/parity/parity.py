"""recto against transformers at the released size, with the same random weights, on one machine with a GPU.

    build/cuda/bin/make_checkpoint --native --tokenizer models/mini/tokenizer.json MODEL_DIR
    python3 tests/parity/parity.py MODEL_DIR [RECTO]

The reference is DeepseekOcr2ForConditionalGeneration in fp32 (TF32 off); its taps go into MODEL_DIR/page.safetensors in the
form that `recto verify --golden` reads.  Then the errors of torch in bf16 and of recto on the device, both as
rms(error) / rms(reference) against that one fp32 run, stand side by side.  After 12 to 24 layers no absolute bound means
anything; the rule is that recto's bf16 error is at most 1.1 times torch's bf16 error for what comes out of SAM, of the
encoder and of the decoder, and that recto in fp32 is near 0.  Views are those of tests/golden/tiny/tiled.
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from transformers import DeepseekOcr2ForConditionalGeneration

N_NEW = 64
IMAGE = 128815
MAIN = ("sam_out", "projector_out", "logits_last", "logits_every_16th")
GOLDEN = pathlib.Path("tests/golden/tiny")


def pixels(names):
    views = [np.asarray(Image.open(GOLDEN / f"tiled_{n}.png").convert("RGB")) for n in names]
    x = torch.from_numpy(np.stack(views)).permute(0, 3, 1, 2).float()
    return (x / 255 - 0.5) / 0.5


def inputs(config):
    image = config.image_token_id
    vocab = config.text_config.vocab_size
    words = [(i * 7919 + 13) % (vocab - 2000) + 1000 for i in range(9)]
    ids = [0] + [image] * (6 * 144 + 256 + 1) + [w if w != image else w + 1 for w in words]
    return torch.tensor([ids], device="cuda")


def hook(taps, name):
    def keep(module, args, out):
        taps[name] = (out[0] if isinstance(out, tuple) else out).detach().float().cpu()
    return keep


@torch.no_grad()
def run(model, ids, dtype):
    """All taps of one forward pass, and N_NEW greedy ids."""
    taps, handles = {}, []
    tower = model.model.vision_tower
    text = model.model.language_model
    sam_out = tower.sam_encoder.proj

    def view_hook(stem):
        def keep(module, args, out):
            out = out[0] if isinstance(out, tuple) else out
            out = out.last_hidden_state if hasattr(out, "last_hidden_state") else out
            side = "_global" if out.shape[0] == 1 else "_tiles"
            taps[stem + side] = out.detach().float().cpu()
        return keep

    handles.append(sam_out.register_forward_hook(view_hook("sam_out")))
    handles.append(model.model.multi_modal_projector.register_forward_hook(view_hook("projector_out")))
    last = len(tower.vision_encoder.layers) - 1
    for i in (0, last):
        handles.append(tower.vision_encoder.layers[i].register_forward_hook(view_hook(f"encoder_layer{i}")))
    last = len(text.layers) - 1
    for i in (0, 1, last):
        handles.append(text.layers[i].register_forward_hook(hook(taps, f"decoder_layer{i}")))
    args = dict(
        input_ids=ids,
        pixel_values=pixels(["global"]).to("cuda", dtype),
        pixel_values_local=pixels([f"tile{i}" for i in range(6)]).to("cuda", dtype),
        num_local_patches=[6],
    )
    logits = model(**args).logits[0].float().cpu()
    for h in handles:
        h.remove()
    taps["logits_every_16th"] = logits[::16].contiguous()
    taps["logits_last"] = logits[-1].contiguous()
    out = model.generate(**args, max_new_tokens=N_NEW, min_new_tokens=N_NEW, do_sample=False)
    taps["greedy_64"] = out[0, -N_NEW:].int().cpu()
    return {k: v.contiguous() for k, v in taps.items()}


def rel(got, want):
    return ((got - want).norm() / want.norm()).item()


def recto_errors(recto, folder, precision):
    text = subprocess.run([recto, "verify", "--golden", folder, "--case", "page", "--device", "cuda", "--precision", precision],
                          capture_output=True, text=True)
    found = {m[1]: float(m[2]) for m in re.finditer(r"^  (\S+) +rel L2 (\S+)", text.stdout, re.M)}
    ids = re.search(r"greedy_64 +tokens equal (\d+)/", text.stdout)
    if not found:
        sys.exit(text.stdout + text.stderr)
    return found, int(ids[1]) if ids else -1


def main():
    folder = sys.argv[1]
    recto = sys.argv[2] if len(sys.argv) > 2 else "build/cuda/bin/recto"
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    config = pathlib.Path(folder) / "config.json"  # neither side has a tokenizer to ask
    config.write_text(json.dumps(json.loads(config.read_text()) | {"image_token_id": IMAGE}))
    taps = {}
    for dtype in (torch.float32, torch.bfloat16):
        model = DeepseekOcr2ForConditionalGeneration.from_pretrained(folder, dtype=dtype).to("cuda").eval()
        model.generation_config.eos_token_id = None
        ids = inputs(model.config)
        taps[dtype] = run(model, ids, dtype)
        del model
        torch.cuda.empty_cache()
    want, half = taps[torch.float32], taps[torch.bfloat16]
    case = dict(want)
    case["input_ids"] = ids[0].int().cpu()
    save_file(case, pathlib.Path(folder) / "page.safetensors")
    Image.open(GOLDEN / "tiled.png").convert("RGB").save(pathlib.Path(folder) / "page.ppm")

    exact, exact_ids = recto_errors(recto, folder, "fp32")
    ours, our_ids = recto_errors(recto, folder, "bf16")
    print(f"{'tap':26} {'torch bf16':>11} {'recto bf16':>11} {'ratio':>6} {'recto fp32':>11}")
    failed = False
    for name, value in want.items():
        if name == "greedy_64":
            continue
        theirs = rel(half[name], value)
        bad = name.startswith(MAIN) and not ours[name] <= 1.1 * theirs
        failed |= bad
        print(f"{name:26} {theirs:11.3e} {ours[name]:11.3e} {ours[name] / theirs:6.2f} {exact[name]:11.3e} {'FAILED' if bad else ''}")
    same = int((half["greedy_64"] == want["greedy_64"]).sum())
    print(f"greedy ids equal to torch fp32: torch bf16 {same}/{N_NEW}, recto bf16 {our_ids}/{N_NEW}, recto fp32 {exact_ids}/{N_NEW}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
