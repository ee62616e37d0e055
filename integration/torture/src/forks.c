// Children of all kinds: a bounded bomb of forks, and vfork children that sleep for half a second. Every
// status must arrive once.
#include "torture.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_long quit, trees, wrong, vforks, interrupted;

// Three of each are enough for one.
long progress(void) { return least(trees, 3 * vforks) / 3; }

// tree forks depth levels of two children each, and exits with the number of its leaves.
static int tree(int depth) {
	int sum = 0;
	if (depth == 0) return 1;
	for (int i = 0; i < 2; i++) {
		pid_t p = must(fork());
		if (p == 0) _exit(tree(depth - 1));
		int st;
		while (waitpid(p, &st, 0) < 0)
			if (errno != EINTR) _exit(99);
		if (!WIFEXITED(st)) _exit(98);
		sum += WEXITSTATUS(st);
	}
	return sum;
}

static void *bomb(void *arg) {
	while (!quit) {
		int st;
		pid_t p = must(fork());
		if (p == 0) _exit(tree(4));
		pid_t r = waitpid(p, &st, 0);
		if (r < 0 && errno == EINTR) interrupted++;
		if (r != p || !WIFEXITED(st) || WEXITSTATUS(st) != 16) wrong++;
		else trees++;
	}
	return arg;
}

static void *vforker(void *arg) {
	while (!quit) {
		int st;
		pid_t p = vfork();
		if (p == 0) {
			usleep(500000);
			_exit(7);
		}
		if (waitpid(p, &st, 0) != p || !WIFEXITED(st) || WEXITSTATUS(st) != 7) wrong++;
		else vforks++;
	}
	return arg;
}

int main(void) {
	pthread_t a, b;
	pthread_create(&a, 0, bomb, 0);
	pthread_create(&b, 0, vforker, 0);
	serve_until_eof();
	quit = 1;
	pthread_join(a, 0), pthread_join(b, 0);
	print_count("trees", trees), print_count("vforks", vforks), print_count("wrong", wrong), print_count("interrupted", interrupted);
	done();
}

// SPDX-License-Identifier: Apache-2.0
