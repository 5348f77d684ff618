#!/usr/bin/env python3
"""Inputs with very many parts of one kind, as no model has them: each tool takes time in proportion, so that it ends soon,
with what it was asked for or with one printable line. Reports TAP."""

import json
import pathlib
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from arguments import parse, parser_of
from collisions import byte_level, murmur_texts, xxh3_words
from json_values import parts, whole
from resources import Runner
from tap import Tap

MANY = 200_000
CPU_SECONDS = 30  # a second or two is usual, the square of MANY takes minutes
SPACE = 4 << 30
SMALL_SPACE = 400 << 20
FOLDER = [["ml-run", "{}", "-q", "--tokens", "1", "-n", "1"], ["mlb-info", "--json", "{}"], ["mlb-info", "--check", "{}"],
          ["mlb-quant", "{}", "-q", "-f", "-o", "x.mlb"], ["seed-pack", "{}", "-q", "--encoding", "q8", "-f", "-o", "x"],
          ["mog-pack", "{recipe}", "--root", "{}", "-q", "-f", "-o", "x.mog"]]
TOKENIZER = [["mlt-pack", "{}", "-q", "-f", "-o", "x.mlt"], ["ml-run", "{}", "-q", "-n", "1", "Hello"]]
PIECES = [["mlt-pack", "{}", "-q", "-f", "-o", "x.mlt"], ["mlt-encode", "-m", "{}"]]
GGUF = [["mlb-info", "--json", "{}"], ["ml-run", "{}", "-q", "--tokens", "1"], ["mlb-quant", "{}", "-q", "-f", "-o", "x.mlb"],
        ["mlt-pack", "{}", "-q", "-f", "-o", "x.mlt"], ["imatrix-merge", "{}", "-q", "-f", "-o", "x.mli"]]


def texts(prefix):
    return [f"{prefix}{i}" for i in range(MANY)]


class Parts:
    def __init__(self, run, data, recipe):
        self.run, self.data, self.recipe = run, data, recipe

    def check(self, name, path, commands, **keywords):
        """Runs the commands with the path for {}."""
        wrong = []
        for command in commands:
            command = [part.format(path, recipe=self.recipe) for part in command]
            complaint = self.run.complaint(command, "", space=SPACE, cpu=CPU_SECONDS, **keywords)
            if complaint and not complaint.startswith("status 0,"):
                wrong.append(f"{' '.join(command)}: {complaint}")
        self.run.tap.report(f"many {name}", "\n".join(wrong) or None)

    def folder(self, name, model, commands, file, change, **keywords):
        """A copy of the model whose JSON text `file` is changed."""
        folder = self.run.work / name.replace(" ", "-").replace("'", "")
        shutil.copytree(self.data / model, folder)
        path = folder / file
        value = json.loads(path.read_text()) if path.exists() else {}
        change(value)
        path.write_text(json.dumps(value))
        self.check(name, folder, commands, **keywords)

    def safetensors(self, name, change):
        folder = self.run.work / name.replace(" ", "-")
        shutil.copytree(self.data / "oracle/llama2-mha", folder)
        weights = folder / "model.safetensors"
        header, rest = parts(weights.read_bytes())
        weights.write_bytes(whole(header, rest + change(header, len(rest))))
        self.check(name, folder, FOLDER)


def shards(folder):
    """A checkpoint of no family: an index and many small files."""
    folder.mkdir()
    names = [f"model-{i:05}.safetensors" for i in range(MANY * 3 // 20)]
    for i, name in enumerate(names):
        header = {f"t{i}": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
        (folder / name).write_bytes(whole(header, bytes(4)))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {f"t{i}": name for i, name in enumerate(names)}}))
    (folder / "config.json").write_text("{}")
    return folder


