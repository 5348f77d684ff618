#!/usr/bin/env python3
"""Looks at the symbols of what was built: libml.so exports ml:: and the functions of ml/ml.h alone; code for one instruction set defines nothing
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
    parser.add_argument("header", type=pathlib.Path, help="ml/ml.h")
    parser.add_argument("kept", type=pathlib.Path, help="functions of ml/ml.h that programs rely on, one a line")
    parser.add_argument("kernels", nargs="*", help="static libraries, each built for one instruction set")
    options = parser.parse_args()
    tap = Tap()
    exported = [name for _, name in symbols("--dynamic", "--demangle", "--defined-only", options.library)]
    declared = sorted(re.findall(r"^ML_C_API .*?(\w+)\(", options.header.read_text(encoding="utf-8"), re.MULTILINE))
    foreign = [name for name in exported if not EXPORTED.match(name) and name not in declared]
    complaint = "exported: " + "\n".join(foreign[:20]) if foreign else None
    tap.report(f"the {len(exported)} exported symbols begin with ml:: or are in ml.h", complaint if exported else "nothing is exported")
    missing = [name for name in declared if name not in exported]
    tap.report(f"the {len(declared)} functions of ml.h are exported", " ".join(missing) or None if declared else "none")
    kept = options.kept.read_text(encoding="utf-8").split()
    changed = sorted(set(kept) ^ set(declared))
    tap.report(f"ml.h declares what {options.kept.name} lists", " ".join(changed) or None)
    for library in options.kernels:
        weak = [name for kind, name in symbols("--demangle", "--defined-only", library) if kind in WEAK]
        tap.report(f"{pathlib.Path(library).name} defines no weak symbol", "\n".join(weak[:20]) if weak else None)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
