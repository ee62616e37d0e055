// Test program: threads that sleep below functions whose frames are addressed by rbp only: each has an
// array of variable length or calls alloca, so that the distance from the stack pointer to
// the frame is nowhere in the code. Which call they sleep in, and what lies in those arrays,
// is told on the command line:
//
//	sleepers CALL SHAPE
//
// CALL is nanosleep, read, futex, epoll (without a time-out), epoll50 (of 50 ms) or recv.
// SHAPE is plain, or how old frames of the same functions come to lie within the arrays:
// large (none, but a caller has 700 KiB of locals, and no array has variable length),
// stale (frames of calls from other places), same (of calls from the same places, deeper),
// recursive (the function calls itself) or pointer (it is called by pointer, and the old
// frames belong to another function that was called from the same place).
//
// It prints "ready", and then "timeout" for every epoll_wait that ends by its time-out. A byte on
// its standard input ends the sleep, and the next one begins.
#define _GNU_SOURCE
#include <alloca.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

static const char *call, *shape;
static int wake[2], pair[2], epfd;
static int word;
static volatile int ready; // "ready" is printed
static volatile int quick; // the sleep is left out: its frames are only to be left behind
volatile long sink;

// It must be inlined: the function with the array is the one that calls the C library.
static inline __attribute__((always_inline)) void sleep_once(char *buffer) {
	if (quick) {
		sink++;
		return;
	}
	struct epoll_event event;
	if (!strcmp(call, "nanosleep")) {
		struct timespec t = {3600, 0};
		nanosleep(&t, NULL);
	} else if (!strcmp(call, "read")) {
		sink += read(wake[0], buffer, 1);
	} else if (!strcmp(call, "futex")) {
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	} else if (!strcmp(call, "epoll")) {
		sink += epoll_wait(epfd, &event, 1, -1);
		sink += read(wake[0], buffer, 1);
	} else if (!strcmp(call, "epoll50")) {
		while (epoll_wait(epfd, &event, 1, 50) == 0)
			if (ready)
				sink += write(1, "timeout\n", 8);
		sink += read(wake[0], buffer, 1);
	} else {
		sink += recv(pair[0], buffer, 1, 0);
	}
}

// The frames that the tests know: inner, middle, outer, start.
static KEEP void inner(int n) {
	char array[n];
	if (n < 256)
		memset(array, 0, n);
	sleep_once(array);
	sink += array[0];
}

static KEEP void middle(int n) {
	char *block = alloca(n);
	if (n < 256)
		memset(block, 0, n);
	inner(n);
	sink += block[0];
}

static KEEP void outer(int n) {
	char array[n + 8];
	memset(array, 1, n + 8);
	middle(n);
	sink += array[0];
}

static KEEP void fixed(void) {
	char array[64];
	sleep_once(array);
	sink += array[0];
}

static KEEP void large(void) {
	volatile char locals[700 << 10];
	locals[0] = 1;
	fixed();
	sink += locals[0];
}

static KEEP void again(int depth, int n) {
	char array[n];
	if (depth > 0)
		again(depth - 1, n);
	else
		sleep_once(array);
	sink += array[0];
}

static void (*volatile target)(int);

static KEEP void other(int n) {
	char array[n];
	inner(n);
	sink += array[0];
}

// by_pointer leaves frames of other and inner behind, and calls inner from the same place.
static KEEP void by_pointer(int n) {
	for (int i = 0; i < 2; i++) {
		quick = i == 0;
		target = i == 0 ? other : inner;
		target(i == 0 ? 64 : n);
	}
}

// deeper leaves frames behind where the arrays of the next call will lie: the same calls,
// begun lower on the stack.
static KEEP void deeper(int n) {
	char array[n];
	outer(16);
	sink += array[0];
}

static KEEP void *start(void *arg) {
	(void)arg;
	for (;;) {
		if (!strcmp(shape, "plain")) {
			outer(100);
		} else if (!strcmp(shape, "large")) {
			large();
		} else if (!strcmp(shape, "stale")) {
			quick = 1, deeper(600), outer(40);
			quick = 0, outer(3000);
		} else if (!strcmp(shape, "same")) {
			char *low = alloca(4000);
			sink += low[0];
			quick = 1, outer(16);
			quick = 0, inner(6000);
		} else if (!strcmp(shape, "recursive")) {
			again(3, 100);
		} else {
			by_pointer(3000);
		}
	}
	return NULL;
}

int main(int argc, char **argv) {
	if (argc < 3)
		return 2;
	call = argv[1], shape = argv[2];
	struct epoll_event event = {.events = EPOLLIN};
	if (pipe(wake) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || (epfd = epoll_create1(0)) < 0 ||
	    epoll_ctl(epfd, EPOLL_CTL_ADD, wake[0], &event))
		return 1;
	pthread_t t;
	if (pthread_create(&t, NULL, start, NULL))
		return 1;
	puts("ready"), fflush(stdout);
	ready = 1;
	for (char c; read(0, &c, 1) == 1;) {
		if (!strcmp(call, "futex"))
			syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		else if (!strcmp(call, "recv"))
			sink += write(pair[1], &c, 1);
		else if (strcmp(call, "nanosleep"))
			sink += write(wake[1], &c, 1);
	}
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
