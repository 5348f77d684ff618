#!/usr/bin/env python3
"""Checks that need no build: layout of the code, sizes of files, man pages, scripts."""

import argparse
import pathlib
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tap import Tap

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_FORMAT = 14  # others lay out some lines differently
MAX_LINES = 600
CODE = {".cpp", ".hpp", ".h"}
TEXT = CODE | {".py", ".build", ".md", ".scd", ".sh", ".txt", ".map", ""}
# A reader that leaves at the first match: then the writer's broken pipe fails the script, now and then.
EARLY_READER = re.compile(r"^\s*(?!#|printf|echo).*\|\s*grep -\w*q")
# A negated command never ends a script that set -e runs.
NEGATED = re.compile(r"^\s*! ")
# In pieces, so that this file passes.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")


def tracked_files():
    """Files of the repository, those not yet added included."""
    names = None
    if shutil.which("git") is not None:
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                capture_output=True, check=False)
        if listed.returncode == 0:
            names = [name for name in listed.stdout.decode().split("\0") if name]
    if names is None:  # a release's archive
        names = [path.relative_to(ROOT) for path in ROOT.rglob("*")]
        names = [name for name in names if not name.parts[0].startswith(("build", ".git"))]
    return sorted(path for path in (ROOT / name for name in names) if path.is_file())


def is_text(path):
    return path.suffix in TEXT and not {"data", "seeds"} & set(path.relative_to(ROOT).parts[:-1])


def find_clang_format():
    for name in (f"clang-format-{CLANG_FORMAT}", "clang-format"):
        if shutil.which(name) is None:
            continue
        version = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
        if f"version {CLANG_FORMAT}." in version:
            return name
    return None


def layout(files):
    program = find_clang_format()
    code = [str(path) for path in files if path.suffix in CODE]
    process = subprocess.run([program, "--dry-run", "-Werror", *code], cwd=ROOT, capture_output=True, text=True,
                             check=False)
    wrong = sorted({line.split(":")[0] for line in process.stderr.splitlines() if ": error:" in line})
    if wrong:
        return ["./dev format would change:", *wrong]
    return [process.stderr] if process.returncode != 0 else []


def long_files(files):
    for path in files:
        if path.suffix in CODE and path.relative_to(ROOT).parts[0] in ("lib", "bin"):
            n_lines = path.read_bytes().count(b"\n")
            if n_lines > MAX_LINES:
                yield f"{path.relative_to(ROOT)} has {n_lines} lines"


def matching_lines(files, pattern):
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if pattern.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def untidy_blanks(files):
    # scdoc indents with tabs, and ": " is its empty table cell
    yield from matching_lines(files, re.compile(r"^(?!:  ?$).*[ \t]$"))
    yield from matching_lines([path for path in files if path.suffix != ".scd" and path.name != "rules"], re.compile(r"\t"))
    for path in files:
        text = path.read_bytes()
        if text and not text.endswith(b"\n"):
            yield f"{path.relative_to(ROOT)} does not end with a newline"


def missing_pages():
    for source in sorted((ROOT / "bin").glob("*.cpp")):
        if not (ROOT / "man" / f"{source.stem}.1.scd").exists():
            yield f"man/{source.stem}.1.scd is missing"


def missing_sections():
    """A tool's page says what a script has to know: status, variables, files, and commands that work."""
    for page in sorted((ROOT / "man").glob("*.1.scd")):
        names = re.findall(r"^# (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"]
        missing = [name for name in wanted if name not in names]
        if missing:
            yield f"{page.name} lacks {', '.join(missing)}"
        elif [name for name in names if name in wanted] != wanted:
            yield f"{page.name}: its sections stand in another order than {', '.join(wanted)}"


