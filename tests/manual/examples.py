#!/usr/bin/env python3
"""Runs the commands that the manual and README.md show, and reports them as TAP. README.md beside this says how they are marked."""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 240
SECTIONS = {"EXAMPLES", "PIPELINES"}  # where every block is commands
MARKS = {"with", "exit", "input", "needs", "not run"}
STORIES = "models/stories260K"


class Block:
    """Commands of a page, and the marks before them."""

    def __init__(self, page, number, marks, text, shows_output):
        self.page, self.number, self.marks, self.text, self.shows_output = page, number, marks, text, shows_output

    def commands(self):
        """What one would type: all of it, or the lines after "$ " where the output stands there too."""
        if not self.shows_output:
            return self.text
        return "".join(line[2:] + "\n" for line in self.text.splitlines() if line.startswith(("$ ", "> ")))

    def name(self):
        return f"{self.page} {self.number}: {self.commands().splitlines()[0].strip()}"


def page_blocks(path):
    """Yields (marks, text, section, first line, shows output) of each block between ``` lines of an scdoc or Markdown page."""
    is_page = path.suffix == ".scd"
    mark_line = re.compile(r"; ([a-z ]+):(?: (.*))?" if is_page else r"<!-- ([a-z ]+):(?: (.*?))? ?-->")
    section, marks, block = "", {}, None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if block is not None and line != "```":
            block.append(re.sub(r"\\(.)", r"\1", line) if is_page else line)
        elif block is not None:
            yield marks, "".join(line + "\n" for line in block), section, first, kind == "console"
            block, marks = None, {}
        elif line.startswith("```"):
            block, first, kind = [], number, line[3:]
        elif mark_line.fullmatch(line):
            mark = mark_line.fullmatch(line)
            marks[mark[1]] = mark[2] or ""
        elif line.startswith("# "):
            section = line[2:].strip()


def blocks_of(path):
    """Returns the blocks to run, and complaints about how they are written."""
    blocks, complaints = [], []
    name = path.name.removesuffix(".scd")
    for marks, text, section, line, shows_output in page_blocks(path):
        unknown = set(marks) - MARKS
        complaints += [f"{path.name}:{line}: no mark is called {mark}" for mark in sorted(unknown)]
        if marks or section in SECTIONS:
            blocks.append(Block(name, len(blocks) + 1, marks, text, shows_output))
    if path.suffix == ".scd":
        section = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            section = line[2:].strip() if line.startswith("# ") else section
            if section in SECTIONS and line.startswith("\t"):
                complaints.append(f"{path.name}:{number}: commands stand between ``` lines, where their lines stay apart")
    if path.name.endswith(".1.scd") and not blocks:
        complaints.append(f"{path.name}: no example")
    return blocks, complaints


