# Tables, sequences, strings, exceptions and numbers, for ever.
import std/[algorithm, math, strutils, tables]

type Deep = object of CatchableError

proc fib(n: int): int =
  if n < 2: n else: fib(n - 1) + fib(n - 2)

proc words(): int =
  var seen = initTable[string, int]()
  for i in 0 ..< 2000:
    seen[toHex(i * 7919 mod 10007, 6) & "-" & $i] = i
  var order: seq[string] = @[]
  for key in seen.keys:
    order.add key
  order.sort(proc (a, b: string): int = cmp(a[^1] & a, b[^1] & b))
  for word in order:
    result += word.replace("0", "zero").len

proc fails(n: int): int =
  if n == 0:
    raise newException(Deep, "deep")
  1 + fails(n - 1)

var sink = 0
while true:
  try:
    sink += fails(30)
  except Deep:
    sink += 1
  var x = 1.5
  for i in 0 ..< 5000:
    x = x * 0.9999 + sin(x)
  sink = (sink + words() + fib(20) + int(x)) mod 1_000_003

# SPDX-License-Identifier: Apache-2.0
