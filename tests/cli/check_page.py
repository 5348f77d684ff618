#!/usr/bin/env python3
"""Checks a page of --html: sound markup, nothing from outside, fit for phones and for both colour schemes.

check_page.py FILE CHARTS [TEXT...]: so many charts, and these texts on the page.
"""

import html.parser
import re
import sys

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.n_charts, self.text, self.metas = [], 0, "", {}

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert tag not in {"script", "img", "link", "iframe", "object"}, tag
        for name in attributes:
            assert name not in {"src", "href", "style"} and not name.startswith("on"), (tag, name)
        if tag == "meta":
            self.metas[attributes.get("name") or attributes.get("http-equiv") or "charset"] = attributes.get("content", "")
        if tag == "svg":
            self.n_charts += 1
            assert attributes["role"] == "img" and attributes["aria-label"], attributes
        for name in ("x", "y", "width", "height", "x1", "x2", "y1", "y2", "cx", "cy"):
            if name in attributes:
                assert re.fullmatch(r"-?\d+(\.\d+)?%?", attributes[name]), (tag, name, attributes[name])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text += data


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    page = Page()
    page.feed(text)
    page.close()
    assert text.startswith("<!doctype html>\n<html lang=") and not page.open, page.open
    assert "://" not in text and "url(" not in text and "@import" not in text
    assert "width=device-width" in page.metas["viewport"]
    assert page.metas["Content-Security-Policy"].startswith("default-src 'none'")
    assert page.metas["color-scheme"] == "light dark" and "prefers-color-scheme: dark" in text
    assert page.n_charts == int(sys.argv[2]), page.n_charts
    for wanted in sys.argv[3:]:
        assert wanted in page.text, (wanted, page.text)


main()
