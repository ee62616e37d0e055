// Shared by the torture targets. A target prints facts for the test, then "ready"; it works until its standard input
// ends, then prints its counts as lines of "key value" and exits. For each byte that it reads before, it prints its
// progress: the test waits until that is enough.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define must(x) ({ long r_ = (long)(x); if (r_ < 0) { perror(#x); _exit(99); } r_; })

// ready tells the test that it may begin.
static inline void ready(void) {
	printf("ready\n");
	fflush(stdout);
}

// progress is the amount of work done, in a unit of the target's choice; optional.
__attribute__((weak)) long progress(void);

static inline long least(long a, long b) { return a < b ? a : b; }

// serve_until_eof prints "ready" and returns when the test closes standard input.
static inline void serve_until_eof(void) {
	char c;
	ready();
	for (long n; (n = read(0, &c, 1)) > 0 || (n < 0 && errno == EINTR);)
		if (n > 0) {
			printf("progress %ld\n", progress ? progress() : -1);
			fflush(stdout);
		}
}

static inline void print_count(const char *key, long value) { printf("%s %ld\n", key, value); }

// done ends the target without waiting for its threads.
static inline void done(void) {
	print_count("end", 1);
	fflush(stdout);
	_exit(0);
}

// SPDX-License-Identifier: Apache-2.0
