# SPDX-License-Identifier: Apache-2.0
# One thread parses and sorts text. For each line of stdin the number of its rounds and the time in ns are printed.
import json
import sys
import threading
import time

rounds = 0


def words(seed):
    return [str((i * 7919 + seed) % 10007) for i in range(300)]


def order(found):
    return sorted(found, key=lambda word: (word[-1], word))


def work():
    global rounds
    while True:
        lengths = {}
        for word in order(words(rounds)):
            lengths.setdefault(len(word), []).append(word)
        json.loads(json.dumps(lengths))
        rounds += 1


threading.Thread(target=work, daemon=True).start()
for line in sys.stdin:
    print(rounds, time.monotonic_ns(), flush=True)
