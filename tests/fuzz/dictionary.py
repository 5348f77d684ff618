#!/usr/bin/env python3
"""Writes a dictionary for libFuzzer: the words in the sources of a target's reader, so that a key is tried as soon as it is read.
Targets whose input has no words get none."""

import argparse
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = ["lib/convert/*", "lib/formats/safetensors*", "lib/formats/nanoseed*", "lib/formats/checkpoint*"]
SOURCES = {
    "chat": ["lib/chat/*"],
    "checkpoint": CONFIG,
    "gguf": ["lib/convert/gguf*", "lib/formats/gguf*"],
    "imatrix": ["lib/convert/gguf_imatrix*", "lib/formats/*imatrix*"],
    "index": CONFIG,
    "inspect": ["lib/formats/*"],
    "jsonl": ["bin/ml_run/request.cpp"],
    "mog": ["lib/formats/mog*"],
    "recipe": ["lib/convert/recipe*"],
    "tokenizer": ["lib/convert/tokenizer*", "lib/formats/mlt*"],
}
WORD = re.compile(r'"([\w.:/<>|%{}=!*+-]{1,40})"')  # no sentence, no format string


def words(target):
    found = set()
    for pattern in SOURCES.get(target, []):
        paths = [path for path in ROOT.glob(pattern) if path.suffix in (".cpp", ".hpp")]
        if not paths:
            raise SystemExit(f"{target}: no sources are named {pattern}")
        for path in paths:
            code = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#include"))
            found.update(word for word in WORD.findall(code) if "{}" not in word)
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    for word in words(parser.parse_args().target):
        print(f'"{word}"')


if __name__ == "__main__":
    main()
