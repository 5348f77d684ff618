#!/usr/bin/env python3
"""Measures ml-bench and other programs with llama-bench's options in turn (A B A B ...), and prints the ratios.

  compare.py --ml-bench build/bin/ml-bench --ours 1b.mlb --theirs 1b.gguf \\
      --peer 'llama.cpp=/opt/llama.cpp/llama-bench' --peer 'ik rtr=/opt/ik/llama-bench -rtr 1' -t 1,2 -r 5

Models with equal weights come from ../random_model.py. Each program warms up by itself in each of its turns."""

import argparse
import json
import shlex
import statistics
import subprocess
import sys

OURS = "mlutils"


def numbers(text):
    return [int(part) for part in text.split(",")]


def run(name, command):
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines() or ["no message"]
        sys.exit(f"{name}: exit status {process.returncode}: {lines[-1]}")
    try:
        return json.loads(process.stdout)
    except json.JSONDecodeError as error:
        sys.exit(f"{name}: no JSON: {error}")


class Program:
    """One contender: how it is called, and tokens a second of its turns by (test, threads)."""

    def __init__(self, name, command, model):
        self.name = name
        self.command = command
        self.model = model
        self.speeds = {}
        self.limits = {}

    def take_turn(self, options, threads):
        lists = ["-p", options.n_prompt, "-n", options.n_gen, "-t", str(threads), "-r", "1"]
        if self.name == OURS:
            rows = run(self.name, [*self.command, self.model, *lists, "-o", "json"])
        else:
            rows = run(self.name, [*self.command, "-m", self.model, *lists, "-o", "json"])
        for row in rows:
            decode = row["n_gen"] > 0
            test = f"tg{row['n_gen']}" if decode else f"pp{row['n_prompt']}"
            speed = row["median_ts"] if self.name == OURS else row["avg_ts"]
            self.speeds.setdefault((test, threads), []).append(speed)
            if row.get("share_of_limit"):
                self.limits.setdefault((test, threads), []).append(row["share_of_limit"])


def spread(values):
    """Half of the distance between the quartiles, as a share of the median."""
    if len(values) < 2:
        return 0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2 / statistics.median(values)


def table(programs):
    ours, peers = programs[0], programs[1:]
    head = ["test", "threads", f"{OURS} tok/s", "of limit"]
    for peer in peers:
        head += [f"{peer.name} tok/s", "ratio"]
    yield head
    for key, speeds in ours.speeds.items():
        median = statistics.median(speeds)
        limits = ours.limits.get(key)
        row = [key[0], str(key[1]), f"{median:.2f} ± {100 * spread(speeds):.0f} %",
               f"{100 * statistics.median(limits):.0f} %" if limits else "-"]
        for peer in peers:
            theirs = peer.speeds.get(key)
            if theirs is None:
                row += ["-", "-"]
                continue
            row += [f"{statistics.median(theirs):.2f} ± {100 * spread(theirs):.0f} %",
                    f"{median / statistics.median(theirs):.2f}"]
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ml-bench", default="ml-bench", help="the program, with options of its own if any")
    parser.add_argument("--ours", required=True, help="the model for ml-bench")
    parser.add_argument("--theirs", required=True, help="the model for the peers")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND", help="may be repeated")
    parser.add_argument("-p", "--n-prompt", default="512")
    parser.add_argument("-n", "--n-gen", default="128")
    parser.add_argument("-t", "--threads", default="1")
    parser.add_argument("-r", "--turns", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="all measurements instead of the table")
    options = parser.parse_args()
    programs = [Program(OURS, shlex.split(options.ml_bench), options.ours)]
    for peer in options.peer:
        name, equals, command = peer.partition("=")
        if not equals or not command:
            parser.error(f"--peer is '{peer}', must be NAME=COMMAND")
        programs.append(Program(name, shlex.split(command), options.theirs))
    for threads in numbers(options.threads):
        for _ in range(options.turns):
            for program in programs:
                program.take_turn(options, threads)
    if options.json:
        for program in programs:
            for (test, threads), speeds in program.speeds.items():
                print(json.dumps({"program": program.name, "test": test, "threads": threads, "tokens_per_second": speeds}))
        return
    rows = list(table(programs))
    print("| " + " | ".join(rows[0]) + " |")
    print("|---|" + "--:|" * (len(rows[0]) - 1))
    for row in rows[1:]:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
