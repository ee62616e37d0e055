// Without arguments: starts the program "./setuid-copy" (set-user-ID root) over and over; the child spins first, so
// that it is observed when it calls exec. The copy, called with "id", exits with 1 if it is not root.
#include "torture.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_long quit, root, lost, wrong;
static const char *copy;

long progress(void) { return root; }

static void *starter(void *arg) {
	while (!quit) {
		int st;
		pid_t p = must(fork());
		if (p == 0) {
			for (volatile int i = 0; i < 20000000; i++) {}
			execl(copy, copy, "id", (char *)0);
			_exit(9);
		}
		while (waitpid(p, &st, 0) < 0) {}
		if (!WIFEXITED(st)) wrong++;
		else if (WEXITSTATUS(st) == 0) root++;
		else if (WEXITSTATUS(st) == 1) lost++;
		else wrong++;
	}
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t[2];
	if (argc > 1 && strcmp(argv[1], "id") == 0) {
		for (volatile int i = 0; i < 1000000; i++) {}
		return geteuid() == 0 ? 0 : 1;
	}
	copy = argv[1];
	for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, starter, 0);
	serve_until_eof();
	quit = 1;
	for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
	print_count("root", root), print_count("lost", lost), print_count("wrong", wrong);
	done();
}

// SPDX-License-Identifier: Apache-2.0
