#!/usr/bin/env python3
"""Looks at pages in headless Chromium, on a phone and on a desk, in light and in dark, and reports as TAP.

screenshots.py --path BIN --out FOLDER [--manual FOLDER]: the pictures stay in the folder for people to look at.
"""

import argparse
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAPER = {"light": (0xFF, 0xFF, 0xFF), "dark": (0x14, 0x17, 0x1A)}
MARGIN = 10  # columns at the edges that hold nothing but paper


def read_png(path):
    """Returns rows of (r, g, b) bytes; enough of PNG for what Chromium writes."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
            assert depth == 8 and colour in (2, 6), (depth, colour)
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + n]
        at += 12 + n
    step = 3 if colour == 2 else 4
    raw, rows, above = zlib.decompress(packed), [], bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        kind, row = raw[start], bytearray(raw[start + 1:start + 1 + width * step])
        if kind == 2 and not any(row):
            rows.append(rows[-1])
            continue
        for i in range(len(row) if kind else 0):
            left = row[i - step] if i >= step else 0
            corner = above[i - step] if i >= step else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + above[i]) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + above[i]) // 2) & 255
            elif kind == 4:
                guess = left + above[i] - corner
                near = min((abs(guess - left), 0, left), (abs(guess - above[i]), 1, above[i]), (abs(guess - corner), 2, corner))
                row[i] = (row[i] + near[2]) & 255
        rows.append([tuple(row[i:i + 3]) for i in range(0, len(row), step)])
        above = row
    return rows


def complaint(browser, page, picture, scheme, width):
    height = 2600 if width < 600 else 2000
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}",
               f"--blink-settings=preferredColorScheme={int(scheme == 'light')}", f"--screenshot={picture}", page.as_uri()]
    with tempfile.TemporaryDirectory(prefix="ml-browser-") as home:
        done = subprocess.run([*command, f"--user-data-dir={home}"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240,
                              env=dict(os.environ, HOME=home), check=False)
    if not picture.exists():
        return "no picture: " + done.stderr[-500:]
    rows = read_png(picture)
    if len(rows[0]) != width:
        return f"the picture is {len(rows[0])} wide, not {width}"
    paper = PAPER[scheme]
    edges = {pixel for row in rows for pixel in row[:MARGIN] + row[-MARGIN:]}
    if edges != {paper}:
        return f"the page is wider than the window, or its paper is not {paper}: {sorted(edges - {paper})[:5]}"
    n_marks = sum(pixel != paper for row in rows for pixel in row)
    share = n_marks / (width * height)
    return None if 0.005 < share < 0.9 else f"{100 * share:.1f} % of the page is not paper"


def make_pages(folder, environment):
    """Reports of ml-eval and ml-bench on the test data."""
    story = ROOT / "tests/data/models/stories260K"

    def run(*command):
        subprocess.run([*map(str, command)], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)

    with open(folder / "story.txt", "wb") as text:
        subprocess.run(["ml-run", "-q", str(story), "--temp", "0.8", "-n", "300", "Once"], env=environment, stdout=text, check=True)
    run("mlb-quant", "-q", story, "--type", "q4_0", "-o", "a-model-with-quite-a-long-name-for-a-phone-q4_0.mlb")
    run("ml-eval", "a-model-with-quite-a-long-name-for-a-phone-q4_0.mlb", "-m", story / "tokenizer.json", "story.txt", "--against", story,
        "-c", "32", "--html", "ml-eval.html")
    run("ml-bench", "-q", "--encodings", ROOT / "share/recipes/llama.json", "f32,recipe,int4_g32_f16,int4_g32_f16+embed=int8_g32_f16", story,
        "-p", "16", "-n", "8", "-r", "2", "-t", "1", "--text", "story.txt", "--html", "ml-bench-encodings.html")
    run("ml-bench", "-q", "a-model-with-quite-a-long-name-for-a-phone-q4_0.mlb", "-p", "16", "-n", "8", "-r", "3", "-t", "1", "--html", "ml-bench.html")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--manual", type=pathlib.Path)
    options = parser.parse_args()
    tap = Tap()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        tap.report("pages in a browser", skip="chromium is not installed")
        return tap.finish()
    environment = dict(os.environ, PATH=os.path.abspath(options.path) + ":" + os.environ["PATH"])
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ml-pages-") as name:
        folder = pathlib.Path(name)
        make_pages(folder, environment)
        pages = sorted(folder.glob("*.html"))
        if options.manual and (options.manual / "ml.7.html").exists():
            pages.append((options.manual / "ml.7.html").resolve())
        for page in pages:
            for scheme, width in (("dark", 390), ("light", 390), ("light", 1200)):
                picture = options.out.resolve() / f"{page.stem}-{scheme}-{width}.png"
                picture.unlink(missing_ok=True)
                tap.report(picture.stem, complaint(browser, page, picture, scheme, width))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
