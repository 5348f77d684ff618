#!/usr/bin/env python3
"""Inputs that stall, never end, are huge or lie about their size, and names that would drive a terminal: each tool ends
soon with status 1 and one printable line, in little memory. Reports TAP."""

import json
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from arguments import parse, parser_of
from tap import Tap

SECONDS = 120
SPACE = 1 << 30  # of addresses, beyond what files map
MOST_BYTES = 1 << 20  # of one allocation for a file of 40 bytes
TERABYTE = 1 << 40


class Runner:
    def __init__(self, tap, work):
        self.tap, self.work = tap, work

    def complaint(self, command, says, stdin=subprocess.DEVNULL, space=SPACE, more=None, status=1, cpu=None):
        def limit():
            if space:
                resource.setrlimit(resource.RLIMIT_AS, (space, space))
            if cpu:
                resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))

        process = subprocess.Popen([os.fsencode(str(part)) if not isinstance(part, bytes) else part for part in command],
                                   cwd=self.work, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   preexec_fn=limit, env=dict(os.environ, **(more or {})))
        try:
            err = process.communicate(timeout=SECONDS)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return f"took over {SECONDS} s"
        try:
            text = err.decode()
        except UnicodeDecodeError:
            return f"stderr is not UTF-8: {err!r}"
        if process.returncode != status:
            return f"status {process.returncode}, stderr {text!r}"
        if status == 0:
            return None
        if text.count("\n") != 1 or not text.startswith(f"{command[0]}: ") or re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text):
            return f"must be one printable line: {text!r}"
        if not re.search(says, text):
            return f"does not say {says!r}: {text!r}"
        return None

    def check(self, name, command, says, **keywords):
        self.tap.report(name, self.complaint(command, says, **keywords))

    def endless(self, name, command, says, start, then):
        """Standard input is `start`, then `then` without an end."""
        program = "import sys\nout = sys.stdout.buffer\nout.write(open(sys.argv[1], 'rb').read())\n" \
                  "block = bytes.fromhex(sys.argv[2]) * 65536\nwhile True: out.write(block)"
        (self.work / "start").write_bytes(start)
        with subprocess.Popen([sys.executable, "-c", program, self.work / "start", then.hex()], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as writer:
            complaint = self.complaint(command, says, stdin=writer.stdout, space=2 * SPACE)
            writer.stdout.close()
            writer.kill()
        self.tap.report(name, complaint)


def copy_with_pipe(data, work, name, pipe):
    """A model folder whose file `pipe` is a pipe that nobody writes."""
    folder = work / name
    shutil.copytree(data, folder)
    (folder / pipe).unlink(missing_ok=True)
    os.mkfifo(folder / pipe)
    return folder


def stalled_pipes(run, data, recipes):
    stories = data / "models/stories260K"
    says = "is a pipe, must be a regular file"
    for i, pipe in enumerate(("model.safetensors", "config.json", "model.safetensors.index.json")):
        folder = copy_with_pipe(stories, run.work, f"pipe{i}", pipe)
        for command in (["mlb-info", folder], ["mlb-info", "--check", folder], ["mlb-quant", folder, "-o", "x.mlb"],
                        ["seed-pack", folder, "-o", "x"], ["ml-run", folder, "-n", "1", "Hi"]):
            if command[:2] == ["mlb-info", "--check"]:
                complaint = run.complaint(command, "1 defect|must be a regular file")
            else:
                complaint = run.complaint(command, says)
            run.tap.report(f"{command[0]}: {pipe} is a pipe" + (", --check" if "--check" in command else ""), complaint)
    for pipe, command in {
            "tokenizer.json": ["mlt-pack", "{}", "-o", "x.mlt"],
            "tokenizer_config.json": ["mlt-pack", "{}", "-o", "x.mlt"],
            "generation_config.json": ["mlt-pack", "{}", "-o", "x.mlt"],
            "chat_template.jinja": ["ml-run", "{}", "--chat", "-n", "1", "Hi"]}.items():
        folder = copy_with_pipe(stories, run.work, "pipe-" + pipe, pipe)
        run.check(f"{command[0]}: {pipe} is a pipe", [part.replace("{}", str(folder)) for part in command], says)
    os.mkfifo(run.work / "pipe")
    run.check("ml-run: the session is a pipe", ["ml-run", stories, "-n", "1", "--session", "pipe", "Hi"], says)
    run.check("seed-pack: the loader is a pipe", ["seed-pack", stories, "-o", "x", "--loader", "pipe"], says)
    folder = copy_with_pipe(data / "oracle/llama2-mha", run.work, "pipe-recipe", "model.safetensors")
    run.check("mog-pack: a source is a pipe", ["mog-pack", recipes / "llama.json", "--root", folder, "-o", "x.mog"], says)
    folder = copy_with_pipe(stories, run.work, "pipe-recipe-tokenizer", "tokenizer.json")
    run.check("mog-pack: the tokenizer is a pipe", ["mog-pack", recipes / "llama.json", "--root", folder, "-o", "x.mog"], says)
    kept = run.work / "kept"
    pack = ["seed-pack", "-q", "--encoding", "seed4", data / "oracle/llama2-mha", "--work", kept]
    subprocess.run([*pack, "-o", run.work / "packed"], check=True, stdin=subprocess.DEVNULL)
    matrix = next(kept.iterdir())
    matrix.unlink()
    os.mkfifo(matrix)
    run.check("seed-pack: kept work is a pipe", [*pack, "-o", "x"], "is no regular file")
    part = run.work / "m-00001-of-00002.gguf"
    write_gguf(part, {"general.architecture": "llama", "split.no": 0, "split.count": 2})
    os.mkfifo(run.work / "m-00002-of-00002.gguf")
    for command in (["mlb-info", part], ["ml-run", part, "--tokens", "1"], ["mlb-quant", part, "-o", "x.mlb"]):
        run.check(f"{command[0]}: a split of a .gguf is a pipe", command, says)


def write_gguf(path, entries, tensors=b"", n_tensors=0):
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    body = b""
    for key, value in entries.items():
        body += text(key) + (struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<IH", 2, value))
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, n_tensors, len(entries)) + body + tensors)


