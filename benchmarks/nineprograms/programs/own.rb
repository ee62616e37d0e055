# A program that computes.
def invoice_total(n)
  sum = 0
  i = 1
  while i < n
    sum += i * i % 7
    i += 1
  end
  sum
end
loop { invoice_total(1_000_000) }

# SPDX-License-Identifier: Apache-2.0
