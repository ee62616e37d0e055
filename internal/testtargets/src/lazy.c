/* lazy MODE: a thread that works on a stack right behind which lies memory that is provided lazily (userfaultfd(2)),
 * and a thread that provides it, asking for requests without sleeping. It says "ready", then at each line of its
 * standard input how many pages were asked for and where that memory begins, and ends with it. MODE: "running" or
 * "sleeping", for the worker; "inside": it runs, and its stack itself is such memory, of which it has not touched all;
 * "withheld": it runs, and no page has a provider; "code": the same, and that memory is the program's first
 * executable mapping. It exits with 77 where the kernel does not let it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { page = 4096, stack_size = 256 << 10, lazy_size = 4 << 20 };

static volatile unsigned long asked, sink;
static volatile int there;
static int uffd, sleeps, inside, pipes[2];

static void fail(const char *what)
{
	perror(what);
	exit(77);
}

__attribute__((noinline)) static void work(void)
{
	char c;
	there = 1;
	if (sleeps)
		while (read(pipes[0], &c, 1) > 0)
			;
	for (;;)
		sink = sink * 5 + 1;
}

__attribute__((noinline)) static void work_further_in(void)
{
	volatile char untouched[128 << 10];
	untouched[0] = 0;
	work();
	untouched[1] = 0;
}

static void *worker(void *arg)
{
	if (inside)
		work_further_in();
	work();
	return arg;
}

static void *provider(void *arg)
{
	static char zeros[page] __attribute__((aligned(4096)));
	for (;;) {
		struct uffd_msg m;
		if (read(uffd, &m, sizeof m) != sizeof m || m.event != UFFD_EVENT_PAGEFAULT) {
			sink++;
			continue;
		}
		asked++;
		struct uffdio_copy c = {.dst = m.arg.pagefault.address & ~(unsigned long)(page - 1), .src = (unsigned long)zeros, .len = page};
		ioctl(uffd, UFFDIO_COPY, &c);
	}
	return arg;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int code = !strcmp(mode, "code"), withheld = code || !strcmp(mode, "withheld");
	sleeps = !strcmp(mode, "sleeping");
	inside = !strcmp(mode, "inside");
	uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (uffd < 0)
		fail("userfaultfd");
	struct uffdio_api api = {.api = UFFD_API};
	if (ioctl(uffd, UFFDIO_API, &api))
		fail("UFFDIO_API");
	void *at = code ? (void *)(64 << 10) : 0; // below every other mapping; if private, its missing pages are not read
	char *stack = mmap(at, stack_size + lazy_size, PROT_READ | PROT_WRITE, (code ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || code && mprotect(stack + stack_size, lazy_size, PROT_READ | PROT_EXEC))
		fail("mmap");
	struct uffdio_register r = {.range = {.start = (unsigned long)stack + (inside ? 0 : stack_size), .len = lazy_size}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (ioctl(uffd, UFFDIO_REGISTER, &r))
		fail("UFFDIO_REGISTER");
	pthread_t p, w;
	pthread_attr_t a;
	pthread_attr_init(&a);
	if (pipe(pipes) || (!withheld && pthread_create(&p, 0, provider, 0)) || pthread_attr_setstack(&a, stack, stack_size) || pthread_create(&w, &a, worker, 0))
		fail("threads");
	while (!there)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		printf("%lu %p\n", asked, stack + stack_size);
		fflush(stdout);
	}
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
