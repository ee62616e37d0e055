// Test program: threads that wake often and soon sleep again.
//
//	naps THREADS MILLISECONDS same|turns
//
// Each thread naps so long at a time. same: always below left. turns: below left and right in turn, whose frames have
// the same size, so that the stack pointer is the same. Numbers that differ from nap to nap lie in the frames. It prints
// "ready", and ends with its standard input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

static long milliseconds;
static int turns;
static struct timespec length;
volatile long sink;

// nap keeps what changes in registers that it has to save, and in its frame.
static KEEP void nap(long n) {
	volatile long local[4] = {n, n * 3, n * 5, n * 7};
	long a = n * 11 + sink, b = n * 13 + sink, c = n * 17 + sink;
	nanosleep(&length, NULL);
	sink += local[n & 3] + a + b + c;
}

static KEEP void left(long n) {
	nap(n);
	sink += n;
}

static KEEP void right(long n) {
	nap(n);
	sink -= n;
}

static KEEP void *naps(void *arg) {
	for (long n = (long)arg;; n++)
		if (turns && n & 1)
			right(n);
		else
			left(n);
	return NULL;
}

int main(int argc, char **argv) {
	char c;
	if (argc != 4)
		return 2;
	milliseconds = atol(argv[2]);
	turns = !strcmp(argv[3], "turns");
	length.tv_sec = milliseconds / 1000;
	length.tv_nsec = milliseconds % 1000 * 1000000;
	for (long i = 0; i < atol(argv[1]); i++) {
		pthread_t t;
		pthread_attr_t attr;
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 128 << 10);
		if (pthread_create(&t, &attr, naps, (void *)i) != 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
