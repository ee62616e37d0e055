# Text, numbers, objects, generators and regular expressions, for ever.
import hashlib
import json
import re


class Node:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def insert(self, key):
        side = "left" if key < self.key else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Node(key))
        else:
            child.insert(key)

    def walk(self):
        if self.left:
            yield from self.left.walk()
        yield self.key
        if self.right:
            yield from self.right.walk()


def words():
    seen = {f"{i * 7919 % 10007:x}-{i}": i for i in range(2000)}
    order = sorted(seen, key=lambda w: (w[-1], w))
    found = [w for w in order if re.search(r"(a+|b)+.*9", w)]
    text = json.dumps(order)
    return len(found) + len(json.loads(text)) + hashlib.sha256(text.encode()).digest()[0]


def numbers(n):
    return n if n < 2 else numbers(n - 1) + numbers(n - 2)


while True:
    root = Node(5003)
    for i in range(500):
        root.insert(i * 7919 % 10007)
    sum(root.walk())
    words()
    numbers(16)
    pow(3**2000, 7, 10**500 + 1)

# SPDX-License-Identifier: Apache-2.0
