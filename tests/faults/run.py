#!/usr/bin/env python3
"""Lets every call with which a tool changes files go wrong in turn, and looks at what is left: the old file or the
complete new one, and nothing beside it. Reports TAP."""

import concurrent.futures
import os
import pathlib
import random
import re
import resource
import signal
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from arguments import parse, parser_of
from jobs import prepare, snapshot
from tap import Tap

SECONDS = 60
OLD = b"the old file, which stays until the new one is complete\n"
ERRORS = {"ENOSPC": "No space left on device", "EIO": "Input/output error"}
HARMLESS = ("EINTR", "short", "plain")
SIGNALS = {"KILL": signal.SIGKILL, "INT": signal.SIGINT, "TERM": signal.SIGTERM}
RARE = {name: getattr(signal, "SIG" + name) for name in ("QUIT", "XCPU", "ALRM", "USR1", "USR2")}
FAULTS = [*ERRORS, "EINTR", "short", *(name + when for name in SIGNALS for when in ("", "+"))]


class Outcome:
    """What one run left behind."""

    def __init__(self, process, folder, log, job):
        self.status = process.returncode
        self.stderr = process.stderr.decode("utf-8", "replace")
        self.target = snapshot(folder / job.target)
        self.others = sorted(entry.name for entry in folder.iterdir() if entry.name != job.target)
        self.log = log.read_text().splitlines() if log.exists() else []


