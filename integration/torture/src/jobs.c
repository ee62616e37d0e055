// Job control: a parent stops and continues its child over and over and counts the reports of waitpid (WUNTRACED,
// WCONTINUED) and the SIGCHLDs. While the child is stopped none of its threads may run.
#include "torture.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>

static atomic_long chld;
static struct shared { atomic_long work[4]; } *shared;

static void *spin(void *arg) { for (;;) shared->work[(long)arg]++; return 0; }

static void *nap(void *arg) {
	for (;; shared->work[(long)arg]++) poll(0, 0, 2);
	return 0;
}

static void child(void) {
	pthread_t t;
	pthread_create(&t, 0, spin, (void *)0L);
	pthread_create(&t, 0, nap, (void *)1L);
	pthread_create(&t, 0, nap, (void *)2L);
	for (;;) pause();
}

static void count(int sig) { (void)sig, chld++; }

static long all_work(void) {
	long sum = 0;
	for (int i = 0; i < 4; i++) sum += shared->work[i];
	return sum;
}

// await_report waits for one report of the given kind; others are counted as surplus.
static long await_report(pid_t pid, int flag, long *surplus) {
	for (;;) {
		int st;
		pid_t r = waitpid(pid, &st, WUNTRACED | WCONTINUED);
		if (r < 0 && errno == EINTR) continue;
		if (r != pid) return 0;
		if (flag == WUNTRACED ? WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP : WIFCONTINUED(st)) return 1;
		if (++*surplus > 1000) return 0;
	}
}

// await_quiet waits until all threads of the child have stopped: SIGSTOP takes a moment to reach them.
static void await_quiet(void) {
	for (long before = -1, now; (now = all_work()) != before; before = now) usleep(5000);
}

// await_sigchld waits for the n-th SIGCHLD. The kernel sends it after waitpid can already report, and merges two
// pending ones: so each is awaited before the next is caused.
static void await_sigchld(long n) {
	for (int i = 0; i < 60000 && chld < n; i++) usleep(500);
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 50, st;
	long stops = 0, conts = 0, surplus = 0, moved = 0, woken = 0;
	shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = {.sa_handler = count};
	sigaction(SIGCHLD, &sa, 0);
	pid_t pid = must(fork());
	if (pid == 0) child();
	printf("pid %d\n", pid);
	ready();
	char c;
	must(read(0, &c, 1)); // the recording has begun
	for (int i = 0; i < rounds; i++) {
		kill(pid, SIGSTOP);
		stops += await_report(pid, WUNTRACED, &surplus);
		await_sigchld(2 * i + 1);
		await_quiet();
		long before = all_work();
		usleep(20000);
		if (all_work() != before) moved++;
		if (waitpid(pid, &st, WUNTRACED | WCONTINUED | WNOHANG) != 0) surplus++;
		kill(pid, SIGCONT);
		conts += await_report(pid, WCONTINUED, &surplus);
		await_sigchld(2 * i + 2);
		for (int n = 0; n < 60000 && all_work() == before; n++) usleep(500);
		if (all_work() != before) woken++;
		if (waitpid(pid, &st, WUNTRACED | WCONTINUED | WNOHANG) != 0) surplus++;
	}
	print_count("rounds", rounds);
	print_count("stops", stops), print_count("conts", conts), print_count("surplus", surplus);
	print_count("moved", moved), print_count("woken", woken), print_count("sigchld", chld);
	kill(pid, SIGKILL);
	waitpid(pid, &st, 0);
	done();
}

// SPDX-License-Identifier: Apache-2.0
