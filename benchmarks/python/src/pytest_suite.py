"""pytest over a suite of 60 small tests with fixtures and parameters, in one process."""
import common

import contextlib
import io
import os
import sys
import tempfile

import pytest

SUITE = """
import pytest

@pytest.fixture
def numbers():
    return list(range(200))

@pytest.mark.parametrize("n", range(50))
def test_sum(numbers, n):
    assert sum(numbers[:n]) == n * (n - 1) // 2

@pytest.mark.parametrize("n", range(10))
def test_fails_as_expected(numbers, n):
    with pytest.raises(ValueError):
        numbers.index(1000 + n)
"""
tree = tempfile.mkdtemp()
path = os.path.join(tree, "test_suite.py")
with open(path, "w") as f:
    f.write(SUITE)


def step():
    with contextlib.redirect_stdout(io.StringIO()):
        status = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", tree, path])
    sys.modules.pop("test_suite", None)
    if status:
        raise SystemExit(status)


common.repeat(step)
