// Threads that wait for each other, and know their own shares: each call of a function that computes is between two
// readings of a clock. What is left of the process's clock is the waiting, the waking and the readings.
//
// locks: each thread takes one of two mutexes, computes while it has it, lets go, and computes without.
// pairs: half of the threads ask the others over a socket, and wait for the answer; who answers computes.
//        The clock of both is the thread's own (CLOCK_THREAD_CPUTIME_ID).
// brief: as locks, with half a microsecond each, and a system call that asks the time before. The clock is the
//        processor's counter, as a system call would take too long; a burst that is interrupted counts as the others.
//
// It prints "ready", and then for each line that it reads a line of names and nanoseconds since the beginning; the
// last is the process's own clock.
// Usage: turns locks|pairs|brief THREADS
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { mostThreads = 64, functions = 4 };

static long long now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static volatile unsigned long sink;

#define BURN(name, salt)                                                       \
	__attribute__((noinline)) void name(long rounds) {                     \
		unsigned long v = salt;                                        \
		for (long i = 0; i < rounds; i++) {                            \
			v = v * 6364136223846793005UL + 1442695040888963407UL; \
			v ^= v >> 29;                                          \
		}                                                              \
		sink = v;                                                      \
	}

BURN(held_short, 1)
BURN(held_long, 2)
BURN(free_short, 3)
BURN(free_long, 4)

static void (*const burn[functions])(long) = {held_short, held_long, free_short, free_long};
static const char *const names[functions] = {"held_short", "held_long", "free_short", "free_long"};
static const int lengths[functions] = {20, 200, 40, 100}; // microseconds
static double rounds; // of a microsecond
static double countsOfNS;

// One thread's sums, on cache lines of their own.
static struct {
	_Atomic long long used[functions];
	char apart[96];
} sums[mostThreads];

static void work(int thread, int function) {
	long long from = now(CLOCK_THREAD_CPUTIME_ID);
	burn[function](lengths[function] * rounds);
	sums[thread].used[function] += now(CLOCK_THREAD_CPUTIME_ID) - from;
}

static unsigned long count(void) {
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	unsigned long v;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}

// mean is what a burst takes that nothing interrupts, as one thread has seen it lately, ns.
static void workBriefly(int thread, int function, double *mean) {
	unsigned long from = count();
	burn[function](rounds / 2);
	double took = (count() - from) / countsOfNS;
	if (took < 3 * *mean)
		*mean += (took - *mean) / 64;
	else
		took = *mean;
	sums[thread].used[function] += (long long)took;
}

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *contend(void *arg) {
	int thread = (int)(long)arg;
	for (unsigned n = thread;; n++) {
		pthread_mutex_t *m = &locks[n % 2];
		pthread_mutex_lock(m);
		work(thread, n / 2 % 2);
		pthread_mutex_unlock(m);
		work(thread, 2 + n / 3 % 2);
	}
	return 0;
}

static void *contendBriefly(void *arg) {
	int thread = (int)(long)arg;
	double mean = 500;
	for (unsigned n = thread;; n++) {
		struct timespec t;
		pthread_mutex_t *m = &locks[n % 2];
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
		pthread_mutex_lock(m);
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
		workBriefly(thread, 0, &mean);
		pthread_mutex_unlock(m);
		workBriefly(thread, 2, &mean);
	}
	return 0;
}

static int sockets[mostThreads][2];

static void *ask(void *arg) {
	int thread = (int)(long)arg, fd = sockets[thread / 2][0];
	char b[64] = {0};
	for (;;) {
		work(thread, 0);
		if (write(fd, b, sizeof b) != sizeof b || read(fd, b, sizeof b) != sizeof b)
			exit(1);
	}
}

static void *answer(void *arg) {
	int thread = (int)(long)arg, fd = sockets[thread / 2][1];
	char b[64];
	for (unsigned n = thread; read(fd, b, sizeof b) == sizeof b; n++) {
		work(thread, 1 + n % 3);
		if (write(fd, b, sizeof b) != sizeof b)
			break;
	}
	exit(1);
}

static void calibrate(void) {
	const long some = 2000000;
	long long begin = now(CLOCK_MONOTONIC);
	unsigned long counted = count();
	double best = 1e18;
	for (int i = 0; i < 5; i++) {
		long long from = now(CLOCK_THREAD_CPUTIME_ID);
		burn[0](some);
		double us = (now(CLOCK_THREAD_CPUTIME_ID) - from) / 1e3;
		best = us < best ? us : best;
	}
	rounds = some / best;
	countsOfNS = (double)(count() - counted) / (now(CLOCK_MONOTONIC) - begin);
}

int main(int argc, char **argv) {
	int threads = argc == 3 ? atoi(argv[2]) : 0, pairs, brief;
	if (threads < 2 || threads > mostThreads) {
		fprintf(stderr, "usage: turns locks|pairs|brief THREADS\n");
		return 2;
	}
	pairs = strcmp(argv[1], "pairs") == 0;
	brief = strcmp(argv[1], "brief") == 0;
	calibrate();
	for (int i = 0; pairs && i < (threads + 1) / 2; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]) != 0)
			return 1;
	for (int i = 0; i < threads; i++) {
		pthread_t t;
		if (pthread_create(&t, 0, brief ? contendBriefly : !pairs ? contend : i % 2 == 0 ? ask : answer, (void *)(long)i) != 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	for (char line[16]; fgets(line, sizeof line, stdin);) {
		for (int f = 0; f < functions; f++) {
			long long sum = 0;
			for (int i = 0; i < threads; i++)
				sum += sums[i].used[f];
			printf("%s %lld ", names[f], sum);
		}
		printf("all %lld\n", now(CLOCK_PROCESS_CPUTIME_ID));
		fflush(stdout);
	}
	_exit(0);
}

// SPDX-License-Identifier: Apache-2.0
