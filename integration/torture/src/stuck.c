// Threads that cannot stop for now: one in a page fault of its own (it sleeps), one in a page fault inside a system
// call (state D), and a vfork parent (state D). A userfaultfd holds the faults open. Other threads run and wait, and
// must be sampled as usual. When the test closes standard input the blocked ones are released, and each must have got
// its data.
#include "torture.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { PAGE = 4096 };
static char *held; // two pages: of the one and of the other fault
static int uffd, hold[2];
static atomic_long work, eintr, expired, wrong, ended;
static atomic_int tids[3];

long progress(void) { return least(work, expired); }

static void *touch(void *arg) {
	tids[0] = syscall(SYS_gettid);
	if (*(volatile char *)held != 0) wrong++;
	ended++;
	return arg;
}

static void *copy(void *arg) {
	char b[PAGE];
	struct iovec here = {b, PAGE}, there = {held + PAGE, PAGE};
	tids[1] = syscall(SYS_gettid);
	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != PAGE) wrong++;
	ended++;
	return arg;
}

static void *parent(void *arg) {
	int st;
	char c;
	tids[2] = syscall(SYS_gettid);
	pid_t p = vfork();
	if (p == 0) {
		close(hold[1]);
		syscall(SYS_read, hold[0], &c, 1);
		_exit(7);
	}
	if (waitpid(p, &st, 0) != p || !WIFEXITED(st) || WEXITSTATUS(st) != 7) wrong++;
	ended++;
	return arg;
}

static void *spin(void *arg) {
	for (volatile unsigned long n = 0;; n++)
		if (n % 1000000 == 0) work++;
	return arg;
}

static void *waiter(void *arg) {
	int ep = must(epoll_create1(0));
	struct epoll_event e;
	for (;;)
		if (epoll_wait(ep, &e, 1, 5) == 0) expired++;
		else eintr++;
	return arg;
}

static void hold_pages(void) {
	struct uffdio_api api = {.api = UFFD_API};
	uffd = must(syscall(SYS_userfaultfd, O_CLOEXEC));
	must(ioctl(uffd, UFFDIO_API, &api));
	held = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register r = {{(unsigned long)held, 2 * PAGE}, UFFDIO_REGISTER_MODE_MISSING};
	must(ioctl(uffd, UFFDIO_REGISTER, &r));
}

static void let_go(void) {
	struct uffdio_zeropage z = {{(unsigned long)held, 2 * PAGE}};
	must(ioctl(uffd, UFFDIO_ZEROPAGE, &z));
	must(write(hold[1], "g", 1));
}

int main(void) {
	void *(*stuck[])(void *) = {touch, copy, parent};
	static const char *names[] = {"fault", "copy", "vfork"};
	pthread_t t[3], other;
	hold_pages();
	must(pipe(hold));
	pthread_create(&other, 0, spin, 0), pthread_create(&other, 0, waiter, 0);
	for (int i = 0; i < 3; i++) {
		pthread_create(&t[i], 0, stuck[i], 0);
		while (!tids[i]) usleep(100);
		printf("thread %d %s\n", tids[i], names[i]);
	}
	serve_until_eof();
	let_go();
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	print_count("ended", ended), print_count("wrong", wrong);
	print_count("work", work), print_count("expired", expired), print_count("eintr", eintr);
	done();
}

// SPDX-License-Identifier: Apache-2.0
