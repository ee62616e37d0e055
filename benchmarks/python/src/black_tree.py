"""black over a tree: files of the standard library, in its own Python code."""
import common

import pathlib

import black

tree = pathlib.Path(pathlib.__file__).parent
if tree.name == "pathlib":  # a package, from 3.14 on
    tree = tree.parent
texts = [(tree / name).read_text() for name in ("bisect.py", "keyword.py", "stat.py", "sched.py", "contextvars.py")]


def step():
    for text in texts:
        black.format_str(text, mode=black.Mode())


common.repeat(step)

# SPDX-License-Identifier: Apache-2.0
