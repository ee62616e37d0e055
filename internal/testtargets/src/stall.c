// SPDX-License-Identifier: Apache-2.0
// A small service with one stall. A worker parses, then waits for a lock while a janitor compacts with it, then parses
// with the next version; then a spike of rendering. Each phase ends by a thread's own CPU clock; the program prints of each
// its beginning and end, by the clock of the wall, and the thread's CPU time, in ns.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t cache_mu = PTHREAD_MUTEX_INITIALIZER;
static int locked[2], spike[2], done[2]; // pipes

static long long now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static volatile unsigned long sink;

#define BURN(name)                                                             \
	__attribute__((noinline)) void name(long long ns) {                    \
		long long until = now(CLOCK_THREAD_CPUTIME_ID) + ns;           \
		while (now(CLOCK_THREAD_CPUTIME_ID) < until)                   \
			for (int i = 0; i < 100000; i++)                       \
				sink = sink * 6364136223846793005UL + 1;       \
	}

BURN(parse_v1)
BURN(parse_v2)
BURN(compact)
BURN(render)

static void await(int *pipe) {
	char c;
	while (read(pipe[0], &c, 1) != 1)
		;
}

static void tell(int *pipe) {
	while (write(pipe[1], "", 1) != 1)
		;
}

struct phase {
	long long begin, cpu;
};

static struct phase begin(void) { return (struct phase){now(CLOCK_REALTIME), now(CLOCK_THREAD_CPUTIME_ID)}; }

static void end(const char *name, struct phase p) {
	printf("%s %lld %lld %lld\n", name, p.begin, now(CLOCK_REALTIME), now(CLOCK_THREAD_CPUTIME_ID) - p.cpu);
}

#define PHASE(name, what) do { struct phase p = begin(); what; end(name, p); } while (0)

__attribute__((noinline)) void lookup(void) {
	pthread_mutex_lock(&cache_mu);
	pthread_mutex_unlock(&cache_mu);
}

static void *janitor(void *unused) {
	pthread_setname_np(pthread_self(), "janitor");
	pthread_mutex_lock(&cache_mu);
	tell(locked);
	PHASE("held", compact(700000000));
	pthread_mutex_unlock(&cache_mu);
	return unused;
}

static void *worker(void *unused) {
	pthread_t j;
	pthread_setname_np(pthread_self(), "worker");
	PHASE("before", parse_v1(500000000));
	pthread_create(&j, 0, janitor, 0);
	await(locked);
	PHASE("late", lookup());
	PHASE("after", parse_v2(500000000));
	tell(spike);
	return unused;
}

static void *spiky(void *unused) {
	pthread_setname_np(pthread_self(), "spike");
	await(spike);
	PHASE("spike", render(500000000));
	tell(done);
	return unused;
}

static void *accepting(void *unused) {
	struct epoll_event e;
	pthread_setname_np(pthread_self(), "acceptor");
	epoll_wait(epoll_create1(0), &e, 1, -1);
	return unused;
}

int main(void) {
	pthread_t t;
	if (pipe(locked) || pipe(spike) || pipe(done))
		return 1;
	pthread_create(&t, 0, accepting, 0);
	pthread_create(&t, 0, spiky, 0);
	pthread_create(&t, 0, worker, 0);
	await(done);
	return 0;
}
