/*
 * A load for benchmarks/overhead: load RUNNING SLEEPING. RUNNING threads compute below DEPTH calls and count, SLEEPING
 * wait in a read that never returns. Each line on standard input is answered by the work done so far and the
 * time, as JSON; the load ends when its standard input does.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 20, SMALL_STACK = 64 * 1024 };

/* Counts are on cache lines of their own. */
struct worker {
	_Atomic uint64_t n;
	char apart[56];
};

static struct worker *workers;
static int pipes[2];
static _Atomic int there;
static volatile uint64_t sink;
static volatile int over; /* never: so that the compiler sees an end */

__attribute__((noinline)) static uint64_t mix(uint64_t x)
{
	int i;

	for (i = 0; i < 200; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* descend calls itself n times; what it gives depends on the call, so that none is a jump. */
__attribute__((noinline)) static uint64_t descend(struct worker *w, int n)
{
	uint64_t x = 1;

	if (n > 0)
		return descend(w, n - 1) + (uint64_t)n;
	while (!over) {
		x = mix(x);
		atomic_fetch_add_explicit(&w->n, 1, memory_order_relaxed);
		sink = x;
	}
	return x;
}

static void *run(void *w)
{
	there++;
	sink = descend(w, DEPTH);
	return NULL;
}

static void *rest(void *arg)
{
	char c;

	there++;
	while (read(pipes[0], &c, 1) != 0)
		sink++;
	return arg;
}

int main(int argc, char **argv)
{
	int running, all, i;
	pthread_attr_t small;
	char line[64];

	if (argc != 3 || pipe(pipes) != 0)
		return 2;
	running = atoi(argv[1]);
	all = running + atoi(argv[2]);
	workers = calloc((size_t)running + 1, sizeof *workers);
	if (workers == NULL || pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, SMALL_STACK) != 0)
		return 2;
	for (i = 0; i < all; i++) {
		pthread_t t;

		if (pthread_create(&t, &small, i < running ? run : rest, i < running ? &workers[i] : NULL) != 0)
			return 2;
	}
	while (there < all)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		struct timespec ts;
		uint64_t sum = 0;

		for (i = 0; i < running; i++)
			sum += atomic_load_explicit(&workers[i].n, memory_order_relaxed);
		clock_gettime(CLOCK_MONOTONIC, &ts);
		printf("{\"work\":%llu,\"at\":%lld}\n", (unsigned long long)sum, ts.tv_sec * 1000000000LL + ts.tv_nsec);
		fflush(stdout);
	}
	_exit(0);
}

// SPDX-License-Identifier: Apache-2.0
