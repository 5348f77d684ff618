#!/usr/bin/env python3
"""Looks at the built library and tools as an attacker would: what compiler and linker promise (SECURITY.md) must be in
the files, and nothing there may reach the network or start another program."""

import argparse
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap

NETWORK = {"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "send", "sendto", "sendmsg",
           "sendmmsg", "recv", "recvfrom", "recvmsg", "recvmmsg", "getaddrinfo", "gethostbyname", "gethostbyname2",
           "gethostbyaddr", "res_query", "res_search", "inet_pton"}
PROGRAMS = {"system", "popen", "execl", "execlp", "execle", "execv", "execvp", "execvpe", "execve", "execveat",
            "fexecve", "posix_spawn", "posix_spawnp", "fork", "vfork", "_Fork", "clone", "clone3", "wordexp"}
LOADERS = {"dlopen", "dlmopen"}
LIBRARIES = re.compile(r"lib(ml|fmt|xxhash|stdc\+\+|m|gcc_s|c|c\+\+|c\+\+abi|unwind|pthread|atomic)\.(so|musl)|ld-")


def output(*command):
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


class File:
    def __init__(self, path):
        self.path = path
        headers = output("readelf", "-hlW", path)
        dynamic = output("readelf", "-dW", path)
        self.kind = re.search(r"Type:\s+(\w+)", headers).group(1)
        self.segments = re.findall(r"^  (\w+) +0x\S+ 0x\S+ 0x\S+ 0x\S+ 0x\S+ ([RWE ]{3})", headers, re.M)
        self.flags = set(re.findall(r"\w+", " ".join(re.findall(r"\((?:FLAGS|FLAGS_1|BIND_NOW)\)(.*)", dynamic))))
        self.needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        self.paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
        self.imports = {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--undefined-only", path).splitlines()}


def loader_problems(file, is_library):
    flags_of = dict(file.segments)
    if file.kind != "DYN":
        yield f"its type is {file.kind}: not position-independent"
    if not is_library and "PIE" not in file.flags:
        yield "no position-independent executable"
    if "GNU_RELRO" not in flags_of:
        yield "no GNU_RELRO: the linker's tables stay writable"
    if not file.flags & {"NOW", "BIND_NOW"}:
        yield "no BIND_NOW: its table of functions stays writable"
    if "E" in flags_of.get("GNU_STACK", "RWE"):
        yield "an executable stack"
    for name, flags in file.segments:
        if "W" in flags and "E" in flags:
            yield f"segment {name} is writable and executable"


def compiler_problems(file):
    if not file.imports & {"__stack_chk_fail", "__stack_chk_guard"}:
        yield "no stack protector"
    if not any(name.endswith("_chk") for name in file.imports):
        yield "no call that FORTIFY_SOURCE checks"


def reach_problems(file):
    for what, names in (("the network", NETWORK), ("other programs", PROGRAMS), ("other libraries", LOADERS)):
        if found := sorted(file.imports & names):
            yield f"reaches {what}: {', '.join(found)}"
    if foreign := [name for name in file.needed if not LIBRARIES.match(name)]:
        yield f"links {', '.join(foreign)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="libml.so")
    parser.add_argument("--plain", action="store_true", help="built without what only an optimizing compiler can add")
    parser.add_argument("tools", nargs="+")
    options = parser.parse_args()
    tap = Tap()
    for path in [options.library, *options.tools]:
        file, name = File(path), pathlib.Path(path).name
        is_library = path == options.library
        tap.report(f"{name}: loads as it should", "\n".join(loader_problems(file, is_library)) or None)
        tap.report(f"{name}: no network, no other programs", "\n".join(reach_problems(file)) or None)
        if not options.plain:
            tap.report(f"{name}: checked by the compiler", "\n".join(compiler_problems(file)) or None)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
