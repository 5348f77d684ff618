"""What the tests of faults run: every tool that writes a file, on small inputs."""

import pathlib
import subprocess


class Job:
    """One command that makes `target` in an empty folder, or replaces what is there."""

    def __init__(self, name, arguments, target="out", resumes=False, replaces=True, speaks=False):
        self.name = name
        self.arguments = arguments  # {out} stands for the folder of the target
        self.target = target
        self.resumes = resumes  # it saves what it has on the way and goes on from there
        self.replaces = replaces  # it takes an older file's place
        self.speaks = speaks  # it writes to standard output too, whose failure is a line of its own

    def command(self, folder):
        return [argument.replace("{out}", str(folder)) for argument in self.arguments]


def run(*command, **keywords):
    subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL, **keywords)


def prepare(work, data, recipes):
    """Makes the inputs in the folder `work`. Returns the jobs."""
    tiny = data / "oracle/llama2-mha"
    stories = data / "models/stories260K"
    tokens = ",".join(str(3 + i % 50) for i in range(40))
    matrices = [work / "a.mli", work / "b.mli"]
    for matrix in matrices:
        run("ml-run", "-q", tiny, "--tokens", tokens, "--imatrix", matrix)
    text = work / "text"
    text.write_text("Once upon a time there was a little girl.\n" * 400)
    few = work / "few"
    few.write_text("Once upon a time there was a little girl.\n" * 4)
    recipe = pathlib.Path(recipes) / "llama.json"
    jobs = [
        Job("mlb-quant", ["mlb-quant", "-q", "-f", tiny, "-o", "{out}/out"]),
        Job("mlt-pack", ["mlt-pack", "-q", "-f", stories, "-o", "{out}/out"]),
        Job("mlt-encode", ["mlt-encode", "-q", "-f", "-m", stories, text, "-o", "{out}/out"]),
        Job("mog-pack", ["mog-pack", "-q", "-f", recipe, "--root", tiny, "-o", "{out}/out"]),
        Job("imatrix-merge", ["imatrix-merge", "-q", "-f", *matrices, "-o", "{out}/out"]),
        Job("seed-pack folder", ["seed-pack", "-q", "-f", "--encoding", "q8", tiny, "-o", "{out}/out"]),
        Job("seed-pack file", ["seed-pack", "-q", "-f", "--encoding", "q8", tiny / "model.safetensors", "-o", "{out}/out"]),
        Job("ml-run --logits", ["ml-run", "-q", "-f", tiny, "--tokens", tokens, "-n", "0", "--logits", "{out}/out"]),
        Job("ml-run --session", ["ml-run", "-q", tiny, "--tokens", tokens, "--ids", "-n", "4", "--session", "{out}/out"],
            replaces=False, speaks=True),
        Job("ml-run --routes", ["ml-run", "-q", "-f", data / "mova/mova", "--tokens", tokens, "-n", "0", "--routes", "{out}/out"]),
        Job("ml-eval --save-logits", ["ml-eval", "-q", "-f", stories, few, "--save-logits", "{out}/out"], speaks=True),
        Job("ml-eval --html", ["ml-eval", "-q", "-f", stories, few, "--html", "{out}/out"], speaks=True),
        Job("ml-run --imatrix", ["ml-run", "-q", "-f", tiny, "--tokens", tokens, "--imatrix", "{out}/out", "--chunk", "8",
                                 "--save-every", "1"], resumes=True),
    ]
    for job in jobs:
        job.arguments = [str(argument) for argument in job.arguments]
    return jobs


def snapshot(path):
    """What is there: None, bytes, or a sorted list of names and bytes."""
    if path.is_dir():
        return [(entry.name, entry.read_bytes()) for entry in sorted(path.iterdir())]
    return path.read_bytes() if path.exists() else None
