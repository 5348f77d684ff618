"""What every tool must do alike: --help, --version, usage errors, a full standard output, its man page, completions."""

import re
import shutil
import subprocess
import tempfile

COLUMNS = 80
UNKNOWN = "--no-such-option"


def sanitizer_spoke(err):
    return b"ERROR: AddressSanitizer" in err or b"runtime error:" in err or b"ERROR: LeakSanitizer" in err


def checks(tool, program, man, environment):
    """Yields (name, complaint or None, reason to skip or None)."""
    if program is None:
        yield "the program is built", f"{tool} is not in the path", None
        return

    def run(*arguments, **keywords):
        keywords.setdefault("stdout", subprocess.PIPE)
        return subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env=environment, timeout=60, check=False, **keywords)

    help_run = run("--help")
    help_text = help_run.stdout.decode()
    yield "--help", help_complaint(tool, help_run, help_text), None
    yield "-h is --help", None if run("-h").stdout == help_run.stdout else "-h prints something else", None
    yield "--version", version_complaint(tool, run("--version")), None
    yield "an unknown option", unknown_complaint(tool, run(UNKNOWN)), None
    yield "a missing value", value_complaint(tool, run, help_text), None
    with open("/dev/full", "wb") as full:
        yield "a full standard output", full_complaint(tool, run("--help", stdout=full)), None
    if man is not None:
        yield "the man page names every option", man_complaint(man, help_text), None
    yield from completion_checks(tool, run, help_text)


def help_complaint(tool, process, text):
    if process.returncode != 0 or process.stderr:
        return f"exit status {process.returncode}, stderr {process.stderr!r}"
    wide = [line for line in text.splitlines() if len(line) > COLUMNS]
    if wide:
        return f"wider than {COLUMNS} columns: {wide[0]}"
    if not text.startswith(f"Usage: {tool} "):
        return "does not begin with the usage"
    last = text.splitlines()[-1].split()
    if not last or last[0] != tool:
        return "the last line is no example that begins with the tool's name"
    return None


def version_complaint(tool, process):
    text = process.stdout.decode()
    if process.returncode != 0 or process.stderr:
        return f"exit status {process.returncode}, stderr {process.stderr!r}"
    number = r"\d+\.\d+\.\d+"
    if not re.fullmatch(rf"{re.escape(tool)} \(mlutils\) {number}, libml {number}, target [a-z0-9]+\n", text):
        return f"prints {text!r}"
    return None


def unknown_complaint(tool, process):
    message = process.stderr.decode()
    if process.returncode != 2 or process.stdout:
        return f"exit status {process.returncode}, expected 2; stdout {process.stdout!r}"
    if message.count("\n") != 1 or not message.startswith(f"{tool}: "):
        return f"no single line that begins with the tool's name: {message!r}"
    if UNKNOWN not in message or "--help" not in message:
        return f"does not name the option and --help: {message!r}"
    return None


def value_complaint(tool, run, help_text):
    for line in help_text.splitlines():
        row = re.match(r"  (?:-\w, |    )(--[\w-]+) \S", line)
        if row is None:
            continue
        process = run(row.group(1))
        expected = f"{tool}: {row.group(1)}: a value is missing; see {tool} --help\n"
        if process.returncode != 2 or process.stdout or process.stderr.decode() != expected:
            return f"exit status {process.returncode}, stderr {process.stderr!r}"
    return None


def full_complaint(tool, process):
    message = process.stderr.decode()
    expected = f"{tool}: standard output: cannot write: No space left on device (ML_E_IO)\n"
    if process.returncode != 1 or message != expected:
        return f"exit status {process.returncode}, stderr {message!r}"
    return None


def help_options(text):
    """The option names of --help: {"-o", "--output", ...}."""
    names = set()
    for line in text.splitlines():
        row = re.match(r"  (?=[ ]{4}--|-)\s*((?:-\w|--[\w-]+)(?:, (?:-\w|--[\w-]+))*)", line)
        if row:
            names.update(row.group(1).split(", "))
    return names


def man_complaint(man, help_text):
    if not man.exists():
        return f"{man.name} is missing"
    page = man.read_text(encoding="utf-8").replace("\\", "")
    missing = [name for name in sorted(help_options(help_text)) if not re.search(rf"\*{re.escape(name)}[\s*=,]", page)]
    if missing:
        return f"{man.name} does not name {', '.join(missing)}"
    options = re.search(r"^# OPTIONS\n(.*?)^# ", page, re.MULTILINE | re.DOTALL)[1]
    described = set()
    for line in re.findall(r"^\*-.*$", options, re.MULTILINE):
        described.update(re.findall(r"\*(--?[a-zA-Z][\w-]*)\*", line))
    unknown = described - help_options(help_text)
    return f"{man.name} describes {', '.join(sorted(unknown))}, which does not exist" if unknown else None


def completion_checks(tool, run, help_text):
    options = help_options(help_text)
    for shell in ("bash", "zsh", "fish"):
        name = f"completion for {shell}"
        process = run("--completion", shell)
        if process.returncode != 0 or process.stderr:
            yield name, f"exit status {process.returncode}, stderr {process.stderr!r}", None
            continue
        if shutil.which(shell) is None:
            yield name, None, f"{shell} is not installed"
            continue
        yield name, script_complaint(shell, tool, process.stdout.decode(), options), None


def script_complaint(shell, tool, script, options):
    with tempfile.NamedTemporaryFile("w", suffix="." + shell) as file:
        file.write(script)
        file.flush()
        parsed = subprocess.run([shell, "-n", file.name], capture_output=True, check=False)
        if parsed.returncode != 0 or parsed.stderr:
            return f"{shell} -n: {parsed.stderr.decode()}"
        offered = offers(shell, tool, file.name)
    missing = [name for name in sorted(options) if name.startswith("--") and name not in offered]
    return f"does not offer {', '.join(missing)}" if missing else None


def offers(shell, tool, script):
    """What the shell would offer after `tool --`."""
    if shell == "bash":
        function = "_" + tool.replace("-", "_")
        asked = f"source {script}; COMP_WORDS=({tool} --) COMP_CWORD=1; {function}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    elif shell == "fish":
        asked = f"source {script}; complete -C '{tool} --'"
    else:  # zsh completes only inside its line editor: take the names from the script
        asked = rf"grep -o -e '--[a-z0-9-]*' {script}"
    out = subprocess.run([shell, "-c", asked], capture_output=True, check=False).stdout.decode()
    return {line.split("\t")[0] for line in out.splitlines()}
