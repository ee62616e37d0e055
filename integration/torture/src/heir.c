// Starts a process with a given number that is free, and says "ready". Argument: the number. The heir runs
// under the name "heir" in a function that its predecessor does not have.
#include "torture.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

__attribute__((noinline)) static void inherit(void) { for (volatile unsigned long n = 0;; n++) {} }

// next_is makes the kernel give that number to whoever is started next, if nobody comes before.
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
			work_until_told();
			kill(p, SIGKILL);
			waitpid(p, &st, 0);
			tell("tries", tries);
			done();
		}
		waitpid(p, &st, 0);
	}
	return 98;
}

// SPDX-License-Identifier: Apache-2.0
