/*
 * A program that repeats itself exactly: it runs in first for one half of a period and in second for the other one.
 *
 * Arguments: the period, in nanoseconds, and how long to run, in seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define OUTLINE __attribute__((noinline, noclone))

static volatile long sink;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static inline __attribute__((always_inline)) void spin(long until)
{
	while (now() < until)
		for (int i = 0; i < 200; i++)
			sink += i;
}

OUTLINE static void first(long until) { spin(until); }

OUTLINE static void second(long until)
{
	spin(until);
	sink++;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	long period = atol(argv[1]), at = now(), end = at + atol(argv[2]) * 1000000000L;
	puts("ready");
	fflush(stdout);
	for (; at < end; at += period) {
		first(at + period / 2);
		second(at + period);
	}
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
