// Threads that live shortly: each computes in four functions, a quarter of its life in each, and ends. So many run at
// a time, one after the other. In the end it prints what the threads' own clocks say of each function.
// Usage: phases LIFE_US THREADS SECONDS
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double quarter; // rounds of a quarter of a life
static double until;
static _Atomic long long used[4];
static _Atomic long born;

static double now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static volatile unsigned long sink;

#define PHASE(name, salt)                                              \
	__attribute__((noinline)) void name(long rounds) {             \
		unsigned long v = salt;                                \
		for (long i = 0; i < rounds; i++) {                    \
			v = v * 6364136223846793005UL + 1442695040888963407UL; \
			v ^= v >> 29;                                  \
		}                                                      \
		sink = v;                                              \
	}

PHASE(phase_a, 1)
PHASE(phase_b, 2)
PHASE(phase_c, 3)
PHASE(phase_d, 4)

static void (*const phases[4])(long) = {phase_a, phase_b, phase_c, phase_d};

static void *life(void *unused) {
	double at = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < 4; i++) {
		phases[i](quarter);
		double next = now(CLOCK_THREAD_CPUTIME_ID);
		used[i] += (long long)((next - at) * 1e9);
		at = next;
	}
	born++;
	return unused;
}

static void *parent(void *unused) {
	while (now(CLOCK_MONOTONIC) < until) {
		pthread_t t;
		if (pthread_create(&t, 0, life, 0) != 0)
			exit(1);
		pthread_join(t, 0);
	}
	return unused;
}

int main(int argc, char **argv) {
	if (argc != 4)
		return 2;
	int n = atoi(argv[2]);
	double at = now(CLOCK_THREAD_CPUTIME_ID);
	phase_a(20000000);
	quarter = 20000000 / (now(CLOCK_THREAD_CPUTIME_ID) - at) * atof(argv[1]) / 4e6;
	until = now(CLOCK_MONOTONIC) + atof(argv[3]);
	puts("ready");
	fflush(stdout);
	pthread_t parents[n];
	for (int i = 0; i < n; i++)
		if (pthread_create(&parents[i], 0, parent, 0) != 0)
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(parents[i], 0);
	printf("%lld %lld %lld %lld %ld\n", used[0], used[1], used[2], used[3], born);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
