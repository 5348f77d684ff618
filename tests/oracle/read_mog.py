#!/usr/bin/env python3
"""Reads a .mog from the format's text alone, and checks its bytes.

read_mog.py FILE                      checks the layout, prints what tests/mog_consumer.c prints
read_mog.py FILE --recipe R --root D  also compares every weight with the checkpoint
read_mog.py FILE --ids 1,2,3          the texts of token ids, joined

Knows nothing of the library: structures, encodings and rules are written down here a second time.
"""

import argparse
import json
import math
import os
import struct
import sys

LAYER_SLOTS = ('attn_norm q_proj k_proj v_proj o_proj gate_attn q_bias k_bias v_bias q_norm k_norm ffn_norm gate_proj '
               'up_proj down_proj post_attn_norm post_ffn_norm lin_qkv lin_z lin_b lin_a lin_conv lin_dt_bias '
               'lin_a_log lin_norm lin_out').split()
BASES = {1: 'f32', 2: 'f16', 3: 'bf16', 4: 'int8', 5: 'int4', 6: 'int4h', 7: 'int8r16', 8: 'int4r16'}
CONFIG = ('dim n_layers n_heads n_kv_heads hidden_dim vocab max_seq head_dim rope_theta:f norm_eps:f '
          'shared_classifier rope_type rope_factor:f low:f high:f attn_factor:f orig_max_seq qkv_bias qk_norm '
          'sliding_window local_theta:f act post_norms embed_scale:f attn_scale:f attn_softcap:f final_softcap:f '
          'rot_dim attn_gate lin_k_heads lin_v_heads lin_k_dim lin_v_dim lin_conv rope_layout').split()


def check(condition, message):
    if not condition:
        sys.exit(f'read_mog: {message}')


def f32(value):
    return struct.unpack('<f', struct.pack('<f', value))[0]


def f16(value):
    return struct.unpack('<e', struct.pack('<e', value))[0]


