#!/usr/bin/env python3
"""Encoding speed beside other tokenizers, in turns, one thread each; MB/s, medians (ours: of processor time).

usage: tokenizer_peers.py --bench PROGRAM [--native NODE_MODULES] [--other NAME=COMMAND]... [--rounds N] TEXT TOKENIZER...

PROGRAM is the build's tokenizer-bench, a TOKENIZER a folder with a tokenizer.json. NODE_MODULES is a folder in which the
npm package `tokenizers` is installed. COMMAND is any other program: {text} and {name} (the tokenizer's folder) stand for
its arguments, and of what it prints the number before "MB/s" counts: where that is of wall time, the machine must be idle for a fair ratio. A peer that is not
there is left out.
"""

import argparse
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess

# The whole text, its lines one by one, and pieces of 4 kB: the native library's speed depends on it.
NATIVE = """
const fs = require('fs'), path = require('path');
const { Tokenizer } = require(path.resolve(process.argv[1], 'tokenizers'));
const tokenizer = Tokenizer.fromFile(process.argv[2]);
tokenizer.disableTruncation();
tokenizer.disablePadding();
const text = fs.readFileSync(process.argv[3], 'utf8').slice(0, 4000000);
const ways = { text: [text], lines: text.split('\\n'), chunks: text.match(/[^]{1,4096}/gu) };
(async () => {
  for (const [way, parts] of Object.entries(ways)) {
    const start = process.cpuUsage();
    for (const part of parts) await tokenizer.encode(part);
    const used = process.cpuUsage(start);
    console.log(`${way} ${Buffer.byteLength(text) / (used.user + used.system)} MB/s`);
  }
})();
"""


def output(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def ours(options, tokenizer):
    row = output([options.bench, tokenizer, "--", options.text]).splitlines()[-1].split()
    return {"cold": row[1], "warm": row[2], "decode": row[3]}


def native(options, tokenizer):
    file = pathlib.Path(tokenizer) / "tokenizer.json"
    printed = output(["node", "-e", NATIVE, options.native, str(file), options.text])
    return {f"native, {way}": speed for way, speed in re.findall(r"(\w+) ([\d.]+) MB/s", printed)}


def other(options, name, command, tokenizer):
    words = [word.format(text=options.text, name=pathlib.Path(tokenizer).name) for word in shlex.split(command)]
    if shutil.which(words[0]) is None:
        return {}
    found = re.search(r"([\d.]+) MB/s", output(words))
    return {name: found[1]} if found else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--native", default="")
    parser.add_argument("--other", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("text")
    parser.add_argument("tokenizers", nargs="+")
    options = parser.parse_args()
    with_native = bool(options.native) and shutil.which("node") is not None
    for tokenizer in options.tokenizers:
        runs = {}
        for _ in range(options.rounds):
            row = ours(options, tokenizer)
            for peer in options.other:
                row |= other(options, *peer.split("=", 1), tokenizer)
            if with_native:
                row |= native(options, tokenizer)
            for what, value in row.items():
                runs.setdefault(what, []).append(float(value))
        medians = {what: statistics.median(values) for what, values in runs.items()}
        peers = set(medians) - {"cold", "warm", "decode"}
        print(pathlib.Path(tokenizer).name)
        for what, median in medians.items():
            ratio = f"  {medians['warm'] / median:6.2f} x" if what in peers else ""
            print(f"  {what:16} {median:8.2f}{ratio}", flush=True)


if __name__ == "__main__":
    main()