OPERANDS = {
    "mlb-info": ["mlb-info", "{}"],
    "mlb-quant": ["mlb-quant", "{}", "-o", "x.mlb"],
    "mlt-pack": ["mlt-pack", "{}", "-o", "x.mlt"],
    "mlt-encode -m": ["mlt-encode", "-m", "{}", "/dev/null"],
    "mlt-encode": ["mlt-encode", "-m", "{stories}", "{}"],
    "mog-pack": ["mog-pack", "{}", "-o", "x.mog"],
    "imatrix-merge": ["imatrix-merge", "{}", "-o", "x.mli"],
    "seed-pack": ["seed-pack", "{}", "-o", "x"],
    "seed-pack --imatrix": ["seed-pack", "{stories}", "-o", "x", "--encoding", "seed4", "--imatrix", "{}"],
    "mlb-quant --imatrix": ["mlb-quant", "{stories}", "--type", "q4_0", "-o", "x.mlb", "--imatrix", "{}"],
    "ml-run": ["ml-run", "{}", "--tokens", "1"],
    "ml-run -p": ["ml-run", "{stories}", "-p", "{}"],
    "ml-run --session": ["ml-run", "{stories}", "-n", "1", "--session", "{}", "Hi"],
    "ml-eval": ["ml-eval", "{}", "/dev/null"],
    "ml-eval text": ["ml-eval", "{stories}", "{}"],
    "ml-eval --against": ["ml-eval", "{stories}", "{text}", "--against", "{}"],
    "ml-bench": ["ml-bench", "{}", "-p", "1", "-n", "1", "-r", "1"],
    "ml-bench --baseline": ["ml-bench", "{stories}", "-p", "1", "-n", "1", "-r", "1", "--baseline", "{}"],
}
TEXTS = {"mlt-encode", "ml-run -p", "ml-eval text"}


