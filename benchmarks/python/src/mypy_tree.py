"""mypy over a tree: a module and what it imports of typeshed, without a cache."""
import common

import gc
import os
import tempfile

from mypy import api

SOURCE = """
import dataclasses

@dataclasses.dataclass
class Thing:
    name: str
    price: float = 0.0

def total(things: list[Thing]) -> float:
    return sum(t.price for t in things)
"""
path = os.path.join(tempfile.mkdtemp(), "things.py")
with open(path, "w") as f:
    f.write(SOURCE)


def step():
    out, err, status = api.run(["--cache-dir", os.devnull, path])
    if status:
        raise SystemExit(out + err)
    gc.collect()  # mypy leaves it for every tenth run or so, which then takes ten times as long as the others


common.repeat(step)

# SPDX-License-Identifier: Apache-2.0
