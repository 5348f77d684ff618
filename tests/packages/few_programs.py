#!/usr/bin/env python3
"""Meson configures the project with the programs of those Debian packages alone that ./dev says it needs to build.

A program that happens to lie on a developer's machine (CMake, once) is missed only where the project is built for the first time."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tap  # pylint: disable=wrong-import-position


def build_packages(source):
    text = (source / "dev").read_text()
    return re.search(r"^build_packages=\((.*)\)$", text, re.M)[1].split()


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def installed():
    """name -> (names it depends on, part of every system, its full name unless it is virtual), of this architecture"""
    native = output_of("dpkg", "--print-architecture").strip()
    fields = "${binary:Package}\t${Architecture}\t${Package}\t${Provides}\t${Priority}\t${Essential}\t${Pre-Depends}, ${Depends}\n"
    packages = {}
    for line in output_of("dpkg-query", "-W", "-f", fields).splitlines():
        full_name, architecture, name, provides, priority, essential, depends = line.split("\t")
        if architecture not in (native, "all"):
            continue
        needs = {re.match(r"[^ :(]*", one.strip())[0] for one in re.split(r"[,|]", depends)} - {""}
        packages[name] = (needs, priority == "required" or essential == "yes", full_name)
        for other in filter(None, re.split(r", *", provides)):
            packages.setdefault(other.split(" ")[0], (set(), False, None))[0].add(name)
    return packages


def closure(packages, wanted):
    found, rest = set(), list(wanted)
    while rest:
        name = rest.pop()
        if name in packages and name not in found:
            found.add(name)
            rest.extend(packages[name][0])
    return found


def programs(names):
    """Paths of the programs of packages, and of links of this system to them."""
    listed = output_of("dpkg-query", "-L", *names).splitlines()
    own = {path for path in listed if re.match(r"(/usr)?/s?bin/[^/]+$", path)}
    real = {os.path.realpath(path) for path in own}
    return [path for path in pathlib.Path("/usr/bin").iterdir() if str(path) in own or os.path.realpath(path) in real]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    source = parser.parse_args().source
    report = tap.Tap()
    title = "Meson configures with the packages of ./dev alone"
    if shutil.which("dpkg-query") is None:
        report.report(title, skip="no Debian package manager")
        return report.finish()
    wanted = build_packages(source)
    packages = installed()
    missing = [name for name in wanted if name not in packages or packages[name][2] is None]
    if missing:
        report.report(title, skip=f"not installed as packages: {', '.join(missing)}")
        return report.finish()
    always = [name for name, row in packages.items() if row[1]]
    needed = [packages[name][2] for name in sorted(closure(packages, wanted + always))]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bin"
        path.mkdir()
        for program in programs([name for name in needed if name]):
            (path / program.name).symlink_to(program)
        process = subprocess.run([path / "meson", "setup", pathlib.Path(folder) / "build", source, "-Dtests=false"],
                                 env={"PATH": str(path), "HOME": folder, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True,
                                 check=False)
        complaint = None if process.returncode == 0 else f"meson setup ends with {process.returncode}"
        report.report(title, complaint, details=process.stdout.splitlines()[-5:])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
