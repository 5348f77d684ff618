#!/usr/bin/env python3
"""Writes the expected texts beside the templates: what Jinja makes of them in the sandbox that transformers sets up.

Each line of NAME.jsonl is a rendering of NAME.jinja: messages and variables as JSON text, generation prompt, date, and
the text or, where Jinja refuses, its error. language.jsonl holds a small template in each line.
"""

import datetime
import json
import pathlib

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


class Generation(jinja2.ext.Extension):
    """{% generation %}, whose body is called as a macro's is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def render(case, template):
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = to_json
    env.globals["raise_exception"] = raise_exception
    if case.get("date"):
        now = datetime.datetime.fromisoformat(case["date"])
        env.globals["strftime_now"] = now.strftime
    variables = {"tools": None, "documents": None, **TOKENS, **json.loads(case.get("variables") or "{}")}
    try:
        return {"text": env.from_string(template).render(
            messages=json.loads(case["messages"]), add_generation_prompt=case["add_generation_prompt"], **variables)}
    except jinja2.exceptions.TemplateError as error:
        return {"error": str(error), "own": type(error) is jinja2.exceptions.TemplateError}
    except TypeError as error:
        return {"error": str(error), "own": False}


def write(path, cases, template=None):
    with open(path, "w", encoding="utf-8") as out:
        for case in cases:
            case = {**case, **render(case, template if template is not None else case["template"])}
            out.write(json.dumps(case, ensure_ascii=False) + "\n")


def main():
    inputs = json.loads((HERE / "inputs.json").read_text(encoding="utf-8"))
    for path in sorted(HERE.glob("*.jinja")):
        cases = [{"messages": json.dumps(messages, ensure_ascii=False), "add_generation_prompt": prompt, **extra}
                 for messages in inputs["messages"] for prompt in (True, False) for extra in inputs["extras"]]
        write(path.with_suffix(".jsonl"), cases, path.read_text(encoding="utf-8"))
    write(HERE / "language.jsonl", [{"template": template, "messages": json.dumps(inputs["messages"][3]),
                                     "add_generation_prompt": True, "date": "2024-07-26T05:06:07"}
                                    for template in inputs["language"]])


if __name__ == "__main__":
    main()
