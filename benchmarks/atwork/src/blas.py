# Matrices of several shapes, through numpy's BLAS and LAPACK, for ever.
import numpy as np

rng = np.random.default_rng(3)
a, b = rng.random((400, 400)), rng.random((400, 400))
single = rng.random((300, 300), dtype=np.float32)
while True:
    c = a @ b
    single @ single.T
    np.linalg.solve(a + np.eye(400) * 400, b[:, :20])
    np.linalg.svd(c[:120, :120])
    np.linalg.eigvals(c[:60, :60])
    np.dot(a[:, 0], b[:, 1])
    np.fft.fft(c[:64])

# SPDX-License-Identifier: Apache-2.0
