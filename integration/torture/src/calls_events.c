// Calls that wait for events.
#include "calls.h"
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <time.h>

static struct timespec *span(struct call *c, struct timespec *t) {
	t->tv_sec = c->ms / 1000, t->tv_nsec = c->ms % 1000 * 1000000L;
	return c->ms < 0 ? 0 : t;
}

static void event(struct call *c) { c->b = must(eventfd(0, EFD_NONBLOCK)); }

static void epoll(struct call *c) {
	event(c);
	c->a = must(epoll_create1(0));
	struct epoll_event ev = {.events = EPOLLIN};
	must(epoll_ctl(c->a, EPOLL_CTL_ADD, c->b, &ev));
}

static void post(struct call *c) { eventfd_write(c->b, 1); }

// got is for calls that return 0 at a time-out.
static enum outcome got(struct call *c, long r) {
	eventfd_t v;
	if (r > 0) eventfd_read(c->b, &v);
	return r == 0 ? EXPIRED : judge(c, r, 1);
}

static enum outcome do_epoll_wait(struct call *c) {
	struct epoll_event ev;
	return got(c, syscall(SYS_epoll_wait, c->a, &ev, 1, c->ms));
}

static enum outcome do_epoll_pwait(struct call *c) {
	struct epoll_event ev;
	sigset_t all;
	sigfillset(&all);
	return got(c, epoll_pwait(c->a, &ev, 1, c->ms, &all));
}

static enum outcome do_epoll_pwait2(struct call *c) {
	struct epoll_event ev;
	struct timespec t;
	return got(c, syscall(441, c->a, &ev, 1, span(c, &t), 0, 8));
}

static enum outcome do_poll(struct call *c) {
	struct pollfd p = {.fd = c->b, .events = POLLIN};
	return got(c, poll(&p, 1, c->ms));
}

static enum outcome do_ppoll(struct call *c) {
	struct pollfd p = {.fd = c->b, .events = POLLIN};
	struct timespec t;
	return got(c, ppoll(&p, 1, span(c, &t), 0));
}

static enum outcome do_select(struct call *c) {
	struct timeval t = {.tv_sec = c->ms / 1000, .tv_usec = c->ms % 1000 * 1000};
	fd_set s;
	FD_ZERO(&s);
	FD_SET(c->b, &s);
	return got(c, select(c->b + 1, &s, 0, 0, c->ms < 0 ? 0 : &t));
}

static enum outcome do_pselect(struct call *c) {
	struct timespec t;
	fd_set s;
	FD_ZERO(&s);
	FD_SET(c->b, &s);
	return got(c, pselect(c->b + 1, &s, 0, 0, span(c, &t), 0));
}

// A time-out in memory that the kernel cannot write. The C library would copy it.
static void constant(struct call *c) {
	event(c);
	c->p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	span(c, c->p);
	if (strstr(c->name, "select") == c->name) ((long *)c->p)[1] /= 1000; // struct timeval
	must(mprotect(c->p, 4096, PROT_READ));
}

static enum outcome do_ppoll_constant(struct call *c) {
	struct pollfd p = {.fd = c->b, .events = POLLIN};
	return got(c, syscall(SYS_ppoll, &p, 1, c->p, 0, 8));
}

static enum outcome do_select_constant(struct call *c) {
	fd_set s;
	FD_ZERO(&s);
	FD_SET(c->b, &s);
#ifdef SYS_select
	if (strstr(c->name, "select") == c->name) return got(c, syscall(SYS_select, c->b + 1, &s, 0, 0, c->p));
#endif
	return got(c, syscall(SYS_pselect6, c->b + 1, &s, 0, 0, c->p, 0));
}

static void aio(struct call *c) {
	aio_context_t ctx = 0;
	must(syscall(SYS_io_setup, 64, &ctx));
	c->x = ctx;
	c->a = eventfd(1, 0);
}

static void aio_post(struct call *c) {
	struct iocb cb = {.aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = c->a, .aio_buf = POLLIN}, *list = &cb;
	syscall(SYS_io_submit, c->x, 1, &list);
}

static enum outcome do_io_getevents(struct call *c) {
	struct io_event ev;
	struct timespec t;
	long r = syscall(SYS_io_getevents, c->x, 1, 1, &ev, span(c, &t));
	return r == 0 ? EXPIRED : judge(c, r, 1);
}

