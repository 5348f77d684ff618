#!/usr/bin/env python3
"""Compares tokenizers with the native `tokenizers` library on random texts.

usage: tokenizer_differential.py --native NODE_MODULES --compare PROGRAM [--strings N] [--seed N] [--no-text] TOKENIZER...

NODE_MODULES is a folder in which the npm package `tokenizers` is installed; without it (or without node) nothing is
compared and the exit status is 77, a skipped test. PROGRAM is the build's compare-ids. A TOKENIZER is a folder with a
tokenizer.json. --no-text leaves decoding out, for one whose decoder no .mlt can say.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
WRITER = pathlib.Path(__file__).resolve().parent / "native_ids.cjs"


def compare(options, tokenizer):
    """Returns whether all ids and texts are equal."""
    file = pathlib.Path(tokenizer) / "tokenizer.json"
    writer = subprocess.Popen(["node", WRITER, options.native, file, str(options.strings), str(options.seed)],
                              stdout=subprocess.PIPE)
    reader = subprocess.run([options.compare, file, *(["ids"] if options.no_text else [])], stdin=writer.stdout,
                            capture_output=True, text=True, check=False)
    writer.stdout.close()
    print(f"{tokenizer}: {reader.stdout}{reader.stderr}", end="", flush=True)
    return writer.wait() == 0 and reader.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", default="")
    parser.add_argument("--compare", required=True)
    parser.add_argument("--strings", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-text", action="store_true")
    parser.add_argument("tokenizers", nargs="+")
    options = parser.parse_args()
    if not options.native or not (pathlib.Path(options.native) / "tokenizers").is_dir() or shutil.which("node") is None:
        print("the npm package `tokenizers` is not there")
        return SKIPPED
    equal = [compare(options, tokenizer) for tokenizer in options.tokenizers]
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
