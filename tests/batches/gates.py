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

    def scale_baseline(self, factor):
        """Times of the baseline, and no noise."""
        file = self.root / "baseline.json"
        rows = json.loads(file.read_text(encoding="utf-8"))
        for row in rows:
            row["median_ns"] *= factor
            row["samples_ns"] = [row["median_ns"]] * 3
        file.write_text(json.dumps(rows), encoding="utf-8")


def expect(condition, complaint):
    if not condition:
        raise RuntimeError(complaint)


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

    expect(not run_all(), "the first run fails")
    digests = (repository.root / "digests.txt").read_text(encoding="utf-8")
    expect("digest step 3 " in digests and (repository.root / "baseline.json").exists(), "nothing was written")
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


def hooks(repository):
    shutil.copy(repository.gates / "pre-commit-hooks.yaml", repository.root / ".pre-commit-config.yaml")
    repository.sh("tar -xJf tools/*.tar.xz")
    path = str(repository.root / "mlutils-0/bin")
    git = "git -c user.name=x -c user.email=x@example.org"
    status, out = repository.sh(f"git init -q . && sh gates/digest-gate model.mlb digests.txt && git add model.mlb digests.txt "
                                f".pre-commit-config.yaml && pre-commit install && {git} commit -q -m one", path)
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
    step("pre-commit accepts and refuses", hooks, next((name for name in ("git", "pre-commit") if not shutil.which(name)), None))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
