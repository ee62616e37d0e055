"""Work of pandas and numpy: groups, joins, products of matrices, and a function for each row."""
import common

import numpy
import pandas

rng = numpy.random.default_rng(1)
frame = pandas.DataFrame({"key": rng.integers(0, 50, 4000), "x": rng.random(4000), "y": rng.random(4000)})
other = pandas.DataFrame({"key": range(50), "weight": rng.random(50)})
square = rng.random((120, 120))


def ratio(row):
    return row["x"] / (row["y"] + row["weight"])


def grouped(joined):
    return joined.groupby("key").agg({"x": ["mean", "std"], "y": "max"})


def step():
    joined = frame.merge(other, on="key")
    grouped(joined)
    joined.head(300).apply(ratio, axis=1)
    numpy.linalg.eigvals(square)
    numpy.sort(square @ square, axis=None)


common.repeat(step)

# SPDX-License-Identifier: Apache-2.0
