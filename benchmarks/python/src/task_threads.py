"""Tasks in four threads, as a worker of Celery with threads has them: taken from a queue, each ends in a result."""
import common

import hashlib
import json
import queue
import random
import threading

todo = queue.Queue(maxsize=64)


def parse(n):
    return json.loads(json.dumps({"id": n, "items": list(range(n % 50 + 50))}))


def resize(task):
    digest = b""
    for item in task["items"]:
        digest = hashlib.sha256(digest + b"%d" % item).digest()
    return digest


def score(task):
    total = 0
    for item in task["items"]:
        for m in range(20):
            total += item * m % 7
    return total


def run_task(n):
    task = parse(n)
    return resize(task), score(task)


def worker():
    while True:
        run_task(todo.get())
        todo.task_done()
        common.done()


for number in range(4):
    threading.Thread(target=worker, name="worker-%d" % number, daemon=True).start()
common.ready()
choose = random.Random(1)
while True:
    todo.put(choose.randrange(1000))

# SPDX-License-Identifier: Apache-2.0
