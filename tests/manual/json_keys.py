#!/usr/bin/env python3
"""Compares the JSON that tools print with the section JSON of their pages: every name on both sides."""

import argparse
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap

ROOT = pathlib.Path(__file__).resolve().parents[2]
OF_FILES = {"fields", "sums"}  # objects whose names are not the tool's
STORY, HYBRID, LATENT = "models/stories260K", "models/qwen35-stories", "mova/mova-mla"


def documented(tool):
    """Names in bold that are no options, of the section JSON."""
    page = (ROOT / "man" / f"{tool}.1.scd").read_text(encoding="utf-8")
    section = re.search(r"^# JSON\n(.*?)^# ", page, re.MULTILINE | re.DOTALL)[1]
    return set(re.findall(r"\*([a-z][a-z0-9_]*)\*", section))


def names_in(value, into):
    if isinstance(value, list):
        for item in value:
            names_in(item, into)
    elif isinstance(value, dict):
        for name, item in value.items():
            into.add(name)
            if name not in OF_FILES:
                names_in(item, into)


class Tools:
    """Runs tools in a folder of their own and gathers the names that they print."""

    def __init__(self, data, environment):
        self.data, self.environment = data, environment

    def run(self, *command, text=None, may_fail=False):
        process = subprocess.run([str(word) for word in command], env=self.environment, input=text, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if process.returncode != 0 and not may_fail:
            raise RuntimeError(f"{' '.join(str(word) for word in command)}: exit status {process.returncode}")
        return process.stdout

    def names(self, *commands):
        found = set()
        for command in commands:
            for line in self.run(*command, may_fail=True).splitlines():
                names_in(json.loads(line), found)
        return found


def mlb_info(tools):
    story, hybrid, latent = (tools.data / name for name in (STORY, HYBRID, LATENT))
    tools.run("mlb-quant", "-q", story, "--type", "q4_0", "-o", "4.mlb")
    tools.run("mlb-quant", "-q", story, "--type", "q4_0", "--q4-rule", "round", "-o", "round.mlb")
    broken = bytearray(pathlib.Path("4.mlb").read_bytes())
    broken[80:84] = struct.pack("<I", 65)  # head_dim
    pathlib.Path("broken.mlb").write_bytes(broken)
    shutil.copytree(hybrid, "unknown")
    config = json.loads((hybrid / "config.json").read_text(encoding="utf-8"))
    config["model_type"], config["architectures"] = "unknown", ["Unknown"]
    pathlib.Path("unknown/config.json").write_text(json.dumps(config), encoding="utf-8")
    shutil.copytree(story, "nan")
    weights = bytearray((story / "model.safetensors").read_bytes())
    weights[-4:] = struct.pack("<f", float("nan"))
    pathlib.Path("nan/model.safetensors").write_bytes(weights)
    rows = tools.run("mlb-info", "-q", "--stats", "--hash", "--format", "csv", "4.mlb").split("\n", 1)[0].split(",")
    columns = {name for name in rows if not name.startswith("stats_") or name in ("stats_min", "stats_histogram_19")}
    return columns | tools.names(["mlb-info", "--json", "--check", "--stats", "--hash", "4.mlb", hybrid, latent, "unknown"],
                                 ["mlb-info", "--json", "--check", "broken.mlb", "nan"],
                                 ["mlb-info", "--json", "missing"],
                                 ["mlb-info", "--json", "--diff", "4.mlb", "round.mlb"],
                                 ["mlb-info", "--json", "--diff", hybrid, "4.mlb"])


def mlb_quant(tools):
    return tools.names(["mlb-quant", tools.data / STORY, "--json", "-o", "8.mlb"],
                       ["mlb-quant", tools.data / STORY, "--json", "--dry-run"])


def mog_pack(tools):
    return tools.names(["mog-pack", ROOT / "share/recipes/llama.json", "--root", tools.data / STORY, "--json", "--dry-run"])


def imatrix_merge(tools):
    tools.run("ml-run", "-q", tools.data / STORY, "--tokens", "1,2,3", "--imatrix", "a.mli")
    columns = tools.run("imatrix-merge", "a.mli", "--format", "csv").split("\n", 1)[0].split(",")
    first, last = columns.index("profile_0"), columns.index("profile_23")
    return tools.names(["imatrix-merge", "a.mli", "--json"]) | set(columns[:first + 1] + columns[last:])


def seed_pack(tools):
    model = tools.data / "mova/llama-gqa1"
    return tools.names(["seed-pack", tools.data / STORY, "--encoding", "q8", "-o", "packed", "--json"],
                       ["seed-pack", model, "--to-mla", "128", "--calibrate", model / "ids.txt", "--encoding", "bf16",
                        "-o", "latent", "--json"])


def ml_eval(tools):
    tools.run("mlb-quant", "-q", tools.data / STORY, "--type", "q4_0", "-o", "4.mlb")
    pathlib.Path("text").write_text("Once upon a time there was a dog. The dog liked to play with a red ball.", encoding="utf-8")
    command = ["ml-eval", "4.mlb", "text", "-m", tools.data / STORY / "tokenizer.json", "--against", tools.data / STORY, "-c", "8"]
    columns = tools.run(*command, "--format", "csv").split("\n", 1)[0].split(",")
    left_out = [name for name in ("texts", "by_position", "by_window", "parts", "sums") if any(c.startswith(name) for c in columns)]
    if left_out:
        raise RuntimeError(f"the csv has {left_out[0]}")
    return tools.names([*command, "--json", "--by-position", "--by-window"]) | {"kl_p99"} & set(columns)


TOOLS = {"seed-pack": seed_pack, "mlb-info": mlb_info, "mlb-quant": mlb_quant, "mog-pack": mog_pack, "imatrix-merge": imatrix_merge,
         "ml-eval": ml_eval}
# Bold words of the sections that are no names.
WORDS = {"csv", "json"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", required=True, help="folder with the built programs")
    parser.add_argument("--data", default=ROOT / "tests/data", type=pathlib.Path)
    options = parser.parse_args()
    environment = dict(os.environ, PATH=os.path.abspath(options.path) + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
    tap = Tap()
    tools = Tools(options.data.resolve(), environment)
    for tool, gather in TOOLS.items():
        with tempfile.TemporaryDirectory(prefix="ml-json-keys-") as folder:
            os.chdir(folder)
            printed, told = gather(tools), documented(tool) - WORDS
            os.chdir("/")
            complaints = [f"{name} is printed and not in the page" for name in sorted(printed - told)]
            complaints += [f"{name} is in the page and not printed" for name in sorted(told - printed)]
            tap.report(f"{tool}: the names of its JSON", "\n".join(complaints) if complaints else None)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
