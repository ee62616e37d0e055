/*
 * walker: samples the stacks of a process's threads the obvious way, as a yardstick.
 *
 *   walker PID HZ
 *
 * With WITH_LIBUNWIND all threads are stopped together, and unwound while they are stopped. Without, one
 * thread after the other is stopped, its registers and 16 KB of its stack are copied, and it is let go;
 * nothing is unwound. Orders come as lines on standard input: "go", "hold", and "tell"; each is answered
 * by a line with what was counted since the beginning.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_LIBUNWIND
#include <libunwind-ptrace.h>
#endif

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

enum { COPY = 16384, DEEPEST = 65536 };

static long ticks, stacks, complete = -1, stops;
static pid_t pid;

/* stop_begin asks a thread to stop. */
static int stop_begin(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
		return 0;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0)
		return 1;
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return 0;
}

/* stop_wait waits for the stop; *sig is a signal that came first and is to be passed on, or 0. */
static int stop_wait(pid_t tid, int *sig)
{
	int status;

	*sig = 0;
	while (waitpid(tid, &status, __WALL) != tid)
		if (errno != EINTR)
			return 0;
	if (!WIFSTOPPED(status))
		return 0;
	if (status >> 16 == 0)
		*sig = WSTOPSIG(status);
	stops++;
	return 1;
}

static void let_go(pid_t tid, int sig)
{
	ptrace(PTRACE_DETACH, tid, 0, (void *)(intptr_t)sig);
}

/* list gives the threads of the process. */
static size_t list(pid_t **tids)
{
	static pid_t *all;
	static size_t room;
	char path[64];
	size_t n = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL) {
		pid_t tid = (pid_t)atoi(e->d_name);

		if (tid <= 0)
			continue;
		if (n == room) {
			room = room * 2 + 64;
			all = realloc(all, room * sizeof *all);
			if (all == NULL)
				abort();
		}
		all[n++] = tid;
	}
	if (d != NULL)
		closedir(d);
	*tids = all;
	return n;
}

#ifdef WITH_LIBUNWIND
struct held {
	pid_t tid;
	int sig, stopped;
	void *upt;
};

/* seen keeps what libunwind remembers of each thread, by place in the list. */
static struct held *seen;
static size_t seen_room;

static void unwind(unw_addr_space_t as, struct held *h)
{
	unw_cursor_t c;
	int more, n = 0;

	if (h->upt == NULL || unw_init_remote(&c, as, h->upt) != 0)
		return;
	do {
		unw_word_t ip;

		unw_get_reg(&c, UNW_REG_IP, &ip);
		more = unw_step(&c);
	} while (more > 0 && ++n < DEEPEST);
	stacks++;
	if (more == 0)
		complete++;
}

/* tick stops all, unwinds all, lets all go. */
static void tick(void)
{
	static unw_addr_space_t as;
	pid_t *tids;
	size_t n = list(&tids), i;

	if (as == NULL) {
		as = unw_create_addr_space(&_UPT_accessors, 0);
		unw_set_caching_policy(as, UNW_CACHE_GLOBAL);
		complete = 0;
	}
	if (n > seen_room) {
		seen = realloc(seen, n * sizeof *seen);
		if (seen == NULL)
			abort();
		memset(seen + seen_room, 0, (n - seen_room) * sizeof *seen);
		seen_room = n;
	}
	for (i = 0; i < n; i++) {
		struct held *h = &seen[i];

		if (h->tid != tids[i]) {
			if (h->upt != NULL)
				_UPT_destroy(h->upt);
			h->tid = tids[i];
			h->upt = _UPT_create(h->tid);
		}
		h->stopped = stop_begin(h->tid);
	}
	for (i = 0; i < n; i++)
		if (seen[i].stopped)
			seen[i].stopped = stop_wait(seen[i].tid, &seen[i].sig);
	for (i = 0; i < n; i++)
		if (seen[i].stopped)
			unwind(as, &seen[i]);
	for (i = 0; i < n; i++)
		if (seen[i].stopped)
			let_go(seen[i].tid, seen[i].sig);
}
#else
static uintptr_t stack_pointer(const struct user_regs_struct *r)
{
#if defined(__x86_64__)
	return r->rsp;
#else
	return r->sp;
#endif
}

/* tick stops, copies and lets go one thread after the other. */
static void tick(void)
{
	static char copy[COPY];
	pid_t *tids;
	size_t n = list(&tids), i;

	for (i = 0; i < n; i++) {
		struct user_regs_struct regs;
		struct iovec iov = { &regs, sizeof regs };
		int sig;

		if (!stop_begin(tids[i]) || !stop_wait(tids[i], &sig))
			continue;
		if (ptrace(PTRACE_GETREGSET, tids[i], NT_PRSTATUS, &iov) == 0) {
			struct iovec to = { copy, COPY }, from = { (void *)stack_pointer(&regs), COPY };

			if (process_vm_readv(pid, &to, 1, &from, 1, 0) > 0)
				stacks++;
		}
		let_go(tids[i], sig);
	}
}
#endif

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* order reads one order and answers it; -1 at the end of the input. */
static int order(int on)
{
	char line[64];

	if (fgets(line, sizeof line, stdin) == NULL)
		return -1;
	if (strcmp(line, "go\n") == 0)
		on = 1;
	else if (strcmp(line, "hold\n") == 0)
		on = 0;
	printf("{\"Ticks\":%ld,\"Stacks\":%ld,\"Complete\":%ld,\"Stops\":%ld}\n", ticks, stacks, complete, stops);
	fflush(stdout);
	return on;
}

int main(int argc, char **argv)
{
	struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
	int64_t period, next = 0;
	int on = 0;

	if (argc != 3 || atoi(argv[1]) <= 0 || atof(argv[2]) <= 0)
		return 2;
	pid = (pid_t)atoi(argv[1]);
	period = (int64_t)(1e9 / atof(argv[2]));
	setvbuf(stdin, NULL, _IONBF, 0);
	for (;;) {
		struct timespec left;
		int64_t wait = next - now();

		if (wait < 0)
			wait = 0;
		left.tv_sec = wait / 1000000000;
		left.tv_nsec = wait % 1000000000;
		if (ppoll(&in, 1, on ? &left : NULL, NULL) > 0) {
			int was = on;

			on = order(on);
			if (on < 0)
				return 0;
			if (on && !was)
				next = now();
			continue;
		}
		if (!on || now() < next)
			continue;
		tick();
		ticks++;
		next += period; /* ticks that are over are left out */
		if (next < now())
			next += (now() - next + period - 1) / period * period;
	}
}

// SPDX-License-Identifier: Apache-2.0
