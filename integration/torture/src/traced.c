// Tracers. "traceme": children that call PTRACE_TRACEME, stop, and are watched by their parent. "again": one child
// that does so over and over, and is released each time. "attach PID": attaches to a process and detaches, over and
// over.
#include "torture.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

static atomic_long quit, rounds, refused, wrong;

long progress(void) { return rounds; }

static void *traceme(void *arg) {
	while (!quit) {
		int st;
		pid_t p = must(fork());
		if (p == 0) {
			for (volatile int i = 0; i < 20000000; i++) {} // long enough to be found
			if (ptrace(PTRACE_TRACEME, 0, 0, 0)) _exit(1);
			raise(SIGSTOP);
			for (volatile int i = 0; i < 1000000; i++) {}
			_exit(5);
		}
		waitpid(p, &st, WUNTRACED);
		if (WIFEXITED(st)) {
			if (WEXITSTATUS(st) == 1) refused++;
			else wrong++;
			continue;
		}
		if (WSTOPSIG(st) != SIGSTOP || ptrace(PTRACE_CONT, p, 0, 0)) wrong++;
		if (waitpid(p, &st, 0) != p || !WIFEXITED(st) || WEXITSTATUS(st) != 5) wrong++;
		else rounds++;
	}
	return arg;
}

// The child's counts are in shared memory; it never ends by itself.
static struct shared { atomic_long rounds, refused; } *shared;

static void ask_again(void) {
	for (;;) {
		for (volatile int i = 0; i < 100000; i++) {}
		if (ptrace(PTRACE_TRACEME, 0, 0, 0)) shared->refused++;
		else {
			shared->rounds++;
			raise(SIGSTOP);
		}
	}
}

static atomic_int child;

// release_repeatedly detaches the child each time that it stops, without the signal. It is the child's tracer: the
// thread that forked.
static void *release_repeatedly(void *arg) {
	pid_t p = must(fork());
	if (p == 0) ask_again();
	child = p;
	for (int st; waitpid(p, &st, __WALL) == p && WIFSTOPPED(st); rounds = shared->rounds)
		if (WSTOPSIG(st) != SIGSTOP || (ptrace(PTRACE_DETACH, p, 0, 0) && !(quit && errno == ESRCH))) wrong++; // killed just now
	refused = shared->refused;
	return arg;
}

static void attach_once(pid_t pid) {
	int st;
	struct user_regs_struct regs;
	if (ptrace(PTRACE_ATTACH, pid, 0, 0)) {
		refused++;
		return;
	}
	if (waitpid(pid, &st, __WALL) != pid || !WIFSTOPPED(st) || WSTOPSIG(st) != SIGSTOP) wrong++;
	else if (ptrace(PTRACE_GETREGS, pid, 0, &regs)) wrong++;
	usleep(2000);
	if (ptrace(PTRACE_DETACH, pid, 0, 0)) wrong++;
	else rounds++;
}

static pid_t victim;
static void *attach(void *arg) {
	for (; !quit; usleep(3000)) attach_once(victim);
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t;
	if (argc > 2) victim = atoi(argv[2]);
	if (strcmp(argv[1], "again") == 0) {
		shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pthread_create(&t, 0, release_repeatedly, 0);
		while (!child) usleep(1000);
		printf("pid %d\n", child);
		serve_until_eof();
		quit = 1;
		kill(child, SIGKILL);
		pthread_join(t, 0);
		print_count("rounds", rounds), print_count("refused", refused), print_count("wrong", wrong);
		done();
	}
	pthread_create(&t, 0, victim ? attach : traceme, 0);
	serve_until_eof();
	quit = 1;
	pthread_join(t, 0);
	print_count("rounds", rounds), print_count("refused", refused), print_count("wrong", wrong);
	done();
}

// SPDX-License-Identifier: Apache-2.0
