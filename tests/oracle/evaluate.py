"""Perplexity and KL divergence by the words of ml-eval(1) alone, from the logits that ml-run writes.

evaluate.py MODEL TOKENIZER TEXT-FILE CTX STRIDE RESULT.json [BASE]: compares with what ml-eval printed."""

import array
import json
import math
import subprocess
import sys


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def rows_of(model, inputs):
    """The logits after each input token."""
    ids = ",".join(map(str, inputs))
    flat = array.array("f", run("ml-run", model, "--tokens", ids, "-n", "0", "--logits", "-"))
    vocab = len(flat) // len(inputs)
    return [flat[i * vocab:(i + 1) * vocab] for i in range(len(inputs))]


def log_probabilities(row):
    largest = max(row)
    log_sum = math.log(math.fsum(math.exp(x - largest) for x in row))
    return [x - largest - log_sum for x in row]


def top(row, n):
    return sorted(range(len(row)), key=lambda i: (-row[i], i))[:n]


def windows(n_tokens, ctx, stride):
    """(first input, number of inputs, first scored row) until every token but the first is scored."""
    begin, scored = 0, 1
    while scored < n_tokens:
        n = min(ctx, n_tokens - 1 - begin)
        yield begin, n, scored - begin - 1
        scored = begin + n + 1
        begin += stride


def main():
    model, tokenizer, text, ctx, stride, result = sys.argv[1:7]
    base = sys.argv[7] if len(sys.argv) > 7 else None
    tokens = [int(x) for x in run("mlt-encode", "-m", tokenizer, text).split()]
    nll, base_nll, kl, same, same5 = [], [], [], [], []
    for begin, n, first in windows(len(tokens), int(ctx), int(stride)):
        inputs = [tokens[0]] + tokens[begin + 1:begin + n]  # the tokenizer's BOS begins every window
        rows = rows_of(model, inputs)
        base_rows = rows_of(base, inputs) if base else rows
        for i in range(first, n):
            token = tokens[begin + i + 1]
            q = log_probabilities(rows[i])
            nll.append(-q[token])
            if base:
                p = log_probabilities(base_rows[i])
                base_nll.append(-p[token])
                kl.append(math.fsum(math.exp(a) * (a - b) for a, b in zip(p, q)))
                same.append(top(rows[i], 1) == top(base_rows[i], 1))
                same5.append(len(set(top(rows[i], 5)) & set(top(base_rows[i], 5))) / 5)
    with open(result, encoding="utf-8") as file:
        got = json.load(file)

    def check(name, value, expected, tolerance):
        if not abs(value - expected) <= tolerance:
            sys.exit(f"{name} is {value}, by hand {expected}")

    def mean(values):
        return math.fsum(values) / len(values)

    def error(values):
        return math.sqrt(math.fsum((x - mean(values)) ** 2 for x in values) / (len(values) - 1) / len(values))

    check("n_tokens", got["n_tokens"], len(tokens) - 1, 0)
    check("nll", got["nll"]["mean"], mean(nll), 1e-12)
    check("error of nll", got["nll"]["error"], error(nll), 1e-12)
    check("perplexity", got["perplexity"]["mean"], math.exp(mean(nll)), 1e-9)
    if base:
        kl.sort()
        check("base perplexity", got["base_perplexity"]["mean"], math.exp(mean(base_nll)), 1e-9)
        check("ratio", got["perplexity_ratio"]["mean"], math.exp(mean(nll) - mean(base_nll)), 1e-10)
        check("kl", got["kl"]["mean"], mean(kl), 1e-12)
        check("error of kl", got["kl"]["error"], error(kl), 1e-12)
        check("largest kl", got["kl"]["max"], kl[-1], 1e-12)
        for name, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99)):
            exact = kl[math.ceil(share * len(kl)) - 1]
            check(name, got["kl"][name], exact, 0.004 * exact)
        check("top1_agreement", got["top1_agreement"]["mean"], mean(same), 1e-12)
        check("top5_agreement", got["top5_agreement"]["mean"], mean(same5), 1e-12)


main()
