#!/usr/bin/env python3
"""What every way to quantize costs, model by model, as Markdown tables; ml-quality(7) tells of them.

usage: quality.py --tools FOLDER --calibration TEXT [--llama FOLDER | --packed] TEXT MODEL...

A MODEL is a checkpoint folder, TEXT what it is judged by. Importance is collected on the calibration text alone, and the classes
of the mixed row are chosen there. Both texts have their stories between blank lines. --llama names llama.cpp's folder of
programs; its quantizer reads the same weights, the FFN filled up with zeros where mlb-quant does so. --packed prints the
table of the encodings that seed-pack writes instead, each with 8-bit and with float activations.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

CLASSES = ["tok_emb", "wcls", "qk", "v", "o", "gate_up", "down"]  # mlb-quant --q8
PACKED = ["bf16", "q8", "q4", "q4g32", "seed4p4", "seed4"]  # seed-pack --encoding
CHOICE_BYTES = 60000  # of the calibration text, to choose the classes by
GGUF_WRITER = pathlib.Path(__file__).parent.parent / "formats" / "make_gguf.py"


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip() or f"{command[0]}: exit status {done.returncode}").splitlines()[-1])
    return done.stdout


def pad_ffn(source, target):
    """A copy of a checkpoint of one file with an FFN width that is a multiple of 32; False where it is one already."""
    config = json.loads((source / "config.json").read_text())
    width = config["intermediate_size"]
    padded = -width % 32
    if padded == 0:
        return False
    data = (source / "model.safetensors").read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header, body = json.loads(data[8:8 + length]), b""
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        values = data[8 + length + begin:8 + length + end]
        if ".mlp." in name:
            rows, cols = tensor["shape"]
            pitch = len(values) // rows
            zeros = bytes(pitch // cols * padded)
            if name.endswith("down_proj.weight"):
                values = b"".join(values[at:at + pitch] + zeros for at in range(0, len(values), pitch))
                tensor["shape"] = [rows, cols + padded]
            else:
                values += bytes(pitch * padded)
                tensor["shape"] = [rows + padded, cols]
        tensor["data_offsets"] = [len(body), len(body) + len(values)]
        body += values
    text = json.dumps(header).encode()
    target.mkdir()
    (target / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)
    (target / "config.json").write_text(json.dumps(config | {"intermediate_size": width + padded}))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (target / name).write_bytes((source / name).read_bytes())
    return True


class Judge:
    """A text and the logits of the checkpoint for it."""

    def __init__(self, bench, text, name):
        self.bench, self.text, self.base = bench, text, bench.work / f"{name}.logits"
        self.own = self.eval(bench.model, "--save-logits", self.base, "--bits", "32", "-f")

    def eval(self, file, *more):
        bench = self.bench
        return json.loads(run([bench.tool("ml-eval"), file, "-m", bench.model / "tokenizer.json", self.text, "--split",
                               "\\n\\n", "-c", bench.ctx, "-t", bench.threads, "-q", "--json", *more]))

    def against(self, file, *more):
        return self.eval(file, "--against", self.base, *more)


class Bench:
    def __init__(self, options, model, work):
        self.tools, self.threads, self.ctx = options.tools, options.threads, options.ctx
        self.calibration, self.model, self.work = options.calibration, model, work
        info = self.info(model)
        self.n_weights = info["n_weights"]
        shared = info["model"]["shared_classifier"]
        self.class_names = [name for name in CLASSES if name != "wcls" or not shared]
        self.judge = Judge(self, options.text, "judge")
        self.imatrix, self.without = work / "model.mli", None
        try:
            run([self.tool("ml-run"), model, "--imatrix", self.imatrix, "-p", self.calibration, "--chunk", self.ctx,
                 "-t", self.threads, "-q"])
        except RuntimeError as error:
            self.imatrix, self.without = None, str(error).replace(f"{model}: ", "")

    def tool(self, name):
        return self.tools / name

    def info(self, file):
        return json.loads(run([self.tool("mlb-info"), "--json", file]))

    def n_bytes(self, file):
        return sum(row["n_bytes"] for row in self.info(file)["encodings"])

    def quant(self, *options):
        """A .mlb; with "imatrix" among the options by importance. None where there is none."""
        if "imatrix" in options and self.imatrix is None:
            return None
        words = [word for word in options if word != "imatrix"]
        words += ["--imatrix", self.imatrix] if "imatrix" in options else []
        file = self.work / "model.mlb"
        run([self.tool("mlb-quant"), self.model, "-o", file, "-f", "-q", "-t", self.threads, *words])
        return file

    def row(self, name, file, *more):
        if file is None:
            print(f"| {name} | - | - | - | - | - | - |", flush=True)
            return
        result = self.judge.own | {"kl": None} if file == self.model else self.judge.against(file, *more)
        n_bytes = self.n_bytes(file)
        cells = [name, f"{n_bytes / 1000:.1f}", f"{8 * n_bytes / self.n_weights:.2f}", f"{result['perplexity']['mean']:.4f}"]
        kl = result["kl"]
        if kl is None:
            cells += ["0", "0", "100"]
        else:
            cells += [f"{1000 * kl['mean']:.3f} ± {1000 * kl['error']:.3f}", f"{1000 * kl['p99']:.2f}",
                      f"{100 * result['top1_agreement']['mean']:.2f}"]
        print("| " + " | ".join(cells) + " |", flush=True)

    def pack(self, encoding, weigh):
        """A folder of that encoding; with weigh by importance."""
        folder = self.work / "packed"
        more = ["--imatrix", self.imatrix] if weigh else []
        run([self.tool("seed-pack"), self.model, "-o", folder, "--encoding", encoding, "-f", "-q", "-t", self.threads, *more])
        return folder

    def classes(self):
        """What Q8_0 for one class alone brings on the calibration text; the classes above the mean of all."""
        part = self.work / "choice.txt"
        part.write_bytes(self.calibration.read_bytes()[:CHOICE_BYTES].rpartition(b"\n\n")[0])
        choice = Judge(self, part, "choice")
        way = ["--type", "q4_0", "--q4-rule", "best"] + (["imatrix"] if self.imatrix else [])

        def measure(*more):
            file = self.quant(*way, *more)
            return choice.against(file)["kl"]["mean"], self.n_bytes(file)

        kl, size = measure()
        rows = []
        for name in [*self.class_names, ",".join(self.class_names)]:
            less, more = measure("--q8", name)
            rows.append((name, kl - less, more - size))
        mean = rows[-1][1] / rows[-1][2]
        print("\n| Q8_0 | kB more | KL less, 1/1000 | a kB | pays |\n|---|---|---|---|---|")
        chosen = []
        for name, gain, cost in rows:
            pays = name in self.class_names and gain / cost > mean
            chosen += [name] if pays else []
            print(f"| {name if name in self.class_names else 'all'} | {cost / 1000:.1f} | {1000 * gain:.2f} | "
                  f"{1e6 * gain / cost:.3f} | {'yes' if pays else ''} |")
        print(f"\nMixed: {', '.join(chosen)} in Q8_0, the rest by best.\n", flush=True)
        return ",".join(chosen)


def peer_rows(bench, folder, floats):
    padded, source = bench.work / "padded", bench.work / "f32.gguf"
    model = padded if pad_ffn(bench.model, padded) else bench.model
    run([sys.executable, GGUF_WRITER, model, source, "--type", "f32", "--usual", "--tokenizer"])
    imatrix = bench.work / "imatrix.gguf"
    run([folder / "llama-imatrix", "-m", source, "-f", bench.calibration, "-o", imatrix, "-c", bench.ctx, "-b", bench.ctx,
         "-t", bench.threads, "--process-output", "--no-ppl"])

    def quant(*options):
        file = bench.work / "peer.gguf"
        run([folder / "llama-quantize", "--pure", *options, source, file, "Q4_0", bench.threads])
        return file

    bench.row("llama.cpp", quant())
    bench.row("llama.cpp + imatrix", quant("--imatrix", imatrix))
    bench.row("llama.cpp + imatrix, float activations", quant("--imatrix", imatrix), *floats)
    bench.row("llama.cpp + imatrix, token_embd Q8_0", quant("--imatrix", imatrix, "--token-embedding-type", "q8_0"))


HEAD = "| encoding | kB | bits | perplexity | KL, 1/1000 | 99 % | top 1 |\n|---|---|---|---|---|---|---|"


def packed_table(bench):
    print(HEAD)
    bench.row("checkpoint", bench.model)
    for encoding in PACKED:
        for weigh in [False, True] if encoding.startswith("seed") and bench.imatrix else [False]:
            folder = bench.pack(encoding, weigh)
            name = f"{encoding}{' + imatrix' if weigh else ''}"
            bench.row(name, folder)
            bench.row(f"{name}, float activations", folder, "--acts", "f32", "--kv", "f16")


def table(bench, llama):
    q4 = ["--type", "q4_0", "--q4-rule"]
    half = ["--scales", "f16"]
    floats = ["--acts", "f32", "--kv", "f16"]
    mixed = bench.classes()
    print(HEAD)
    bench.row("checkpoint", bench.model)
    bench.row("Q8_0", bench.quant("--type", "q8_0"))
    bench.row("round", bench.quant(*q4, "round"))
    for rule in ("search", "best"):
        bench.row(rule, bench.quant(*q4, rule))
        bench.row(f"{rule} + imatrix", bench.quant(*q4, rule, "imatrix"))
    weigh = ["imatrix"] if bench.imatrix else []
    weighed = " + imatrix" if weigh else ""
    bench.row(f"mixed{weighed}", bench.quant(*q4, "best", *weigh, "--q8", mixed))
    bench.row("round, f16", bench.quant(*q4, "round", *half))
    for rule in ("search", "best"):
        bench.row(f"{rule}, f16", bench.quant(*q4, rule, *half))
        bench.row(f"{rule} + imatrix, f16", bench.quant(*q4, rule, "imatrix", *half))
    bench.row(f"search{weighed}, f16, float activations", bench.quant(*q4, "search", *weigh, *half), *floats)
    for rule in ("search", "best"):
        bench.row(f"{rule}{weighed}, f16, tok_emb Q8_0", bench.quant(*q4, rule, *weigh, *half, "--q8", "tok_emb"))
    if llama is not None:
        peer_rows(bench, llama, floats)
    if bench.without is not None:
        print(f"\nNo importance: {bench.without}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ml-run, ml-eval, mlb-quant, mlb-info, seed-pack")
    parser.add_argument("--calibration", type=pathlib.Path, required=True)
    parser.add_argument("--llama", type=pathlib.Path)
    parser.add_argument("--packed", action="store_true")
    parser.add_argument("--ctx", type=int, default=256)
    parser.add_argument("-t", "--threads", type=int, default=1)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    for model in options.models:
        if not (model / "config.json").is_file():
            parser.error(f"{model} is no checkpoint folder")
        with tempfile.TemporaryDirectory() as work:
            print(f"## {model.name}", flush=True)
            bench = Bench(options, model, pathlib.Path(work))
            if options.packed:
                packed_table(bench)
            else:
                table(bench, options.llama)
            print()


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(str(error))
