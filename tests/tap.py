"""Writes TAP, the protocol in which scripts report their tests to Meson."""

import sys


class Tap:
    """One line for each test, the plan at the end."""

    def __init__(self):
        self.number = 0
        self.failed = 0

    def report(self, name, complaint=None, skip=None, details=()):
        """A complaint makes it a failure; details are lines that help to understand it."""
        self.number += 1
        self.failed += complaint is not None
        verdict = "not ok" if complaint is not None else "ok"
        print(f"{verdict} {self.number} - {name}" + (f" # SKIP {skip}" if skip else ""))
        if complaint is not None:
            for line in [*complaint.splitlines(), *details]:
                print(f"#   {line}")
        sys.stdout.flush()

    def finish(self):
        """Returns the exit status."""
        print(f"1..{self.number}")
        return 1 if self.failed else 0
