#!/usr/bin/env python3
"""Completes values in the shells themselves: bash, zsh and fish under a pseudo-terminal, as somebody who types. Each line is typed
with a tab and a newline; a program of the tool's name then writes down the arguments that it got."""

import argparse
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap

SECONDS = 60
PROMPT = "READY>"
RECIPES = "share/mlutils/recipes"
# What is typed before the tab, and the last argument that the tool then gets; {prefix} is where the tools are installed.
CASES = [
    ("mlb-quant --type q8", "q8_0"),
    ("mlb-quant --type=q8", "--type=q8_0"),
    ("mlb-quant --scales f1", "f16"),
    ("mlb-quant --q8 wc", "wcls"),
    ("mlb-quant --q8 tok_emb,wc", "tok_emb,wcls"),
    ("mlb-quant --q4-rule ro", "round"),
    ("mlb-quant --imatrix imp", "importance.mli"),
    ("ml-run --kv bf", "bf16"),
    ("ml-run --kv=bf", "--kv=bf16"),
    ("ml-run --acts f", "f32"),
    ("ml-run --target avx5", "avx512"),
    ("ml-run sto", "story.mlb"),
    ("ml-run fol", "folder/"),
    ("ml-run --kv bf16 sto", "story.mlb"),
    ("ml-run story.mlb --tokenizer tok", "token.mlt"),
    ("ml-run story.mlb --draft=sto", "--draft=story.mlb"),
    ("ml-eval story.mlb not", "notes.txt"),
    ("ml-eval --against sto", "story.mlb"),
    ("ml-eval --against log", "log.logits"),
    ("ml-bench --tokenizer=tok", "--tokenizer=token.mlt"),
    ("mlt-encode -m tok", "token.mlt"),
    ("mlt-encode --format pi", "pieces"),
    ("mlb-info --format c", "csv"),
    ("mog-pack rec", "recipe.json"),
    ("mog-pack lla", "{prefix}/" + RECIPES + "/llama.json"),
    ("mog-pack --set layers=bf", "layers=bf16"),
    ("mog-pack --set 'layers.*=bf", "layers.*=bf16"),
    ("mog-pack --set=layers=bf", "--set=layers=bf16"),
    ("seed-pack --rule mlp=seed4p", "mlp=seed4p4"),
    ("seed-pack --encoding q4g", "q4g32"),
    ("ml-bench --encodings rec", "recipe.json"),
    ("ml-bench --encodings recipe.json f32,int4r16_g64_f1", "f32,int4r16_g64_f16"),
    ("ml-bench --encodings recipe.json f32,mlp=bf", "f32,mlp=bf16"),
    ("ml-bench --format jsonl --target scalar,avx5", "scalar,avx512"),
    ("ml-bench --baseline bas", "baseline.json"),
    ("imatrix-merge --js", "--json"),
    ("imatrix-merge imp", "importance.mli"),
    ("imatrix-merge importance.mli --stats imp", "importance.mli"),
    ("seed-pack wei", "weights.safetensors"),
    ("seed-pack fol", "folder/"),
    ("mlb-quant mix", "mixed.mog"),
    ("ml-eval --merge bas", "baseline.json"),
    ("ml-eval --merge baseline.json rec", "recipe.json"),
    ("ml-eval -q --merge --json baseline.json fol", "folder/"),
    ("ml-eval --merge --format c", "csv"),
    ("ml-eval --merge not", "notes.txt"),
]
FILES = ["story.mlb", "story.txt", "notes.txt", "token.mlt", "token.txt", "recipe.json", "recipe.txt", "importance.mli",
         "importance.txt", "weights.safetensors", "weights.txt", "mixed.mog", "mixed.txt", "baseline.json",
         "baseline.txt", "log.logits", "log.txt", "folder/config.json", "folderol.txt"]


class Shell:
    """An interactive shell whose answers are read until they hold something."""

    def __init__(self, command, folder, environment):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.seen = ""

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, holds):
        """Reads until holds() is true; returns whether it was in time."""
        end = time.monotonic() + SECONDS
        while not holds():
            if time.monotonic() > end:
                return False
            readable, _, _ = select.select([self.terminal], [], [], 0.05)
            if readable:
                try:
                    self.seen += os.read(self.terminal, 65536).decode("utf-8", "replace")
                except OSError:
                    return holds()
        return True

    def close(self):
        os.close(self.terminal)
        try:
            os.kill(self.pid, signal.SIGHUP)
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)