def odd_operands(run, data):
    stories = data / "models/stories260K"
    (run.work / "text").write_text("Once upon a time.\n")
    sparse = run.work / "sparse"
    with open(sparse, "wb") as file:
        file.truncate(TERABYTE)
    (run.work / "empty-folder").mkdir()
    for name, command in OPERANDS.items():
        def fill(operand):
            return [part.replace("{}", str(operand)).replace("{stories}", str(stories)).replace("{text}", "text")
                    for part in command]

        run.check(f"{name}: /dev/zero", fill("/dev/zero"), r"ML_E_(FORMAT|LIMIT|NOMEM|IO)", space=2 * SPACE)
        run.check(f"{name}: a file of 1 TB without data", fill(sparse), r"ML_E_(FORMAT|LIMIT|NOMEM|UNSUPPORTED)",
                  space=None if name not in TEXTS else 2 * SPACE)
        run.check(f"{name}: a folder", fill("empty-folder"), r"ML_E_(IO|FORMAT)")


def endless_input(run, data):
    tiny = data / "oracle/llama2-mha"
    made = run.work / "made"
    made.mkdir()
    subprocess.run(["mlb-quant", "-q", tiny, "-o", made / "a.mlb"], check=True)
    subprocess.run(["ml-run", "-q", tiny, "--tokens", "1,2,3", "--imatrix", made / "a.mli"], check=True)
    mlb, mli = (made / "a.mlb").read_bytes(), (made / "a.mli").read_bytes()
    over = "holds more than [0-9]+ bytes"
    run.endless("a .mlb without end", ["mlb-info", "-"], over, mlb, b"\0")
    run.endless("a .mlb without end, to run", ["ml-run", "-", "--tokens", "1"], over, mlb, b"\0")
    run.endless("an importance matrix without end", ["imatrix-merge", "-", "-o", "x.mli"], over, mli, b"\0")
    run.endless("a recipe without end", ["mog-pack", "-", "-o", "x.mog"], over, b"{", b"  ")
    run.endless("a tokenizer.json without end", ["mlt-pack", "-", "-o", "x.mlt"], over, b"{", b"  ")
    run.endless("letters without end", ["mlb-info", "-"], "as no known format does", b"abc", b"y\n")


def mutants(sound):
    """A file's first 40 bytes, each 32-bit word in turn made large."""
    start = sound[:40].ljust(40, b"\0")
    yield start
    for at in range(4, 40, 4):
        for value in (0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 24):
            yield start[:at] + struct.pack("<I", value) + start[at + 4:]
        if at + 8 <= 40:
            for value in ((1 << 63) - 1, (1 << 64) - 1, 1 << 40):
                yield start[:at] + struct.pack("<Q", value) + start[at + 8:]


# mllogits(5): vocab 2^32 - 1, 16 bits, ctx 1, stride 1, no rows, and the check of that.
ROWLESS = bytes.fromhex("4d4c4c3101000000ffffffff1000000001000000010000000000000000000000" "00000000000000006f7989cb69a572a2")


