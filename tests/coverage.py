#!/usr/bin/env python3
"""Which lines of lib/ the tests of a build with gcov's counters ran: a table of folders, the files with most lines left and,
with --lines, those lines. The status is 1 where fewer than --least percent ran."""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
AT_ONCE = 64


def reports(gcov, build):
    """Yields what gcov says of each object; one that no program ran has a .gcno file alone."""
    notes = sorted(build.rglob("*.gcno"))
    if not notes:
        raise SystemExit(f"coverage: {build} has no counters")
    for first in range(0, len(notes), AT_ONCE):
        command = [gcov, "--json-format", "--stdout"] + [path.relative_to(build) for path in notes[first:first + AT_ONCE]]
        done = subprocess.run(command, cwd=build, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise SystemExit("coverage: " + done.stderr.decode().strip())
        for line in done.stdout.splitlines():
            if line.startswith(b"{"):
                yield json.loads(line)


def runs_of_lines(gcov, build):
    """{file of lib/: {line: how often it ran}}; a line of a header is in many objects."""
    files = collections.defaultdict(collections.Counter)
    for report in reports(gcov, build):
        for file in report["files"]:
            path = (build / file["file"]).resolve()
            if path.is_relative_to(ROOT / "lib"):
                lines = files[path.relative_to(ROOT)]
                for line in file["lines"]:
                    lines[line["line_number"]] += line["count"]
    return files


def spans(lines):
    """"1-3,7" of [1, 2, 3, 7]."""
    parts = []
    for line in lines:
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--gcov", default="gcov", help="of the compiler's version; default: %(default)s")
    parser.add_argument("--lines", action="store_true", help="print all files with the lines that no test ran")
    parser.add_argument("--least", type=float, default=90, help="default: %(default)s")
    options = parser.parse_args()
    files = runs_of_lines(options.gcov, options.build.resolve())
    folders = collections.defaultdict(lambda: [0, 0])
    left = []
    for path, lines in files.items():
        missed = sorted(line for line, count in lines.items() if count == 0)
        left.append((len(missed), len(lines), str(path), missed))
        for folder in (str(path.parent), "all"):
            folders[folder][0] += len(lines)
            folders[folder][1] += len(lines) - len(missed)
    for folder, (n, ran) in sorted(folders.items(), key=lambda row: (row[0] == "all", row[0])):
        print(f"{folder:<28}{n:>8} lines{100 * ran / n:>8.1f} %")
    for n_missed, n, path, missed in sorted(left, reverse=True)[:None if options.lines else 25]:
        if n_missed:
            print(f"{path:<44}{n_missed:>6} of {n} left" + (": " + spans(missed) if options.lines else ""))
    n, ran = folders["all"]
    return 0 if 100 * ran >= options.least * n else 1


if __name__ == "__main__":
    sys.exit(main())
