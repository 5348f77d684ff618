#!/usr/bin/env python3
"""Compiles each public header alone: none may lean on what another one includes."""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-x", "c++", "-"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("include", type=pathlib.Path, help="the folder that holds ml/")
    parser.add_argument("compiler", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    def compile_alone(header):
        name = header.relative_to(options.include)
        # Twice, so that a missing guard shows.
        source = f"#include <{name}>\n#include <{name}>\n"
        command = [*options.compiler, "-I", str(options.include), *FLAGS]
        process = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        return str(name), None if process.returncode == 0 else process.stderr

    tap = Tap()
    headers = sorted(options.include.rglob("*.hpp"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, complaint in pool.map(compile_alone, headers):
            tap.report(f"{name} compiles alone", complaint)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
