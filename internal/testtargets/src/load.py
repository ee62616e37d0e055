"""A Python program with two busy threads and one that sleeps.

"json" encodes and decodes in the interpreter and in the json module's C part, "zlib" compresses, which
gives the interpreter's lock away meanwhile. It ends by itself after the number of seconds given as
first argument (default 120).
"""
import json
import os
import sys
import threading
import time
import zlib


def encode_and_decode():
    rows = [{"id": i, "name": "row %d" % i, "tags": ["a", "b", str(i)]} for i in range(300)]
    while True:
        rows = json.loads(json.dumps(rows))


def compress():
    text = b"".join(b"%d squared is %d\n" % (i, i * i) for i in range(20000))
    while True:
        assert zlib.decompress(zlib.compress(text, 6)) == text


def wait_for_work(ready):
    ready.wait()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    jobs = [(encode_and_decode, ()), (compress, ()), (wait_for_work, (threading.Event(),))]
    for body, arguments in jobs:
        threading.Thread(target=body, args=arguments, daemon=True).start()
    print("ready", flush=True)
    time.sleep(seconds)
    os._exit(0)


main()

# SPDX-License-Identifier: Apache-2.0
