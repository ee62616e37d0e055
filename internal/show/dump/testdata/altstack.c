/* Sleeps in a signal's handler on a stack of its own, far from the deep one that was interrupted. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef DEPTH
#define DEPTH 200
#endif

static volatile int sink, zero;
static int use(volatile char *b) { return b[0]; }

static void handler(int s)
{
	(void)s;
	puts("ready");
	fflush(stdout);
	pause();
	sink++;
}

__attribute__((noinline, noclone)) static int dives(int n)
{
	char b[3000];
	memset(b, n, sizeof b);
	if (n > 0)
		return dives(n - 1) + use(b);
	sink = 100 / zero; /* SIGFPE */
	return use(b);
}

int main(void)
{
	char *st = mmap(NULL, 3 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(st + (1 << 16), 1 << 16, PROT_READ | PROT_WRITE);
	stack_t s = { .ss_sp = st + (1 << 16), .ss_size = 1 << 16 };
	sigaltstack(&s, NULL);
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	sigaction(SIGFPE, &a, NULL);
	return dives(DEPTH);
}
