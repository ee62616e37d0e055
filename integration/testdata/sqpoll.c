// A thread of the kernel polls an io_uring's submission queue for as long as the program lives. The program itself
// submits a no-op every 10 ms, by writing to the queue, and prints how many were completed at the end of its input.
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void compute(void) {
	for (unsigned long i = 0; i < 2000000; i++) {
		sum += i;
	}
}

int main(void) {
	struct io_uring_params p;
	memset(&p, 0, sizeof p);
	p.flags = IORING_SETUP_SQPOLL;
	p.sq_thread_idle = 60000; // ms: it sleeps when nothing was submitted for so long
	int fd = syscall(SYS_io_uring_setup, 8, &p);
	if (fd < 0) {
		perror("io_uring_setup");
		return 77;
	}
	char *sq = mmap(0, p.sq_off.array + p.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		IORING_OFF_SQ_RING);
	char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqes = mmap(0, p.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	unsigned *tail = (unsigned *)(sq + p.sq_off.tail), *mask = (unsigned *)(sq + p.sq_off.ring_mask);
	unsigned *array = (unsigned *)(sq + p.sq_off.array), *done = (unsigned *)(cq + p.cq_off.tail);
	unsigned *seen = (unsigned *)(cq + p.cq_off.head), *flags = (unsigned *)(sq + p.sq_off.flags), submitted = 0;
	puts("ready");
	fflush(stdout);
	for (struct pollfd in = {.fd = 0, .events = POLLIN}; poll(&in, 1, 0) == 0; submitted++) {
		compute();
		unsigned at = *tail & *mask;
		memset(&sqes[at], 0, sizeof sqes[at]);
		sqes[at].opcode = IORING_OP_NOP;
		array[at] = at;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(done, __ATOMIC_ACQUIRE) != submitted + 1) {
			if (__atomic_load_n(flags, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP) { // as it does at first
				syscall(SYS_io_uring_enter, fd, 1, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
			}
			usleep(100);
		}
		__atomic_store_n(seen, submitted + 1, __ATOMIC_RELEASE);
	}
	printf("%u no-ops\n", submitted);
	return 0;
}
