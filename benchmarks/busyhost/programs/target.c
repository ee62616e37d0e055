// SPDX-License-Identifier: Apache-2.0

// target THREADS NAPPING: threads that only compute, and threads that compute for 0.1 ms after each sleep of 0.5 ms.
// For each line of stdin it prints the turns of the computing threads and the time, and, since the last line, the CPU
// time of these threads, their time in stops and the longest stop, in ns. A thread that never sleeps is stopped while
// it is neither on a CPU nor queued for one: time less CPU time less run_delay (/proc/thread-self/schedstat). Time
// stolen by the hypervisor is included.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { GAP = 15000, MAX = 1 << 16 };

struct computing {
	pthread_t thread;
	volatile long turns;
	volatile int n;
	int printed;
	long cpu; // at the last line
	long stops[MAX];
};

static long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long run_delay(int fd)
{
	char text[64] = "";
	long cpu, delay = 0;
	if (pread(fd, text, sizeof text - 1, 0) > 0)
		sscanf(text, "%ld %ld", &cpu, &delay);
	return delay;
}

static void *compute(void *arg)
{
	struct computing *c = arg;
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	long blocked = 0, at = now(CLOCK_MONOTONIC);
	for (int begun = 0; ; begun = 1) {
		c->turns++;
		long before = at;
		at = now(CLOCK_MONOTONIC);
		if (begun && at - before < GAP)
			continue;
		long sum, cpu, delay;
		do { // the three belong together if the thread was not preempted between them
			delay = run_delay(fd);
			cpu = now(CLOCK_THREAD_CPUTIME_ID);
			at = now(CLOCK_MONOTONIC);
			sum = at - cpu - delay;
		} while (run_delay(fd) != delay);
		if (begun && sum - blocked > GAP / 2 && c->n < MAX) {
			c->stops[c->n] = sum - blocked;
			c->n++;
		}
		blocked = sum;
		at = now(CLOCK_MONOTONIC);
	}
	return NULL;
}

static void *nap(void *arg)
{
	(void)arg;
	const struct timespec t = {0, 500000};
	for (;;) {
		nanosleep(&t, NULL);
		for (long end = now(CLOCK_MONOTONIC) + 100000; now(CLOCK_MONOTONIC) < end;)
			;
	}
	return NULL;
}

static void print(struct computing *c, int n)
{
	long turns = 0, cpu = 0, lost = 0, longest = 0;
	for (; n-- > 0; c++) {
		clockid_t clock;
		pthread_getcpuclockid(c->thread, &clock);
		long before = c->cpu;
		c->cpu = now(clock);
		cpu += c->cpu - before;
		turns += c->turns;
		for (; c->printed < c->n; c->printed++) {
			lost += c->stops[c->printed];
			if (c->stops[c->printed] > longest)
				longest = c->stops[c->printed];
		}
	}
	printf("%ld %ld %ld %ld %ld\n", turns, now(CLOCK_MONOTONIC), cpu, lost, longest);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, napping = argc > 2 ? atoi(argv[2]) : 0;
	struct computing *c = calloc(n, sizeof *c);
	pthread_t t;
	for (int i = 0; i < n; i++)
		pthread_create(&c[i].thread, NULL, compute, &c[i]);
	for (int i = 0; i < napping; i++)
		pthread_create(&t, NULL, nap, NULL);
	for (char line[8]; fgets(line, sizeof line, stdin);)
		print(c, n);
	return 0;
}
