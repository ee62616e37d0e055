"""Recursion, complex numbers, sorting and loops, compiled by numba (LLVM), for ever."""
import numpy
from numba import njit


@njit
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@njit
def mandelbrot(width, height, most):
    steps = 0
    for y in range(height):
        for x in range(width):
            c = complex(-2 + 3 * x / width, -1 + 2 * y / height)
            z = 0j
            for _ in range(most):
                z = z * z + c
                if z.real * z.real + z.imag * z.imag > 4:
                    break
                steps += 1
    return steps


@njit
def ordered(values):
    return numpy.sort(values).sum()


numbers = numpy.arange(20000) * 7919.0 % 1009
while True:
    fib(20)
    mandelbrot(60, 40, 60)
    ordered(numbers)

# SPDX-License-Identifier: Apache-2.0
