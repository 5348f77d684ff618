#!/usr/bin/env python3
"""Runs the command-line tests of one tool and reports them as TAP. README.md describes the format of a test."""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import manners
from tap import Tap

SKIPPED = 77  # a script's exit status for "cannot be tried here"
SECONDS = 300


def line_matches(pattern, line):
    """`*` stands for any characters, `?` for one; everything else for itself."""
    regex = "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch(regex, line, re.DOTALL) is not None


def lines_match(patterns, lines):
    """A pattern `...` stands for any number of lines."""
    if not patterns:
        return not lines
    if patterns[0] == "...":
        return any(lines_match(patterns[1:], lines[i:]) for i in range(len(lines) + 1))
    return bool(lines) and line_matches(patterns[0], lines[0]) and lines_match(patterns[1:], lines[1:])


def compare(script, stream, got):
    """Returns a complaint, or None where the stream is as expected or nothing is expected of it."""
    exact = pathlib.Path(f"{script}.{stream}.exact")
    if exact.exists() and exact.read_bytes() != got:
        return f"{stream} differs from {exact.name}"
    glob = pathlib.Path(f"{script}.{stream}.glob")
    if glob.exists():
        text = got.decode("utf-8", "replace")
        if not lines_match(glob.read_text(encoding="utf-8").splitlines(), text.splitlines()):
            return f"{stream} does not match {glob.name}"
    return None


def run_script(script, environment):
    """Returns (complaint or None, reason to skip or None, details)."""
    with tempfile.TemporaryDirectory(prefix="ml-cli-") as folder:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", str(script)], cwd=folder, env=dict(environment, HOME=folder),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return f"took over {SECONDS} s", None, (out, err)
        details = (out, err)
        if process.returncode == SKIPPED:
            return None, (out.decode("utf-8", "replace").splitlines() or ["no reason"])[-1], details
        expected_file = pathlib.Path(f"{script}.exit")
        expected = int(expected_file.read_text(encoding="utf-8")) if expected_file.exists() else 0
        if process.returncode != expected:
            return f"exit status {process.returncode}, expected {expected}", None, details
        for stream, got in (("stdout", out), ("stderr", err)):
            complaint = compare(script, stream, got)
            if complaint:
                return complaint, None, details
        if manners.sanitizer_spoke(err):
            return "a sanitizer complains", None, details
        left = [str(path) for path in pathlib.Path(folder).rglob(".*.tmp")]
        if left:
            return f"left {left[0]} behind", None, details
        return None, None, details


def stream_lines(details):
    """The beginning of both streams, for a failure's report."""
    for name, stream in zip(("stdout", "stderr"), details):
        for line in stream.decode("utf-8", "replace").splitlines()[:40]:
            yield f"{name}: {line}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--path", required=True, help="folders with the built programs, separated by ':'")
    parser.add_argument("--scripts", required=True, type=pathlib.Path, help="folder with NAME.sh")
    parser.add_argument("--man", type=pathlib.Path, help="the tool's scdoc page, where it has to have one")
    parser.add_argument("--only", action="append", metavar="NAME", help="run this script alone, not the manners")
    options = parser.parse_args()
    path = ":".join(os.path.abspath(folder) for folder in options.path.split(":"))
    environment = dict(os.environ, PATH=path + ":" + os.environ["PATH"], LC_ALL="C.UTF-8", TERM="dumb")
    environment.pop("NO_COLOR", None)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # children inherit what Python changed
    tap = Tap()
    if not options.only:
        program = shutil.which(options.tool, path=path)
        for name, complaint, skip in manners.checks(options.tool, program, options.man, environment):
            tap.report(name, complaint, skip)
    scripts = sorted(options.scripts.glob("*.sh")) if options.scripts.is_dir() else []
    for script in scripts:
        if options.only and script.stem not in options.only:
            continue
        complaint, skip, details = run_script(script.resolve(), environment)
        tap.report(script.stem, complaint, skip, stream_lines(details))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
