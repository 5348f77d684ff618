#!/usr/bin/env python3
"""Files of mog-pack read by two readers that share no code with the library: tests/oracle/read_mog.py, which also
compares every weight with the checkpoint, and tests/mog_consumer.c. TAP."""

import argparse
import os
import subprocess
import sys
import tempfile


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def main():
    parser = argparse.ArgumentParser()
    for name in ('pack', 'consumer', 'reader', 'recipes', 'data'):
        parser.add_argument('--' + name, required=True)
    args = parser.parse_args()
    encodings = ['f32', 'f16'] + [f'{base}_g{group}_{scale}' for base in
                                  ('int8', 'int4', 'int4h', 'int8r16', 'int4r16') for group, scale in
                                  ((32, 'f32'), (64, 'f16'))]
    cases = [('llama', 'oracle/llama3-gqa-tied', e) for e in encodings] + [
        ('qwen3', 'models/qwen3-stories', 'int8_g128_f32')]
    print(f'1..{len(cases)}')
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'a.mog')
        for number, (recipe, model, encoding) in enumerate(cases, 1):
            root = os.path.join(args.data, model)
            recipe_path = os.path.join(args.recipes, recipe + '.json')
            # Columns of o_proj in the stories: 192.
            command = [args.pack, recipe_path, '--root', root, '-q', '-f', '-o', path, '--set', f'embed={encoding}',
                       '--set', f'*_proj={encoding}']
            if encoding == 'int8_g128_f32':
                command += ['--set', '*.o_proj=int4h_g64_f16']
            try:
                run(*command)
                seen = run(args.reader, path, '--recipe', recipe_path, '--root', root)
                good = seen == run(args.consumer, path) and seen.count(b'\n') > 10
                if recipe == 'qwen3':
                    ids = ['300', '17', '256', '411', '1']
                    text = run(args.reader, path, '--ids', ','.join(ids))
                    good = good and text == run(args.consumer, path, *ids) and len(text) >= len(ids)
            except subprocess.CalledProcessError as error:
                print(f'# {error}')
                good = False
            failed += not good
            print(f'{"ok" if good else "not ok"} {number} - {model} {encoding}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
