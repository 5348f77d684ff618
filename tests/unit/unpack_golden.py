#!/usr/bin/env python3
"""Unpacks golden token ids for the tests: NAME/golden.jsonl.gz or NAME.public.jsonl.gz to OUT/NAME.jsonl.

usage: unpack_golden.py STAMP INPUT.gz...
"""
import gzip
import pathlib
import sys

stamp = pathlib.Path(sys.argv[1])
for source in map(pathlib.Path, sys.argv[2:]):
    name = source.parent.name if source.name == "golden.jsonl.gz" else source.name.split(".")[0]
    (stamp.parent / f"{name}.jsonl").write_bytes(gzip.decompress(source.read_bytes()))
stamp.touch()
