// Three threads compute in bursts of some 100 us, in five functions of known lengths, and sleep in between.
// Usage: bursts
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static volatile unsigned long sink;

#define BURN(name, salt)                                                       \
	__attribute__((noinline)) void name(long rounds) {                     \
		unsigned long v = salt;                                        \
		for (long i = 0; i < rounds; i++)                              \
			v = v * 6364136223846793005UL + 1442695040888963407UL; \
		sink = v;                                                      \
	}

BURN(alpha, 1)
BURN(beta, 2)
BURN(gamma_, 3)
BURN(delta, 4)
BURN(epsilon, 5)

static long rounds; // of a microsecond

static void *live(void *arg) {
	for (unsigned n = (unsigned)(long)arg;; n++) {
		alpha(5 * rounds);
		beta(10 * rounds);
		gamma_(15 * rounds);
		delta(30 * rounds);
		epsilon(40 * rounds);
		struct timespec t = {0, 100000 + n * 7919 % 200000};
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	}
	return arg;
}

int main(void) {
	struct timespec a, b;
	long some = 20000000;
	clock_gettime(CLOCK_MONOTONIC, &a);
	alpha(some);
	clock_gettime(CLOCK_MONOTONIC, &b);
	rounds = (long)(some / ((b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3));
	for (long i = 0; i < 3; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, live, (void *)i) != 0)
			return 1;
	}
	for (;;)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){3600, 0}, NULL);
}

// SPDX-License-Identifier: Apache-2.0
