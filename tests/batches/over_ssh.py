#!/usr/bin/env python3
"""Runs the recipes of share/batches over ssh: an sshd on this machine's loopback, with keys of its own, is the other host."""

import argparse
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from same_sums import difference
from tap import Tap

SECONDS = 60
SERVER = """
Port {port}
ListenAddress 127.0.0.1
HostKey {root}/host
AuthorizedKeysFile {root}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
SetEnv PATH={path}
"""
CLIENT = """
Host other
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {root}/user
  IdentitiesOnly yes
  UserKnownHostsFile {root}/known
  StrictHostKeyChecking yes
  LogLevel ERROR
"""


class Host:
    """An sshd that is a child of this process."""

    def __init__(self, root, path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", root / name], check=True)
        key = (root / "host.pub").read_text(encoding="utf-8")
        (root / "known").write_text(f"[127.0.0.1]:{self.port} {key}", encoding="utf-8")
        fields = {"port": self.port, "root": root, "path": path, "user": pwd.getpwuid(os.getuid()).pw_name}
        (root / "server").write_text(SERVER.format(**fields), encoding="utf-8")
        (root / "client").write_text(CLIENT.format(**fields), encoding="utf-8")
        self.program = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
        self.config = root / "server"
        self.daemon = None
        # Root's sshd wants this folder, which the system's own makes when it starts.
        self.made = pathlib.Path("/run/sshd") if os.getuid() == 0 and not os.path.exists("/run/sshd") else None
        if self.made:
            self.made.mkdir(0o755)

    def problem(self):
        """What keeps an sshd from running here, or None."""
        tried = subprocess.run([self.program, "-t", "-f", self.config], capture_output=True, text=True, check=False)
        return tried.stderr.strip().splitlines()[-1] if tried.returncode != 0 else None

    def start(self):
        self.daemon = subprocess.Popen([self.program, "-D", "-e", "-f", self.config], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError as error:
                if time.monotonic() > end or self.daemon.poll() is not None:
                    raise RuntimeError("sshd does not answer") from error
                time.sleep(0.02)

    def stop(self):
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait()
        if self.made:
            self.made.rmdir()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", required=True, help="folder with the built tools")
    parser.add_argument("--share", required=True, type=pathlib.Path, help="share/batches")
    parser.add_argument("--model", required=True, type=pathlib.Path)
    options = parser.parse_args()
    tap = Tap()
    search = os.environ["PATH"] + ":/usr/sbin"
    missing = [name for name in ("parallel", "ssh", "sshd") if shutil.which(name, path=search) is None]
    if missing:
        tap.report("recipes over ssh", skip=f"{missing[0]} is not installed")
        return tap.finish()
    share, model = options.share.resolve(), options.model.resolve()
    with tempfile.TemporaryDirectory(prefix="ml-ssh-") as folder:
        root = pathlib.Path(folder)
        path = f"{os.path.abspath(options.path)}:{os.environ['PATH']}"
        host = Host(root, path)
        if problem := host.problem():
            host.stop()
            tap.report("recipes over ssh", skip=f"no sshd here: {problem}")
            return tap.finish()
        work = root / "work"
        work.mkdir()
        (work / "text.txt").write_text("".join(f"Once upon a time a girl had {i} red balls.\n" for i in range(40)))
        environment = dict(os.environ, PATH=path, PARALLEL_SSH=f"ssh -F {root}/client", HOSTS="2/other", HOME=str(root))

        def run(*command):
            process = subprocess.run([str(part) for part in command], cwd=work, env=environment, capture_output=True, text=True,
                                     check=False, stdin=subprocess.DEVNULL, timeout=SECONDS)
            if process.returncode != 0:
                raise RuntimeError(f"{' '.join(map(str, command))}: {process.stderr}")
            return process.stdout

        def evaluation():
            if run(share / "eval-parallel", 3, model, "-c", 64, "text.txt") != run("ml-eval", "-q", model, "-c", 64, "text.txt"):
                raise RuntimeError("the joined result is another one")

        def imatrix():
            run(share / "imatrix-parallel", 3, "joined.mli", model, "text.txt", "--chunk", 64)
            run("ml-run", "-q", model, "-p", "text.txt", "--chunk", 64, "--imatrix", "one.mli")
            if different := difference(work / "joined.mli", work / "one.mli"):
                raise RuntimeError(f"the joined matrix is another one: {different}")

        def bench():
            environment["HOSTS"] = "other,:"
            rows = [json.loads(line) for line in run(share / "bench-sweep", model, "--", "-p", 8, "-n", 0, "-r", 1).splitlines()]
            if len(rows) != 2 or any(row["result"]["test"] != "pp8" for row in rows):
                raise RuntimeError(f"rows are {rows}")
            for words in ((model, "--", "--format", "md"), (model, "--", "--html", "page.html"), ("--", "-p", 8)):
                process = subprocess.run([str(word) for word in (share / "bench-sweep", *words)], cwd=work, env=environment, text=True,
                                         capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=SECONDS)
                if process.returncode != 2 or process.stdout or len(process.stderr.splitlines()) != 1:
                    raise RuntimeError(f"{words}: status {process.returncode}, {process.stdout}{process.stderr}")

        try:
            host.start()
            for name, function in (("eval-parallel gives what one run gives", evaluation),
                                   ("imatrix-parallel gives what one run gives", imatrix), ("bench-sweep measures both hosts", bench)):
                try:
                    function()
                    tap.report(f"over ssh, {name}")
                except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
                    tap.report(f"over ssh, {name}", str(error))
        except RuntimeError as error:
            tap.report("sshd starts", str(error))
        finally:
            host.stop()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
