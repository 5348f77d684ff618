#!/usr/bin/env python3
"""ml-run on an emulated x86 CPU of 2008, which has no AVX: it runs, on `scalar`, and computes the same bits."""

import argparse
import subprocess


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("run", "qemu", "model"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    emulated = [args.qemu, "-cpu", "Nehalem", args.run]

    def run(command, *arguments):
        return subprocess.run([*command, *arguments], capture_output=True, text=True)

    digest = (args.model, "--tokens", "1,403,407", "--digest", "-n", "4")
    here, there = run([args.run], *digest), run(emulated, *digest)
    version = run(emulated, "--version").stdout
    refused = run(emulated, args.model, "--tokens", "1", "-n", "1", "--target", "avx2")
    checks = {
        "the target is scalar": version.rstrip().endswith("target scalar"),
        "the same digests": here.returncode == 0
        and "digest prompt" in here.stderr
        and (there.returncode, there.stdout, there.stderr) == (0, here.stdout, here.stderr),
        "avx2 is refused": refused.returncode == 1 and "this CPU cannot run it" in refused.stderr,
    }
    print(f"1..{len(checks)}")
    for number, (name, passed) in enumerate(checks.items(), 1):
        print(f"{'ok' if passed else 'not ok'} {number} - {name}")
    if not all(checks.values()):
        print("#", "\n# ".join((here.stderr + there.stderr + version + refused.stderr).splitlines()))


main()