def rowless_logits(run, data, more):
    """Without rows, nothing in a logit file bounds the vocabulary that its header claims."""
    path = run.work / "rowless.mll"
    path.write_bytes(ROWLESS)
    for options in ([], ["--check"], ["--check", "--json"], ["--tensors"], ["--stats"], ["--hash"]):
        run.check("mlb-info " + " ".join(options + ["a logit file without rows takes no memory"]),
                  ["mlb-info", *options, path], "", more=more, space=SPACE // 2, status=0)
    (run.work / "text").write_text("Once upon a time.\n")
    stories = data / "models/stories260K"
    run.check("ml-eval --against a logit file without rows takes no memory", ["ml-eval", stories, "text", "--against", path],
              "vocabulary of 4294967295 tokens, but", more=dict(more, ML_FAULT_MOST_BYTES=str(64 << 20)), space=SPACE)


def small_files(run, data, recipes, layer):
    tiny = data / "oracle/llama2-mha"
    made = run.work / "made"
    subprocess.run(["mog-pack", "-q", recipes / "llama.json", "--root", tiny, "-o", made / "a.mog"], check=True)
    subprocess.run(["mlt-pack", "-q", data / "models/stories260K", "-o", made / "a.mlt"], check=True)
    write_gguf(made / "a.gguf", {"general.architecture": "llama"})
    stories = data / "models/stories260K"
    subprocess.run(["ml-run", "-q", stories, "-n", "1", "--session", made / "a.session", "Hi"], check=True, stdout=subprocess.DEVNULL)
    (run.work / "text").write_text("Once upon a time.\n")
    subprocess.run(["ml-eval", "-q", stories, run.work / "text", "--save-logits", made / "a.mll"], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(tiny / "model.safetensors", made / "a.safetensors")
    more = {"LD_PRELOAD": str(layer), "ML_FAULT_MOST_BYTES": str(MOST_BYTES)}
    probes = {"a.mlb": ["mlb-info", "{}"], "a.mog": ["mlb-info", "{}"], "a.gguf": ["mlb-info", "{}"],
              "a.safetensors": ["mlb-info", "{}"], "a.mli": ["imatrix-merge", "{}", "-o", "x.mli"],
              "a.mlt": ["mlt-encode", "-m", "{}", "/dev/null"], "a.session": ["mlb-info", "{}"], "a.mll": ["mlb-info", "{}"]}
    n_all = 0
    for name, command in probes.items():
        wrong, n = [], 0
        for mutant in mutants((made / name).read_bytes()):
            path = run.work / ("small-" + name)
            path.write_bytes(mutant)
            complaint = run.complaint([part.replace("{}", str(path)) for part in command], "", more=more, space=SPACE // 2)
            n += 1
            if complaint and not complaint.startswith("status 0, stderr ''"):  # some are sound
                wrong.append(f"{mutant.hex()}: {complaint}")
        n_all += n
        run.tap.report(f"{n} files of 40 bytes like {name} take no memory", "\n".join(wrong[:10]) or None)
    rowless_logits(run, data, more)
    complaint = run.complaint(["mlb-quant", "-q", tiny, "-o", "made/b.mlb"], "", more=dict(more, ML_FAULT_MOST_BYTES="1000"), status=99)
    run.tap.report("the layer sees an allocation that is too large", complaint and None if complaint is None or "one printable" in complaint else complaint)
    return n_all


def large_files(run, read_all):
    """Offsets over 4 GiB: a tensor that ends there and one behind it."""
    n = (1 << 32) + (1 << 20)
    header = json.dumps({"big": {"dtype": "U8", "shape": [n], "data_offsets": [0, n]},
                         "small": {"dtype": "F32", "shape": [4], "data_offsets": [n, n + 16]}}).encode()
    header += b" " * (-len(header) % 8)
    path = run.work / "large.safetensors"
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.seek(n, os.SEEK_CUR)
        file.write(struct.pack("<4f", 1, 2, 3, 6))
    out = subprocess.run(["mlb-info", "--tensors", "--json", path], capture_output=True, check=False, timeout=SECONDS)
    row = {}
    if out.returncode == 0:
        row = {array["name"]: array for array in json.loads(out.stdout)["tensors"]}.get("small", {})
    right = row.get("offset") == 8 + len(header) + n
    run.tap.report("a tensor behind 4 GiB", None if right else f"{out.returncode}, {row}, {out.stderr!r}")
    with open(path, "r+b") as file:
        file.truncate((1 << 32) + 100)
    run.check("a file cut behind 4 GiB", ["mlb-info", path], "ML_E_FORMAT", space=None)
    if read_all:
        run.check("a file of 4 GiB is read to its end", ["mlb-info", "--hash", path], "ML_E_FORMAT", space=None)


def one_copy(run):
    """Weights are used where they are mapped."""
    n = 96 << 20  # a .mlb that is mostly one embedding
    folder = run.work / "wide"
    folder.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 32,
              "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": n // 128,
              "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"model.embed_tokens": [n // 128, 32], "model.norm": [32]}
    for part, rows in {"input_layernorm": 0, "post_attention_layernorm": 0, **{f"self_attn.{c}_proj": 32 for c in "qkvo"},
                       **{f"mlp.{c}_proj": 32 for c in ("gate", "up", "down")}}.items():
        shapes["model.layers.0." + part] = [rows, 32] if rows else [32]
    header, end = {}, 0
    for name, shape in shapes.items():
        size = 4
        for dimension in shape:
            size *= dimension
        header[name + ".weight"] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for begin in range(0, end, 1 << 20):  # little at a time: what this process takes counts for those it starts
            file.write(b"\0\0\x80\x3c" * (min(1 << 20, end - begin) // 4))
    subprocess.run(["mlb-quant", "-q", folder, "-o", "wide.mlb"], cwd=run.work, check=True)
    for model in (folder, run.work / "wide.mlb"):
        file = model / "model.safetensors" if model.is_dir() else model
        with open(os.devnull, "wb") as null:
            process = subprocess.Popen(["ml-run", model, "--tokens", "1,2", "-n", "2", "--ids"], stdout=null)
            _, status, usage = os.wait4(process.pid, 0)
        most = file.stat().st_size + (50 << 20)
        used = usage.ru_maxrss * 1024
        run.tap.report(f"{model.name}: weights are in memory once",
                       None if status == 0 and used <= most else f"status {status}, {used} bytes, may be {most}")


NAMES = {"a newline": b"a\nb", "an escape": b"a\x1b[2Jb", "bytes that are no UTF-8": b"a\xff\xfeb", "a C1 control": "a\x9b2Jb".encode(),
         "a name too long": b"n" * 300, "a path too long": b"n/" * 4000}


def odd_names(run, data):
    stories = data / "models/stories260K"
    for what, name in NAMES.items():
        wrong = []
        for tool, command in OPERANDS.items():
            if tool == "ml-run --session":
                continue  # a missing one is made
            arguments = [name if part == "{}" else part.replace("{stories}", str(stories)).replace("{text}", "text")
                         for part in command]
            complaint = run.complaint(arguments, "No such file|too long|cannot|is no folder")
            if complaint:
                wrong.append(f"{tool}: {complaint}")
        run.tap.report(f"{what} in a missing file's name", "\n".join(wrong) or None)
        if len(name) < 256:
            (run.work / os.fsdecode(name)).write_bytes(b"x" * 40)
            wrong = []
            for tool in ("mlb-info", "mlb-quant", "mlt-pack", "imatrix-merge", "ml-run", "seed-pack"):
                arguments = [name if part == "{}" else part for part in OPERANDS[tool]]
                complaint = run.complaint(arguments, "")
                if complaint:
                    wrong.append(f"{tool}: {complaint}")
            run.tap.report(f"{what} in a bad file's name", "\n".join(wrong) or None)


def main():
    parser = parser_of(__doc__, "layer", "data", "recipes")
    parser.add_argument("--all", action="store_true", help="also what reads gigabytes")
    options = parse(parser)
    data, recipes = options.data, options.recipes
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="ml-resources-") as folder:
        run = Runner(tap, pathlib.Path(folder))
        stalled_pipes(run, data, recipes)
        odd_operands(run, data)
        endless_input(run, data)
        small_files(run, data, recipes, options.layer)
        large_files(run, options.all)
        one_copy(run)
        odd_names(run, data)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
