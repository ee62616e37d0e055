// A process with zombie threads: they have ended, and their tracer, this program, has not yet waited for them. The
// first thread is one of them. Other threads run and wait.
#include "torture.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { ZOMBIES = 3 };
static struct shared { atomic_int tids[ZOMBIES], end; atomic_long work, eintr, expired, quit; } *shared;

long progress(void) { return least(shared->work, shared->expired); }

static void *brief(void *arg) {
	shared->tids[(long)arg] = syscall(SYS_gettid);
	while (!shared->end) usleep(1000);
	return 0;
}

static void *spin(void *arg) { for (;;) shared->work++; return arg; }

static void *waiter(void *arg) {
	int ep = must(epoll_create1(0));
	struct epoll_event e;
	while (!shared->quit)
		if (epoll_wait(ep, &e, 1, 5) == 0) shared->expired++;
		else shared->eintr++;
	_exit(5);
	return arg;
}

static void child(void) {
	pthread_t t;
	for (long i = 0; i < ZOMBIES; i++) must(-pthread_create(&t, 0, brief, (void *)i));
	must(-pthread_create(&t, 0, spin, 0));
	must(-pthread_create(&t, 0, waiter, 0));
	pthread_exit(0);
}

// is_zombie reports whether a thread has ended.
static int is_zombie(int pid, int tid) {
	char path[64], b[512] = "";
	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
	int fd = open(path, O_RDONLY);
	if (fd < 0) return 0;
	if (read(fd, b, sizeof b - 1) < 0) b[0] = 0;
	close(fd);
	char *p = strrchr(b, ')');
	return p && p[1] && p[2] == 'Z';
}

int main(void) {
	int st, reaped = 0;
	shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = must(fork());
	if (pid == 0) child();
	for (int i = 0; i < ZOMBIES; i++) {
		while (!shared->tids[i]) usleep(1000);
		must(ptrace(PTRACE_SEIZE, shared->tids[i], 0, 0));
	}
	shared->end = 1;
	for (int i = 0; i < ZOMBIES; i++)
		while (!is_zombie(pid, shared->tids[i])) usleep(1000);
	while (!is_zombie(pid, pid)) usleep(1000);
	printf("pid %d\n", pid);
	serve_until_eof();
	for (int i = 0; i < ZOMBIES; i++)
		if (is_zombie(pid, shared->tids[i]) && waitpid(shared->tids[i], &st, __WALL) == shared->tids[i] && WIFEXITED(st)) reaped++;
	shared->quit = 1;
	print_count("ended", waitpid(pid, &st, 0) == pid && WIFEXITED(st) ? WEXITSTATUS(st) : -1);
	print_count("reaped", reaped), print_count("work", shared->work), print_count("eintr", shared->eintr), print_count("expired", shared->expired);
	done();
}

// SPDX-License-Identifier: Apache-2.0