def json_texts(check):
    one = dict.fromkeys(texts("key"), 1)
    check.folder("keys of config.json", "oracle/llama2-mha", FOLDER, "config.json", lambda config: config.update(one))
    check.folder("keys in config.json", "oracle/llama2-mha", FOLDER, "config.json", lambda config: config.update(extra=one))
    check.folder("layer_types", "oracle/llama2-mha", FOLDER[:2], "config.json", lambda config: config.update(layer_types=["full_attention"] * MANY))
    first = "model-00001-of-00002.safetensors"
    for name, shard, commands in (("tensors of an index", lambda i: first, FOLDER), ("shards", "model-x{}.safetensors".format, FOLDER[:2])):
        check.folder(name, "oracle/mistral-sliding", commands, "model.safetensors.index.json",
                     lambda index: index["weight_map"].update({f"t{i}": shard(i) for i in range(MANY)}))
    check.check("shards of one tensor", shards(check.run.work / "one-each"), [["mlb-info", "--check", "{}"]])
    stories = "models/stories260K"
    check.folder("ends of a text", stories, TOKENIZER, "generation_config.json", lambda config: config.update(eos_token_id=[*range(3, MANY), 2]))

    def add_tokens(tokenizer):
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        tokenizer["added_tokens"] += [{"id": 512 + i, "content": text, "special": True, **flags} for i, text in enumerate(texts("<t"))]

    def add_merges(tokenizer):
        tokenizer["model"]["merges"] += tokenizer["model"]["merges"][:1] * MANY

    def add_vocab(tokenizer):
        tokenizer["model"]["vocab"].update((text, 512 + i) for i, text in enumerate(texts("zz")))

    for name, change in {"added tokens": add_tokens, "merges": add_merges, "tokens": add_vocab}.items():
        check.folder(name, stories, TOKENIZER, "tokenizer.json", change)
    recipe = json.loads(pathlib.Path(check.recipe).read_text())
    for name, changed in {"keys of a recipe": {**recipe, **one}, "entries of a recipe": {**recipe, "tensors": recipe["tensors"] * (MANY // 20)}}.items():
        path = check.run.work / name.replace(" ", "-")
        path.write_text(json.dumps(changed))
        check.check(name, path, [["mog-pack", "{}", "--root", str(check.data / "oracle/llama2-mha"), "-q", "-f", "-o", "x.mog"]])


def headers(check):
    def add_tensors(header, end):
        header.update((text, {"dtype": "F32", "shape": [1], "data_offsets": [end + 4 * i, end + 4 * i + 4]}) for i, text in enumerate(texts("t")))
        return bytes(4 * MANY)

    def add_metadata(header, end):
        header["__metadata__"] = dict.fromkeys(texts("key"), "x")
        return b""

    check.safetensors("tensors of a shard", add_tensors)
    check.safetensors("metadata of a shard", add_metadata)


def gguf(values, tensors=()):
    """A file without a model's weights. @param values  texts, lists of texts, of int32 or of float32; bytes are a list of bools"""
    def text(value):
        return struct.pack("<Q", len(value.encode())) + value.encode()

    body = []
    for key, value in values.items():
        body.append(text(key))
        if isinstance(value, str):
            body.append(struct.pack("<I", 8) + text(value))
        elif isinstance(value, bytes):
            body.append(struct.pack("<IIQ", 9, 7, len(value)) + value)
        elif isinstance(value[0], str):
            body.append(struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value)))
        elif isinstance(value[0], float):
            body.append(struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value))
        else:
            body.append(struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value))
    body += [text(name) + struct.pack("<IQIQ", 1, 8, 0, 32 * i) for i, name in enumerate(tensors)]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(body)
    return head + bytes(-len(head) % 32 + 32 * len(tensors))


