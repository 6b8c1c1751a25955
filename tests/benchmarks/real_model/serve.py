"""Serves a GGUF model by llama.cpp's own server; run by the interpreter that has ``xllamacpp``.

    serve.py MODEL TEMPLATE CONTEXT NAME KEY THREADS

Prints its address as JSON and serves until standard input ends.
"""

import json
import sys
from pathlib import Path

import xllamacpp


def main() -> None:
    """Serve on a free port of 127.0.0.1."""
    model, template, context, name, key, threads = sys.argv[1:7]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = name
    params.n_ctx = int(context)
    params.n_parallel = 1  # one conversation, whose beginning stays in the cache
    params.n_gpu_layers = 0
    # On a machine that is busy otherwise one thread is faster: several wait for one another.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.use_jinja = True
    params.chat_template = Path(template).read_text(encoding="utf-8")
    params.sampling.temp = 0.0
    params.sampling.seed = 1
    server = xllamacpp.Server(params)
    print(json.dumps({"base_url": f"{server.listening_address}/v1"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
