#!/usr/bin/env python3
"""Every value of the JSON texts that tools read is replaced by others, of the wrong kind, empty, negative, huge: each tool ends
soon, with what it was asked for or with one printable line, and takes no more memory than the sound text does. Reports TAP."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from arguments import parse, parser_of
from resources import Runner, SPACE
from tap import Tap

MOST_BYTES = 16 << 20  # of one allocation; the sound texts take less
VALUES = [None, True, -1, 0, 1, 0x7FFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 64, 0.5, -1e308, "", "\x1b[2J", "x" * 300, [], [[]], {}, {"": 0}]
N_TENSORS = 8  # of a safetensors header
FEW = 4  # children of one container that are tried: its first ones


def places(node, at=()):
    """The paths of a document's values."""
    if at:
        yield at
    if isinstance(node, (dict, list)):
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in list(keys)[:None if len(keys) < 40 else FEW]:
            yield from places(node[key], (*at, key))


def replaced(document, at, value):
    copy = json.loads(json.dumps(document))
    node = copy
    for key in at[:-1]:
        node = node[key]
    node[at[-1]] = value
    return copy


def parts(safetensors):
    n_bytes = int.from_bytes(safetensors[:8], "little")
    return json.loads(safetensors[8:8 + n_bytes]), safetensors[8 + n_bytes:]


def whole(header, rest):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + rest


def packed(run, folder):
    """The folder's model in SEED4P4."""
    subprocess.run(["seed-pack", folder, "--encoding", "seed4p4", "-q", "-o", run.work / "packed"], check=True)
    return run.work / "packed"


def try_all(run, name, document, write, command, more, stdin=None):
    """@param write  puts a document where the command finds it
    @param stdin  the file that is standard input, written anew each time
    """
    wrong, n = [], 0
    for i, at in enumerate(places(document)):
        for value in VALUES[i % run.step::run.step]:
            write(replaced(document, at, value))
            if stdin is None:
                complaint = run.complaint(command, "", more=more, space=SPACE)
            else:
                with open(stdin, "rb") as source:
                    complaint = run.complaint(command, "", more=more, space=SPACE, stdin=source)
            n += 1
            if complaint and not complaint.startswith("status 0,"):
                wrong.append(f"{'.'.join(str(key) for key in at)} = {value!r}: {complaint}")
    run.tap.report(f"{n} values in {name}", "\n".join(wrong[:10]) or None)


def main():
    parser = parser_of(__doc__, "layer", "data", "recipes")
    parser.add_argument("--step", type=int, default=1, help="of so many values try one, another for each place")
    options = parse(parser)
    data = options.data
    more = {"LD_PRELOAD": str(options.layer), "ML_FAULT_MOST_BYTES": str(MOST_BYTES)}
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="ml-json-") as folder:
        run = Runner(tap, pathlib.Path(folder))
        run.step = options.step
        for family, file in {"oracle/llama2-mha": "config.json", "oracle/qwen35-hybrid": "config.json", "oracle/gemma3-text": "config.json",
                             "mova/mova-mla": "config.json", "oracle/mistral-sliding": "model.safetensors.index.json",
                             "models/stories260K": "generation_config.json"}.items():
            model = run.work / family.replace("/", "-")
            shutil.copytree(data / family, model)
            sound = json.loads((model / file).read_text()) if (model / file).exists() else {"eos_token_id": [2, 3], "bos_token_id": 1}
            try_all(run, f"{file} of {family}", sound, lambda document: (model / file).write_text(json.dumps(document)),
                    ["ml-run", model, "--tokens", "1,2", "-n", "1", "--ids", "-q", "--ctx", "16"], more)
        for name, model in {"a safetensors header": data / "oracle/llama2-mha", "a header of seeds": packed(run, data / "oracle/llama2-mha")}.items():
            folder = run.work / name.replace(" ", "-")
            shutil.copytree(model, folder)
            weights = min(folder.glob("*.safetensors"))
            header, rest = parts(weights.read_bytes())
            few = {key: header[key] for key in [*header][:N_TENSORS]}
            try_all(run, name, few, lambda document: weights.write_bytes(whole({**header, **document}, rest)),
                    ["ml-run", folder, "--tokens", "1,2", "-n", "1", "--ids", "-q", "--ctx", "16"], more)
        stories = run.work / "stories"
        shutil.copytree(data / "models/stories260K", stories)
        tokenizer = stories / "tokenizer.json"
        try_all(run, "tokenizer.json", json.loads(tokenizer.read_text()), lambda document: tokenizer.write_text(json.dumps(document)),
                ["mlt-pack", "-q", "-f", tokenizer, "-o", "x.mlt"], more)
        recipe = run.work / "recipe.json"
        try_all(run, "a recipe", json.loads((options.recipes / "llama.json").read_text()),
                lambda document: recipe.write_text(json.dumps(document)),
                ["mog-pack", "-q", "-f", recipe, "--root", data / "oracle/llama2-mha", "-o", "x.mog"], more)
        line = run.work / "line"
        job = {"id": 1, "prompt": "Once", "n": 2, "temp": 0.5, "top_k": 4, "top_p": 0.9, "min_p": 0.1, "repeat_penalty": 1.1, "seed": 7,
               "stop": ["a", "b"]}
        try_all(run, "a line of --jsonl", job, lambda document: line.write_text(json.dumps(document) + "\n"),
                ["ml-run", "-q", data / "models/stories260K", "--ctx", "32", "--jsonl"], more, stdin=line)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
