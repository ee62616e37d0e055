// Births and deaths of everything that a profiler keeps a table of: processes, threads, libraries, code made at run
// time, names. Usage: churn BIRTHS_A_SECOND DIRECTORY [ENDS_AFTER_CHILDREN]. Libraries are new files in the directory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// burn is also copied: it calls nothing and knows no address.
__attribute__((noinline)) static unsigned burn(unsigned n) {
	volatile unsigned x = n;
	for (unsigned i = 0; i < n; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

static const unsigned few = 300000; // some 0.5 ms

// made runs a copy of burn at a new address, and unmaps it.
static void made(unsigned n) {
	static unsigned long at; // a new place each time, of which it keeps the mapping
	size_t size = 4096 + (at++ % 64) * 4096;
	char *p = mmap(0, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		exit(1);
	char *code = p + size - 4096;
	memcpy(code, (char *)burn, 512);
	__builtin___clear_cache(code, code + 512);
	((unsigned (*)(unsigned))code)(n);
	munmap(p, size);
}

static void rename_to(const char *what, unsigned long n) {
	char name[16];
	snprintf(name, sizeof name, "%s-%lu", what, n);
	prctl(PR_SET_NAME, name);
}

static void *thread(void *n) {
	rename_to("thread", (unsigned long)n);
	burn(few);
	return 0;
}

static void in_thread(unsigned long n) {
	pthread_t t;
	if (pthread_create(&t, 0, thread, (void *)n) == 0)
		pthread_join(t, 0);
}

// library loads a file that nobody has seen before.
static void library(const char *dir, unsigned long n) {
	Dl_info info;
	char path[512], block[1 << 16];
	if (!dladdr((void *)strlen, &info))
		return;
	char from[512];
	snprintf(from, sizeof from, "%s", info.dli_fname);
	char *slash = strrchr(from, '/');
	snprintf(slash ? slash : from, 16, "/libm.so.6");
	snprintf(path, sizeof path, "%s/lib-%lu.so", dir, n);
	int in = open(from, O_RDONLY), out = open(path, O_CREAT | O_WRONLY, 0700);
	for (ssize_t got; in >= 0 && out >= 0 && (got = read(in, block, sizeof block)) > 0;)
		if (write(out, block, got) != got)
			break;
	close(in), close(out);
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (lib) {
		double (*f)(double) = (double (*)(double))dlsym(lib, "lgamma");
		volatile double sum = 0;
		for (int i = 0; f && i < 10000; i++)
			sum += f(i + 0.5);
		dlclose(lib);
	}
	unlink(path);
}

static void child(unsigned long n) {
	if (fork() != 0)
		return;
	rename_to("child", n);
	made(n % 8 == 0 ? 40 * few : few);
	if (n % 3 == 0)
		execlp("true", "true", (char *)0);
	if (n % 4 == 0)
		in_thread(n);
	_exit(0);
}

int main(int argc, char **argv) {
	long rate = argc > 1 ? atol(argv[1]) : 10, most = argc > 3 ? atol(argv[3]) : 0;
	const char *dir = argc > 2 ? argv[2] : "/tmp";
	struct timespec next;
	alarm(1200);
	clock_gettime(CLOCK_MONOTONIC, &next);
	puts("ready"), fflush(stdout);
	for (unsigned long n = 0;; n++) {
		child(n);
		in_thread(n);
		made(few);
		if (n % 16 == 0)
			library(dir, n), rename_to("churn", n);
		while (waitpid(-1, 0, WNOHANG) > 0)
			;
		if (most && n + 1 >= (unsigned long)most) {
			puts("done"), fflush(stdout);
			while (wait(0) > 0)
				;
			pause();
		}
		next.tv_nsec += 1000000000 / rate;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
	}
}

// SPDX-License-Identifier: Apache-2.0
