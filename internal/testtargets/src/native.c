/*
 * A program with known call chains and known shares of processor time.
 *
 * One thread computes for ever, in
 *   main > run_load > with_saved_registers > burn_60     60 parts
 *   main > run_load > with_big_frame       > burn_30     30 parts
 *   main > run_load > with_variable_array  > burn_10     10 parts
 *   main > run_load > sort_numbers > qsort > compare_numbers
 * The three burners share one loop, so their times stand as 60:30:10. The frames between are of the
 * kinds that unwinders meet: many saved registers, 40 KB of stack, a size known
 * only at run time. Other threads sleep in one call each for ever; "pacer" runs for some
 * tenths of a millisecond in each of 4 ms and sleeps for the rest.
 *
 * It ends by itself after the number of seconds given as first argument (default 120).
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define OUTLINE __attribute__((noinline, noclone))
/* A call before it in a function is no tail call. */
#define STAY __asm__ volatile("" ::: "memory")

enum { UNIT = 4000, NUMBERS = 3000 };

static volatile uint64_t sink;

static inline __attribute__((always_inline)) uint64_t units(uint64_t seed, int count)
{
	for (int i = 0; i < count * UNIT; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
	}
	return seed;
}

OUTLINE static uint64_t burn_60(uint64_t seed) { return units(seed, 60); }
OUTLINE static uint64_t burn_30(uint64_t seed) { return units(seed, 30); }
OUTLINE static uint64_t burn_10(uint64_t seed) { return units(seed, 10); }

OUTLINE static uint64_t with_saved_registers(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	uint64_t r = burn_60(a);
	STAY;
	return r + a * 3 + b * 5 + c * 7 + (d ^ e) + (a & e);
}

OUTLINE static uint64_t with_big_frame(uint64_t seed)
{
	uint64_t room[5000]; /* 40 KB */
	memset(room, (int)seed, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
	uint64_t r = burn_30(seed);
	STAY;
	return r + room[seed % 5000];
}

OUTLINE static uint64_t with_variable_array(uint64_t seed, size_t n)
{
	uint64_t room[n];
	for (size_t i = 0; i < n; i++)
		room[i] = seed + i;
	__asm__ volatile("" : : "r"(room) : "memory");
	uint64_t r = burn_10(seed);
	STAY;
	return r + room[r % n];
}

OUTLINE static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

OUTLINE static uint64_t sort_numbers(uint64_t seed)
{
	static uint64_t numbers[NUMBERS];
	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = seed = seed * 6364136223846793005u + 1442695040888963407u;
	qsort(numbers, NUMBERS, sizeof numbers[0], compare_numbers);
	STAY;
	return numbers[NUMBERS / 2];
}

OUTLINE static void run_load(void)
{
	uint64_t seed = 88172645463325252u;
	for (;;) {
		seed = with_saved_registers(seed | 1, seed >> 3, seed >> 5, seed >> 7, seed >> 9);
		seed += with_big_frame(seed | 1);
		seed += with_variable_array(seed | 1, 64 + seed % 64);
		seed += sort_numbers(seed);
		sink = seed;
	}
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static int have_work;

OUTLINE static void wait_for_work(void)
{
	pthread_mutex_lock(&lock);
	while (!have_work)
		pthread_cond_wait(&work, &lock);
	pthread_mutex_unlock(&lock);
}

OUTLINE static void *serve_queue(void *arg)
{
	wait_for_work();
	STAY;
	return arg;
}

OUTLINE static void sleep_long(void)
{
	struct timespec t = {100000, 0};
	nanosleep(&t, NULL);
	STAY;
}

OUTLINE static void *serve_sleep(void *arg)
{
	sleep_long();
	STAY;
	return arg;
}

static int ends[2];

OUTLINE static int poll_forever(void)
{
	struct pollfd p = {.fd = ends[0], .events = POLLIN};
	int n = poll(&p, 1, -1);
	STAY;
	return n;
}

OUTLINE static void *serve_poll(void *arg)
{
	sink += (uint64_t)poll_forever();
	return arg;
}

OUTLINE static ssize_t read_pipe(void)
{
	char c[16];
	ssize_t n = read(ends[0], c, sizeof c);
	STAY;
	return n;
}

OUTLINE static void *serve_read(void *arg)
{
	sink += (uint64_t)read_pipe();
	return arg;
}

OUTLINE static int epoll_forever(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fd = epoll_create1(0);
	epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &e);
	int n = epoll_wait(fd, &e, 1, -1);
	STAY;
	return n;
}

OUTLINE static void *serve_epoll(void *arg)
{
	sink += (uint64_t)epoll_forever();
	return arg;
}

/* Not as many parts as any of the burners: the compiler folds functions that are the same. */
OUTLINE static uint64_t pace_work(uint64_t seed) { return units(seed, 50); }

OUTLINE static void pace(void)
{
	struct timespec t = {0, 4000000};
	sink += pace_work(sink | 1);
	nanosleep(&t, NULL);
	STAY;
}

OUTLINE static void *serve_pace(void *arg)
{
	for (;;)
		pace();
	return arg;
}

static void start(const char *name, void *(*body)(void *))
{
	pthread_t t;
	if (pthread_create(&t, NULL, body, NULL) != 0) {
		perror("pthread_create");
		exit(1);
	}
	pthread_setname_np(t, name);
}

int main(int argc, char **argv)
{
	alarm(argc > 1 ? (unsigned)atoi(argv[1]) : 120);
	if (pipe(ends) != 0) {
		perror("pipe");
		return 1;
	}
	start("queue", serve_queue);
	start("nap", serve_sleep);
	start("poll", serve_poll);
	start("read", serve_read);
	start("epoll", serve_epoll);
	start("pacer", serve_pace);
	puts("ready");
	fflush(stdout);
	run_load();
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
