// SPDX-License-Identifier: Apache-2.0

// A program that calls exec: execs CALLER FIRST OTHER AFTER TIMES.
// It says "ready" and waits for SIGUSR1. Then its first thread computes for FIRST ms of processor time, and its second
// thread for OTHER ms; the one that CALLER names, "first" or "other", then runs this program again, TIMES times in all.
// The last program computes for AFTER ms, says "done", and sleeps for ten minutes at the latest.
// With the CALLER "told" the second thread calls exec, and waits for a second SIGUSR1 before.
// With the CALLER "vfork" the second thread starts a child by vfork(2) instead, which calls exec and ends at once.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static const char *caller;
static char **args;
static long first, other, times;
static sigset_t told;

// burn_here computes for so much processor time of the thread.
__attribute__((noinline)) void burn_here(long ms) {
	struct timespec a, b;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do {
		for (int i = 0; i < 20000; i++)
			sink += i * sink + 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	} while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

// burn_there is the last program's.
__attribute__((noinline)) void burn_there(long ms) {
	burn_here(ms);
	sink++;
}

static void again(void) {
	char left[24];
	snprintf(left, sizeof left, "%ld", times - 1);
	execl("/proc/self/exe", args[0], args[1], args[2], args[3], args[4], left, "again", NULL);
	_exit(9);
}

static void child(void) {
	pid_t p = vfork();
	if (p == 0) {
		execl("/bin/true", "true", NULL);
		_exit(9);
	}
	waitpid(p, NULL, 0);
}

static void *second(void *unused) {
	int sig;
	burn_here(other);
	if (!strcmp(caller, "told"))
		sigwait(&told, &sig);
	if (!strcmp(caller, "other") || !strcmp(caller, "told"))
		again();
	if (!strcmp(caller, "vfork"))
		for (; times > 0; times--)
			child();
	return unused;
}

static void done(const char *what) {
	puts(what);
	fflush(stdout);
}

int main(int argc, char **argv) {
	pthread_t t;
	int sig;
	if (argc < 6)
		return 9;
	args = argv, caller = argv[1], first = atol(argv[2]), other = atol(argv[3]), times = atol(argv[5]);
	alarm(600);
	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	sigprocmask(SIG_BLOCK, &told, NULL);
	if (argc == 6) {
		done("ready");
		sigwait(&told, &sig);
	}
	if (times > 0) {
		if (pthread_create(&t, NULL, second, NULL) != 0)
			return 9;
		burn_here(first);
		if (!strcmp(caller, "first"))
			again();
		pthread_join(t, NULL);
	}
	burn_there(atol(argv[4]));
	done("done");
	for (;;)
		pause();
}
