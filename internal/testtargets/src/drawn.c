// SPDX-License-Identifier: Apache-2.0
// Test program: it runs in often, some or rarely, which it draws at random (6, 3 and 1 of 10) for some 100 us at a time,
// and keeps account of the CPU time of each in a file that it maps.
//
//	drawn FILE
//
// FILE gets three 64-bit numbers, ns. It prints "ready", and does not end.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

#define WORK(name, salt)                                                          \
	__attribute__((noinline, noclone)) static void name(long rounds) {        \
		uint64_t v = salt;                                                \
		for (long i = 0; i < rounds; i++)                                 \
			v = v * 6364136223846793005UL + 1442695040888963407UL;    \
		sink = v;                                                         \
	}

WORK(often, 1)
WORK(some, 2)
WORK(rarely, 3)

static void (*const work[3])(long) = {often, some, rarely};

static int64_t used(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

// xorshift64* (Vigna 2016).
static uint64_t draw(void) {
	static uint64_t x = 88172645463325252UL;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	return x * 2685821657736338717UL >> 33;
}

int main(int argc, char **argv) {
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096) != 0)
		return 2;
	volatile int64_t *account = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (account == MAP_FAILED)
		return 1;
	int64_t at = used();
	often(10000000);
	long rounds = 10000000 * 100000.0 / (used() - at);
	puts("ready");
	fflush(stdout);
	for (at = used();;) {
		unsigned n = draw() % 10;
		int which = n < 6 ? 0 : n < 9 ? 1 : 2;
		work[which](rounds / 2 + draw() % rounds);
		int64_t now = used();
		account[which] += now - at;
		at = now;
	}
}
