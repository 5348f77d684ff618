#!/usr/bin/env python3
"""Runs the gates of share/gates as their users would: the steps of the workflow in their order, and the hooks under pre-commit."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap

TOOLS = ["ml-run", "ml-bench", "mlb-info", "mlb-quant"]


class Repository:
    """A user's repository: a model, the gates, and tools to install."""

    def __init__(self, root, tools, gates, model):
        self.root, self.gates = root, gates
        shutil.copytree(gates, root / "gates")
        self.environment = dict(os.environ, GITHUB_PATH=str(root / "path"), REPETITIONS="3", HOME=str(root),
                                GIT_CONFIG_NOSYSTEM="1", PRE_COMMIT_HOME=str(root / "hooks"))
        (root / "tools").mkdir()
        with tarfile.open(root / "tools/mlutils-0-linux-x86_64.tar.xz", "w:xz") as archive:
            for name in TOOLS:  # programs that start the built ones
                program = root / name
                program.write_text(f'#!/bin/sh\nexec {tools / name} "$@"\n')
                program.chmod(0o755)
                archive.add(program, f"mlutils-0/bin/{name}")
                program.unlink()
        for kind in ("q8_0", "q4_0"):
            self.sh(f"{tools}/mlb-quant -q {model} --type {kind} -o {kind}.mlb")
        shutil.copy(root / "q8_0.mlb", root / "model.mlb")

    def sh(self, script, path=""):
        """Runs a script as a workflow's step runs. Returns (status, output)."""
        environment = dict(self.environment, PATH=f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"])
        process = subprocess.run(["bash", "-e", "-c", script], cwd=self.root, env=environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, check=False)
        return process.returncode, process.stdout

    def added_path(self):
        added = self.root / "path"
        return ":".join(added.read_text(encoding="utf-8").split()) if added.exists() else ""

    def edit_baseline(self, change):
        file = self.root / "baseline.json"
        rows = json.loads(file.read_text(encoding="utf-8"))
        for row in rows:
            change(row)
        file.write_text(json.dumps(rows), encoding="utf-8")

    def scale_baseline(self, factor):
        """Times of the baseline, and no noise."""
        def scale(row):
            row["median_ns"] *= factor
            row["samples_ns"] = [row["median_ns"]] * 3
        self.edit_baseline(scale)


def expect(condition, complaint):
    if not condition:
        raise RuntimeError(complaint)


def write_files(repository, path):
    """What a user does once, before the first commit."""
    for gate, file in (("digest-gate", "digests.txt"), ("speed-gate", "baseline.json")):
        status, out = repository.sh(f"sh gates/{gate} model.mlb {file} > table", path)
        expect(status == 0 and out == f"{gate}: wrote {file}; commit it\n", f"{gate} says {out!r}")


def workflow(repository):
    import yaml  # pylint: disable=import-outside-toplevel
    parsed = yaml.safe_load((repository.gates / "github-workflow.yml").read_text(encoding="utf-8"))
    expect(set(parsed) - {True, "on"} == {"name", "permissions", "jobs"}, f"keys are {list(parsed)}")  # YAML 1.1 reads on as true
    steps = parsed["jobs"]["gates"]["steps"]
    expect("uses" in steps[0] and all("run" in step for step in steps[1:]), "the steps are not what is tested here")

    def run_all():
        (repository.root / "path").unlink(missing_ok=True)
        failed = []
        for step in steps[1:]:
            status, out = repository.sh(step["run"], repository.added_path())
            if status != 0:
                failed.append(f"{step['name']}: {out}")
        return failed

    failed = run_all()
    expect(failed and failed[0].startswith("Digests and baseline are committed: "), f"nothing to compare with: {failed}")
    for path in ("digests.txt", "baseline.json"):  # the steps after it, which no runner would take
        (repository.root / path).unlink(missing_ok=True)
    write_files(repository, repository.added_path())
    digests = (repository.root / "digests.txt").read_text(encoding="utf-8")
    expect("digest step 3 " in digests, f"digests.txt holds {digests}")
    repository.scale_baseline(1000)
    failed = run_all()
    expect(not failed, f"the second run fails: {failed}")
    repository.scale_baseline(1e-6)
    failed = run_all()
    expect(len(failed) == 1 and failed[0].startswith("As fast: ") and "slower" in failed[0], f"a slow model: {failed}")
    repository.scale_baseline(1e6)
    shutil.copy(repository.root / "q4_0.mlb", repository.root / "model.mlb")
    failed = run_all()
    expect([line.split(":")[0] for line in failed] == ["The same numbers", "As fast"], f"another model: {failed}")
    (repository.root / "model.mlb").write_bytes((repository.root / "q8_0.mlb").read_bytes()[:-1])
    failed = run_all()
    expect(failed and failed[0].startswith("Sound: "), f"a broken model: {failed}")


def another_machine(repository):
    """The speed gate with a baseline from elsewhere: the numbers count, and the speed is said to be unknown."""
    repository.sh("tar -xJf tools/*.tar.xz")
    path = str(repository.root / "mlutils-0/bin")

    def gate():
        return repository.sh("sh gates/speed-gate model.mlb baseline.json 10", path)

    def elsewhere(row):
        row.update(threads=77, target="abacus")
        row["machine"]["cpu"] = "Abacus"

    write_files(repository, path)
    repository.edit_baseline(elsewhere)
    status, out = gate()
    expect(status == 0 and out.count("speed not compared") == 2, f"status {status}: {out}")
    shutil.copy(repository.root / "q4_0.mlb", repository.root / "model.mlb")
    status, out = gate()
    expect(status == 1 and out.count("in the baseline (ML_E_ARG)") == 2, f"other numbers: status {status}: {out}")
    repository.edit_baseline(lambda row: row.update(digest=None))
    status, out = gate()
    expect(status == 1 and "digest not compared" in out, f"no digests: status {status}: {out}")
    repository.edit_baseline(lambda row: row.update(model="other.mlb"))
    status, out = gate()
    expect(status == 1 and "not in the baseline" in out, f"a baseline of another model: status {status}: {out}")


def hooks(repository):
    shutil.copy(repository.gates / "pre-commit-hooks.yaml", repository.root / ".pre-commit-config.yaml")
    repository.sh("tar -xJf tools/*.tar.xz")
    path = str(repository.root / "mlutils-0/bin")
    git = "git -c user.name=x -c user.email=x@example.org"
    status, out = repository.sh(f"git init -q . && git add model.mlb .pre-commit-config.yaml && pre-commit install && "
                                f"{git} commit -q -m none", path)
    expect(status != 0 and "git add" in out and not (repository.root / "digests.txt").exists(), f"no digests are there: {out}")
    status, out = repository.sh(f"sh gates/digest-gate model.mlb digests.txt && git add digests.txt && {git} commit -q -m one", path)
    expect(status == 0, f"a sound model is refused: {out}")
    status, out = repository.sh(f"cp q4_0.mlb model.mlb && git add model.mlb && {git} commit -q -m two", path)
    expect(status != 0 and "computes other numbers" in out, f"another model is committed: {out}")
    status, out = repository.sh(f"head -c 1000 q4_0.mlb > more.mlb && cp q8_0.mlb model.mlb && git add model.mlb more.mlb && "
                                f"{git} commit -q -m three", path)
    expect(status != 0 and "more.mlb" in out, f"a broken model is committed: {out}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", required=True, type=pathlib.Path, help="folder with the built tools")
    parser.add_argument("--gates", required=True, type=pathlib.Path, help="share/gates")
    parser.add_argument("--model", required=True, type=pathlib.Path)
    options = parser.parse_args()
    tap = Tap()

    def step(name, function, missing):
        if missing:
            tap.report(name, skip=f"{missing} is not installed")
            return
        with tempfile.TemporaryDirectory(prefix="ml-gates-") as folder:
            try:
                function(Repository(pathlib.Path(folder), options.path.resolve(), options.gates.resolve(), options.model.resolve()))
                tap.report(name)
            except (RuntimeError, OSError, ValueError, KeyError) as error:
                tap.report(name, str(error))

    try:
        import yaml  # pylint: disable=import-outside-toplevel,unused-import
        no_yaml = None
    except ImportError:
        no_yaml = "PyYAML"
    step("the workflow's steps accept and refuse", workflow, no_yaml)
    step("a baseline of another machine", another_machine, None)
    step("pre-commit accepts and refuses", hooks, next((name for name in ("git", "pre-commit") if not shutil.which(name)), None))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
