// Threads in calls that work in the kernel for long, and that fail or restart as soon as a signal is pending
// (gives_up_*.c). The argument selects the call; it is made over and over, and must succeed each time.
#include <time.h>
#include "torture.h"
#include "gives_up.h"
#include <pthread.h>
#include <stdatomic.h>

atomic_long calls, eintr, eagain, shorts, other, twice, spins;
static const struct call *call;

long progress(void) { return calls; }

void outcome(long result, int err, long want) {
	if (result < 0 && err == EINTR) eintr++;
	else if (result < 0 && err == EAGAIN) eagain++;
	else if (result < 0) other++;
	else if (result < want) shorts++;
	calls++;
}

// Between two calls the thread computes for 60 ms, some ticks, so that samples outside the call exist.
static void compute(void) {
	struct timespec began, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
	do {
		for (volatile unsigned long n = 0; n < 1000000; n++) {}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec < 60000000);
	spins++;
}

static void *work(void *arg) {
	for (;;) {
		call->make();
		if (call->computes) compute();
	}
	return arg;
}

int main(int argc, char **argv) {
	static const struct call *const all[] = {&bpf_load, &hugetlb, &notify, &fuse_stat, &fuse_mkdir, &kvm, 0};
	pthread_t t;
	for (int i = 0; all[i]; i++)
		if (argc > 1 && !strcmp(all[i]->name, argv[1])) call = all[i];
	if (!call) return 98;
	if (call->prepare && call->prepare(argc > 2 ? argv[2] : 0) < 0) {
		printf("impossible %d\n", errno); // not on this machine
		serve_until_eof();
		done();
	}
	pthread_create(&t, 0, work, 0);
	serve_until_eof();
	print_count("calls", calls), print_count("eintr", eintr), print_count("eagain", eagain), print_count("short", shorts);
	print_count("other", other), print_count("twice", twice), print_count("spins", spins);
	if (call->clean) call->clean();
	done();
}

// SPDX-License-Identifier: Apache-2.0
