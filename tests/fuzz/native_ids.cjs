// Random texts with the ids and texts of the native `tokenizers` library, a JSON object a line:
// node native_ids.cjs NODE_MODULES TOKENIZER.json N SEED

const fs = require('fs');
const path = require('path');

const [modules, file, count, firstSeed] = process.argv.slice(2);
const { Tokenizer } = require(path.resolve(modules, 'tokenizers'));

let seed = Number(firstSeed) >>> 0;
function below(n) {
  seed = (seed + 0x6d2b79f5) >>> 0;
  let x = Math.imul(seed ^ (seed >>> 15), seed | 1);
  x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
  return ((x ^ (x >>> 14)) >>> 0) % n;
}
const choose = (list) => list[below(list.length)];

// First and last of ranges: letters with and without case, marks, numbers, spaces, punctuation, conjoining jamo,
// characters beyond the basic plane.
const ranges = [
  [0x20, 0x7e], [0x20, 0x7e], [0x00, 0x7f], [0x80, 0xff], [0x100, 0x24f], [0x250, 0x2ff], [0x300, 0x36f],
  [0x370, 0x52f], [0x590, 0x6ff], [0x8c0, 0x97f], [0xe00, 0xe7f], [0x1100, 0x11ff], [0x1e00, 0x1fff],
  [0x2000, 0x206f], [0x2070, 0x218f], [0x2500, 0x25ff], [0x2e80, 0x303f], [0x3040, 0x30ff], [0x3400, 0x9fff],
  [0xa640, 0xa6ff], [0xac00, 0xd7a3], [0xe000, 0xe0ff], [0xf900, 0xfaff], [0xfe00, 0xffff], [0x10000, 0x1ffff],
  [0x1d400, 0x1d7ff], [0x1f300, 0x1faff], [0x20000, 0x2a6df], [0x2f800, 0x2fa1f], [0xe0000, 0x10fffd],
];
function character() {
  const [first, last] = choose(ranges);
  const code = first + below(last - first + 1);
  return code >= 0xd800 && code < 0xe000 ? 'x' : String.fromCodePoint(code);
}

const words = [
  'the', 'The', 'THE', 'hello', 'HelloWorld', 'HTTPServer', 'été', 'naïve', 'Việt', 'привет', 'мир', 'λόγος', '中文', '日本語',
  'カナ', '한국어', 'e\u0301', 'o\u0302\u0323', 'ǅ', 'ʰ', 'ª', '½', '१२', '٣', '🦙', '👍🏽', '\ufeff', '\u200b', '\u2581', '\u2581\u2581',
];
const code = [
  '->', '==', '//', '/*', '*/', '();', '){', '}', '("', "')", '...', '::', '#', '_', '__init__', 'x_1', '0x1F', '3.14', '1,000', 'https://',
  '</', '<s>', '</s>', "'s", "'S", "'t", "'re", "'VE", "'ll", "'LL", "'m", "'d", "'\u017f", "'", '"', "''", '\\n',
];
const spaces = [' ', ' ', ' ', '  ', '   ', '\n', '\n\n', '\r\n', '\t', '\t\t', ' \n', '\n ', '\n    ', '\u00a0', '\u3000', '\u2028', '\u0085', '\v', '\f'];
const document = JSON.parse(fs.readFileSync(file, 'utf8'));
const added = document.added_tokens.map((token) => token.content);
const vocabulary = Object.keys(document.model.vocab);

function part() {
  switch (below(16)) {
    case 0: case 1: case 2: return choose(words);
    case 3: case 4: return choose(code);
    case 5: case 6: case 7: return choose(spaces);
    case 8: return String(below(10 ** (1 + below(9))));
    case 9: return choose(choose([words, code, spaces])).repeat(1 + below(90));
    case 10: return added.length > 0 ? choose(added) : 'a';
    case 11: return choose(vocabulary).replaceAll('Ġ', ' ').replaceAll('Ċ', '\n').replaceAll('\u2581', ' ');
    case 12: return Array.from({ length: 1 + below(12) }, () => String.fromCharCode(97 + below(26))).join('');
    case 13: return Array.from({ length: 1 + below(70) }, () => String.fromCharCode(32 + below(95))).join('');
    default: return Array.from({ length: 1 + below(3) }, character).join('');
  }
}

async function main() {
  const tokenizer = Tokenizer.fromFile(file);
  tokenizer.disableTruncation();
  tokenizer.disablePadding();
  for (let i = 0; i < Number(count); ++i) {
    const text = Array.from({ length: 1 + below(12) }, part).join('');
    const ids = Array.from((await tokenizer.encode(text, null, { addSpecialTokens: false })).getIds());
    const line = { text, ids_no_special: ids, decoded: await tokenizer.decode(ids, false) };
    if (i % 16 === 0) line.ids_with_special = Array.from((await tokenizer.encode(text)).getIds());
    if (!process.stdout.write(JSON.stringify(line) + '\n')) await new Promise((go) => process.stdout.once('drain', go));
  }
}

main();
