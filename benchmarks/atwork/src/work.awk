# Words are counted, split, matched and sorted, for ever.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
BEGIN {
	for (;;) {
		delete seen
		for (i = 0; i < 20000; i++) {
			word = sprintf("%x-%s", (i * 7919) % 104729, substr("abcdefghijklmnopqrstuvwxyz", i % 20, 6))
			seen[word]++
			if (word ~ /a[b-f]+.*9/) found += split(word, parts, /[-5]/)
			gsub(/[0-4]/, "<&>", word)
			total += length(toupper(word))
		}
		total += asorti(seen, order) + fib(16)
	}
}

# SPDX-License-Identifier: Apache-2.0
