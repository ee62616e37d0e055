# SPDX-License-Identifier: Apache-2.0
# The main thread is busy.
def spin
  n = 0
  10_000.times { |i| n += i }
  n
end

def inner
  spin + 1
end

def outer
  inner while true
end

STDOUT.write("ready\n")
STDOUT.flush
outer