class Mog:
    def __init__(self, data):
        self.data = data
        (magic, version, self.architecture, config_size, tok_at, tok_size, dir_at, n_records, record_size, pay_at,
         pay_size) = struct.unpack_from('<4sIIIQQQIIQQ', data, 0)
        check(magic == b'MOG\0' and version == 3 and config_size == 1024 and record_size == 64, 'preamble')
        self.config = {}
        for i, field in enumerate(CONFIG):
            name, _, kind = field.partition(':')
            self.config[name] = struct.unpack_from('<f' if kind else '<I', data, 64 + 4 * i)[0]
        check(not any(data[64 + 140:64 + 512]), 'zeros of the configuration')
        layers = self.config['n_layers']
        self.flags = data[64 + 512:64 + 512 + layers]
        check(not any(data[64 + 512 + layers:1088]), 'flags after the last layer')
        self.covered = [(0, 1088)]
        self.tokenizer = data[tok_at:tok_at + tok_size] if tok_at else b''
        if tok_at:
            self.covered.append((tok_at, tok_size))
            self.read_tokenizer()
        self.covered.append((dir_at, 64 * n_records))
        names = ['embed'] + [f'layers.{i}.{s}' for i in range(layers) for s in LAYER_SLOTS] + ['norm', 'lm_head']
        check(len(names) == n_records, 'number of records')
        self.tensors = {}
        for i, name in enumerate(names):
            record = struct.unpack_from('<QQQQ4II3I', data, dir_at + 64 * i)
            check(record[9:] == (0, 0, 0), f'{name}: zeros')
            if any(record):
                self.tensors[name] = record
        check(pay_at % 64 == 0, 'payload')
        for name, (at, scales_at, n, n_scales, rows, cols, d2, d3, encoding, *_) in self.tensors.items():
            check(d2 == d3 == 0, f'{name}: dims')
            weights = rows * max(cols, 1)
            base, group, scale = encoding % 16, encoding // 16 % 256, encoding // 4096
            check(base in BASES, f'{name}: encoding')
            if base <= 3:
                check(group == scale == 0 and (n, scales_at, n_scales) == (weights * (4, 2, 2)[base - 1], 0, 0),
                      f'{name}: plain')
            else:
                check(1 <= group <= 3 and 1 <= scale <= 2, f'{name}: group and scale')
                length = 16 << group
                check((cols or rows) % length == 0, f'{name}: columns')
                check(n == weights * (1 if base in (4, 7) else 0.5), f'{name}: data')
                check(n_scales == weights // length * (4, 2)[scale - 1], f'{name}: scales')
            self.covered.append((at, n))
            if n_scales:
                self.covered.append((scales_at, n_scales))
        check(self.covered[-1][0] + self.covered[-1][1] == pay_at + pay_size, 'payload size')
        end = 0
        for at, n in self.covered:
            check(at % 64 == 0 and 0 <= at - end < 64, f'section or buffer at {at}')
            check(not any(data[end:at]), f'gap before {at}')
            end = at + n
        check(not any(data[end:]), 'end')

    def read_tokenizer(self):
        t = self.tokenizer
        kind, n, merges, bos, eos, flags, n_text, zero = struct.unpack_from('<IIIiiIII', t, 0)
        check(kind in (1, 2) and zero == 0, 'tokenizer header')
        at = 32
        starts = struct.unpack_from(f'<{n + 1}I', t, at)
        at += 4 * (n + 1)
        at += (n + 3) // 4 * 4
        order = struct.unpack_from(f'<{n}I', t, at)
        at += 4 * n
        rules = [struct.unpack_from('<4I', t, at + 16 * i) for i in range(merges)]
        at += 16 * merges
        text = t[at:]
        check(len(text) == n_text == starts[n], 'tokenizer text')
        self.texts = [text[starts[i]:starts[i + 1]] for i in range(n)]
        check(sorted(range(n), key=lambda i: (self.texts[i], i)) == list(order), 'sorted vocabulary')
        check(rules == sorted(rules, key=lambda r: (r[0], r[1], r[3])), 'sorted merges')
        check(sorted(r[3] for r in rules) == list(range(merges)), 'ranks')
        check(all(self.texts[a] + self.texts[b] == self.texts[m] for a, b, m, _ in rules), 'merged tokens')

    def row(self, name, row):
        """One row: its quants (values of a plain encoding), and the scale of each group."""
        at, scales_at, _, _, rows, cols, _, _, encoding, *_ = self.tensors[name]
        if cols == 0:
            rows, cols = 1, rows
        base, group, scale = BASES[encoding % 16], encoding // 16 % 256, encoding // 4096
        d = self.data
        if base == 'f32':
            return list(struct.unpack_from(f'<{cols}f', d, at + 4 * cols * row)), None
        if base == 'f16':
            return list(struct.unpack_from(f'<{cols}e', d, at + 2 * cols * row)), None
        if base == 'bf16':
            words = struct.unpack_from(f'<{cols}H', d, at + 2 * cols * row)
            return [struct.unpack('<f', struct.pack('<I', w << 16))[0] for w in words], None
        length = 16 << group
        quants = []
        for c in range(cols):
            if base == 'int8':
                quants.append(struct.unpack_from('<b', d, at + row * cols + c)[0])
            elif base == 'int8r16':
                block = at + row // 16 * 16 * cols
                quants.append(struct.unpack_from('<b', d, block + c // 4 * 64 + row % 16 * 4 + c % 4)[0])
            else:
                if base == 'int4':
                    byte, high = d[at + (row * cols + c) // 2], c % 2
                elif base == 'int4h':
                    inside = c % length
                    start = at + (row * cols + c - inside) // 2
                    byte, high = d[start + inside % (length // 2)], inside >= length // 2
                else:
                    block = at + row // 16 * 8 * cols
                    byte, high = d[block + c // 8 * 64 + row % 16 * 4 + c % 4], c % 8 >= 4
                quants.append((byte >> 4 if high else byte & 15) - 8)
        groups = cols // length
        scales = []
        for g in range(groups):
            index = (row // 16 * groups + g) * 16 + row % 16 if base.endswith('r16') else row * groups + g
            scales.append(struct.unpack_from('<f' if scale == 1 else '<e', d, scales_at + (4, 2)[scale - 1] * index)[0])
        return quants, scales


class Checkpoint:
    """The plain case of one .safetensors; dtype F32, F16 or BF16."""

    def __init__(self, root):
        with open(os.path.join(root, 'model.safetensors'), 'rb') as file:
            data = file.read()
        n = struct.unpack_from('<Q', data, 0)[0]
        self.tensors = json.loads(data[8:8 + n])
        self.data = data[8 + n:]

    def rows(self, name):
        tensor = self.tensors[name]
        begin, end = tensor['data_offsets']
        raw = self.data[begin:end]
        kind = tensor['dtype']
        if kind == 'BF16':
            values = [struct.unpack('<f', b'\0\0' + raw[i:i + 2])[0] for i in range(0, len(raw), 2)]
        else:
            size = 4 if kind == 'F32' else 2
            values = list(struct.unpack(f'<{len(raw) // size}{"f" if size == 4 else "e"}', raw))
        shape = tensor['shape']
        if len(shape) == 1:
            return values
        cols = shape[-1]
        return [values[i:i + cols] for i in range(0, len(values), cols)]


def interleave(rows, head_dim):
    half = head_dim // 2
    moved = []
    for head in range(0, len(rows), head_dim):
        for i in range(half):
            moved += [rows[head + i], rows[head + half + i]]
    return moved


def int8_rule(x, half):
    amax = max(abs(v) for v in x)
    if amax < 1e-30:
        return 0.0, [0] * len(x)
    d, factor = f32(amax / 127), f32(127 / amax)
    if half:
        d = f16(d)
        factor = f32(1 / d) if d else 0.0
    return d, [max(-127, min(127, math.trunc(f32(f32(v * factor) + math.copysign(0.5, v))))) for v in x]


def compare(mog, recipe, root):
    checkpoint = Checkpoint(root)
    config = mog.config
    head_dim = config['head_dim'] or config['dim'] // config['n_heads']
    n_compared = 0
    entries = []
    for entry in recipe['tensors']:
        if 'for' in entry:
            for i in range(config['n_layers']):
                for one in entry['entries']:
                    entries.append({k: v.replace('{layer}', str(i)) if isinstance(v, str) else v
                                    for k, v in one.items()})
        else:
            entries.append(entry)
    for entry in entries:
        name = entry['name']
        if name not in mog.tensors:
            check(entry.get('optional'), f'{name}: absent')
            continue
        rows = checkpoint.rows(entry['path'])
        transform = entry.get('transform')
        check(transform in (None, 'rope_interleave'), f'{name}: transform not known here')
        if transform:
            rows = interleave(rows, head_dim)
        if not isinstance(rows[0], list):
            rows = [rows]
        encoding = mog.tensors[name][8]
        base, length = BASES[encoding % 16], 16 << (encoding // 16 % 256)
        for r, x in enumerate(rows):
            quants, scales = mog.row(name, r)
            if scales is None:
                exact = {'f32': lambda v: v, 'f16': f16, 'bf16': lambda v: v}[base]
                check(quants == [exact(v) for v in x], f'{name}: row {r}')
                continue
            for g, d in enumerate(scales):
                part, q = x[g * length:(g + 1) * length], quants[g * length:(g + 1) * length]
                if base.startswith('int8'):
                    check((d, q) == int8_rule(part, encoding // 4096 == 2), f'{name}: row {r}, group {g}')
                else:
                    check(all(abs(v - k * d) <= 1.6 * abs(d) for v, k in zip(part, q)), f'{name}: row {r}, group {g}')
        n_compared += 1
    check(n_compared == len(mog.tensors), 'tensors that no entry gives')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('file')
    parser.add_argument('--recipe')
    parser.add_argument('--root')
    parser.add_argument('--ids')
    args = parser.parse_args()
    with open(args.file, 'rb') as file:
        mog = Mog(file.read())
    if args.ids:
        sys.stdout.buffer.write(b''.join(mog.texts[int(i)] for i in args.ids.split(',')))
        return
    print(f'architecture {mog.architecture}, {mog.config["n_layers"]} layers of {mog.config["dim"]}, '
          f'layout {mog.config["rope_layout"]}')
    for name, (at, scales_at, n, n_scales, rows, cols, _, _, encoding, *_) in mog.tensors.items():
        total = sum(mog.data[at:at + n]) + sum(mog.data[scales_at:scales_at + n_scales])
        print(name, encoding, rows, cols, at, n, scales_at, n_scales, total)
    if args.recipe:
        with open(args.recipe) as file:
            compare(mog, json.load(file), args.root)


if __name__ == '__main__':
    main()
