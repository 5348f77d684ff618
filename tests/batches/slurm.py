#!/usr/bin/env python3
"""Runs the recipes of share/slurm on a cluster of one node that lives on this machine's loopback for as long as the test."""

import argparse
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from same_sums import difference
from tap import Tap

SECONDS = 120
CONFIG = """
ClusterName=mlutils
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
MailProg=/bin/true
ReturnToService=2
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,defer_batch
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus}
PartitionName=all Nodes={host} Default=YES State=UP
"""


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for opened in sockets:
        opened.bind(("127.0.0.1", 0))
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def wait_until(holds, what):
    end = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {SECONDS} s")
        time.sleep(0.05)


class Cluster:
    """slurmctld and slurmd as children of this process."""

    def __init__(self, root, path):
        self.root = root
        host = os.uname().nodename
        controller, node = free_ports(2)
        config = root / "slurm.conf"
        for name in ("state", "spool"):
            (root / name).mkdir()
        config.write_text(CONFIG.format(host=host, user=pwd.getpwuid(os.getuid()).pw_name, controller=controller, node=node,
                                        root=root, cpus=len(os.sched_getaffinity(0))), encoding="utf-8")
        self.environment = dict(os.environ, SLURM_CONF=str(config), PATH=f"{path}:{os.environ['PATH']}:/usr/sbin")
        self.daemons = []

    def start(self):
        for daemon in ("slurmctld", "slurmd"):
            self.daemons.append(subprocess.Popen([daemon, "-D"], env=self.environment, stdin=subprocess.DEVNULL,
                                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        wait_until(lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T", fails=True), "the node is idle")

    def run(self, *command, fails=False, cwd=None):
        if any(daemon.poll() is not None for daemon in self.daemons):
            raise RuntimeError("a daemon of Slurm has ended")
        process = subprocess.run([str(part) for part in command], env=self.environment, cwd=cwd, capture_output=True,
                                 text=True, check=False, timeout=SECONDS)
        if process.returncode != 0 and not fails:
            raise RuntimeError(f"{' '.join(map(str, command))}: {process.stderr}")
        return process.stdout

    def wait_for(self, job):
        """Until a job is over, however it ended."""
        wait_until(lambda: self.run("squeue", "--noheader", "--jobs", job, "--states=all", "--format=%T", fails=True).strip()
                   in ("COMPLETED", "FAILED", "CANCELLED", ""), f"job {job} ends")

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def logs(self):
        for name in ("slurmctld.log", "slurmd.log"):
            if (self.root / name).exists():
                yield from (self.root / name).read_text(encoding="utf-8", errors="replace").splitlines()[-15:]


def recipes(cluster, work, share, model):
    """Yields (name, function that raises RuntimeError)."""
    text = work / "text.txt"
    text.write_text("".join(f"Once upon a time there was a girl, and she had {i} red balls.\n" for i in range(40)))

    def submitted(recipe, *arguments):
        job = cluster.run(share / recipe, *arguments, cwd=work).strip()
        cluster.wait_for(job)
        return job

    def same(a, b):
        if not a.exists():
            logs = "".join(path.read_text() for path in work.glob("*.shards/*.log"))
            raise RuntimeError(f"{a.name} is not there\n{logs}")
        different = difference(a, b) if a.suffix == ".mli" else a.read_bytes() != b.read_bytes()
        if different:
            raise RuntimeError(f"{a.name} is not {b.name}: {different}")
        if list(work.glob("*.shards")):
            raise RuntimeError("shards are left")

    def evaluation():
        (work / "one.txt").write_text(cluster.run("ml-eval", "-q", model, "-c", "64", text))
        submitted("eval-array", 3, "joined.txt", model, "-c", "64", text)
        same(work / "joined.txt", work / "one.txt")

    def imatrix():
        cluster.run("ml-run", "-q", model, "-p", text, "--chunk", "64", "--imatrix", work / "one.mli")
        submitted("imatrix-array", 3, "joined.mli", model, text, "--chunk", "64")
        same(work / "joined.mli", work / "one.mli")

    def bench():
        other = work / "other model"
        shutil.copytree(model, other)
        submitted("bench-array", "bench.jsonl", model, other, "--", "-p", "16", "-n", "4", "-r", "1")
        lines = (work / "bench.jsonl").read_text(encoding="utf-8").splitlines()
        got = [(json.loads(line)["model"], json.loads(line)["test"]) for line in lines]
        if [name for name, _ in got] != sorted((name for name, _ in got), key=lambda name: name != str(model)) or len(got) < 4:
            raise RuntimeError(f"bench.jsonl holds {got}")

    def options():
        """What the joined result looks like is said to the last job; -f replaces."""
        evaluate = ("ml-eval", "-q", model, "-c", "64", text, "--by-position")
        (work / "one.csv").write_text(cluster.run(*evaluate, "--format", "csv"))
        (work / "joined.csv").write_text("before")
        submitted("eval-array", "-f", 3, "joined.csv", model, text, "--by-position", "-c", "64", "--format", "csv", "--html", "page.html")
        same(work / "joined.csv", work / "one.csv")
        if "<svg" not in (work / "page.html").read_text():
            raise RuntimeError("page.html holds no chart")
        (work / "joined.mli").write_text("before")
        submitted("imatrix-array", 2, "joined.mli", model, text, "--chunk", "64", "-f")
        same(work / "joined.mli", work / "one.mli")
        (work / "bench.jsonl").write_text("before")
        submitted("bench-array", "-f", "bench.jsonl", model, "--", "-p", "16", "-n", "0", "-r", "1")
        json.loads((work / "bench.jsonl").read_text(encoding="utf-8"))

    def refusals():
        """One line each before anything is submitted."""
        (work / "there").write_text("before")
        (work / "left.shards").mkdir()
        evaluate, collect = ("eval-array", 3), ("imatrix-array", 3)
        for status, message, command in [
                (1, "there exists; -f replaces it", (*evaluate, "there", model, text)),
                (1, "there exists; -f replaces it", (*collect, "there", model, text)),
                (1, "there exists; -f replaces it", ("bench-array", "there", model)),
                (1, "there exists; -f replaces it", (*evaluate, "new", model, text, "--html", "there")),
                (1, "left.shards is there: ", (*evaluate, "left", model, text)),
                (1, "left.shards is there: ", (*collect, "left", model, text, "-f")),
                (1, "left.shards is there: ", ("bench-array", "-f", "left", model)),
                (1, "is an input", ("bench-array", "-f", text, text)),
                (1, "--shard 999/999 is empty", ("eval-array", 999, "new", model, text)),
                (1, "--shard 999/999 is empty", ("imatrix-array", 999, "new", model, text)),
                (1, "there is no folder none", (*evaluate, "none/new", model, text)),
                (2, "N is 'x', must be", ("eval-array", "x", "new", model, text)),
                (2, "N is '0', must be", ("imatrix-array", "0", "new", model, text)),
                (2, "--by-window needs one run", (*evaluate, "new", model, text, "--by-window")),
                (2, "--save-logits is not for the parts", (*evaluate, "new", model, text, "--save-logits", "x")),
                (2, "--imatrix is not for the parts", (*collect, "new", model, text, "--imatrix", "x")),
                (2, "--html is not for the parts", ("bench-array", "new", model, "--", "--html", "x")),
                (2, "-o is not for the parts", ("bench-array", "new", model, "--", "-o", "md")),
                (2, "usage: bench-array OUT MODEL... [-- OPTION...]", ("bench-array", "new", "--", "-p", "8")),
                (2, "usage: eval-array N OUT MODEL TEXT-FILE... [OPTION...]", ("eval-array", 3, "new", model))]:
            process = subprocess.run([str(share / command[0]), *map(str, command[1:])], env=cluster.environment, cwd=work, text=True,
                                     capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=SECONDS)
            lines = process.stderr.splitlines()
            if process.returncode != status or process.stdout or len(lines) != 1 or message not in lines[0]:
                raise RuntimeError(f"{command}: status {process.returncode}, {process.stdout}{process.stderr}")
        if (work / "there").read_text() != "before" or (work / "new").exists() or (work / "new.shards").exists():
            raise RuntimeError("a refused recipe wrote something")
        (work / "left.shards").rmdir()

    def no_cluster():
        """sbatch that takes nothing leaves nothing."""
        process = subprocess.run([str(share / "bench-array"), "new", str(model)], cwd=work, text=True, capture_output=True, check=False,
                                 env=dict(cluster.environment, SBATCH_PARTITION="none"), timeout=SECONDS)
        if process.returncode != 1 or "sbatch took no job" not in process.stderr or (work / "new.shards").exists():
            raise RuntimeError(f"status {process.returncode}: {process.stderr}")

    def failure():
        submitted("bench-array", "failed.jsonl", work / "missing.mlb", model, "--", "-p", "8", "-n", "0", "-r", "1")
        if (work / "failed.jsonl").exists() or "missing.mlb" not in (work / "failed.jsonl.shards/1.log").read_text():
            raise RuntimeError("a failed part went unseen")

    return [("eval-array gives what one run gives", evaluation), ("imatrix-array gives what one run gives", imatrix),
            ("bench-array measures each model", bench), ("options reach the job that they are for", options),
            ("what cannot be done is refused at once", refusals), ("a job that is not taken leaves nothing", no_cluster),
            ("a failed part leaves its log and no result", failure)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", required=True, help="folder with the built tools")
    parser.add_argument("--share", required=True, type=pathlib.Path, help="share/slurm")
    parser.add_argument("--model", required=True, type=pathlib.Path)
    options = parser.parse_args()
    tap = Tap()
    search = os.environ["PATH"] + ":/usr/sbin"
    missing = [name for name in ("slurmctld", "slurmd", "sbatch", "squeue") if shutil.which(name, path=search) is None]
    if missing:
        tap.report("Slurm job arrays", skip=f"{missing[0]} is not installed")
        return tap.finish()
    with tempfile.TemporaryDirectory(prefix="ml-slurm-") as folder:
        root = pathlib.Path(folder)
        work = root / "work"
        work.mkdir()
        cluster = Cluster(root, os.path.abspath(options.path))
        try:
            try:
                cluster.start()
            except RuntimeError as error:
                tap.report("Slurm starts", str(error), details=cluster.logs())
                return tap.finish()
            for name, function in recipes(cluster, work, options.share.resolve(), options.model.resolve()):
                try:
                    function()
                    tap.report(name)
                except (RuntimeError, OSError, ValueError, KeyError) as error:
                    tap.report(name, f"{error}", details=cluster.logs())
        finally:
            cluster.stop()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
