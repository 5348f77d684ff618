#!/usr/bin/env python3
"""Tools side by side: on the same inputs each makes the bytes that it makes alone; several that write one target leave
one complete file and nothing else. Reports TAP."""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from arguments import parse, parser_of
from jobs import prepare, snapshot
from tap import Tap

SECONDS = 300


def start(job, folder, more=()):
    return subprocess.Popen([*job.command(folder), *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def finish(process):
    """Returns (status, standard output, messages)."""
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err.decode("utf-8", "replace")


def alone(job, folder):
    folder.mkdir()
    status, out, err = finish(start(job, folder))
    if status != 0:
        raise SystemExit(f"{job.name}: {status}, {err}")
    return snapshot(folder / job.target), out


def side_by_side(tap, jobs, expected, work, rounds):
    wrong = {job.name: [] for job in jobs}
    for number in range(rounds):
        running = []
        for copy in range(2):
            for job in jobs:
                folder = work / f"side-{number}-{copy}-{job.name.replace(' ', '-')}"
                folder.mkdir()
                running.append((job, folder, start(job, folder)))
        for job, folder, process in running:
            status, out, err = finish(process)
            others = [entry.name for entry in folder.iterdir() if entry.name != job.target]
            if status != 0 or others or (snapshot(folder / job.target), out) != expected[job.name]:
                wrong[job.name].append(f"status {status}, beside its target {others}, {err!r}")
    for job in jobs:
        tap.report(f"{job.name} beside {2 * len(jobs) - 1} others makes what it makes alone", "\n".join(wrong[job.name]) or None)


def one_target(tap, job, expected, work, rounds):
    wrong = []
    for number in range(rounds):
        folder = work / f"one-{number}-{job.name.replace(' ', '-')}"
        folder.mkdir()
        results = [finish(process) for process in [start(job, folder) for _ in range(4)]]
        others = [entry.name for entry in folder.iterdir() if entry.name != job.target]
        bad = [(status, err) for status, _, err in results if status not in (0, 1) or (status == 1 and err.count("\n") != 1)]
        if bad or others or all(status != 0 for status, _, _ in results):
            wrong.append(f"{bad}, beside the target {others}, {results}")
        elif snapshot(folder / job.target) != expected[job.name][0]:
            wrong.append("the target is no complete file")
    tap.report(f"four {job.name} with one target", "\n".join(wrong) or None)


def main():
    parser = parser_of(__doc__, "data", "recipes")
    parser.add_argument("--rounds", type=int, default=20)
    options = parse(parser)
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="ml-concurrent-") as folder:
        work = pathlib.Path(folder)
        jobs = prepare(work, options.data, options.recipes)
        expected = {job.name: alone(job, work / ("alone-" + job.name.replace(" ", "-"))) for job in jobs}
        side_by_side(tap, jobs, expected, work, options.rounds)
        for job in jobs:
            if job.replaces:
                one_target(tap, job, expected, work, options.rounds)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
