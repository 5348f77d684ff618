#!/usr/bin/env python3
"""Continues a text, through the C interface of libml and nothing but Python's own ctypes."""

import argparse
import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int32, c_size_t, c_uint32, c_void_p

u32s = POINTER(c_uint32)
# name: (result, arguments), as ml/ml.h declares them
FUNCTIONS = {
    "ml_message": (c_char_p, []),
    "ml_model_open": (c_int32, [c_char_p, POINTER(c_void_p)]),
    "ml_model_vocab": (c_uint32, [c_void_p]),
    "ml_model_ends": (c_int, [c_void_p, c_uint32]),
    "ml_model_free": (None, [c_void_p]),
    "ml_tokenizer_of_model": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "ml_tokenizer_eos": (c_uint32, [c_void_p]),
    "ml_tokenizer_free": (None, [c_void_p]),
    "ml_encode": (c_int32, [c_void_p, c_char_p, c_size_t, c_char_p, u32s, c_size_t, POINTER(c_size_t)]),
    "ml_decoder_new": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "ml_decoder_push": (c_int32, [c_void_p, u32s, c_size_t, POINTER(c_char_p), POINTER(c_size_t)]),
    "ml_decoder_finish": (c_int32, [c_void_p, POINTER(c_char_p), POINTER(c_size_t)]),
    "ml_decoder_free": (None, [c_void_p]),
    "ml_session_new": (c_int32, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "ml_session_eval": (c_int32, [c_void_p, u32s, c_size_t]),
    "ml_session_logits": (POINTER(c_float), [c_void_p]),
    "ml_session_free": (None, [c_void_p]),
    "ml_sampler_new": (c_int32, [c_char_p, POINTER(c_void_p)]),
    "ml_sampler_accept": (c_int32, [c_void_p, u32s, c_size_t]),
    "ml_sampler_sample": (c_int32, [c_void_p, POINTER(c_float), c_size_t, u32s]),
    "ml_sampler_free": (None, [c_void_p]),
}


class Library:
    """The functions, those with a status raising RuntimeError with the library's message."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name[3:], self.checked(function) if result is c_int32 else function)

    def checked(self, function):
        def call(*arguments):
            if function(*arguments) != 0:
                raise RuntimeError(self.library.ml_message().decode())
        return call

    def open(self, name, *arguments):
        """A new handle."""
        handle = c_void_p()
        getattr(self, name)(*arguments, byref(handle))
        return handle


def continue_text(ml, path, prompt, n, session_options, sampler_options):
    """Yields pieces of text."""
    model = ml.open("model_open", path.encode())
    tokenizer = ml.open("tokenizer_of_model", model)
    decoder = ml.open("decoder_new", tokenizer)
    session = ml.open("session_new", model, session_options.encode())
    sampler = ml.open("sampler_new", sampler_options.encode())
    text, piece, n_ids = prompt.encode(), c_char_p(), c_size_t()
    ml.encode(tokenizer, text, len(text), None, None, 0, byref(n_ids))
    ids = (c_uint32 * n_ids.value)()
    ml.encode(tokenizer, text, len(text), None, ids, len(ids), byref(n_ids))
    ml.decoder_push(decoder, ids, len(ids), byref(piece), None)
    for _ in range(n):
        ml.session_eval(session, ids, len(ids))
        ml.sampler_accept(sampler, ids, len(ids))
        ids = (c_uint32 * 1)()
        ml.sampler_sample(sampler, ml.session_logits(session), ml.model_vocab(model), ids)
        if ids[0] == ml.tokenizer_eos(tokenizer) or ml.model_ends(model, ids[0]):
            break
        ml.decoder_push(decoder, ids, 1, byref(piece), None)
        yield piece.value.decode()
    ml.decoder_finish(decoder, byref(piece), None)
    yield piece.value.decode()
    for handle, name in ((sampler, "sampler"), (session, "session"), (decoder, "decoder"),
                         (tokenizer, "tokenizer"), (model, "model")):
        getattr(ml, name + "_free")(handle)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("prompt", nargs="?", default="Once upon a time")
    parser.add_argument("-n", type=int, default=40, help="tokens at most")
    parser.add_argument("--session", default="", metavar="OPTIONS", help='"threads=2 kv=q8"')
    parser.add_argument("--sampler", default="", metavar="OPTIONS", help='"temp=0.8 top_k=40 seed=1"')
    parser.add_argument("--library", default="libml.so.0", help="where the linker does not find it")
    options = parser.parse_args()
    try:
        for piece in continue_text(Library(options.library), options.model, options.prompt, options.n,
                                   options.session, options.sampler):
            print(piece, end="", flush=True)
        print()
    except (OSError, RuntimeError) as error:
        sys.exit(f"generate.py: {error}")


if __name__ == "__main__":
    main()
