// Many more running threads than processors, and a few that wait with time-outs. Argument: the number of running
// threads.
#include "torture.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>

static atomic_long work, eintr, expired;

long progress(void) { return least(work, expired); }

static void *spin(void *arg) {
	for (volatile unsigned long n = 0;; n++)
		if (n % 1000000 == 0) work++;
	return arg;
}

static void *waiter(void *arg) {
	int ep = must(epoll_create1(0));
	struct epoll_event e;
	for (;;)
		if (epoll_wait(ep, &e, 1, 20) == 0) expired++;
		else eintr++;
	return arg;
}

int main(int argc, char **argv) {
	nice(19); // the rest of the machine keeps its part
	pthread_t t;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < atoi(argv[1]); i++) must(-pthread_create(&t, &small, spin, 0));
	for (int i = 0; i < 3; i++) must(-pthread_create(&t, &small, waiter, 0));
	serve_until_eof();
	print_count("work", work), print_count("eintr", eintr), print_count("expired", expired);
	done();
}

// SPDX-License-Identifier: Apache-2.0
