/* What an emulator runs: numbers, memory, calls through pointers, for ever. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static int words(int round) {
	char text[64];
	int n = 0;
	for (int i = 0; i < 500; i++) {
		snprintf(text, sizeof text, "%x-%d-%f", i * 7919 % 10007, round, i / 3.0);
		n += (int)strlen(text) + (strstr(text, "77") != NULL);
	}
	return n;
}

int main(void) {
	static int numbers[5000];
	volatile double sink = 0;
	for (int round = 0;; round++) {
		for (int i = 0; i < 5000; i++) numbers[i] = i * 7919 % 10007;
		qsort(numbers, 5000, sizeof *numbers, order);
		for (int i = 0; i < 20000; i++) sink = sink * 0.999 + i * 1.5;
		sink = sink + fib(18) + words(round) + numbers[7];
	}
}

// SPDX-License-Identifier: Apache-2.0
