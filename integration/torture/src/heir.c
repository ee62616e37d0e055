// Starts a process with a given PID that is free, and prints "ready". Argument: the PID. The process is named "heir"
// and runs in a function that the earlier process with that PID does not have.
#include "torture.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

__attribute__((noinline)) static void inherit(void) { for (volatile unsigned long n = 0;; n++) {} }

// next_is makes the kernel give that PID to the next new process.
static void next_is(int n) {
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");
	if (!f || fprintf(f, "%d", n - 1) < 0 || fclose(f)) perror("ns_last_pid"), _exit(99);
}

int main(int argc, char **argv) {
	int want = atoi(argv[1]), st;
	for (int tries = 0; tries < 10000; tries++) {
		next_is(want);
		pid_t p = must(fork());
		if (p == 0 && getpid() == want) inherit();
		if (p == 0) _exit(0);
		if (p == want) {
			serve_until_eof();
			kill(p, SIGKILL);
			waitpid(p, &st, 0);
			print_count("tries", tries);
			done();
		}
		waitpid(p, &st, 0);
	}
	return 98;
}

// SPDX-License-Identifier: Apache-2.0
