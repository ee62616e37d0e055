// SPDX-License-Identifier: Apache-2.0

// Test program: it computes in burn and sleeps, in turn.
//
//	bursts BURST SLEEP
//
// Both are in microseconds of wall-clock time. It prints "ready", and does not end.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile long sink;

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static __attribute__((noinline)) void burn(long until) {
	while (now() < until)
		for (int i = 0; i < 1000; i++)
			sink += i;
}

int main(int argc, char **argv) {
	if (argc != 3)
		return 2;
	long burst = atol(argv[1]) * 1000;
	struct timespec rest = {0, atol(argv[2]) * 1000};
	puts("ready");
	fflush(stdout);
	for (;;) {
		burn(now() + burst);
		nanosleep(&rest, NULL);
	}
}
