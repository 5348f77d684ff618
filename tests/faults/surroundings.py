#!/usr/bin/env python3
"""Tools where little is to be had or much is strange: few threads, hardly any memory, a folder that cannot be written, no home,
names with spaces and newlines, pipes that do not block, a locale whose numbers have commas. Reports TAP."""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from arguments import parse, parser_of
from tap import Tap

SECONDS = 120
NOBODY = 65534
LOADER_FAILED = 127  # ld.so itself had no memory
SPACES = [16 << 20, 18 << 20, 20 << 20, 24 << 20, 28 << 20, 36 << 20, 48 << 20, 96 << 20]


def run(command, **keywords):
    if "input" not in keywords:
        keywords["stdin"] = subprocess.DEVNULL
    return subprocess.run([str(part) for part in command], capture_output=True, check=False, timeout=SECONDS, **keywords)


def complaint_of(tool, result):
    """What is wrong with how a tool failed: it says its name and why, a line for each thing that it went on without."""
    lines = result.stderr.decode(errors="replace").splitlines()
    if result.returncode != 1 or not lines or not all(line.startswith(f"{tool}: ") for line in lines):
        return f"status {result.returncode}, must be 1 with messages: {lines}"
    return None


def little_memory(tap, jobs):
    for command in jobs:
        wrong = []
        for space in SPACES:
            result = run(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space)))
            if result.returncode not in (0, LOADER_FAILED) and (complaint := complaint_of(command[0], result)):
                wrong.append(f"{space} bytes of addresses: {complaint}")
        tap.report(f"{command[0]}: little memory", "\n".join(wrong) or None)


