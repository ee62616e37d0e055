/*
 * Fibers of several libraries, each with the stack that the library prepares: main, or what the library begins a
 * fiber with, calls body, which calls level six times, which calls spin. It ends after fifteen minutes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) void spin(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink * 31 + i;
}

__attribute__((noinline)) void level(int depth)
{
	if (depth)
		level(depth - 1);
	else
		spin(300000);
	__asm__ volatile("");
}

static void ready(void)
{
	alarm(900);
	puts("ready");
	fflush(stdout);
}

#if defined BOOST_CONTEXT /* boost/context/detail/fcontext.hpp */

typedef void *fcontext_t;
typedef struct {
	fcontext_t from;
	void *data;
} transfer_t;
transfer_t jump_fcontext(fcontext_t to, void *data);
fcontext_t make_fcontext(void *top, size_t size, void (*entry)(transfer_t));

static void body(transfer_t t)
{
	for (;;) {
		level(5);
		t = jump_fcontext(t.from, NULL);
	}
}

int main(void)
{
	static char stacks[2][1 << 16] __attribute__((aligned(16)));
	fcontext_t fibers[2];

	for (int i = 0; i < 2; i++)
		fibers[i] = make_fcontext(stacks[i] + sizeof stacks[i], sizeof stacks[i], body);
	ready();
	for (int i = 0;; i = !i)
		fibers[i] = jump_fcontext(fibers[i], NULL).from;
}

#elif defined STATE_THREADS

#include <st.h>

static void *body(void *arg)
{
	for (;;) {
		level(5);
		st_usleep(0);
	}
	return arg;
}

int main(void)
{
	st_init();
	for (int i = 0; i < 2; i++)
		st_thread_create(body, NULL, 0, 0);
	ready();
	st_sleep(-1);
}

#elif defined GNU_PTH

#include <pth.h>

static void *body(void *arg)
{
	for (;;) {
		level(5);
		pth_yield(NULL);
	}
	return arg;
}

int main(void)
{
	pth_init();
	pth_spawn(PTH_ATTR_DEFAULT, body, NULL);
	ready();
	body(NULL);
}

#else

#include <ucontext.h>

static ucontext_t fibers[2];

static void body(int i)
{
	for (;;) {
		level(5);
		swapcontext(&fibers[i], &fibers[!i]);
	}
}

int main(void)
{
	static char stacks[2][1 << 16];
	ucontext_t back;

	for (int i = 0; i < 2; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = stacks[i];
		fibers[i].uc_stack.ss_size = sizeof stacks[i];
		fibers[i].uc_link = &back;
		makecontext(&fibers[i], (void (*)(void))body, 1, i);
	}
	ready();
	swapcontext(&back, &fibers[0]);
}

#endif

// SPDX-License-Identifier: Apache-2.0
