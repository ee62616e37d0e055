// Signals to a thread in a call that they interrupt: each must give EINTR, recorded or not. One thread sends to the
// other when it sleeps in its call, and sends again if no EINTR comes. A handler that ran without interrupting the
// call has lost an EINTR.
#include "torture.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

enum { CALLS = 5 };
static atomic_long turn, eintr, resent, sent, handled, quit;
static atomic_int tid;
static int ep, pair[2], sem;
static long number[CALLS] = {SYS_epoll_wait, SYS_recvfrom, SYS_semop, SYS_rt_sigtimedwait, SYS_poll};

long progress(void) { return sent; }

static void count(int sig) { (void)sig, handled++; }

static long make(int i) {
	struct epoll_event e;
	struct sembuf op = {.sem_op = -1};
	sigset_t s;
	char c;
	switch (i) {
	case 0: return syscall(SYS_epoll_wait, ep, &e, 1, -1);
	case 1: return recv(pair[0], &c, 1, 0);
	case 2: return syscall(SYS_semop, sem, &op, 1);
	case 3:
		sigemptyset(&s);
		sigaddset(&s, SIGUSR2);
		return sigwaitinfo(&s, 0);
	}
	return syscall(SYS_poll, 0, 0, -1);
}

static void *caller(void *arg) {
	tid = syscall(SYS_gettid);
	for (;;) {
		if (make(turn % CALLS) < 0 && errno == EINTR) eintr++;
		turn++;
	}
	return arg;
}

// asleep reports whether the thread is in the call of this turn. A resumed poll has the name restart_syscall.
static int asleep(int fd, long nr) {
	char b[32] = "";
	if (pread(fd, b, sizeof b - 1, 0) < 1) return 0;
	char *end;
	long now = strtol(b, &end, 10);
	return end > b && (now == nr || nr == SYS_poll && now == SYS_restart_syscall);
}

static void *sender(void *arg) {
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
	int fd = must(open(path, O_RDONLY));
	while (!quit) {
		long now;
		while (!asleep(fd, number[(now = turn) % CALLS])) usleep(50);
		syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
		sent++;
		// Only a thread that sleeps in the same call again has missed the signal: one that waits for a processor may
		// have its EINTR already.
		for (int n = 0; turn == now; n++) {
			usleep(50);
			if (n % 20000 != 19999 || !asleep(fd, number[now % CALLS]) || turn != now) continue;
			resent++;
			syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
		}
	}
	return arg;
}

int main(void) {
	pthread_t a, b;
	struct sigaction sa = {.sa_handler = count};
	struct timeval hour = {3600, 0};
	ep = must(epoll_create1(0));
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	must(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &hour, sizeof hour));
	sem = must(semget(IPC_PRIVATE, 1, 0600));
	sigaction(SIGUSR1, &sa, 0);
	sigset_t two;
	sigemptyset(&two);
	sigaddset(&two, SIGUSR2);
	sigprocmask(SIG_BLOCK, &two, 0);
	pthread_create(&a, 0, caller, 0);
	sigaddset(&two, SIGUSR1);
	sigprocmask(SIG_BLOCK, &two, 0);
	while (!tid) usleep(100);
	pthread_create(&b, 0, sender, 0);
	serve_until_eof();
	quit = 1;
	pthread_join(b, 0);
	semctl(sem, 0, IPC_RMID);
	print_count("sent", sent), print_count("eintr", eintr), print_count("resent", resent), print_count("handled", handled);
	done();
}

// SPDX-License-Identifier: Apache-2.0