def section(page, name):
    found = re.search(rf"^# {name}\n(.*?)(?=^# |\Z)", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def untold_facts():
    """What the sources of a tool show that its page must tell: variables that shape what is drawn, and temporary files."""
    drawing = re.compile(r'"common/(progress|terminal)\.hpp"')
    writing = re.compile(r"\b(OutputFile|HtmlOutput)\b")
    for page in sorted((ROOT / "man").glob("*.1.scd")):
        tool = page.name.split(".")[0]
        sources = [ROOT / "bin" / f"{tool}.cpp", *(ROOT / "bin" / tool.replace("-", "_")).glob("*.?pp")]
        code = "".join(source.read_text(encoding="utf-8") for source in sources)
        variables = ["ML_TARGET"] + (["TERM", "LC_ALL", "LC_CTYPE", "LANG", "COLUMNS"] if drawing.search(code) else [])
        environment = section(page, "ENVIRONMENT")
        missing = [name for name in variables if f"*{name}*" not in environment]
        if missing:
            yield f"{page.name}: ENVIRONMENT lacks {', '.join(missing)}"
        if writing.search(code) and "_.NAME.HEX.tmp_" not in section(page, "FILES"):
            yield f"{page.name}: FILES lacks .NAME.HEX.tmp"


def lonely_pages():
    """From ml(7) and README.md a reader finds every page, and from a page of sections 1, 3 and 7 the way back."""
    overview = (ROOT / "man/ml.7.scd").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in sorted((ROOT / "man").glob("*.scd")):
        name, number = page.name.split(".")[:2]
        if page.name == "ml.7.scd":
            continue
        if f"*{name}*({number})" not in overview:
            yield f"ml(7) does not name {name}({number})"
        if number != "5" and "*ml*(7)" not in section(page, "SEE ALSO"):
            yield f"{page.name}: SEE ALSO lacks ml(7)"
        if number in "37" and f"`man {number} {name}`" not in readme:
            yield f"README.md does not name man {number} {name}"


def unbuilt_pages():
    rows = (ROOT / "man" / "meson.build").read_text(encoding="utf-8")
    for page in sorted((ROOT / "man").glob("*.scd")):
        is_tool = page.stem.endswith(".1") and (ROOT / "bin" / f"{page.stem[:-2]}.cpp").exists()
        if not is_tool and f"'{page.stem}'" not in rows:
            yield f"man/meson.build has no row for {page.name}"


def unnamed_functions():
    page = (ROOT / "man/ml.3.scd").read_text(encoding="utf-8")
    for name in (ROOT / "tests/abi/ml_h.functions").read_text(encoding="utf-8").split():
        if not re.search(rf"\b{name}\*?\(", page):
            yield f"man/ml.3.scd does not name {name}"


def bad_pages():
    for page in sorted((ROOT / "man").glob("*.scd")):
        with open(page, "rb") as source:
            process = subprocess.run(["scdoc"], stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     text=True, check=False)
        if process.returncode != 0 or process.stderr:
            yield f"{page.name}: {process.stderr.strip()}"


def broken_options(page):
    """Options of a page that are cut in two where its lines are as wide as on most terminals."""
    source = subprocess.run(["scdoc"], input=(ROOT / "man" / page).read_bytes(), capture_output=True, check=True)
    shown = subprocess.run(["man", "--local-file", "-"], input=source.stdout, capture_output=True, check=True,
                           env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    for line in shown.stdout.decode("utf-8").splitlines():
        if re.search(r"(^|[\s,(])--?\w[\w-]*[-\u2010](\s|$)", line):
            yield f"{page}: {line.strip()}"


def bad_python(files):
    for path in files:
        if path.suffix == ".py":
            try:
                compile(path.read_text(encoding="utf-8"), str(path), "exec")
            except SyntaxError as error:
                yield str(error)


def bad_shell(files):
    for path in files:
        if path.suffix == ".sh" or (path.suffix == "" and path.read_bytes().startswith(b"#!/usr/bin/env bash")):
            process = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True, check=False)
            if process.returncode != 0:
                yield process.stderr.strip()


def missing_tests():
    """Tests that tests/field-faults.md names must be there."""
    page = (ROOT / "tests" / "field-faults.md").read_text(encoding="utf-8")
    for path, name in re.findall(r'`(tests/[^`]+)`(?: "([^"]+)")?', page):
        if not (ROOT / path).exists():
            yield f"tests/field-faults.md: there is no {path}"
        elif name and f'"{name}"' not in (ROOT / path).read_text(encoding="utf-8"):
            yield f"tests/field-faults.md: {path} has no test {name}"


def repeated_types(files):
    """Two types of one name in one namespace do not clash until their inline functions meet at link time."""
    places = {}
    for path in files:
        if path.suffix != ".hpp" or path.relative_to(ROOT).parts[0] != "lib":
            continue
        code = path.read_text()
        namespace = re.search(r"^namespace ([\w:]+) \{", code, re.MULTILINE)
        outside = re.sub(r"^namespace \{.*?^\}  // namespace$", "", code, flags=re.MULTILINE | re.DOTALL)
        for name in re.findall(r"^(?:class|struct|union)(?: ML_API)? (\w+)(?: final)?\s*(?::[^:;{][^;{]*)?\{", outside, re.MULTILINE):
            places.setdefault((namespace and namespace[1], name), []).append(str(path.relative_to(ROOT)))
    for (namespace, name), paths in places.items():
        if len(paths) > 1:
            yield f"{namespace}::{name} is defined in {' and '.join(paths)}"


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    tap = Tap()

    def report(name, complaints):
        complaints = list(complaints)
        tap.report(name, "\n".join(complaints[:50]) if complaints else None)

    files = tracked_files()
    text = [path for path in files if is_text(path)]
    if find_clang_format() is None:
        tap.report("layout of the code", skip=f"clang-format {CLANG_FORMAT} is not installed")
    else:
        report("layout of the code", layout(files))
    report(f"no source file over {MAX_LINES} lines", long_files(files))
    report("a type's name is its own", repeated_types(files))
    report("nothing is left for later", matching_lines(text, UNFINISHED))
    report("no tabs, no blanks at the ends of lines", untidy_blanks(text))
    report("every tool has a man page", missing_pages())
    report("every tool's page has its sections", missing_sections())
    report("every tool's page tells its variables and temporary files", untold_facts())
    report("every page is found from ml(7) and README.md", lonely_pages())
    report("every man page is installed", unbuilt_pages())
    report("ml(3) names every function of ml.h", unnamed_functions())
    if shutil.which("scdoc") is None:
        tap.report("man pages build without a warning", skip="scdoc is not installed")
    else:
        report("man pages build without a warning", bad_pages())
    if shutil.which("scdoc") is None or shutil.which("man") is None:
        tap.report("ml-from-llama(7) breaks no option in two", skip="scdoc or man is not installed")
    else:
        report("ml-from-llama(7) breaks no option in two", broken_options("ml-from-llama.7.scd"))
    report("Python files compile", bad_python(files))
    report("the faults from the field have their tests", missing_tests())
    report("shell scripts parse", bad_shell(files))
    scripts = [path for path in files if path.suffix == ".sh" and "cli" in path.relative_to(ROOT).parts]
    report("no tool of a test writes to grep -q", matching_lines(scripts, EARLY_READER))
    report("no test of a script is negated by !", matching_lines(scripts, NEGATED))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
