// Calls that wait for other threads, for signals, for time, and for children.
#include "calls.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>

static struct timespec span(struct call *c) {
	struct timespec t = {c->ms / 1000, c->ms % 1000 * 1000000L};
	return t;
}

static struct timespec later(struct call *c, clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	long ns = t.tv_nsec + c->ms * 1000000L;
	t.tv_sec += ns / 1000000000, t.tv_nsec = ns % 1000000000;
	return t;
}

static int ids[8], n_ids;
static int keep(int id) { return ids[n_ids++] = id; }

// System V objects outlive their process; a child that lives as long as the target removes them.
static void remove_at_end(void) {
	static int started;
	int life[2];
	if (started++) return;
	must(pipe(life));
	int s1 = keep(must(semget(IPC_PRIVATE, 1, 0600))), s2 = keep(must(semget(IPC_PRIVATE, 1, 0600)));
	int q1 = keep(must(msgget(IPC_PRIVATE, 0600))), q2 = keep(must(msgget(IPC_PRIVATE, 0600)));
	if (must(fork()) == 0) {
		char c;
		close(life[1]);
		if (read(life[0], &c, 1) < 0) _exit(1);
		semctl(s1, 0, IPC_RMID), semctl(s2, 0, IPC_RMID);
		msgctl(q1, IPC_RMID, 0), msgctl(q2, IPC_RMID, 0);
		_exit(0);
	}
	close(life[0]);
	fcntl(life[1], F_SETFD, FD_CLOEXEC);
}

static void semaphore(struct call *c) { remove_at_end(), c->a = ids[c->ms > 0]; }
static void sem_post_(struct call *c) { semctl(c->a, 0, SETVAL, 1); }

static enum outcome do_semop(struct call *c) {
	struct sembuf op = {.sem_op = -1};
	return judge(c, semop(c->a, &op, 1), 0);
}

static enum outcome do_semtimedop(struct call *c) {
	struct sembuf op = {.sem_op = -1};
	struct timespec t = span(c);
	return judge(c, semtimedop(c->a, &op, 1, &t), 0);
}

struct message { long type; char text[8000]; };

static void queue(struct call *c) { remove_at_end(), c->a = ids[2]; }
static void full_queue(struct call *c) { remove_at_end(), c->a = ids[3]; }

static void msg_put(struct call *c) {
	struct message m = {1, ""};
	msgsnd(c->a, &m, 1, IPC_NOWAIT);
}

static void msg_take(struct call *c) {
	static struct message m;
	msgrcv(c->a, &m, sizeof m.text, 0, IPC_NOWAIT);
}

static enum outcome do_msgrcv(struct call *c) {
	struct message m;
	return judge(c, msgrcv(c->a, &m, sizeof m.text, 0, 0), 1);
}

static enum outcome do_msgsnd(struct call *c) {
	struct message m = {1, ""};
	return judge(c, msgsnd(c->a, &m, sizeof m.text, 0), 0);
}

static void mq(struct call *c) {
	char name[80];
	struct mq_attr a = {.mq_maxmsg = 2, .mq_msgsize = 8};
	snprintf(name, sizeof name, "/torture-%d-%p", getpid(), (void *)c);
	c->a = must(mq_open(name, O_RDWR | O_CREAT, 0600, &a));
	c->b = must(mq_open(name, O_RDWR | O_NONBLOCK));
	mq_unlink(name);
}

static void mq_put(struct call *c) { mq_send(c->b, "x", 1, 0); }
static void mq_take(struct call *c) { char b[8]; mq_receive(c->b, b, 8, 0); }

static enum outcome do_mq_receive(struct call *c) {
	char b[8];
	struct timespec t = later(c, CLOCK_REALTIME);
	return judge(c, c->ms < 0 ? mq_receive(c->a, b, 8, 0) : mq_timedreceive(c->a, b, 8, 0, &t), 1);
}

static enum outcome do_mq_send(struct call *c) { return judge(c, mq_send(c->a, "x", 1, 0), 0); }

static void word(struct call *c) { c->p = calloc(1, 4); }

static void word_wake(struct call *c) {
	atomic_fetch_add((atomic_int *)c->p, 1);
	syscall(SYS_futex, c->p, FUTEX_WAKE, 1, 0, 0, 0);
}

static enum outcome do_futex(struct call *c) {
	struct timespec t = span(c);
	int was = *(atomic_int *)c->p;
	long r = syscall(SYS_futex, c->p, FUTEX_WAIT, was, c->ms < 0 ? 0 : &t, 0, 0);
	if (r < 0 && errno == EAGAIN) return DONE;
	return judge(c, r, 0);
}

static enum outcome do_futex_bitset(struct call *c) {
	struct timespec t = later(c, CLOCK_MONOTONIC);
	int was = *(atomic_int *)c->p;
	long r = syscall(SYS_futex, c->p, FUTEX_WAIT_BITSET, was, c->ms < 0 ? 0 : &t, 0, ~0);
	if (r < 0 && errno == EAGAIN) return DONE;
	return judge(c, r, 0);
}

static enum outcome slept(struct call *c, int e) {
	errno = e;
	return e == 0 ? EXPIRED : judge(c, -1, 0);
}