def commands(shell, completions):
    """How a shell starts, and the lines that give it the completions and a prompt. The prompt's text is in two pieces, so that the
    echo of the line is not taken for it."""
    scripts = [completions / name for name in sorted(os.listdir(completions))]
    if shell == "bash":
        return ["bash", "--norc", "--noprofile", "-i"], [*(f"source {path}" for path in scripts), "PS1='REA''DY>'"]
    if shell == "zsh":
        return ["zsh", "-f", "-i"], [f"fpath=({completions} $fpath)", "autoload -U compinit", "compinit -u -D",
                                    "PS1='REA''DY>'"]
    return ["fish", "--no-config", "-i"], [*(f"source {path}" for path in scripts),
                                           "function fish_prompt; echo -n REA'DY>'; end"]


def prepare(root, path, recipes, shell):
    """Tools that write down their arguments, files to complete, completion scripts. Returns (prefix, folder, scripts)."""
    prefix, folder, scripts = root / "prefix", root / "work", root / "scripts"
    for made in (prefix / "bin", folder / "folder", scripts):
        made.mkdir(parents=True)
    shutil.copytree(recipes, prefix / RECIPES)
    for name in FILES:
        (folder / name).write_text("")
    for tool in sorted({typed.split()[0] for typed, _ in CASES}):
        program = prefix / "bin" / tool
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {root}/new && mv {root}/new {root}/got\n')
        program.chmod(0o755)
        out = subprocess.run([shutil.which(tool, path=path), "--completion", shell], capture_output=True, check=True)
        name = {"bash": tool, "zsh": "_" + tool, "fish": tool + ".fish"}[shell]
        (scripts / name).write_bytes(out.stdout)
    return prefix, folder, scripts


def complete(shell, root, typed):
    """Types a line with a tab; returns the last argument of the tool, or None."""
    got = root / "got"
    got.unlink(missing_ok=True)
    shell.type(typed + "\t")
    shell.type("\n")
    if not shell.wait_for(got.exists):
        return None
    return got.read_text(encoding="utf-8").splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", required=True, help="folder with the built tools")
    parser.add_argument("--recipes", required=True, type=pathlib.Path)
    parser.add_argument("--shell", action="append", help="default: bash, zsh and fish")
    parser.add_argument("--verbose", action="store_true", help="print what the terminal showed")
    options = parser.parse_args()
    tap = Tap()
    for name in options.shell or ["bash", "zsh", "fish"]:
        if shutil.which(name) is None:
            tap.report(f"completions in {name}", skip=f"{name} is not installed")
            continue
        with tempfile.TemporaryDirectory(prefix="ml-completions-") as folder:
            root = pathlib.Path(folder).resolve()
            try_shell(tap, name, root, options)
    return tap.finish()


def try_shell(tap, name, root, options):
    prefix, folder, scripts = prepare(root, options.path, options.recipes, name)
    command, lines = commands(name, scripts)
    environment = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": str(root), "TERM": "xterm", "LC_ALL": "C.UTF-8",
                   "XDG_DATA_HOME": str(root), "XDG_CONFIG_HOME": str(root)}
    shell = Shell(command, folder, environment)
    try:
        for line in lines:
            shell.type(line + "\n")
        if not shell.wait_for(lambda: PROMPT in shell.seen):
            tap.report(f"{name} starts", f"no prompt after {SECONDS} s:\n{shell.seen[-2000:]}")
            return
        for typed, expected in CASES:
            got = complete(shell, root, typed)
            wanted = expected.format(prefix=prefix)
            # zsh takes the slash of a folder away again at the end of a line.
            same = got is not None and got.rstrip("/") == wanted.rstrip("/")
            complaint = None if same else f"gives {got!r}, not {wanted!r}"
            tap.report(f"{name}: {typed}", complaint, details=shell.seen[-400:].splitlines() if options.verbose else ())
            if got is None:
                break
    finally:
        shell.close()


if __name__ == "__main__":
    sys.exit(main())
