/* A thread that computes, and one that changes its process's mappings without end, and so holds their lock for most of
 * the time. It says "ready", and ends by itself after ten minutes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { size = 64 << 20 }; /* a change takes some hundred microseconds */

static volatile unsigned long sink;

static void *changes(void *memory)
{
	for (;;) {
		if (mprotect(memory, size, PROT_READ) || mprotect(memory, size, PROT_READ | PROT_WRITE))
			return NULL;
	}
}

int main(void)
{
	pthread_t thread;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	alarm(600);
	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, size, MADV_NOHUGEPAGE);
	memset(memory, 1, size);
	if (pthread_create(&thread, NULL, changes, memory))
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		sink = sink * 5 + 1;
}

// SPDX-License-Identifier: Apache-2.0
