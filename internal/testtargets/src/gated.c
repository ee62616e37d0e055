// SPDX-License-Identifier: Apache-2.0
// Test program: threads that compute when the test asks for it, and sleep before and after.
//
//	gated THREADS MILLISECONDS
//
// It prints "ready" when all threads wait. At each line of its standard input each of them uses so much processor time.
// It prints "done" when all wait again, and ends with its standard input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER, waits = PTHREAD_COND_INITIALIZER;
static long round_, waiting, milliseconds;
volatile long sink;

static __attribute__((noinline)) void compute(void) {
	struct timespec from, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do {
		for (int i = 0; i < 100000; i++)
			sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < milliseconds);
}

static void *wait_and_compute(void *arg) {
	(void)arg;
	pthread_mutex_lock(&mu);
	for (long seen = 0;; seen++) {
		waiting++;
		pthread_cond_signal(&waits);
		while (round_ == seen)
			pthread_cond_wait(&turn, &mu);
		pthread_mutex_unlock(&mu);
		compute();
		pthread_mutex_lock(&mu);
	}
	return NULL;
}

// until_all_wait waits until so many threads wait.
static void until_all_wait(long threads) {
	pthread_mutex_lock(&mu);
	while (waiting < threads)
		pthread_cond_wait(&waits, &mu);
	pthread_mutex_unlock(&mu);
}

int main(int argc, char **argv) {
	if (argc != 3)
		return 2;
	long threads = atol(argv[1]);
	milliseconds = atol(argv[2]);
	for (long i = 0; i < threads; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, wait_and_compute, NULL))
			return 1;
	}
	until_all_wait(threads);
	puts("ready");
	fflush(stdout);
	for (int c; (c = getchar()) != EOF;) {
		if (c != '\n')
			continue;
		pthread_mutex_lock(&mu);
		waiting = 0;
		round_++;
		pthread_cond_broadcast(&turn);
		pthread_mutex_unlock(&mu);
		until_all_wait(threads);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
