// Many threads run, and one other than the first calls exec of the same program, over and over, with the same PID.
// Arguments: how many more times; with one more argument the program prints "ready" at its start, too.
#include "torture.h"
#include <pthread.h>

static volatile unsigned long work;
static char left[20];

static void *spin(void *arg) { for (;;) work++; return arg; }

static void *execer(void *arg) {
	usleep(3000);
	execl("/proc/self/exe", "execs", left, (char *)0);
	_exit(98);
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t;
	int n = argc > 1 ? atoi(argv[1]) : 0, first = argc > 2;
	if (n == 0) {
		print_count("finished", 1);
		serve_until_eof();
		done();
	}
	if (first) ready();
	snprintf(left, sizeof left, "%d", n - 1);
	for (int i = 0; i < 6; i++) pthread_create(&t, 0, spin, 0);
	pthread_create(&t, 0, execer, 0);
	for (;;) pause();
}

// SPDX-License-Identifier: Apache-2.0
