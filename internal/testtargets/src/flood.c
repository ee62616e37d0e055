// Many processes, then many threads, soon born and gone. Usage: flood PROCESSES THREADS. It says "ready", goes on when it
// is told a line, says "done", and waits for another.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned burn(unsigned n) {
	volatile unsigned x = n;
	for (unsigned i = 0; i < n; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

// bomb is a process that makes n more: two, which make the others.
static void bomb(long n) {
	burn(100000);
	for (int half = 0; half < 2 && n > 0; half++) {
		long part = half == 0 ? (n + 1) / 2 : n / 2;
		if (part == 0)
			continue;
		pid_t child = fork();
		if (child == 0)
			bomb(part - 1), _exit(0);
		if (child < 0) // no more are to be had: the rest is left out
			break;
	}
	while (wait(0) > 0)
		;
}

static void *thread(void *unused) {
	burn(5000);
	return unused;
}

// threads makes n threads, as many at a time as fit.
static void threads(long n) {
	pthread_t t[64];
	while (n > 0) {
		int k = 0;
		while (k < 64 && k < n && pthread_create(&t[k], 0, thread, 0) == 0)
			k++;
		if (k == 0)
			return;
		for (int i = 0; i < k; i++)
			pthread_join(t[i], 0);
		n -= k;
	}
}

int main(int argc, char **argv) {
	char line[16];
	alarm(300);
	puts("ready"), fflush(stdout);
	if (argc < 3 || !fgets(line, sizeof line, stdin))
		return 1;
	bomb(atol(argv[1]));
	threads(atol(argv[2]));
	puts("done"), fflush(stdout);
	fgets(line, sizeof line, stdin);
}

// SPDX-License-Identifier: Apache-2.0
