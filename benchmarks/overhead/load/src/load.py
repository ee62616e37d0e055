"""A load for benchmarks/overhead: load.py RUNNING SLEEPING.

RUNNING threads compute and count, SLEEPING wait for what never comes. Each line on standard input is
answered by the work done so far and the time, as JSON; the load ends when its standard input does.
"""
import json
import os
import sys
import threading
import time

counts = [0] * int(sys.argv[1])


def mix(x):
    for _ in range(20):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFF
    return x


def work(i):
    x = i + 1
    while True:
        x = mix(x)
        counts[i] += 1


def main():
    never = threading.Event()
    for i in range(len(counts)):
        threading.Thread(target=work, args=(i,), daemon=True).start()
    for _ in range(int(sys.argv[2])):
        threading.Thread(target=never.wait, daemon=True).start()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps({"work": sum(counts), "at": time.monotonic_ns()}), flush=True)
    os._exit(0)


main()

# SPDX-License-Identifier: Apache-2.0
