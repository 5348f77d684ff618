#!/usr/bin/env python3
"""The HTML copy of the manual: every page is there, links lead somewhere, nothing comes from outside. Reports as TAP.

html_manual.py FOLDER PAGE...: the names of the pages, NAME.SECTION.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap


def complaints(folder, name, names):
    text = (folder / name).read_text(encoding="utf-8")
    anchors = set(re.findall(r' id="([^"]*)"', text))
    for target in re.findall(r'href="([^"]*)"', text):
        page, _, anchor = target.partition("#")
        if page and not (folder / page).is_file():
            yield f"a link to {page}, which is not there"
        if not page and anchor not in anchors:
            yield f"a link to #{anchor}, which is not there"
    for wanted in ("width=device-width", "prefers-color-scheme: dark", "<title>"):
        if wanted not in text:
            yield f"{wanted} is missing"
    if re.search(r'(src|href)="[a-z]+:|url\(|@import|<script', text):
        yield "something from outside"
    if name == "index.html":
        yield from (f"no link to {page}" for page in names if f'href="{page}.html"' not in text)
        return
    if text.count("<h1") < 3:
        yield "fewer than three sections"
    # What SEE ALSO names of this manual are links.
    plain = [f"{page}({section})" for page, section in re.findall(r"(?<!<a href=\")<b>([\w-]+)</b>\((\d)\)(?!</a>)", text)]
    yield from (f"{page} is no link" for page in plain if page.replace("(", ".").rstrip(")") in names and page.replace("(", ".").rstrip(")") + ".html" != name)


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    tap = Tap()
    for name in ["index.html", *(f"{name}.html" for name in names)]:
        found = list(complaints(folder, name, names)) if (folder / name).is_file() else ["is not built"]
        tap.report(name, "\n".join(found) if found else None)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