def ggufs(check):
    llama = {"general.architecture": "llama"}
    tokens = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": texts("t"),
              "tokenizer.ggml.token_type": [1] * MANY}
    for name, file in {
            "values of a .gguf": gguf({**llama, **dict.fromkeys(texts("key"), "v")}),
            "tensors of a .gguf": gguf(llama, texts("t")),
            "tensors of an imatrix": gguf({"general.type": "imatrix"}, [text for i in range(MANY // 2) for text in (f"blk.{i}.attn_q.weight.in_sum2", f"blk.{i}.attn_q.weight.counts")]),
            "datasets of an imatrix": gguf({"general.type": "imatrix", "imatrix.datasets": texts("set")}),
            "tokens of a .gguf": gguf({**llama, **tokens, "tokenizer.ggml.merges": ["a b"]}),
            "merges of a .gguf": gguf({**llama, **tokens, "tokenizer.ggml.merges": [f"t {i}" for i in range(MANY)]}),
            "user's tokens of a .gguf": gguf({**llama, **tokens, "tokenizer.ggml.token_type": [4] * MANY, "tokenizer.ggml.merges": ["a b"]}),
            "unused tokens of a .gguf": gguf({**llama, **tokens, "tokenizer.ggml.token_type": [5] * MANY, "tokenizer.ggml.merges": ["a b"]}),
            "texts of a .gguf": gguf({**llama, "general.tags": texts("tag")})}.items():
        path = check.run.work / "many.gguf"
        path.write_bytes(file)
        check.check(name, path, GGUF)


def collisions(check):
    """Names and tokens that meet in one place of a table, where its hash is the same in every process."""
    names = murmur_texts(MANY)

    def add_tensors(header, end):
        header.update((name, {"dtype": "F32", "shape": [0], "data_offsets": [end, end]}) for name in names)
        return b""

    def add_vocab(tokenizer):
        tokenizer["model"]["vocab"].update((name, 512 + i) for i, name in enumerate(names))

    def add_pieces(tokenizer):
        vocab = tokenizer["model"]["vocab"]
        tokenizer["model"].update(ignore_merges=True)
        vocab.update((byte_level(word), i) for i, word in enumerate(xxh3_words(MANY, 24), len(vocab)))

    check.safetensors("tensors of one hash", add_tensors)
    check.folder("tokens of one hash", "models/stories260K", TOKENIZER, "tokenizer.json", add_vocab)
    check.folder("pieces of one hash", "tokenizers/gpt2", PIECES, "tokenizer.json", add_pieces, status=0)
    llama = {"general.architecture": "llama"}
    for name, file in {"values of one hash in a .gguf": gguf({**llama, **dict.fromkeys(names, "v")}), "tensors of one hash in a .gguf": gguf(llama, names)}.items():
        path = check.run.work / "many.gguf"
        path.write_bytes(file)
        check.check(name, path, GGUF)


def lines(check):
    stories = str(check.data / "models/stories260K")
    file = check.run.work / "lines"
    for name, text, command in (
            ("tokens of a job", json.dumps({"tokens": [1] * MANY, "n": 0}), ["ml-run", stories, "-q", "--jsonl"]),
            ("stops of a job", json.dumps({"tokens": [1], "n": 2, "stop": texts("stop")}), ["ml-run", stories, "-q", "--jsonl"]),
            ("keys of a job", json.dumps(dict.fromkeys(texts("key"), 1)), ["ml-run", stories, "-q", "--jsonl"]),
            ("jobs", '{"tokens": [1], "n": 0}\n' * (MANY // 20), ["ml-run", stories, "-q", "--jsonl"]),
            ("ids", json.dumps({"ids": [1] * MANY}), ["mlt-encode", "-m", stories, "--decode", "--format", "jsonl"]),
            ("ids in decimal", "1 " * MANY, ["mlt-encode", "-m", stories, "--decode"]),
            ("words", "word " * MANY, ["mlt-encode", "-m", stories]),
            ("letters of a word", "a" * MANY, ["mlt-encode", "-m", stories]),
            ("blanks", " " * MANY, ["mlt-encode", "-m", stories]),
            ("lines", "\n" * MANY, ["mlt-encode", "-m", stories])):
        file.write_text(text + "\n")
        with open(file, "rb") as stdin:
            check.check(name, "", [command], stdin=stdin)
    for name, text in {"keys of a result": json.dumps(dict.fromkeys(texts("key"), 1)), "results": '{"sums":1}\n' * MANY,
                       "levels of a result": "[" * MANY}.items():
        file.write_text(text)
        check.check(name, file, [["ml-eval", "--merge", "{}"], ["ml-bench", stories, "-p", "1", "-n", "0", "-r", "1", "--baseline", "{}"]])


def templates(check):
    folder = check.run.work / "template"
    shutil.copytree(check.data / "models/stories260K", folder)
    for name, template in {
            "statements of a template": "{% set a = 1 %}" * MANY, "items of a list": "{{ [" + "1," * MANY + "] | length }}",
            "parts of a sum": "{{ " + "1+" * MANY + "1 }}", "keys of a dict": "{{ {" + ",".join(f"'{text}':1" for text in texts("k")) + "} | length }}",
            "branches": "{% if false %}" + "{% elif false %}" * MANY + "{% endif %}", "filters": "{{ 'a'" + "|trim" * MANY + " }}",
            "calls": "{{ 'a'" + ".strip()" * MANY + " }}", "variables": "".join("{% set " + text + "=1 %}" for text in texts("v"))}.items():
        (folder / "chat_template.jinja").write_text(template)
        check.check(name, folder, [["ml-run", "{}", "-q", "-n", "1", "--chat", "Hi"]])


def small_causes(check):
    """Inputs of a few bytes, or of a megabyte, that would make gigabytes: a refusal by name comes before the memory's end."""
    def refused(name, command, says, status=1):
        complaint = check.run.complaint([str(part) for part in command], says, space=SMALL_SPACE, cpu=CPU_SECONDS, status=status)
        check.run.tap.report(f"little memory for {name}", complaint)

    folder = check.run.work / "template"
    for name, template in {"control characters in a list": r"{{ ['\x01' * 1000000] * 140 }}", "control characters as JSON": r"{{ ('\x01' * 60000000) | tojson }}",
                           "a list in lists": "{% set t = ['a' * 1000000] * 140 %}" + "{% set t = [t] %}" * 90 + "{{ t }}"}.items():
        (folder / "chat_template.jinja").write_text(template)
        refused(name, ["ml-run", folder, "-q", "-n", "1", "--chat", "Hi"], "the template makes too much text")
    long_key = check.run.work / "long-key"
    shutil.copytree(check.data / "oracle/llama2-mha", long_key)
    config = json.loads((long_key / "config.json").read_text())
    (long_key / "config.json").write_text(json.dumps({**config, "k" * 100_000: dict.fromkeys(texts("")[:10_000], 1)}))
    refused("keys below a long one", ["mlb-info", long_key], "", status=0)
    recipe = json.loads(pathlib.Path(check.recipe).read_text())
    entry = {"name": "layers.{i}.attn_norm", "file": "weights", "path": "x" * 1_000_000, "encoding": "f32"}
    recipe["tensors"] = [{"for": "i", "range": [0, 3000], "entries": [entry]}]
    path = check.run.work / "recipe"
    path.write_text(json.dumps(recipe))
    refused("texts of a recipe", ["mog-pack", path, "--root", check.data / "oracle/llama2-mha", "-q", "-o", "x.mog"], "makes texts of more than")
    runs = ["x" * n for n in range(1, 500)]
    vocab = check.run.work / "runs.gguf"
    vocab.write_bytes(gguf({"general.architecture": "llama", "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": runs,
                            "tokenizer.ggml.scores": [-float(n) for n in range(len(runs))]}))
    flags = bytes([1]) * 20_000_000
    path = check.run.work / "flags.gguf"
    path.write_bytes(gguf({"general.architecture": "llama", "flags": flags}))
    refused("elements of an array", ["mlb-info", path], "", status=0)
    sizes = ("block_count", "feed_forward_length", "attention.head_count", "context_length", "attention.layer_norm_rms_epsilon")
    path.write_bytes(gguf({"general.architecture": "gemma2", **{f"gemma2.{key}": [2] for key in sizes}, "gemma2.embedding_length": [64],
                           "gemma2.attention.sliding_window_pattern": flags}, ["token_embd.weight"]))
    refused("windows of layers", ["ml-run", path, "--tokens", "1"], "sliding_window_pattern is an array of 20000000 bool, must be an array of 2 elements")
    refused("cuts of tokens", ["mlt-pack", vocab, "-q", "-o", "x.mlt"], "can be cut into two others")


def main():
    options = parse(parser_of(__doc__, "data", "recipes"))
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="ml-many-") as folder:
        check = Parts(Runner(tap, pathlib.Path(folder)), options.data, str(options.recipes / "llama.json"))
        for group in (json_texts, headers, ggufs, collisions, lines, templates, small_causes):
            group(check)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
