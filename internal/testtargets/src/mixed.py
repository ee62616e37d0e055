"""A Python program that goes through the interpreter's C parts, on two threads.

C code calls Python back (qsort through ctypes, SQLite's functions, sorting by a key). It ends by itself after the
number of seconds given as first argument (default 120).
"""
import asyncio
import bz2
import collections
import csv
import ctypes
import datetime
import decimal
import functools
import hashlib
import io
import json
import lzma
import math
import os
import pickle
import random
import re
import sqlite3
import sys
import threading
import time
import xml.etree.ElementTree as tree
import zlib

libc = ctypes.CDLL(None)
comparison = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def compare(a, b):
    return a[0] - b[0]


def sort_in_c():
    numbers = (ctypes.c_int * 500)(*[random.randrange(1000) for _ in range(500)])
    libc.qsort(numbers, 500, 4, comparison(compare))


def down(n):
    return 0 if n == 0 else down(n - 1) + 1


def database():
    db = sqlite3.connect(":memory:")
    db.create_function("twice", 1, lambda x: 2 * x)
    db.execute("create table t(a, b)")
    db.executemany("insert into t values(?, ?)", [(i, str(i)) for i in range(500)])
    list(db.execute("select twice(a), count(*) from t group by b order by 1 desc limit 10"))
    db.close()


def compression():
    zlib.decompress(zlib.compress(b"abc" * 5000))
    bz2.compress(b"hello" * 1000)
    lzma.compress(b"hello" * 500)


def text():
    json.loads(json.dumps([{"a": i, "b": [1, 2, 3]} for i in range(200)]))
    re.findall(r"(\w+)\s(\d+)", "abc 123 " * 300)
    tree.fromstring("<a>" + '<b c="1">x</b>' * 200 + "</a>")
    list(csv.reader(io.StringIO("a,b,c\n" * 300)))
    [datetime.datetime.fromtimestamp(i).isoformat() for i in range(100)]


def numbers():
    hashlib.sha256(b"x" * 50000).digest()
    str(decimal.Decimal(2).sqrt(decimal.Context(prec=200)))
    math.factorial(500)
    functools.reduce(lambda a, b: a ^ b, range(2000))
    pickle.loads(pickle.dumps([random.random() for _ in range(500)]))
    sorted([random.random() for _ in range(1000)], key=lambda x: -x)
    collections.Counter("abracadabra" * 100)


async def pauses():
    for _ in range(50):
        await asyncio.sleep(0)


def exceptions():
    try:
        exec(compile("def f(x):\n  return f(x - 1) if x else 1 / 0\nf(20)", "text", "exec"), {})
    except ZeroDivisionError:
        pass


def work():
    while True:
        sort_in_c()
        down(200)
        database()
        compression()
        text()
        numbers()
        asyncio.run(pauses())
        exceptions()


def main():
    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 120.0)
    os._exit(0)


main()

# SPDX-License-Identifier: Apache-2.0
