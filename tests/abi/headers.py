#!/usr/bin/env python3
"""Compiles each public header alone: none may lean on what another one includes."""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LANGUAGES = {".hpp": [["-std=c++20", "-x", "c++", "-"]],
             ".h": [["-std=c99", "-x", "c", "-"], ["-std=c++11", "-x", "c++", "-"]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("include", type=pathlib.Path, help="the folder that holds ml/")
    parser.add_argument("compiler", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    def compile_alone(header):
        name = header.relative_to(options.include)
        # Twice, so that a missing guard shows.
        source = f"#include <{name}>\n#include <{name}>\n"
        complaints = ""
        for language in LANGUAGES[header.suffix]:
            command = [*options.compiler, "-I", str(options.include), *FLAGS, *language]
            process = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
            complaints += process.stderr if process.returncode != 0 else ""
        return str(name), complaints or None

    tap = Tap()
    headers = sorted(path for path in options.include.rglob("*") if path.suffix in LANGUAGES)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, complaint in pool.map(compile_alone, headers):
            tap.report(f"{name} compiles alone", complaint)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
