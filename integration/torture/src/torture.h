// What the torture targets share. A target prints what the test needs to know, then "ready"; it works
// until its standard input ends, then prints its verdict as lines of "key value" and exits. For each byte
// that it reads before, it prints how much it has done: a test waits until that is enough.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define must(x) ({ long r_ = (long)(x); if (r_ < 0) { perror(#x); _exit(99); } r_; })

// ready lets the test begin.
static inline void ready(void) {
	printf("ready\n");
	fflush(stdout);
}

// progress gives how much was done, in whatever unit; a target may define it.
__attribute__((weak)) long progress(void);

static inline long least(long a, long b) { return a < b ? a : b; }

// work_until_told returns when the test closes standard input.
static inline void work_until_told(void) {
	char c;
	ready();
	for (long n; (n = read(0, &c, 1)) > 0 || (n < 0 && errno == EINTR);)
		if (n > 0) {
			printf("progress %ld\n", progress ? progress() : -1);
			fflush(stdout);
		}
}

static inline void tell(const char *key, long value) { printf("%s %ld\n", key, value); }

// done ends the target without waiting for its threads.
static inline void done(void) {
	tell("end", 1);
	fflush(stdout);
	_exit(0);
}

// SPDX-License-Identifier: Apache-2.0
