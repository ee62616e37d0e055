// SPDX-License-Identifier: Apache-2.0
/*
 * A program to be sampled: RUNNERS threads that compute and never block, of which the first is the main
 * thread, and SLEEPERS threads that sleep for ever, in different system calls. It tells what it does in
 * memory that it shares (descriptor 3), so that whoever asks does not disturb it:
 *
 *	word 0	sleepers that are about to sleep, and runners that run
 *	word 1	the gaps recorded so far
 *	word 2	a gap of more nanoseconds than this is recorded, 0: none are (the first runner only)
 *	word 8+8i	runner i: its thread id, then the work that it has done
 *	word 1024+4i	gap i, modulo GAPS: when it began, and its length, in nanoseconds of CLOCK_MONOTONIC; how
 *		often the thread has left the processor since it began, of its own accord (which it does only
 *		when it is stopped), and because another took it
 *
 * usage: target RUNNERS SLEEPERS
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { READY, GAPS_SEEN, THRESHOLD, SLOTS = 8, MOST_RUNNERS = 64, GAP_AT = 1024, GAPS = 1 << 17 };

static uint64_t *shared;
static pid_t parent;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void ready(void) { __atomic_fetch_add(&shared[READY], 1, __ATOMIC_SEQ_CST); }

static void note(uint64_t began, uint64_t length)
{
	uint64_t i = shared[GAPS_SEEN], *gap = &shared[GAP_AT + 4 * (i % GAPS)];
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	gap[0] = began;
	gap[1] = length;
	gap[2] = used.ru_nvcsw;
	gap[3] = used.ru_nivcsw;
	__atomic_store_n(&shared[GAPS_SEEN], i + 1, __ATOMIC_RELEASE);
}

/* gaps looks at the clock n times and notes where time is missing. */
static void gaps(uint64_t threshold, int n)
{
	uint64_t last = now(), t;

	while (n--) {
		t = now();
		if (t - last > threshold) {
			note(last, t - last);
			t = now(); /* the noting itself is no gap */
		}
		last = t;
	}
}

/* mix is a piece of work of some hundred nanoseconds. */
__attribute__((noinline)) static uint64_t mix(uint64_t x)
{
	for (int i = 0; i < 200; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

static void compute(int me)
{
	uint64_t *slot = &shared[SLOTS + 8 * me], x = me + 1;

	slot[0] = gettid();
	ready();
	while (getppid() == parent) { /* it ends with its starter */
		for (int i = 0; i < 1 << 17; i++) {
			uint64_t threshold = me ? 0 : __atomic_load_n(&shared[THRESHOLD], __ATOMIC_RELAXED);

			if (threshold)
				gaps(threshold, 64);
			else
				x = mix(x);
			__atomic_store_n(&slot[1], slot[1] + 1, __ATOMIC_RELAXED);
		}
	}
	slot[2] = x; /* the work is for something */
}

/* deep gives a runner a stack of some depth. */
__attribute__((noinline)) static void deep(int me, int depth)
{
	volatile char frame[200];

	frame[0] = me;
	if (depth == 0)
		compute(me);
	else
		deep(frame[0], depth - 1);
	frame[0]++; /* the call before is no jump */
}

static void *runner(void *me)
{
	prctl(PR_SET_NAME, "runner");
	deep((intptr_t)me, 12);
	return NULL;
}

static int pipes[2], sockets[2], event, epoll;
static uint32_t never;

static void *sleeper(void *kind)
{
	struct timespec day = {86400, 0};
	struct pollfd fd = {pipes[0], POLLIN, 0};
	struct epoll_event e;
	sigset_t usr2;
	char c[8];

	prctl(PR_SET_NAME, "sleeper");
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &usr2, NULL);
	ready();
	for (;;) {
		switch ((intptr_t)kind % 8) {
		case 0: if (read(pipes[0], c, 1) < 0) die("read of a pipe"); break;
		case 1: syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0); break;
		case 2: poll(&fd, 1, -1); break;
		case 3: epoll_wait(epoll, &e, 1, -1); break;
		case 4: clock_nanosleep(CLOCK_MONOTONIC, 0, &day, NULL); break;
		case 5: sigwaitinfo(&usr2, NULL); break;
		case 6: if (recv(sockets[0], c, 1, 0) < 0) die("recv"); break;
		case 7: if (read(event, c, 8) < 0) die("read of an eventfd"); break;
		}
	}
	return NULL;
}

static void start(void *(*body)(void *), int n)
{
	pthread_attr_t small;
	pthread_t t;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	if (pthread_create(&t, &small, body, (void *)(intptr_t)n))
		die("a thread could not be started");
}

int main(int argc, char **argv)
{
	int runners = argc > 2 ? atoi(argv[1]) : 0, sleepers = argc > 2 ? atoi(argv[2]) : 0;

	if (runners < 1 || runners > MOST_RUNNERS) {
		fprintf(stderr, "usage: target RUNNERS SLEEPERS (1 to %d runners)\n", MOST_RUNNERS);
		return 2;
	}
	parent = getppid();
	shared = mmap(NULL, (GAP_AT + 4 * GAPS) * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, 3, 0);
	if (shared == MAP_FAILED)
		die("mapping descriptor 3");
	event = eventfd(0, 0);
	epoll = epoll_create1(0);
	if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) || event < 0 || epoll < 0)
		die("descriptors");
	mlockall(MCL_CURRENT); /* where it may: a runner that waits for a page of its code would block */
	for (int i = 0; i < sleepers; i++)
		start(sleeper, i);
	for (int i = 1; i < runners; i++)
		start(runner, i);
	runner(NULL);
	return 0;
}