static enum outcome do_io_pgetevents(struct call *c) {
	struct io_event ev;
	struct timespec t;
	long r = syscall(SYS_io_pgetevents, c->x, 1, 1, &ev, span(c, &t), 0);
	return r == 0 ? EXPIRED : judge(c, r, 1);
}

// The queues of an io_uring; only the waker submits, only the caller takes.
struct ring { struct io_uring_params p; char *sq, *cq; struct io_uring_sqe *sqe; };
#define at(base, off) ((_Atomic unsigned *)((base) + (off)))

static void uring(struct call *c) {
	struct ring *r = calloc(1, sizeof *r);
	c->p = r;
	if ((c->a = syscall(SYS_io_uring_setup, 8, &r->p)) < 0) { // forbidden here: a call that only sleeps
		c->p = 0;
		return;
	}
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
	r->sq = mmap(0, r->p.sq_off.array + 8 * 4, prot, flags, c->a, IORING_OFF_SQ_RING);
	r->cq = mmap(0, r->p.cq_off.cqes + 16 * sizeof(struct io_uring_cqe), prot, flags, c->a, IORING_OFF_CQ_RING);
	r->sqe = mmap(0, 8 * sizeof *r->sqe, prot, flags, c->a, IORING_OFF_SQES);
}

static void uring_post(struct call *c) {
	struct ring *r = c->p;
	if (!r) return;
	unsigned tail = *at(r->sq, r->p.sq_off.tail), i = tail & 7;
	memset(&r->sqe[i], 0, sizeof r->sqe[i]);
	r->sqe[i].opcode = IORING_OP_NOP;
	*at(r->sq, r->p.sq_off.array + 4 * i) = i;
	*at(r->sq, r->p.sq_off.tail) = tail + 1;
	syscall(SYS_io_uring_enter, c->a, 1, 0, 0, 0, 0);
}

static enum outcome do_uring(struct call *c) {
	struct ring *r = c->p;
	if (!r) return pause(), FAILED;
	struct { long sec, nsec; } t = {c->ms / 1000, c->ms % 1000 * 1000000L};
	struct io_uring_getevents_arg arg = {.ts = c->ms < 0 ? 0 : (unsigned long)&t};
	long n = syscall(SYS_io_uring_enter, c->a, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof arg);
	if (n < 0) return judge(c, n, 0);
	unsigned head = *at(r->cq, r->p.cq_off.head);
	if (head == *at(r->cq, r->p.cq_off.tail)) return SHORT;
	*at(r->cq, r->p.cq_off.head) = head + 1;
	return DONE;
}

struct call event_calls[] = {
	{"epoll_wait", do_epoll_wait, post, epoll},
	{"epoll_wait+t", do_epoll_wait, 0, epoll, 1},
	{"epoll_pwait", do_epoll_pwait, post, epoll},
	{"epoll_pwait+t", do_epoll_pwait, 0, epoll, 1},
	{"epoll_pwait2", do_epoll_pwait2, post, epoll},
	{"epoll_pwait2+t", do_epoll_pwait2, 0, epoll, 1},
	{"poll", do_poll, post, event},
	{"poll+t", do_poll, 0, event, 1},
	{"ppoll", do_ppoll, post, event},
	{"ppoll+t", do_ppoll, 0, event, 1},
	{"select", do_select, post, event},
	{"select+t", do_select, 0, event, 1},
	{"pselect", do_pselect, post, event},
	{"pselect+t", do_pselect, 0, event, 1},
	{"ppoll/constant+t", do_ppoll_constant, 0, constant, 1},
	{"select/constant+t", do_select_constant, 0, constant, 1},
	{"pselect/constant+t", do_select_constant, 0, constant, 1},
	{"io_getevents", do_io_getevents, aio_post, aio},
	{"io_getevents+t", do_io_getevents, 0, aio, 1},
	{"io_pgetevents", do_io_pgetevents, aio_post, aio},
	{"io_pgetevents+t", do_io_pgetevents, 0, aio, 1},
	{"io_uring_enter", do_uring, uring_post, uring},
	{"io_uring_enter+t", do_uring, 0, uring, 1},
	{0},
};

// SPDX-License-Identifier: Apache-2.0