def be_nobody():
    """What root may, others may not: it has no limit of threads, and writes everywhere."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def nobody_reads(data):
    return run(["test", "-r", data / "models/stories260K/config.json"], preexec_fn=be_nobody).returncode == 0


def few_threads(tap, jobs, data):
    """The system starts no thread, or one: tools are slower."""
    def limited(n):
        def limit():
            be_nobody()
            resource.setrlimit(resource.RLIMIT_NPROC, (n, n))
        return limit

    for command in jobs:
        if not nobody_reads(data):
            tap.report(f"{command[0]}: few threads", skip="another user cannot read the test data")
            continue
        expected = run(command)
        wrong = []
        for n in (1, 2, 3):
            result = run(command, preexec_fn=limited(n))
            if result.returncode != 0:
                wrong.append(f"{n} threads may run: status {result.returncode}, {result.stderr.decode(errors='replace')!r}")
            elif command[0] != "ml-bench" and result.stdout != expected.stdout:
                wrong.append(f"{n} threads may run: it says something else")
        tap.report(f"{command[0]}: few threads", "\n".join(wrong) or None)


def names_and_homes(tap, work, stories):
    folder = work / "a folder\nof two lines"
    folder.mkdir()
    model, tokenizer, text = folder / "a model.mlb", folder / "to\nkens.mlt", folder / "a text"
    text.write_text("Once upon a time there was a girl.")
    bare = {"PATH": os.environ["PATH"]}
    wrong = []
    for command in (["mlb-quant", "-q", stories, "-o", model], ["mlt-pack", "-q", stories, "-o", tokenizer],
                    ["mlb-info", "--check", "-q", model], ["mlt-encode", "-m", tokenizer, text],
                    ["ml-eval", "-q", model, "-m", tokenizer, text],
                    ["ml-run", model, "-m", tokenizer, "--session", folder / "a session", "-n", "4", "--file", text]):
        result = run(command, env=bare)
        if result.returncode != 0:
            wrong.append(f"{command[0]}: status {result.returncode}, {result.stderr.decode(errors='replace')!r}")
    tap.report("no home, and names with spaces and newlines", "\n".join(wrong) or None)


def unwritable(tap, work, data):
    stories = data / "models/stories260K"
    folder = work / "unwritable"
    folder.mkdir()
    folder.chmod(0o555)
    if not nobody_reads(data):
        tap.report("a folder that cannot be written", skip="another user cannot read the test data")
        return
    wrong = []
    for command in (["mlb-quant", "-q", stories, "-o", folder / "x"], ["mlt-pack", "-q", stories, "-o", folder / "x"],
                    ["seed-pack", "-q", "--encoding", "q8", stories, "-o", folder / "x"],
                    ["ml-run", "-q", stories, "-n", "1", "--logits", folder / "x", "Hi"]):
        if complaint := complaint_of(command[0], run(command, preexec_fn=be_nobody)):
            wrong.append(f"{command[0]}: {complaint}")
    if list(folder.iterdir()):
        wrong.append("something was written")
    tap.report("a folder that cannot be written", "\n".join(wrong) or None)


def commas(tap, work, stories, library, example):
    """Numbers are read and written alike where a program has chosen a locale with commas; the tools choose none."""
    localedef = shutil.which("localedef")
    if localedef is None or not pathlib.Path("/usr/share/i18n/locales/de_DE").exists():
        tap.report("numbers with commas", skip="no definition of a locale with commas")
        return
    locales = work / "locales"
    locales.mkdir()
    run([localedef, "-i", "de_DE", "-f", "UTF-8", locales / "de_DE.UTF-8"])
    german = {"PATH": os.environ["PATH"], "LOCPATH": str(locales), "LC_ALL": "de_DE.UTF-8"}
    plain = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    text = work / "text"
    text.write_text("Once upon a time there was a girl.")
    program = "import locale, runpy, sys\n" \
              "locale.setlocale(locale.LC_ALL, '')\n" \
              "if sys.argv[1] == 'comma' and locale.str(0.5) != '0,5': sys.exit(9)\n" \
              "sys.argv = sys.argv[2:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
    generate = [example, "--library", library, "-n", "20", "--sampler", "temp=0.8 seed=7", stories, "Once upon"]
    wrong = []
    for command in (["ml-eval", "-q", "--json", stories, text], ["ml-run", stories, "--temp", "0.8", "--seed", "7", "-n", "20", "Hi"],
                    ["mlb-info", "--stats", stories], [sys.executable, "-c", program, "LOCALE", *generate]):
        results = []
        for environment, name in ((plain, "point"), (german, "comma")):
            results.append(run([name if part == "LOCALE" else part for part in command], env=environment))
            if results[-1].returncode != 0:
                wrong.append(f"{command[0]}, {name}: status {results[-1].returncode}, {results[-1].stderr.decode(errors='replace')!r}")
        if results[0].stdout != results[1].stdout:
            wrong.append(f"{command[0]}: {results[0].stdout!r} with points, {results[1].stdout!r} with commas")
    tap.report("numbers with commas", "\n".join(wrong) or None)


def pipes_that_do_not_block(tap, stories):
    """Another program's pipes may answer EAGAIN: what is read and written is whole all the same."""
    def through(command, text):
        to_tool, from_tool = os.pipe(), os.pipe()
        for fd in (to_tool[0], from_tool[1]):
            os.set_blocking(fd, False)
        with subprocess.Popen([str(part) for part in command], stdin=to_tool[0], stdout=from_tool[1], stderr=subprocess.PIPE) as process:
            os.close(to_tool[0])
            os.close(from_tool[1])

            def feed():
                with os.fdopen(to_tool[1], "wb") as pipe:
                    for part in (text[:len(text) // 2], text[len(text) // 2:]):
                        time.sleep(0.2)  # so that the tool finds nothing to read
                        pipe.write(part)

            feeder = threading.Thread(target=feed)
            feeder.start()
            feeder.join(0.5)  # so that the tool finds a full pipe, where it writes that much
            with os.fdopen(from_tool[0], "rb") as pipe:
                out = pipe.read()
            feeder.join()
            err = process.stderr.read()
        return process.returncode, out, err

    for command, text in ((["mlt-encode", "-m", stories], b"word " * 100_000), (["ml-run", "-q", stories, "--jsonl", "-n", "2"], b'{"prompt":"a"}\n' * 50)):
        sound = run(command, input=text)
        status, out, err = through(command, text)
        same = status == 0 and out == sound.stdout and not err
        tap.report(f"{command[0]}: pipes that do not block", None if same else f"status {status}, {len(out)} of {len(sound.stdout)} bytes, {err!r}")


def main():
    parser = parser_of(__doc__, "data", "library", "example")
    options = parse(parser)
    data = options.data
    stories = data / "models/stories260K"
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="ml-surroundings-") as folder:
        work = pathlib.Path(folder)
        text = work / "text"
        text.write_text("Once upon a time there was a little girl.\n" * 400)
        work.chmod(0o755)
        threaded = [["mlt-encode", "-t", "4", "-m", stories, text], ["ml-eval", "-q", "-t", "4", stories, text],
                    ["ml-run", "-t", "4", stories, "-n", "4", "Once"], ["ml-bench", "-t", "4", stories, "-p", "8", "-n", "1", "-r", "1"]]
        written = [["mlb-quant", "-q", "-f", stories, "-o", work / "x.mlb"], ["mlt-pack", "-q", "-f", stories, "-o", work / "x.mlt"],
                   ["seed-pack", "-q", "-f", "-t", "4", "--encoding", "q8", stories, "-o", work / "x"], ["mlb-info", "--check", stories]]
        little_memory(tap, threaded + written)
        few_threads(tap, threaded, data)
        names_and_homes(tap, work, stories)
        unwritable(tap, work, data)
        pipes_that_do_not_block(tap, stories)
        commas(tap, work, stories, options.library, options.example)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
