/*
 * A small run-time system, for the tests of what prywalk asks of one: an interpreter that keeps its own frames, and one
 * compiled function. internal/walk/runtimes/toy_test.go is its counterpart.
 *
 * Toy functions are lists of instructions. A call from one to another takes a frame of the same interpreter's loop; a
 * call through C enters a further loop. Threads, with their stacks from the outside in:
 *   sleeper   main > middle > (C) callback > inner > leaf, which is inlined into inner > sleep_here
 *   compiled  main > hot, which is machine code > sleep_here
 *   ghost     main > ghost, whose function is gone by then > sleep_here
 *   broken    main > sleep_here; the loop's record contradicts itself
 *   spinner   main > middle > work, for ever
 * The program says "ready" when all are there, and ends after ten minutes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OUTLINE __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")

enum { RETURN, CALL, NATIVE, SPIN };

struct function;

struct op {
	uint64_t what;
	void *arg;
	uint64_t line;
	struct function *inlined; /* the call that was inlined here, or 0 */
};

struct function {
	uint64_t id; /* no other function ever has it */
	const char *name;
	const char *file;
	struct op *code;
	uint64_t line; /* where it begins */
};

struct frame {
	struct function *function;
	uint64_t id; /* of the function, when it was called */
	uint64_t at; /* the instruction */
};

enum { MOST = 8, MAGIC = 0x70796f74 };

/* What the interpreter's loop has on its C stack. */
struct record {
	uint64_t magic; /* with its own address in it: a copy of a record is none */
	volatile struct record *outer;
	uint64_t depth;
	struct frame frames[MOST];
};

/* What debuggers read. */
struct {
	char version[16];
	uint8_t *code; /* the compiled function */
	uint64_t size;
	struct function *compiled;
} toy_runtime = {"1.0"};

static __thread volatile struct record *innermost;
static volatile int spinning;

OUTLINE void toy_run(struct function *f)
{
	volatile struct record r;
	r.depth = 0;
	r.outer = innermost;
	r.magic = MAGIC ^ (uint64_t)&r;
	innermost = &r;
	for (;;) {
		if (f) {
			volatile struct frame *t = &r.frames[r.depth];
			t->function = f, t->id = f->id, t->at = 0;
			r.depth++;
			f = 0;
		}
		volatile struct frame *t = &r.frames[r.depth - 1];
		struct op *op = &t->function->code[t->at];
		switch (op->what) {
		case CALL:
			f = op->arg;
			break;
		case NATIVE:
			((void (*)(void))op->arg)();
			break;
		case SPIN:
			spinning = 1;
			continue;
		case RETURN:
			if (--r.depth == 0) {
				innermost = r.outer;
				return;
			}
			t = &r.frames[r.depth - 1];
			break;
		}
		if (!f)
			t->at++;
	}
}

static volatile int asleep;

OUTLINE void sleep_here(void)
{
	__sync_fetch_and_add(&asleep, 1);
	for (;;)
		pause();
}

static struct function leaf = {11, "leaf", "toy/leaf.toy", 0, 100};
static struct op inner_code[] = {{NATIVE, sleep_here, 32, &leaf}, {RETURN}};
static struct function inner = {12, "inner", "toy/inner.toy", inner_code, 30};

OUTLINE void callback(void)
{
	toy_run(&inner);
	STAY;
}

static struct op middle_code[] = {{NATIVE, callback, 22}, {RETURN}};
static struct function middle = {13, "middle", "toy/main.toy", middle_code, 20};
static struct op sleeper_code[] = {{CALL, &middle, 12}, {RETURN}};
static struct function sleeper = {14, "main", "toy/main.toy", sleeper_code, 10};

static struct function hot = {15, "hot", "toy/hot.toy", 0, 50};
static struct op compiled_code[] = {{NATIVE, 0, 42}, {RETURN}};
static struct function compiled = {16, "main", "toy/main.toy", compiled_code, 40};

static struct function ghost;
OUTLINE void disappear(void)
{
	ghost.id = 99; /* it has been freed, and another function is at its place */
	ghost.name = "another";
	sleep_here();
}
static struct op ghost_code[] = {{NATIVE, disappear, 62}, {RETURN}};
static struct function ghost = {17, "ghost", "toy/main.toy", ghost_code, 60};
static struct op haunted_code[] = {{CALL, &ghost, 72}, {RETURN}};
static struct function haunted = {18, "main", "toy/main.toy", haunted_code, 70};

OUTLINE void contradict(void)
{
	innermost->outer = (void *)8;
	sleep_here();
}
static struct op broken_code[] = {{NATIVE, contradict, 82}, {RETURN}};
static struct function broken = {19, "main", "toy/main.toy", broken_code, 80};

static struct op work_code[] = {{SPIN, 0, 92}};
static struct function work = {20, "work", "toy/work.toy", work_code, 90};
static struct op spins_code[] = {{CALL, &work, 95}, {RETURN}};
static struct function spins = {21, "middle", "toy/main.toy", spins_code, 94};
static struct op spinner_code[] = {{CALL, &spins, 98}, {RETURN}};
static struct function spinner = {22, "main", "toy/main.toy", spinner_code, 97};

/* compile makes the machine code of hot, which calls sleep_here. */
static void compile(void)
{
	uint8_t *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		abort();
#ifdef __x86_64__
	uint64_t callee = (uint64_t)sleep_here;
	static const uint8_t head[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8};  /* push rbp; mov rbp,rsp; mov rax,… */
	static const uint8_t tail[] = {0xff, 0xd0, 0x5d, 0xc3};              /* call rax; pop rbp; ret */
	memcpy(p, head, sizeof head);
	memcpy(p + sizeof head, &callee, 8);
	memcpy(p + sizeof head + 8, tail, sizeof tail);
	compiled_code[0].arg = p;
#else
	compiled_code[0].arg = sleep_here;
#endif
	toy_runtime.code = p;
	toy_runtime.size = 64;
	toy_runtime.compiled = &hot;
}

static void *begin(void *f)
{
	toy_run(f);
	return 0;
}

static void start(const char *name, struct function *f)
{
	pthread_t t;
	if (pthread_create(&t, 0, begin, f))
		abort();
	pthread_setname_np(t, name);
}

int main(void)
{
	compile();
	start("sleeper", &sleeper);
	start("compiled", &compiled);
	start("ghost", &haunted);
	start("broken", &broken);
	while (asleep < 4)
		usleep(1000);
	start("spinner", &spinner);
	while (!spinning)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	sleep(600);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
