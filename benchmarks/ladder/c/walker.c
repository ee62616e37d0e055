// SPDX-License-Identifier: Apache-2.0
/*
 * The plain way to sample, to compare with: at each tick it stops the threads given (or all of a process)
 * one after the other, takes registers and BYTES bytes of stack, and lets them go: PTRACE_SEIZE,
 * PTRACE_INTERRUPT, wait, PTRACE_GETREGSET, process_vm_readv, PTRACE_DETACH. It has the priority of
 * prywalk's tracer (SCHED_FIFO, 5), its jitter (deadlines within a quarter of the period), and its way of
 * waiting: 40 µs of spinning, then naps of 20 to 200 µs.
 *
 * At SIGTERM it prints one JSON object and ends. Lengths, in microseconds, are from before the interrupt to
 * after the detach.
 *
 * usage: walker PID HZ BYTES [TID...]
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 1 << 16, MOST_LENGTHS = 1 << 22, MOST_BYTES = 1 << 20 };

static volatile sig_atomic_t done;
static pid_t threads[MOST_THREADS];
static int n_threads;
static uint32_t lengths[MOST_LENGTHS];
static uint64_t looks, failed, ticks, missed;
static char stack[MOST_BYTES];

static void stop(int sig)
{
	(void)sig;
	done = 1;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void nap(int64_t ns)
{
	struct timespec t = {0, ns};

	nanosleep(&t, NULL);
}

static int await_stop(pid_t tid, int64_t since)
{
	int status;
	int64_t sleep = 20000;
	pid_t got;

	while ((got = waitpid(tid, &status, __WALL | WNOHANG)) == 0) {
		if (now() - since > 40000) {
			nap(sleep);
			sleep = sleep * 2 > 200000 ? 200000 : sleep * 2;
		}
	}
	return got == tid && WIFSTOPPED(status) ? status : -1;
}

static uint64_t stack_pointer(const struct user_regs_struct *r)
{
#if defined __x86_64__
	return r->rsp - 128;
#else
	return r->sp - 16;
#endif
}

static int look(pid_t tid, size_t bytes)
{
	struct user_regs_struct regs;
	struct iovec set = {&regs, sizeof regs}, local = {stack, bytes}, remote;
	int64_t began, length;
	int status, signal;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0))
		return -1;
	began = now();
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return -1;
	status = await_stop(tid, began);
	if (status < 0)
		return -1;
	signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &set) == 0) {
		remote.iov_base = (void *)stack_pointer(&regs);
		remote.iov_len = bytes;
		if (process_vm_readv(tid, &local, 1, &remote, 1, 0) <= 0)
			failed++;
	}
	ptrace(PTRACE_DETACH, tid, 0, signal);
	length = now() - began;
	if (looks < MOST_LENGTHS)
		lengths[looks] = length > UINT32_MAX ? UINT32_MAX : length;
	looks++;
	return 0;
}

static void list(pid_t pid)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d)) && n_threads < MOST_THREADS)
		if (atoi(e->d_name) > 0)
			threads[n_threads++] = atoi(e->d_name);
	if (d)
		closedir(d);
}

/* sleep_until waits for a tick, displaced at random within a quarter of the period to both sides. */
static void sleep_until(int64_t at, int64_t period)
{
	struct timespec t;

	at += (int64_t)(drand48() * period / 2) - period / 4;
	t.tv_sec = at / 1000000000;
	t.tv_nsec = at % 1000000000;
	while (!done && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void tell(double seconds, int fifo)
{
	uint64_t n = looks < MOST_LENGTHS ? looks : MOST_LENGTHS;

	qsort(lengths, n, sizeof *lengths, ascending);
	printf("{\"ticks\":%lu,\"missed_ticks\":%lu,\"stopped\":%lu,\"failed_reads\":%lu,\"duration_s\":%.6f,\"scheduling\":\"%s\"",
	       ticks, missed, looks, failed, seconds, fifo ? "fifo" : "normal");
	if (n)
		printf(",\"stop_us\":{\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f}", lengths[n / 2] / 1e3,
		       lengths[n * 99 / 100] / 1e3, lengths[n - 1] / 1e3);
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = stop}, quiet = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
	struct sched_param prio = {5};
	int64_t began, period, at;
	pid_t parent = getppid();
	int fifo;
	size_t bytes;

	if (argc < 4 || atof(argv[2]) <= 0 || (bytes = atol(argv[3])) > MOST_BYTES) {
		fprintf(stderr, "usage: walker PID HZ BYTES [TID...] (at most %d bytes)\n", MOST_BYTES);
		return 2;
	}
	for (int i = 4; i < argc; i++)
		threads[n_threads++] = atoi(argv[i]);
	if (n_threads == 0)
		list(atoi(argv[1]));
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGCHLD, &quiet, NULL);
	prctl(PR_SET_TIMERSLACK, 1);
	fifo = sched_setscheduler(0, SCHED_FIFO, &prio) == 0;
	period = 1e9 / atof(argv[2]);
	began = at = now();
	srand48(began);
	while (!done && getppid() == parent) { /* it ends with its starter */
		for (int i = 0; i < n_threads && !done; i++)
			look(threads[i], bytes);
		ticks++;
		for (at += period; at + period < now(); at += period)
			missed++;
		sleep_until(at, period);
	}
	tell((now() - began) / 1e9, fifo);
	return 0;
}
