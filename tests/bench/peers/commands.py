#!/usr/bin/env python3
"""Times whole commands in turn (A B A B ...): loading, first tokens, quantizing. Prints medians and ratios to the first.

  commands.py -r 5 'mlb-quant=mlb-quant 110m-f32.gguf -o a.mlb -f --type q8_0 --scales f16 -t 1' \\
      'llama-quantize=llama-quantize --pure 110m-f32.gguf a.gguf Q8_0 1'

Each command runs once before, unmeasured. --until-output stops the clock at the first byte on standard output."""

import argparse
import resource
import shlex
import statistics
import subprocess
import sys
import time

from compare import spread


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def take_turn(name, command, until_output):
    """Seconds until the end (or the first byte), and processor seconds until the end."""
    before = children_seconds()
    start = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        if until_output:
            process.stdout.read(1)
            seconds = time.perf_counter() - start
        _, errors = process.communicate()
        if not until_output:
            seconds = time.perf_counter() - start
    if process.returncode != 0:
        lines = errors.decode(errors="replace").strip().splitlines() or ["no message"]
        sys.exit(f"{name}: exit status {process.returncode}: {lines[-1]}")
    return seconds, children_seconds() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="+", metavar="NAME=COMMAND")
    parser.add_argument("-r", "--repetitions", type=int, default=5)
    parser.add_argument("--until-output", action="store_true", help="time until the first byte on standard output")
    options = parser.parse_args()

    contenders = []
    for item in options.commands:
        name, equals, command = item.partition("=")
        if not equals or not command:
            parser.error(f"'{item}' must be NAME=COMMAND")
        contenders.append((name, shlex.split(command), []))
    for name, command, _ in contenders:
        take_turn(name, command, options.until_output)
    for _ in range(options.repetitions):
        for name, command, turns in contenders:
            turns.append(take_turn(name, command, options.until_output))

    print("| command | seconds | processor seconds | times the first |\n|---|--:|--:|--:|")
    first = None
    for name, _, turns in contenders:
        walls, processors = zip(*turns)
        seconds = statistics.median(walls)
        first = first or seconds
        print(f"| {name} | {seconds:.3f} ± {100 * spread(walls):.0f} % | {statistics.median(processors):.3f} "
              f"| {seconds / first:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
