// Threads that run, sleep with time-outs, and wait, and count what they notice, for tests that end prywalk or the
// target at any moment. Arguments: number of sleeping threads; then "nodump" makes the process not dumpable,
// "seccomp" forbids it to use ptrace, "leader" ends the first thread, "files" opens as many files as allowed.
#include "torture.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static atomic_long started, eintr, expired, woken, other, work;
static int ev;

// progress is the least of the running thread's and of the waiting threads'.
long progress(void) { return least(work, expired); }

static void *spin(void *arg) {
	for (volatile unsigned long n = 0;; n++)
		if (n % 1000000 == 0) work++;
	return arg;
}

// A short time-out: the thread enters the call all the time.
static void *waiter(void *arg) {
	int ep = must(epoll_create1(0));
	struct epoll_event e;
	started++;
	for (;;) {
		int r = epoll_wait(ep, &e, 1, (int)(long)arg);
		if (r == 0) expired++;
		else if (errno == EINTR) eintr++;
		else other++;
	}
	return 0;
}

// Named, so that the test can find the threads that never wake.
static void *sleeper(void *arg) {
	eventfd_t v;
	prctl(PR_SET_NAME, "sleeper");
	for (;;) {
		if (eventfd_read(ev, &v) == 0) woken++;
		else if (errno == EINTR) eintr++;
		else other++;
	}
	return arg;
}

static void *judge(void *arg) {
	serve_until_eof();
	print_count("eintr", eintr), print_count("expired", expired), print_count("woken", woken), print_count("other", other), print_count("work", work);
	done();
	return arg;
}

// The waiting threads have made their descriptors by then.
static void use_up_files(void) {
	struct rlimit l = {256, 256};
	while (started < 3) usleep(1000);
	setrlimit(RLIMIT_NOFILE, &l);
	while (open("/dev/null", O_RDONLY) >= 0) {}
	if (errno != EMFILE) _exit(97);
}

// forbid_ptrace makes ptrace fail in this process; other processes may still trace it.
static void forbid_ptrace(void) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {4, f};
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p));
}

int main(int argc, char **argv) {
	int sleepers = argc > 1 ? atoi(argv[1]) : 4;
	const char *how = argc > 2 ? argv[2] : "";
	pthread_t t;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32768);
	ev = must(eventfd(0, 0));
	if (strcmp(how, "seccomp") == 0) forbid_ptrace();
	must(-pthread_create(&t, 0, spin, 0));
	for (long ms = 0; ms < 3; ms++) must(-pthread_create(&t, 0, waiter, (void *)(ms * 2)));
	for (int i = 0; i < sleepers; i++) must(-pthread_create(&t, &small, sleeper, 0));
	if (strcmp(how, "nodump") == 0) prctl(PR_SET_DUMPABLE, 0);
	if (strcmp(how, "files") == 0) use_up_files();
	if (strcmp(how, "leader") == 0) {
		must(-pthread_create(&t, 0, judge, 0));
		pthread_exit(0); // a zombie until the others end
	}
	judge(0);
}

// SPDX-License-Identifier: Apache-2.0
