#!/usr/bin/env python3
"""Writes a model folder as a GGUF file, in plain Python and written from the format's public description alone.

make_gguf.py FOLDER OUT.gguf [--type f32|f16|q8_0|q4_0] [--output TYPE] [--splits N] [--tokenizer]
"""

import argparse
import json
import math
import os
import struct
from array import array

U32, F32, BOOL, STRING, ARRAY, U64, I32 = 4, 6, 7, 8, 9, 10, 5
TYPES = {'f32': 0, 'f16': 1, 'q4_0': 2, 'q8_0': 8}
ALIGNMENT = 32


class Tensor:
    """Floats with a shape, rows first."""

    def __init__(self, shape, values):
        self.shape = list(shape)
        self.values = values

    @property
    def cols(self):
        return self.shape[-1]

    def rows(self):
        n = self.cols
        return [self.values[i:i + n] for i in range(0, len(self.values), n)]

    def take(self, order):
        """Rows in another order; of a vector, its elements."""
        if len(self.shape) == 1:
            return Tensor([len(order)], array('f', (self.values[i] for i in order)))
        rows = self.rows()
        values = array('f')
        for i in order:
            values.extend(rows[i])
        return Tensor([len(order)] + self.shape[1:], values)

    def take_cols(self, order):
        values = array('f')
        for row in self.rows():
            values.extend(row[i] for i in order)
        return Tensor(self.shape, values)

    def map(self, function):
        return Tensor(self.shape, array('f', map(function, self.values)))


def read_checkpoint(folder):
    tensors = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith('.safetensors'):
            continue
        with open(os.path.join(folder, name), 'rb') as file:
            data = file.read()
        size = struct.unpack('<Q', data[:8])[0]
        for key, entry in json.loads(data[8:8 + size]).items():
            if key == '__metadata__':
                continue
            begin, end = (8 + size + offset for offset in entry['data_offsets'])
            raw = data[begin:end]
            if entry['dtype'] == 'F32':
                values = array('f', raw)
            elif entry['dtype'] == 'F16':
                values = array('f', struct.unpack(f'<{len(raw) // 2}e', raw))
            elif entry['dtype'] == 'BF16':
                wide = bytearray(2 * len(raw))
                wide[2::4], wide[3::4] = raw[::2], raw[1::2]
                values = array('f', bytes(wide))
            else:
                continue
            tensors[key] = Tensor(entry['shape'], values)
    return tensors


def encode_f16(value):
    return struct.pack('<e', value)


def encode(tensor, kind):
    if kind == 'f32':
        return tensor.values.tobytes()
    if kind == 'f16':
        return struct.pack(f'<{len(tensor.values)}e', *tensor.values)
    out = bytearray()
    for i in range(0, len(tensor.values), 32):
        block = tensor.values[i:i + 32]
        if kind == 'q8_0':
            d = max(map(abs, block)) / 127
            half = encode_f16(d)
            inverse = 1 / d if d else 0
            out += half + struct.pack('<32b', *(max(-127, min(127, round(x * inverse))) for x in block))
        else:
            d = max(block, key=abs) / -8
            inverse = 1 / d if d else 0
            levels = [max(0, min(15, int(x * inverse + 8.5))) for x in block]
            out += encode_f16(d) + bytes(levels[j] | levels[j + 16] << 4 for j in range(16))
    return bytes(out)


def string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack('<Q', len(raw)) + raw


def scalar(kind, value):
    if kind == STRING:
        return string(value)
    return struct.pack({U32: '<I', F32: '<f', BOOL: '<?', U64: '<Q', I32: '<i'}[kind], value)


def entry(key, kind, value):
    if isinstance(value, (list, tuple)):
        return (string(key) + struct.pack('<IIQ', ARRAY, kind, len(value)) +
                b''.join(scalar(kind, one) for one in value))
    return string(key) + struct.pack('<I', kind) + scalar(kind, value)


