#!/usr/bin/env python3
"""Prefill and decode speed of random models of two sizes and two types: model_bench.py ML-BENCH [SIZE...]."""

import pathlib
import subprocess
import sys
import tempfile


def main():
    program, *sizes = sys.argv[1:]
    writer = pathlib.Path(__file__).with_name("random_model.py")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes or ["110m", "1b"]:
            models = []
            for kind in ("q8_0", "q4_0"):
                models.append(f"{folder}/{size}-{kind}.mlb")
                subprocess.run([sys.executable, writer, "--size", size, "--type", kind, "--mlb", models[-1]], check=True)
            subprocess.run([program, *models, "-t", "1,2", "-n", "32", "-r", "3"], check=True)
            for model in models:
                pathlib.Path(model).unlink()


if __name__ == "__main__":
    main()
