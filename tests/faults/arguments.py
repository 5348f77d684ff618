"""What the scripts of this folder are told: where the tools and the data are."""

import argparse
import os
import pathlib

PATHS = {"layer": "the library of fault_layer.cpp", "data": "tests/data", "recipes": "share/recipes", "library": "libml.so",
         "example": "share/examples/generate.py"}


def parser_of(description, *paths):
    """Takes --path and those options of PATHS, as absolute paths."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--path", required=True, help="folder with the built tools")
    for name in paths:
        parser.add_argument(f"--{name}", required=True, type=lambda path: pathlib.Path(path).absolute(), help=PATHS[name])
    return parser


def parse(parser):
    """Parses, and lets the tools be found and their messages be the same everywhere."""
    options = parser.parse_args()
    os.environ["PATH"] = os.path.abspath(options.path) + ":" + os.environ["PATH"]
    os.environ["LC_ALL"] = "C.UTF-8"
    return options