def pad(data):
    return data + bytes(-len(data) % ALIGNMENT)


def write_file(path, entries, tensors):
    """tensors: (name, shape rows first, type's number, bytes)"""
    head = b'GGUF' + struct.pack('<IQQ', 3, len(tensors), len(entries)) + b''.join(entries)
    offset = 0
    for name, shape, kind, data in tensors:
        dims = list(reversed(shape))
        head += string(name) + struct.pack('<I', len(dims)) + struct.pack(f'<{len(dims)}Q', *dims)
        head += struct.pack('<IQ', kind, offset)
        offset += len(pad(data))
    with open(path, 'wb') as file:
        file.write(pad(head))
        for _, _, _, data in tensors:
            file.write(pad(data))


class Model:
    """A checkpoint in the words of a GGUF file."""

    ARCHS = {'llama': 'llama', 'mistral': 'llama', 'qwen2': 'qwen2', 'qwen3': 'qwen3', 'qwen3_5': 'qwen35',
             'qwen3_5_text': 'qwen35', 'gemma': 'gemma', 'gemma2': 'gemma2', 'gemma3_text': 'gemma3',
             'gemma3': 'gemma3', 'smollm3': 'smollm3', 'phi3': 'phi3'}

    def __init__(self, folder, usual):
        self.usual = usual
        with open(os.path.join(folder, 'config.json')) as file:
            self.config = json.load(file)
        self.config = {**self.config.get('text_config', {}), **self.config}
        self.source = read_checkpoint(folder)
        self.arch = self.ARCHS[self.config['model_type']]
        root = [key for key in self.source if key.endswith('embed_tokens.weight')][0]
        self.root = root[:-len('embed_tokens.weight')]
        c = self.config
        self.dim, self.n_layers = c['hidden_size'], c['num_hidden_layers']
        self.heads = c['num_attention_heads']
        self.kv_heads = c.get('num_key_value_heads') or self.heads
        self.head_dim = c.get('head_dim') or self.dim // self.heads
        self.entries = []
        self.tensors = []

    def key(self, name, kind, value):
        self.entries.append(entry(f'{self.arch}.{name}', kind, value))

    def rope(self):
        c = self.config
        scaling = c.get('rope_scaling') or c.get('rope_parameters') or {}
        full = scaling.get('full_attention', scaling)
        local = scaling.get('sliding_attention', {})
        theta = full.get('rope_theta', c.get('rope_theta', {'gemma3': 1e6, 'smollm3': 2e6}.get(self.arch, 1e4)))
        self.key('rope.freq_base', F32, theta)
        if self.arch == 'gemma3':
            self.key('rope.freq_base_swa', F32, local.get('rope_theta', c.get('rope_local_base_freq', 1e4)))
        kind = full.get('rope_type', full.get('type'))
        if kind in ('linear', 'yarn'):
            self.key('rope.scaling.type', STRING, kind)
            self.key('rope.scaling.factor', F32, full['factor'])
        if kind == 'yarn':
            self.key('rope.scaling.original_context_length', U32,
                     full.get('original_max_position_embeddings', c['max_position_embeddings']))
        share = full.get('partial_rotary_factor', c.get('partial_rotary_factor', 1))
        self.rot_dim = int(self.head_dim * share)
        self.key('rope.dimension_count', U32, self.rot_dim)
        if self.arch == 'qwen35':
            # Pairs for each axis of a picture's position; text has the same position on all three.
            pairs = self.rot_dim // 2
            sections = full.get('mrope_section') or [pairs - 2 * (pairs // 3), pairs // 3, pairs // 3]
            self.key('rope.dimension_sections', I32, (list(sections) + [0])[:4])
        if kind == 'llama3':
            self.tensors.append(('rope_freqs.weight', self.llama3_factors(full, theta)))

    def llama3_factors(self, scaling, theta):
        low, high = scaling['low_freq_factor'], scaling['high_freq_factor']
        orig, factor = scaling['original_max_position_embeddings'], scaling['factor']
        factors = array('f')
        for i in range(self.rot_dim // 2):
            wavelength = 2 * math.pi * theta**(2 * i / self.rot_dim)
            smooth = (orig / wavelength - low) / (high - low)
            smooth = max(0, min(1, smooth))
            factors.append(1 / ((1 - smooth) / factor + smooth))
        return Tensor([len(factors)], factors)

    def metadata(self):
        c = self.config
        self.entries.append(entry('general.architecture', STRING, self.arch))
        self.entries.append(entry('general.name', STRING, 'test'))
        self.key('block_count', U32, self.n_layers)
        self.key('context_length', U32, c['max_position_embeddings'])
        self.key('embedding_length', U32, self.dim)
        self.key('feed_forward_length', U32, c['intermediate_size'])
        self.key('attention.head_count', U32, self.heads)
        self.key('attention.head_count_kv', U32, self.kv_heads)
        self.key('attention.key_length', U32, self.head_dim)
        self.key('attention.value_length', U32, self.head_dim)
        self.key('attention.layer_norm_rms_epsilon', F32, c['rms_norm_eps'])
        self.rope()
        if self.arch in ('gemma2', 'gemma3'):
            if not self.usual:
                self.key('attention.scale', F32, c.get('query_pre_attn_scalar', 256)**-0.5)
            self.key('attention.sliding_window', U32, c['sliding_window'])
            types = c.get('layer_types')
            if types:
                self.key('attention.sliding_window_pattern', BOOL, [t == 'sliding_attention' for t in types])
            elif 'sliding_window_pattern' in c:
                self.key('attention.sliding_window_pattern', U32, c['sliding_window_pattern'])
        if self.arch == 'gemma2':
            self.key('attn_logit_softcapping', F32, c['attn_logit_softcapping'])
            self.key('final_logit_softcapping', F32, c['final_logit_softcapping'])
        if c['model_type'] in ('mistral', 'phi3') and c.get('sliding_window'):
            self.key('attention.sliding_window', U32, c['sliding_window'])
        if self.arch == 'qwen35':
            n_values = c['linear_num_value_heads'] * c['linear_value_head_dim']
            self.key('ssm.conv_kernel', U32, c['linear_conv_kernel_dim'])
            self.key('ssm.inner_size', U32, n_values)
            self.key('ssm.state_size', U32, c['linear_key_head_dim'])
            self.key('ssm.time_step_rank', U32, c['linear_num_value_heads'])
            self.key('ssm.group_count', U32, c['linear_num_key_heads'])
            types = c.get('layer_types')
            interval = types.index('full_attention') + 1 if types else c.get('full_attention_interval', 4)
            self.key('full_attention_interval', U32, interval)

    def pairs(self, tensor):
        """Rows of wq and wk as interleaved pairs."""
        order = []
        for start in range(0, tensor.shape[0], self.head_dim):
            for i in range(self.head_dim // 2):
                order += [start + i, start + i + self.head_dim // 2]
        return tensor.take(order)

    def tiled(self, first, size):
        """Numbers of rows with value heads by their number in the group first; `first` rows stay in front."""
        k, v = self.config['linear_num_key_heads'], self.config['linear_num_value_heads']
        order = list(range(first))
        for place in range(v):
            head = place % k * (v // k) + place // k
            order += range(first + head * size, first + (head + 1) * size)
        return order

    def add(self, name, tensor):
        self.tensors.append((name, tensor))

    def linear_layer(self, prefix, source):
        c = self.config
        v_dim = c['linear_value_head_dim']
        first = 2 * c['linear_num_key_heads'] * c['linear_key_head_dim']
        part = lambda name: self.source[source + 'linear_attn.' + name]
        conv = part('conv1d.weight')
        self.add(prefix + 'attn_qkv.weight', part('in_proj_qkv.weight').take(self.tiled(first, v_dim)))
        self.add(prefix + 'attn_gate.weight', part('in_proj_z.weight').take(self.tiled(0, v_dim)))
        self.add(prefix + 'ssm_conv1d.weight',
                 Tensor([conv.shape[0], conv.shape[-1]], conv.values).take(self.tiled(first, v_dim)))
        self.add(prefix + 'ssm_dt.bias', part('dt_bias').take(self.tiled(0, 1)))
        self.add(prefix + 'ssm_a', part('A_log').take(self.tiled(0, 1)).map(lambda x: -math.exp(x)))
        self.add(prefix + 'ssm_beta.weight', part('in_proj_b.weight').take(self.tiled(0, 1)))
        self.add(prefix + 'ssm_alpha.weight', part('in_proj_a.weight').take(self.tiled(0, 1)))
        self.add(prefix + 'ssm_norm.weight', part('norm.weight'))
        self.add(prefix + 'ssm_out.weight', part('out_proj.weight').take_cols(self.tiled(0, v_dim)))

    def layer(self, i):
        source, prefix = f'{self.root}layers.{i}.', f'blk.{i}.'
        names = {'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v',
                 'self_attn.o_proj': 'attn_output', 'self_attn.qkv_proj': 'attn_qkv',
                 'self_attn.q_norm': 'attn_q_norm', 'self_attn.k_norm': 'attn_k_norm',
                 'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up', 'mlp.gate_up_proj': 'ffn_up',
                 'mlp.down_proj': 'ffn_down', 'input_layernorm': 'attn_norm',
                 'post_attention_layernorm': 'ffn_norm'}
        if self.arch in ('gemma2', 'gemma3'):
            names.update({'post_attention_layernorm': 'post_attention_norm',
                          'pre_feedforward_layernorm': 'ffn_norm', 'post_feedforward_layernorm': 'post_ffw_norm'})
        if self.arch == 'qwen35':
            names['post_attention_layernorm'] = 'post_attention_norm'
        for old, new in names.items():
            for end in ('.weight', '.bias'):
                tensor = self.source.get(source + old + end)
                if tensor is None:
                    continue
                if self.arch in ('llama', 'smollm3') and new in ('attn_q', 'attn_k'):
                    tensor = self.pairs(tensor)
                self.add(prefix + new + end, self.norm(new, tensor))
        if source + 'linear_attn.A_log' in self.source:
            self.linear_layer(prefix, source)

    def norm(self, name, tensor):
        plus_one = name.endswith('norm') and (self.arch.startswith('gemma') or self.arch == 'qwen35')
        return tensor.map(lambda x: x + 1) if plus_one else tensor

    def build(self):
        self.metadata()
        self.add('token_embd.weight', self.source[self.root + 'embed_tokens.weight'])
        self.add('output_norm.weight', self.norm('output_norm', self.source[self.root + 'norm.weight']))
        default = self.arch in ('smollm3', 'gemma', 'gemma2', 'gemma3')
        if not self.config.get('tie_word_embeddings', default):
            self.add('output.weight', self.source['lm_head.weight'])
        for i in range(self.n_layers):
            self.layer(i)


def tokenizer_entries(folder):
    with open(os.path.join(folder, 'tokenizer.json')) as file:
        document = json.load(file)
    beside = os.path.join(folder, 'tokenizer_config.json')
    config = {}
    if os.path.exists(beside):
        with open(beside) as file:
            config = json.load(file)
    vocab = document['model']['vocab']
    added = {one['content']: one for one in document['added_tokens']}
    ids = {**{content: one['id'] for content, one in added.items()}, **vocab}
    n = max(ids.values()) + 1
    texts = [f'[PAD{i}]' for i in range(n)]
    types = [5] * n
    for text, id in ids.items():
        texts[id] = text
        types[id] = 1 if text not in added else 3 if added[text]['special'] else 4
    merges = document['model']['merges']
    pairs = [m.split(' ') if isinstance(m, str) else m for m in merges]
    entries = []
    if document['model'].get('byte_fallback'):
        ranks = {}
        for rank, (left, right) in enumerate(pairs):
            ranks.setdefault(left + right, rank)
        for id, text in enumerate(texts):
            if len(text) == 6 and text.startswith('<0x'):
                types[id] = 6
        if '<unk>' in ids:
            types[ids['<unk>']] = 2
        entries.append(entry('tokenizer.ggml.model', STRING, 'llama'))
        entries.append(entry('tokenizer.ggml.scores', F32, [float(-ranks.get(t, 1e6)) for t in texts]))
    else:
        pre = 'qwen2' if document.get('normalizer') else 'gpt-2'
        entries.append(entry('tokenizer.ggml.model', STRING, 'gpt2'))
        entries.append(entry('tokenizer.ggml.pre', STRING, pre))
        entries.append(entry('tokenizer.ggml.merges', STRING, [' '.join(pair) for pair in pairs]))
    entries.append(entry('tokenizer.ggml.tokens', STRING, texts))
    entries.append(entry('tokenizer.ggml.token_type', I32, types))
    for name in ('bos', 'eos'):
        token = config.get(name + '_token')
        text = token['content'] if isinstance(token, dict) else token
        if text in ids:
            entries.append(entry(f'tokenizer.ggml.{name}_token_id', U32, ids[text]))
    adds_bos = 'SpecialToken' in json.dumps(document.get('post_processor'))
    entries.append(entry('tokenizer.ggml.add_bos_token', BOOL, adds_bos))
    template = config.get('chat_template')
    if isinstance(template, str):
        entries.append(entry('tokenizer.chat_template', STRING, template))
    return entries


def kind_of(name, tensor, kind, output):
    """1-D tensors and convolutions stay F32; rows that are no whole blocks become F16."""
    if len(tensor.shape) == 1 or 'conv1d' in name:
        return 'f32'
    if name in ('output.weight', 'token_embd.weight') and output:
        kind = output
    if kind in ('q8_0', 'q4_0') and tensor.cols % 32:
        return 'f16'
    return kind


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder')
    parser.add_argument('out')
    parser.add_argument('--type', default='f32', choices=sorted(TYPES))
    parser.add_argument('--output', choices=sorted(TYPES), help='type of the embedding and the classifier')
    parser.add_argument('--splits', type=int, default=1)
    parser.add_argument('--tokenizer', action='store_true')
    parser.add_argument('--usual', action='store_true', help='leave out what other writers cannot say')
    arguments = parser.parse_args()
    model = Model(arguments.folder, arguments.usual)
    model.build()
    entries = model.entries
    if arguments.tokenizer:
        entries += tokenizer_entries(arguments.folder)
    else:
        entries.append(entry('tokenizer.ggml.model', STRING, 'no_vocab'))
        entries.append(entry(f'{model.arch}.vocab_size', U32, model.config['vocab_size']))
    tensors = []
    small_heads = model.config.get('linear_value_head_dim', 32) % 32
    for name, tensor in model.tensors:
        kind = kind_of(name, tensor, arguments.type, arguments.output)
        if small_heads and name.endswith('ssm_out.weight'):
            kind = 'f32'  # blocks of 32 would hold columns of two heads
        tensors.append((name, tensor.shape, TYPES[kind], encode(tensor, kind)))
    n = arguments.splits
    if n == 1:
        return write_file(arguments.out, entries, tensors)
    step = -(-len(tensors) // n)
    for i in range(n):
        split = [entry('split.no', U32, i), entry('split.count', U32, n),
                 entry('split.tensors.count', I32, len(tensors))]
        path = arguments.out.replace('.gguf', f'-{i + 1:05}-of-{n:05}.gguf')
        write_file(path, (entries if i == 0 else []) + split, tensors[i * step:(i + 1) * step])


if __name__ == '__main__':
    main()
