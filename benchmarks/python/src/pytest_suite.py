"""pytest over tests of Jinja, as its source distribution has them, in one process: a piece of work is a run of all."""
import common

import contextlib
import glob
import io
import os
import sys

import pytest

FILES = ("test_core_tags.py", "test_imports.py", "test_inheritance.py", "test_lexnparse.py", "test_security.py")
tree = os.path.realpath(glob.glob("suite/[jJ]inja2-*/tests")[0])
files = [os.path.join(tree, name) for name in FILES]


def step():
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", tree, "-c", os.devnull, *files])
    for name, module in list(sys.modules.items()):  # they are read and rewritten anew, as by a new process
        if os.path.dirname(getattr(module, "__file__", None) or "") == tree:
            del sys.modules[name]
    if status:
        raise SystemExit(said.getvalue())


common.repeat(step)

# SPDX-License-Identifier: Apache-2.0
