"""Serves a model with llama.cpp until its standard input ends: `python llama_program.py MODEL.gguf [KEY]`.

It prints its address. If it is given a key, it refuses requests without that key.
"""

from __future__ import annotations

import sys

import xllamacpp

if __name__ == "__main__":
    model, *keys = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"tiny"}
    params.api_keys = keys
    params.n_ctx, params.n_parallel = 4 * 8192, 4
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_threads_http = 8
    params.warmup = params.fit_params = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
