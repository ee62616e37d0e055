# Text, blocks, exceptions, big numbers and recursion, for ever.
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)

def words
  seen = Hash.new(0)
  2000.times { |i| seen[format("%x-%d", i * 7919 % 10007, i)] += 1 }
  order = seen.keys.sort_by { |w| [w[-1], w] }
  order.grep(/(a+|b)+.*9/).map { |w| w.gsub(/[0-4]/) { |d| "<#{d}>" } }.join.size
end

def fails(n)
  raise ArgumentError, "deep" if n.zero?
  fails(n - 1)
end

loop do
  words
  fib(17)
  (3**2000).pow(7, 10**500 + 1)
  begin
    fails(30)
  rescue ArgumentError
    nil
  end
end

# SPDX-License-Identifier: Apache-2.0
