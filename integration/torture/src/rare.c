// Rare interfaces, one each run; the program itself checks what a recording must not disturb.
//   breakpoint  each write of a word hits a hardware breakpoint of the program's own, which gives a SIGTRAP at once
//   rseq        two threads of one processor count in restartable sequences, 2,000 steps long
//   deadline    a thread of SCHED_DEADLINE works 1 ms of each 10
//   ownstack    a thread's fault on its own stack waits for another thread (userfaultfd), which provides the page at the end
#include "torture.h"
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#if __has_include(<sys/rseq.h>) && defined(__x86_64__)
#include <sys/rseq.h>
#define HAVE_RSEQ
#endif

static volatile long counted, wrong, hits, stop;

long progress(void) { return counted; }

// refused ends the program because this kernel or user lacks the interface.
static void refused(void) {
	printf("refused\n");
	serve_until_eof();
	done();
}

static volatile long word;

static void on_trap(int sig) { hits += sig == SIGTRAP; }

static void *write_words(void *unused) {
	struct perf_event_attr a = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof a, .bp_type = 2, .bp_addr = (uintptr_t)&word,
		.bp_len = 8, .sample_period = 1, .exclude_kernel = 1, .exclude_hv = 1};
#ifdef PERF_ATTR_SIZE_VER7
	a.sigtrap = a.remove_on_exec = 1;
#endif
	int fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		stop = 1;
		return unused;
	}
	while (!stop) {
		long before = hits;
		word = counted++;
		if (hits != before + 1)
			wrong++;
	}
	return unused;
}

#ifdef HAVE_RSEQ
static volatile long shared;

static void *count(void *done_) {
	struct rseq *r = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	long *n = done_;
	while (!stop) {
		__asm__ __volatile__ goto(
			".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n3:\t.long 0, 0\n\t.quad 1f, 2f - 1f, 4f\n\t.popsection\n\t"
			"leaq 3b(%%rip), %%rax\n\tmovq %%rax, %[cs]\n"
			"1:\tmovq %[shared], %%rdx\n\tmovl $2000, %%ecx\n5:\tdecl %%ecx\n\tjnz 5b\n\t"
			"incq %%rdx\n\tmovq %%rdx, %[shared]\n2:\n\t"
			".pushsection __rseq_failure, \"ax\"\n\t.byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n"
			"4:\tjmp %l[aborted]\n\t.popsection"
			: : [cs] "m"(r->rseq_cs), [shared] "m"(shared) : "rax", "rcx", "rdx", "memory", "cc" : aborted);
		(*n)++;
		counted++; // of two threads: about
	aborted:;
	}
	return NULL;
}
#endif

struct deadline {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void *keep_deadlines(void *unused) {
	struct deadline d = {sizeof d, 6, 0, 0, 0, 2000000, 10000000, 10000000};
	if (syscall(SYS_sched_setattr, 0, &d, 0) != 0) {
		stop = 1;
		return unused;
	}
	while (!stop) {
		struct timespec t;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		for (long end = t.tv_sec * 1000000000L + t.tv_nsec + 1000000; t.tv_sec * 1000000000L + t.tv_nsec < end;)
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		counted++;
		sched_yield(); // until the next period
	}
	must(syscall(SYS_sched_getattr, 0, &d, sizeof d, 0));
	wrong += d.policy != 6 || d.runtime != 2000000;
	return unused;
}

static const long page = 4096, stack_size = 1 << 20;
static char *stack;
static volatile long through;

// descend writes to a page of its own stack that is absent.
static __attribute__((noinline)) void *descend(void *unused) {
	char *missing = stack + stack_size / 2 - page;
	__asm__ __volatile__("" : : "r"(missing));
	char *sp;
#if defined(__x86_64__)
	__asm__ __volatile__("movq %%rsp, %0\n\tmovq %1, %%rsp\n\tpushq $7\n\tpopq %%rax\n\tmovq %0, %%rsp"
		: "=&r"(sp) : "r"(missing + page) : "rax", "memory");
#else
	__asm__ __volatile__("mov %0, sp\n\tmov sp, %1\n\tstr xzr, [sp, #-16]!\n\tmov sp, %0"
		: "=&r"(sp) : "r"(missing + page) : "memory");
#endif
	through = 1;
	return unused;
}

static void *tick(void *unused) {
	while (!stop) {
		usleep(1000);
		counted++;
	}
	return unused;
}

static void own_stack(void) {
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = {.api = UFFD_API};
	stack = mmap(NULL, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct uffdio_register reg = {{(uintptr_t)stack, stack_size / 2}, UFFDIO_REGISTER_MODE_MISSING, 0};
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &reg) != 0)
		refused();
	pthread_t t, u;
	pthread_attr_t a;
	must(-pthread_attr_init(&a));
	must(-pthread_attr_setstack(&a, stack, stack_size));
	must(-pthread_create(&t, &a, descend, NULL));
	must(-pthread_create(&u, NULL, tick, NULL));
	struct pollfd p = {fd, POLLIN, 0};
	must(poll(&p, 1, -1)); // it waits
	serve_until_eof();
	print_count("early", through);
	long faults = 0;
	for (struct uffd_msg m; read(fd, &m, sizeof m) == sizeof m || poll(&p, 1, 200) > 0;) {
		if (m.event != UFFD_EVENT_PAGEFAULT)
			continue;
		struct uffdio_zeropage z = {{m.arg.pagefault.address & -page, page}, 0, 0};
		ioctl(fd, UFFDIO_ZEROPAGE, &z);
		faults++;
	}
	must(-pthread_join(t, NULL));
	print_count("faults", faults);
	print_count("through", through);
}

static void run(void *(*f)(void *), void *arg, void *(*g)(void *), void *other) {
	pthread_t t, u;
	must(-pthread_create(&t, NULL, f, arg));
	if (g)
		must(-pthread_create(&u, NULL, g, other));
	while (!counted && !stop)
		usleep(1000);
	if (stop)
		refused();
	serve_until_eof();
	stop = 1;
	must(-pthread_join(t, NULL));
	if (g)
		must(-pthread_join(u, NULL));
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "breakpoint")) {
		struct sigaction s = {.sa_handler = on_trap};
		must(sigaction(SIGTRAP, &s, NULL));
		run(write_words, NULL, NULL, NULL);
	} else if (!strcmp(mode, "rseq")) {
#ifdef HAVE_RSEQ
		if (!__rseq_size)
			refused();
		long a = 0, b = 0;
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(must(sched_getcpu()), &one);
		must(sched_setaffinity(0, sizeof one, &one));
		run(count, &a, count, &b);
		wrong = a + b != shared;
#else
		refused();
#endif
	} else if (!strcmp(mode, "deadline")) {
		run(keep_deadlines, NULL, NULL, NULL);
	} else {
		own_stack();
	}
	print_count("wrong", wrong);
	print_count("done", counted);
	done();
}

// SPDX-License-Identifier: Apache-2.0
