#!/usr/bin/env python3
"""Compares two MLI1 files: equal headers, and sums that differ by no more than the rounding of a sum of float64."""

import array
import pathlib
import sys

HEADER = 40
ROUNDING = 1e-13


def difference(a, b):
    """A complaint, or None."""
    a, b = pathlib.Path(a).read_bytes(), pathlib.Path(b).read_bytes()
    if a[:HEADER] != b[:HEADER] or len(a) != len(b):
        return "headers or sizes differ"
    sums = [array.array("d", data[HEADER:]) for data in (a, b)]
    for i, (x, y) in enumerate(zip(*sums)):
        if abs(x - y) > ROUNDING * abs(x):
            return f"sum {i} is {x} and {y}"
    return None


if __name__ == "__main__":
    sys.exit(difference(*sys.argv[1:]))
