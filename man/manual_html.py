#!/usr/bin/env python3
"""Makes an HTML copy of the manual of its pages, with links between them and an index. Needs mandoc.

manual_html.py MANDOC OUT-FOLDER PAGE...: PAGE is what scdoc made, NAME.SECTION.
"""

import html
import pathlib
import re
import subprocess
import sys

SECTIONS = {"1": "Tools", "3": "Library", "5": "Files", "7": "About"}
STYLE = """
:root { --paper: #ffffff; --ink: #1c2024; --faint: #60656c; --line: #d9dce0; --code: #f3f4f6; --link: #2463b4; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171a; --ink: #e8eaed; --faint: #a0a6ad; --line: #363b41; --code: #1f2428; --link: #7fb2f2; }
}
body { margin: 0 auto; max-width: 50rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
a.permalink { color: inherit; }
nav { color: var(--faint); border-bottom: 1px solid var(--line); padding-bottom: 0.5rem; overflow-wrap: anywhere; }
h1 { font-size: 1.15rem; margin: 1.6rem 0 0.4rem; }
h2 { font-size: 1rem; margin: 1.2rem 0 0.3rem; }
i { color: var(--faint); }
b { white-space: nowrap; }
p { margin: 0.7rem 0; }
pre { background: var(--code); padding: 0.6rem 0.8rem; overflow-x: auto; font: 13px/1.4 ui-monospace, monospace; }
.Bd-indent { margin-left: 1.5rem; }
p + .Bd-indent:not(:has(> pre)) { margin-top: -0.6rem; }
.Bd-indent:has(> pre) { margin-left: 0; }
dd { margin: 0 0 0.6rem 1.5rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { padding: 0.2rem 0.9rem 0.2rem 0; vertical-align: top; }
table.head, table.foot { display: none; }
"""


def frame(title, body):
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
{body}</body>
</html>
"""


def link_pages(text, names, own):
    """Turns a page's name with its section, set in bold, into a link, where there is such a page."""

    def link(match):
        name = f"{match[1]}.{match[2]}"
        return f'<a href="{name}.html"><b>{match[1]}</b>({match[2]})</a>' if name in names and name != own else match[0]

    return re.sub(r"<b>([\w-]+)</b>\((\d)\)", link, text)


def convert(mandoc, page, names):
    """Returns (HTML, the line of NAME)."""
    body = subprocess.run([mandoc, "-T", "html", "-O", "fragment", str(page)], check=True, stdout=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL).stdout
    summary = re.search(r'id="NAME".*?</h1>\s*<p class="Pp">(.*?)</p>', body, re.DOTALL)
    what = html.unescape(re.sub(r"<[^>]*>", "", summary[1])).split(" - ", 1)[1]
    navigation = '<nav><a href="index.html">mlutils</a> &middot; ' + html.escape(page.name) + "</nav>\n"
    return frame(page.name, navigation + link_pages(body, names, page.name)), " ".join(what.split())


def main():
    mandoc, folder, pages = sys.argv[1], pathlib.Path(sys.argv[2]), sorted(map(pathlib.Path, sys.argv[3:]), key=lambda page: page.name)
    names = {page.name for page in pages}
    rows = {}
    for page in pages:
        text, what = convert(mandoc, page, names)
        (folder / f"{page.name}.html").write_text(text, encoding="utf-8")
        rows.setdefault(page.suffix[1:], []).append(
            f'<tr><td><a href="{page.name}.html"><b>{page.stem}</b>({page.suffix[1:]})</a></td><td>{html.escape(what)}</td></tr>\n')
    body = "<nav>mlutils</nav>\n"
    for section, lines in sorted(rows.items()):
        body += f"<h1>{SECTIONS.get(section, 'Section ' + section)}</h1>\n<table>\n{''.join(lines)}</table>\n"
    (folder / "index.html").write_text(frame("The manual of mlutils", body), encoding="utf-8")


if __name__ == "__main__":
    main()
