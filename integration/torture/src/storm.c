// Signals: a child sends real-time signals with values in order, and ordinary signals one after the other, to threads
// that run, sleep, or both. Each must arrive once, in order, with the sender's siginfo.
#include "torture.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { SPIN, SLEEP, BOTH, THREADS };
static atomic_long next[THREADS], disorder, wrong, ordinary, quit;
static pid_t sender, tids[THREADS];
static pthread_t threads[THREADS];
static struct shared { atomic_long sent[THREADS], usr, handled, stop, full; } *shared;

long progress(void) {
	long n = 10 * shared->handled;
	for (int i = 0; i < THREADS; i++) n = least(n, next[i]);
	return n;
}

static void real_time(int sig, siginfo_t *info, void *ctx) {
	int i = sig - SIGRTMIN;
	(void)ctx;
	if (info->si_code != SI_QUEUE || info->si_pid != sender) wrong++;
	if (info->si_value.sival_int != next[i]) disorder++;
	next[i]++;
}

static void usr(int sig, siginfo_t *info, void *ctx) {
	(void)sig, (void)ctx;
	if (info->si_code != SI_USER || info->si_pid != sender) wrong++;
	ordinary++;
	shared->handled++;
}

static void *body(void *arg) {
	long i = (long)arg;
	volatile unsigned long work = 0;
	sigset_t only;
	sigfillset(&only);
	sigdelset(&only, SIGRTMIN + i);
	if (i == BOTH) sigdelset(&only, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &only, 0);
	tids[i] = syscall(SYS_gettid);
	while (!quit) {
		if (i != SLEEP) for (int n = 0; n < 200000; n++) work++;
		if (i != SPIN) poll(0, 0, 1);
	}
	return 0;
}

static void send_all(pid_t to) {
	while (!shared->stop) {
		for (int i = 0; i < THREADS; i++) {
			union sigval v = {.sival_int = shared->sent[i]};
			if (sigqueue(to, SIGRTMIN + i, v) == 0) shared->sent[i]++;
			else shared->full++;
		}
		if (shared->usr == shared->handled && kill(to, SIGUSR1) == 0) shared->usr++;
		struct timespec t = {0, 50000};
		nanosleep(&t, 0);
	}
	_exit(0);
}

int main(void) {
	shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t me = getpid();
	int go[2];
	char c;
	must(pipe(go));
	if ((sender = must(fork())) == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1) send_all(me);
		_exit(0);
	}
	struct sigaction rt = {.sa_sigaction = real_time, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction us = {.sa_sigaction = usr, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t all;
	sigaction(SIGUSR1, &us, 0);
	for (int i = 0; i < THREADS; i++) sigaction(SIGRTMIN + i, &rt, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, 0);
	for (long i = 0; i < THREADS; i++) must(-pthread_create(&threads[i], 0, body, (void *)i));
	must(write(go[1], "g", 1));
	serve_until_eof();
	shared->stop = 1;
	waitpid(sender, 0, 0);
	usleep(300000);
	quit = 1;
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0); // what is pending has been handled then
	for (int i = 0; i < THREADS; i++) {
		printf("sent.%d %ld\ngot.%d %ld\n", i, shared->sent[i], i, next[i]);
	}
	print_count("disorder", disorder);
	print_count("wrong", wrong);
	print_count("usr.sent", shared->usr);
	print_count("usr.got", ordinary);
	done();
}

// SPDX-License-Identifier: Apache-2.0