static enum outcome do_nanosleep(struct call *c) {
	struct timespec t = span(c);
	return slept(c, nanosleep(&t, 0) ? errno : 0);
}

static enum outcome do_clock_nanosleep(struct call *c) {
	struct timespec t = span(c);
	return slept(c, clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0));
}

static enum outcome do_clock_nanosleep_abs(struct call *c) {
	struct timespec t = later(c, CLOCK_MONOTONIC);
	return slept(c, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0));
}

// The kernel writes the remaining time of an interrupted sleep over its length, so the next one would be shorter.
static enum outcome do_nanosleep_rest(struct call *c) {
	struct timespec t = span(c), was = t;
	long r = syscall(c->b ? SYS_clock_nanosleep : SYS_nanosleep, c->b ? CLOCK_MONOTONIC : (long)&t, c->b ? 0 : (long)&t, &t, &t);
	return memcmp(&t, &was, sizeof t) ? CHANGED : slept(c, r ? errno : 0);
}

static void by_clock(struct call *c) { c->b = 1; }

// pause and sigsuspend always give EINTR: that is wrong only if no handler has run.
static atomic_int handled;
static void count(int sig) { (void)sig, handled++; }

static void handler(struct call *c) {
	struct sigaction sa = {.sa_handler = count};
	(void)c;
	sigaction(SIGRTMIN + 3, &sa, 0);
	sigaction(SIGRTMIN + 8, &sa, 0);
}

static _Thread_local int seen;
static enum outcome handled_once(long r) {
	int was = seen;
	seen = handled;
	return r < 0 && errno == EINTR && seen != was ? DONE : BROKEN;
}

static enum outcome do_pause(struct call *c) { (void)c; return handled_once(pause()); }
static void pause_wake(struct call *c) { syscall(SYS_tgkill, getpid(), (int)c->tid, SIGRTMIN + 8); }

static enum outcome do_sigsuspend(struct call *c) {
	sigset_t s;
	sigemptyset(&s);
	(void)c;
	return handled_once(sigsuspend(&s));
}

static void sigsuspend_wake(struct call *c) { syscall(SYS_tgkill, getpid(), (int)c->tid, SIGRTMIN + 3); }

static enum outcome do_sigtimedwait(struct call *c) {
	sigset_t s;
	struct timespec t = span(c);
	sigemptyset(&s);
	sigaddset(&s, SIGRTMIN + 1);
	return judge(c, sigtimedwait(&s, 0, c->ms < 0 ? 0 : &t), 1);
}

static void sigwait_wake(struct call *c) { syscall(SYS_tgkill, getpid(), (int)c->tid, SIGRTMIN + 1); }

// Children that sleep 10 ms.
static pid_t child(void) {
	pid_t p = must(syscall(SYS_fork));
	if (p == 0) {
		struct timespec t = {0, 10000000};
		syscall(SYS_nanosleep, &t, 0);
		_exit(3);
	}
	return p;
}

static enum outcome do_wait4(struct call *c) {
	int status;
	pid_t p = child(), r = wait4(p, &status, 0, 0);
	enum outcome o = judge(c, r, p);
	if (o != DONE) waitpid(p, &status, 0);
	return WEXITSTATUS(status) == 3 ? o : SHORT;
}

static enum outcome do_waitid(struct call *c) {
	siginfo_t info;
	pid_t p = child();
	enum outcome o = judge(c, waitid(P_PID, p, &info, WEXITED), 0);
	if (o != DONE) waitpid(p, 0, 0);
	return o;
}

struct call ipc_calls[] = {
	{"semop", do_semop, sem_post_, semaphore},
	{"semtimedop+t", do_semtimedop, 0, semaphore, 1},
	{"msgrcv", do_msgrcv, msg_put, queue},
	{"msgsnd", do_msgsnd, msg_take, full_queue},
	{"mq_receive", do_mq_receive, mq_put, mq},
	{"mq_timedreceive+t", do_mq_receive, 0, mq, 1},
	{"mq_send", do_mq_send, mq_take, mq},
	{"futex/WAIT", do_futex, word_wake, word},
	{"futex/WAIT+t", do_futex, 0, word, 1},
	{"futex/WAIT_BITSET+t", do_futex_bitset, 0, word, 1},
	{"nanosleep+t", do_nanosleep, 0, 0, 1},
	{"clock_nanosleep+t", do_clock_nanosleep, 0, 0, 1},
	{"clock_nanosleep/ABSTIME+t", do_clock_nanosleep_abs, 0, 0, 1},
	{"nanosleep/rest+t", do_nanosleep_rest, 0, 0, 1},
	{"clock_nanosleep/rest+t", do_nanosleep_rest, 0, by_clock, 1},
	{"pause", do_pause, pause_wake, handler},
	{"sigsuspend", do_sigsuspend, sigsuspend_wake, handler},
	{"sigwaitinfo", do_sigtimedwait, sigwait_wake, 0},
	{"sigtimedwait+t", do_sigtimedwait, 0, 0, 1},
	{"wait4", do_wait4, 0, 0},
	{"waitid", do_waitid, 0, 0},
	{0},
};

// SPDX-License-Identifier: Apache-2.0