class Trial:
    """One job, with or without an older file in its place."""

    def __init__(self, job, work, layer, old):
        self.job, self.work, self.layer, self.old = job, work, layer, old
        base = self.run("count:0")
        self.problem = None if base.status == 0 else f"without a fault: {base.status}, {base.stderr}"
        self.new = base.target
        self.n_calls = int(base.log[-1].split()[-1]) if base.log else 0

    def place_old(self, folder):
        if not self.old:
            return
        if self.job.name == "seed-pack folder":
            (folder / self.job.target).mkdir()
            (folder / self.job.target / "old.safetensors").write_bytes(OLD)
        else:
            (folder / self.job.target).write_bytes(OLD)

    def run(self, fault, more=(), keep=None, kill_after=None, kill_with=signal.SIGKILL):
        folder = keep or pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.work))
        log = folder.with_name(folder.name + ".log")
        try:
            if keep is None:
                self.place_old(folder)
                self.before = snapshot(folder / self.job.target)
            environment = dict(os.environ, LD_PRELOAD=str(self.layer), ML_FAULT_LOG=str(log))
            if fault:
                environment["ML_FAULT"] = fault
            process = subprocess.Popen([*self.job.command(folder), *more], env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if kill_after is not None:
                time.sleep(kill_after)
                process.send_signal(kill_with)
            process.stderr_bytes = process.communicate(timeout=SECONDS)[1]
            return Outcome(Finished(process), folder, log, self.job)
        finally:
            log.unlink(missing_ok=True)
            if keep is None:
                shutil.rmtree(folder)

    def state(self, outcome):
        if outcome.target == self.before:
            return "old"
        if outcome.target == self.new:
            return "new"
        return "partial"

    def complaint(self, fault):
        """Runs with the fault. Returns (what is wrong or None, whether the fault came to pass)."""
        kind = fault.split(":")[0]
        outcome = self.run(fault)
        met = any(not line.startswith("count") for line in outcome.log)
        state = self.state(outcome)
        problems = []
        if state == "partial" and not (self.job.resumes and outcome.target is not None):
            problems.append("the target is neither the old file nor the new one")
        leftovers = outcome.others
        if kind.startswith("KILL"):  # nobody can tidy up after that; without a name there is nothing to tidy
            leftovers = [name for name in leftovers if not re.fullmatch(r"\..*\.tmp", name)]
        if leftovers:
            problems.append(f"left behind: {leftovers}")
        problems += self.status_problems(kind, outcome, met, state)
        if problems:
            problems.append(f"status {outcome.status}, target {state}, stderr {outcome.stderr!r}, faults {outcome.log[:3]}")
        return "; ".join(problems) or None, met

    def status_problems(self, kind, outcome, met, state):
        number = {**SIGNALS, **RARE}.get(kind.rstrip("+"))
        if not met or kind in HARMLESS:
            if outcome.status != 0 or state != "new":
                yield "what should do no harm did"
        elif number is not None:
            if outcome.status != -number:
                yield f"status must be {-number}"
        elif outcome.status == 0:
            if state != "new":
                yield "done, but the target is not the new file"
        else:
            lines = outcome.stderr.splitlines()
            tool = self.job.arguments[0]
            good = [line for line in lines if line.startswith(f"{tool}: ") and ERRORS[kind] in line]
            if outcome.status != 1 or good != lines or not 1 <= len(lines) <= 1 + self.job.speaks:
                yield "must be status 1 and one line that says why"

    def resume_complaint(self, fault):
        """A collection that was killed goes on to the bits of one that was not."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="resume-", dir=self.work))
        try:
            self.run(fault, keep=folder)
            outcome = self.run(None, more=["--resume"], keep=folder)
            if outcome.status != 0 or outcome.target != self.new:
                return f"not the bits of an undisturbed run: status {outcome.status}, {outcome.stderr}"
            return None
        finally:
            shutil.rmtree(folder)


class Finished:
    def __init__(self, process):
        self.returncode, self.stderr = process.returncode, process.stderr_bytes


def chosen(n_calls, most):
    """Numbers of calls from 1 on, evenly spread where there are more than `most`."""
    if n_calls <= most:
        return range(1, n_calls + 1)
    return sorted({1 + i * (n_calls - 1) // (most - 1) for i in range(most)})


def report_trial(tap, trial, most, pool, totals):
    name = f"{trial.job.name}, {'over an old file' if trial.old else 'a new file'}"
    if trial.problem or trial.n_calls == 0:
        tap.report(name, trial.problem or "the layer saw no call")
        return
    faults = [f"{kind}:{number}" for kind in FAULTS for number in chosen(trial.n_calls, most)]
    faults += [f"{kind}:{number}" for kind in RARE for number in chosen(trial.n_calls, 3)]
    faults.append("plain:1")
    complaints, n_met = [], 0
    for fault, (complaint, met) in zip(faults, pool.map(trial.complaint, faults)):
        n_met += met
        if complaint:
            complaints.append(f"{fault}: {complaint}")
    totals["faults"] += n_met
    totals["runs"] += len(faults)
    tap.report(f"{name}: {n_met} faults in {trial.n_calls} calls", "\n".join(complaints[:20]) or None)
    if trial.job.resumes and not trial.old:
        kills = [f"KILL{when}:{number}" for when in ("", "+") for number in chosen(trial.n_calls, most)]
        wrong = [f"{fault}: {text}" for fault, text in zip(kills, pool.map(trial.resume_complaint, kills)) if text]
        totals["faults"] += len(kills)
        tap.report(f"{trial.job.name} goes on after {len(kills)} kills", "\n".join(wrong[:20]) or None)


def report_random_kills(tap, trial, n, totals):
    """Signals from outside, at any moment: only after kill -9 may a temporary file stay."""
    start = time.monotonic()
    trial.run(None)
    seconds = time.monotonic() - start
    draw = random.Random(trial.job.name)
    for name, number in SIGNALS.items():
        wrong = []
        for _ in range(n):
            moment = draw.uniform(0, 1.2 * seconds)
            outcome = trial.run(None, kill_after=moment, kill_with=number)
            left = [other for other in outcome.others if name != "KILL" or not re.fullmatch(r"\..*\.tmp", other)]
            state = trial.state(outcome)
            if left or outcome.status not in (0, -number) or (state == "partial" and not trial.job.resumes):
                wrong.append(f"after {moment:.4f} s: status {outcome.status}, target {state}, left behind {left}, "
                             f"{outcome.stderr!r}")
        totals["kills"] += n
        tap.report(f"{trial.job.name}: SIG{name} at {n} random moments", "\n".join(wrong) or None)


FULL = """
mount -t tmpfs -o size="$1" none "$2" || exit 77
[ -z "$3" ] || cp "$3" "$2/out" 2> /dev/null || exit 78
shift 3
rc=0; "$@" > /dev/null || rc=$?
cd "$OUT_FOLDER"; ls -A; [ ! -f out ] || md5sum < out
exit $rc
"""


def report_full_disk(tap, job, work, new, totals):
    """A real file system without room."""
    name = f"{job.name}: a full file system"
    if not isinstance(new, bytes):
        size = sum(len(data) for _, data in new)
    else:
        size = len(new)
    complaints, n = [], 0
    for old in (None, work / "small") if job.replaces else (None,):
        for room in sorted({4096, size // 2 // 4096 * 4096, (size - 1) // 4096 * 4096}):
            if room < 4096 or (old and (room < 8192 or not isinstance(new, bytes))):
                continue
            folder = pathlib.Path(tempfile.mkdtemp(prefix="full-", dir=work))
            process = subprocess.run(
                ["unshare", "-m", "sh", "-c", FULL, "sh", str(room), str(folder), str(old or ""), *job.command(folder)],
                env=dict(os.environ, OUT_FOLDER=str(folder)), stdin=subprocess.DEVNULL, capture_output=True, check=False)
            folder.rmdir()
            if process.returncode == 77 or b"unshare" in process.stderr:
                tap.report(name, skip="only root may mount a file system")
                return
            n += 1
            left, message = process.stdout.decode().split(), process.stderr.decode()
            expected = [] if old is None else ["out", md5_of(old), "-"]
            if process.returncode != 1 or left != expected or "No space left" not in message or message.count("\n") != 1:
                complaints.append(f"{room} bytes, old {old}: status {process.returncode}, left {left}, {message!r}")
    totals["full"] += n
    tap.report(f"{name}, {n} sizes", "\n".join(complaints) or None)


def md5_of(path):
    return subprocess.run(["md5sum", str(path)], capture_output=True, check=True, text=True).stdout.split()[0]


def main():
    parser = parser_of(__doc__, "layer", "data", "recipes")
    parser.add_argument("--most", type=int, default=10**9, help="calls of a run that are tried (default: all)")
    parser.add_argument("--kills", type=int, default=100, help="random kills of each tool, with each signal")
    parser.add_argument("--job", help="only jobs whose name contains this")
    options = parse(parser)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # SIGQUIT would leave one
    for number in {**SIGNALS, **RARE}.values():
        if signal.getsignal(number) == signal.SIG_IGN:  # as jobs in the background get it, which tools would respect
            signal.signal(number, signal.SIG_DFL)
    tap = Tap()
    totals = {"faults": 0, "runs": 0, "kills": 0, "full": 0}
    with tempfile.TemporaryDirectory(prefix="ml-faults-") as folder, \
            concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        work = pathlib.Path(folder)
        (work / "small").write_bytes(OLD)
        for job in prepare(work, options.data, options.recipes):
            if options.job and options.job not in job.name:
                continue
            for old in (False, True) if job.replaces else (False,):
                trial = Trial(job, work, options.layer, old)
                report_trial(tap, trial, options.most, pool, totals)
            report_random_kills(tap, trial, options.kills, totals)
            report_full_disk(tap, job, work, trial.new, totals)
    print(f"# {totals['faults']} faults injected in {totals['runs']} runs, {totals['kills']} random kills, "
          f"{totals['full']} full file systems")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
