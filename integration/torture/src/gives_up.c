// Threads in calls that work in the kernel for long and give up, or begin anew, as soon as any signal is
// pending (gives_up_*.c). The argument says which: each is made again and again, and must succeed each time.
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

// Between two calls the thread computes for 60 ms, some ticks, so that it can be seen to have left the call.
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
		work_until_told();
		done();
	}
	pthread_create(&t, 0, work, 0);
	work_until_told();
	tell("calls", calls), tell("eintr", eintr), tell("eagain", eagain), tell("short", shorts);
	tell("other", other), tell("twice", twice), tell("spins", spins);
	if (call->clean) call->clean();
	done();
}

// SPDX-License-Identifier: Apache-2.0