class Files:
    """The files that examples speak of, made of the test data as they are wanted."""

    def __init__(self, data, environment, cache):
        self.data, self.environment, self.cache = data, environment, cache

    def run(self, *command, **keywords):
        subprocess.run(command, env=self.environment, check=True, stdin=subprocess.DEVNULL, **keywords)

    def put(self, wanted, folder):
        """Puts NAME, or NAME=PATH of the test data, into a folder."""
        name, _, source = wanted.partition("=")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        path = self.data / source if source else self.find(name)
        if path.is_dir():
            shutil.copytree(path, target)
        else:
            shutil.copyfile(path, target)

    def find(self, name):
        """The file in the cache that an example calls `name`, made on the first call."""
        makers = [
            (r"share/mlutils", lambda path: ROOT / "share"),
            (r"tests/data/.*", lambda path: ROOT / name),
            (r"(.*/)?recipes", lambda path: ROOT / "share/recipes"),
            (r"qwen3", self.chat_model),
            (r"Qwen3-.*|qwen3-stories", lambda path: self.data / "models/qwen3-stories"),
            (r"stories260K|checkpoint|Llama-.*|models/stories260K", lambda path: self.data / STORIES),
            (r"packed", self.packed),
            (r"tokenizer\.json", lambda path: self.data / STORIES / "tokenizer.json"),
            (r"imatrix\.gguf", lambda path: self.data / "imatrix/stories260K.gguf"),
            (r".*\.mlb", self.quantized),
            (r".*\.mlt", lambda path: self.run("mlt-pack", "-q", self.data / STORIES, "-o", path)),
            (r".*\.mli", self.importance),
            (r".*\.gguf", self.gguf),
            (r".*\.jsonl", self.prompts),
            (r"letter\.txt", lambda path: path.write_text("Lily had a red bal and she was very hapy.\n") and path),
            (r".*\.txt", self.text),
        ]
        for pattern, make in makers:
            if re.fullmatch(pattern, name):
                path = self.cache / name.replace("/", "_")
                return path if path.exists() else make(path) or path
        raise LookupError(f"no test data is called {name}")

    def quantized(self, path):
        kind = "q4_0" if "q4" in path.name else "q8_0"
        self.run("mlb-quant", "-q", self.data / STORIES, "--type", kind, "-o", path)

    def importance(self, path):
        self.run("ml-run", "-q", self.data / STORIES, "--imatrix", path, "-p", self.find("text.txt"), "--chunk", "64")

    def gguf(self, path):
        self.run(sys.executable, ROOT / "tests/formats/make_gguf.py", self.data / STORIES, path, "--usual", "--tokenizer",
                 stdout=subprocess.DEVNULL)

    def packed(self, path):
        self.run("seed-pack", "-q", self.data / STORIES, "-o", path, "--encoding", "q8")

    def chat_model(self, path):
        shutil.copytree(self.data / "models/qwen3-stories", path)
        shutil.copyfile(self.data / "chat/qwen3.jinja", path / "chat_template.jinja")

    def prompts(self, path):
        path.write_text('{"prompt": "Once upon a time"}\n{"prompt": "Lily", "n": 20}\n')

    def text(self, path):
        """Some stories, which the model writes itself."""
        prompts = "".join(f'{{"prompt": "{name} ", "seed": {seed}}}\n' for seed, name in enumerate(["Once upon a time", "Lily", "Tom", "One day"]))
        written = subprocess.run(["ml-run", "-q", self.data / STORIES, "--jsonl", "--temp", "0.8", "-n", "150"], env=self.environment,
                                 input=prompts, text=True, stdout=subprocess.PIPE, check=True).stdout
        path.write_text("\n\n".join(json.loads(line)["text"] for line in written.splitlines()) + "\n")


def output_complaint(block, out):
    """A block that shows what its commands print must show what they print."""
    shown = "".join(line + "\n" for line in block.text.splitlines() if not line.startswith(("$ ", "> ")))
    if shown == out:
        return None
    return "prints something else:\n" + out


def run_block(block, files, environment):
    """Returns (complaint or None, details)."""
    with tempfile.TemporaryDirectory(prefix="ml-manual-") as name:
        folder = pathlib.Path(name)
        for wanted in block.marks.get("with", "").split():
            files.put(wanted, folder)
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", block.commands()], cwd=folder, env=dict(environment, HOME=name, TMPDIR=name),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            text = block.marks.get("input", "")
            out, err = process.communicate(input=text and text + "\n", timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return f"took over {SECONDS} s", err.splitlines()
        expected = block.marks.get("exit", "0").split()
        details = [f"stderr: {line}" for line in err.splitlines()[:20]]
        if str(process.returncode) not in expected:
            return f"exit status {process.returncode}, expected {' or '.join(expected)}", details
        return output_complaint(block, out) if block.shows_output else None, details


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", required=True, help="folder with the built programs")
    parser.add_argument("--data", default=ROOT / "tests/data", type=pathlib.Path)
    parser.add_argument("--only", help="pages whose names contain this")
    options = parser.parse_args()
    environment = dict(os.environ, PATH=os.path.abspath(options.path) + ":" + os.environ["PATH"], LC_ALL="C.UTF-8", TERM="dumb")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # children inherit what Python changed
    tap = Tap()
    complaints, n_run, n_not_run = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="ml-manual-files-") as cache:
        files = Files(options.data.resolve(), environment, pathlib.Path(cache))
        for path in [*sorted((ROOT / "man").glob("*.scd")), ROOT / "README.md"]:
            if options.only and options.only not in path.name:
                continue
            blocks, problems = blocks_of(path)
            complaints += problems
            for block in blocks:
                missing = [program for program in block.marks.get("needs", "").split() if shutil.which(program) is None]
                if "not run" in block.marks or missing:
                    n_not_run += 1
                    tap.report(block.name(), skip=f"{missing[0]} is not installed" if missing else block.marks["not run"] or "no reason")
                    continue
                n_run += 1
                complaint, details = run_block(block, files, environment)
                tap.report(block.name(), complaint, details=details)
    tap.report("examples are marked as they should be", "\n".join(complaints) if complaints else None)
    print(f"# {n_run} run, {n_not_run} not run")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
