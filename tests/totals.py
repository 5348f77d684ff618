#!/usr/bin/env python3
"""Adds up Meson's test logs: Catch2 test cases and TAP tests count one by one, anything else as one test.

The last line printed is "N passed, N failed" or "N passed, N failed, N skipped".
"""

import argparse
import json
import re
import sys

FINE = {"OK", "EXPECTEDFAIL"}
CATCH_ALL = re.compile(r"^All tests passed \(.* in (\d+) test cases?\)", re.MULTILINE)
CATCH_SOME = re.compile(r"^test cases:\s*\d+((?: *\| *\d+ \w+)+)", re.MULTILINE)
TAP_LINE = re.compile(r"^(not )?ok\b(.*)$", re.MULTILINE)
TAP_PLAN = re.compile(r"^1\.\.\d+$", re.MULTILINE)


def count_tap(out):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for bad, rest in TAP_LINE.findall(out):
        skipped = re.search(r"# *skip", rest, re.IGNORECASE)
        counts["failed" if bad else "skipped" if skipped else "passed"] += 1
    return counts


def count_catch(out):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for n in CATCH_ALL.findall(out):
        counts["passed"] += int(n)
    for row in CATCH_SOME.findall(out):
        for n, word in re.findall(r"(\d+) (\w+)", row):
            if word in counts:
                counts[word] += int(n)
    return counts


def count(test):
    """Returns the counts of one entry of testlog.json."""
    out = test.get("stdout", "")
    fine = test["result"] in FINE
    if TAP_PLAN.search(out):
        counts = count_tap(out)
    elif CATCH_ALL.search(out) or CATCH_SOME.search(out):
        counts = count_catch(out)
    else:
        counts = {"passed": int(fine), "failed": 0, "skipped": int(test["result"] == "SKIP")}
    # A crash or a timeout shows in the result, not among the test's own lines.
    if not fine and test["result"] != "SKIP" and counts["failed"] == 0:
        counts["failed"] = 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", help="testlog.json of a build folder")
    parser.add_argument("--passed", type=int, default=0, help="other tests that passed")
    parser.add_argument("--failed", type=int, default=0, help="other tests that failed")
    options = parser.parse_args()
    total = {"passed": options.passed, "failed": options.failed, "skipped": 0}
    for log in options.logs:
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                test = json.loads(line)
                counts = count(test)
                for word, n in counts.items():
                    total[word] += n
                if counts["failed"]:
                    print(f"failed: {test['name']} ({log})")
    words = ["passed", "failed"] + (["skipped"] if total["skipped"] else [])
    print(", ".join(f"{total[word]} {word}" for word in words))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
