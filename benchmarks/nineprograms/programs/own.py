# A program that computes in one thread, while another one waits for a lock.
import threading

cache = threading.Lock()


def invoice_total(n):
    total = 0
    for i in range(1, n):
        total += i * i % 7
    return total


def wait_for_cache():
    with cache:
        pass


cache.acquire()
threading.Thread(target=wait_for_cache, daemon=True).start()
while True:
    invoice_total(1000000)

# SPDX-License-Identifier: Apache-2.0
