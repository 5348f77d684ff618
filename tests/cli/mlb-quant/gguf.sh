# A .gguf keeps its quants and scales; what would change them needs --requantize.
make="python3 $(dirname "$0")/../../formats/make_gguf.py"
$make "$ML_TEST_DATA/models/qwen3-stories" q4.gguf --type q4_0
$make "$ML_TEST_DATA/models/qwen3-stories" mixed.gguf --type q4_0 --output q8_0
$make "$ML_TEST_DATA/models/qwen3-stories" f16.gguf --type f16
mlb-quant -q --json q4.gguf -o q4.mlb > q4.json
mlb-quant -q --json mixed.gguf -o mixed.mlb > mixed.json
mlb-quant -q --json f16.gguf -o f16.mlb > f16.json
mlb-quant -q --json --requantize --type q8_0 q4.gguf -o q8.mlb > q8.json
python3 - <<'END'
import json
def report(name):
    with open(name + '.json') as file:
        return json.load(file)
for name, type, scales, q8 in (('q4', 'q4_0', 'f16', []), ('mixed', 'q4_0', 'f16', ['tok_emb']),
                               ('f16', 'q8_0', 'f32', []), ('q8', 'q8_0', 'f16', [])):
    got = report(name)
    assert (got['type'], got['scales'], got['q8']) == (type, scales, q8), got
exact = [t for name in ('q4', 'mixed') for t in report(name)['tensors']]
assert all(t['rms_error'] == 0 for t in exact)
assert all(t['copied'] for t in exact if t['rows'] > 1)
END
rc=0; mlb-quant q4.gguf --type q8_0 -o none.mlb || rc=$?; [ $rc -eq 1 ]
rc=0; mlb-quant mixed.gguf --type q4_0 -o none.mlb || rc=$?; [ $rc -eq 1 ]
[ ! -e none.mlb ]
# A type that only --requantize reads: Q6_K, blocks of 256.
python3 - "$(dirname "$0")/../../formats" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from make_gguf import *
keys = {'block_count': 1, 'context_length': 64, 'embedding_length': 256, 'feed_forward_length': 256,
        'attention.head_count': 4}
entries = [entry('general.architecture', STRING, 'llama')]
entries += [entry('llama.' + key, U32, value) for key, value in keys.items()]
entries.append(entry('llama.attention.layer_norm_rms_epsilon', F32, 1e-5))
shapes = {'token_embd.weight': [8, 256], 'output_norm.weight': [256], 'blk.0.attn_norm.weight': [256],
          'blk.0.ffn_norm.weight': [256], 'output.weight': [8, 256]}
for name in ('attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'):
    shapes[f'blk.0.{name}.weight'] = [256, 256]
tensors = []
for name, shape in shapes.items():
    n = math.prod(shape)
    if name == 'output.weight':
        tensors.append((name, shape, 14, (bytes(range(208)) + encode_f16(0.5)) * 8))
    elif len(shape) == 2:
        tensors.append((name, shape, TYPES['q4_0'], encode(Tensor(shape, array('f', (i % 97 / 64 for i in range(n)))), 'q4_0')))
    else:
        tensors.append((name, shape, TYPES['f32'], array('f', [1] * n).tobytes()))
write_file('k.gguf', entries, tensors)
END
rc=0; mlb-quant k.gguf -o none.mlb || rc=$?; [ $rc -eq 1 ]
mlb-quant --dry-run --requantize k.gguf
# No split is replaced, also one that was not named.
$make "$ML_TEST_DATA/models/qwen3-stories" split.gguf --type q4_0 --splits 3
before=$(md5sum split-*)
rc=0; mlb-quant -f split-00001-of-00003.gguf -o split-00003-of-00003.gguf || rc=$?; [ $rc -eq 1 ]
[ "$(md5sum split-*)" = "$before" ]
# A pipe is a .gguf like another.
mlb-quant -q < q4.gguf | cmp - q4.mlb
mkfifo fifo.gguf
cat mixed.gguf > fifo.gguf &
mlb-quant -q fifo.gguf -o fifo.mlb
cmp fifo.mlb mixed.mlb
rc=0; mlb-quant --type q8_0 - -o none.mlb < q4.gguf || rc=$?; [ $rc -eq 1 ]
