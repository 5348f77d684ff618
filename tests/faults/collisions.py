"""Many texts of one hash, as a hostile file would hold them: the steps of two fixed hashes are taken backward."""

import itertools
import random

MASK = (1 << 64) - 1
MURMUR = 0xC6A4A7935BD1E995
MURMUR_INVERSE = pow(MURMUR, -1, 1 << 64)
MURMUR_SEED = 0xC70F6907  # that of std::hash in libstdc++
PRINTABLE = bytes(range(0x21, 0x7F))

XXH3 = 0x9FB21C651E98DF25
XXH3_INVERSE = pow(XXH3, -1, 1 << 64)
XXH3_SECRET = 0x1CAD21F72C81017C ^ 0xDB979083E96DD4DE


def murmur_mix(word):
    return word ^ word >> 47


def murmur_pairs(count, state, target, source):
    """Texts of two words that take the hash from a state to the target."""
    pairs = []
    while len(pairs) < count:
        first = bytes(source.choices(range(0x61, 0x7B), k=8))
        between = (state ^ murmur_mix(int.from_bytes(first, "little") * MURMUR & MASK) * MURMUR & MASK) * MURMUR & MASK
        second = murmur_mix((between ^ target) * MURMUR_INVERSE & MASK) * MURMUR_INVERSE & MASK
        text = first + second.to_bytes(8, "little")
        if not text.translate(None, PRINTABLE):
            pairs.append(text.decode())
    return pairs


def murmur_texts(count):
    """Printable ASCII that std::hash<std::string> gives one value. Any of a few pairs may follow on any other."""
    source = random.Random(1)
    per_part = next(n for n in itertools.count(1) if n ** 3 >= count)
    state = MURMUR_SEED ^ 48 * MURMUR & MASK
    parts = []
    for target in (1, 2, 3):
        parts.append(murmur_pairs(per_part, state, target, source))
        state = target * MURMUR & MASK
    return ["".join(texts) for texts in itertools.islice(itertools.product(*parts), count)]


def rotated(word, n):
    return (word << n | word >> (64 - n)) & MASK


def xxh3_words(count, bits):
    """Eight bytes each, of whose XXH3-64 without a seed the last bits are zero."""
    words = []
    for i in range(count):
        word = i << bits
        word ^= word >> 28 ^ word >> 56
        word = word * XXH3_INVERSE & MASK
        word ^= (word >> 35) + 8
        word = word * XXH3_INVERSE & MASK
        for k in range(6):  # 64 times this step of XXH3 changes nothing, so 63 times undo it
            word ^= rotated(word, (49 << k) % 64) ^ rotated(word, (24 << k) % 64)
        word ^= XXH3_SECRET
        words.append(rotated(word, 32).to_bytes(8, "little"))
    return words


def byte_level(text):
    """Bytes in the alphabet of byte-level tokens."""
    return "".join(ALPHABET[byte] for byte in text)


def make_alphabet():
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in own]
    return {byte: chr(byte) for byte in own} | {byte: chr(0x100 + i) for i, byte in enumerate(others)}


ALPHABET = make_alphabet()
