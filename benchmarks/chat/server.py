"""A llama.cpp server on 127.0.0.1, run under a Python of its own: `python server.py MODEL THREADS`.

It prints its address, then for each line it reads the CPU seconds it has used so far; it ends with its input.
"""

import os
import sys
import time

import xllamacpp


def main() -> None:
    """Serve until standard input ends."""
    model, threads = sys.argv[1], int(sys.argv[2])
    wanted = xllamacpp.CommonParams()
    wanted.model.path = model
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = 0
    wanted.n_ctx = 8192
    wanted.n_parallel = 1
    wanted.endpoint_metrics = True
    wanted.sampling.temp = 0.0  # the same answer each time
    wanted.n_predict = 400
    for cpu in (wanted.cpuparams, wanted.cpuparams_batch):
        cpu.n_threads = threads
        cpu.poll = 0  # a thread that waits must not take time from others
    server = xllamacpp.Server(wanted)
    print(server.listening_address, flush=True)
    for _ in sys.stdin:
        print(time.process_time(), flush=True)
    os._exit(0)  # its own threads would go on


if __name__ == "__main__":
    main()
