#!/usr/bin/env python3
"""Looks at the symbols of what was built: libml.so exports ml:: alone; code for one instruction set defines nothing
that the linker could pick for everyone (an inline function built with AVX-512 must not run on a machine without)."""

import argparse
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap

EXPORTED = re.compile(r"(vtable for |typeinfo for |typeinfo name for |VTT for )?ml::")
WEAK = "WVu"


def symbols(*arguments):
    """Yields (kind, name)."""
    out = subprocess.run(["nm", *arguments], capture_output=True, check=True, text=True).stdout
    for line in out.splitlines():
        match = re.match(r"[0-9a-f ]{16} (\w) (.*)", line)
        if match:
            yield match.groups()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="libml.so")
    parser.add_argument("kernels", nargs="*", help="static libraries, each built for one instruction set")
    options = parser.parse_args()
    tap = Tap()
    exported = [name for _, name in symbols("--dynamic", "--demangle", "--defined-only", options.library)]
    foreign = [name for name in exported if not EXPORTED.match(name)]
    complaint = "exported: " + "\n".join(foreign[:20]) if foreign else None
    tap.report(f"the {len(exported)} exported symbols begin with ml::", complaint if exported else "nothing is exported")
    for library in options.kernels:
        weak = [name for kind, name in symbols("--demangle", "--defined-only", library) if kind in WEAK]
        tap.report(f"{pathlib.Path(library).name} defines no weak symbol", "\n".join(weak[:20]) if weak else None)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
