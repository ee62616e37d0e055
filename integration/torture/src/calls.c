// Threads that each make one blocking call over and over, and one that wakes them. Arguments: group (wait, partial,
// run), period of the waker in µs, time-out in ms.
#include "calls.h"
#include <pthread.h>
#include <signal.h>

int time_out;

static void *caller(void *arg) {
	struct call *c = arg;
	c->tid = syscall(SYS_gettid);
	for (;;) c->count[c->call(c)]++;
	return 0;
}

static void start(struct call *c) {
	pthread_t t;
	if (c->ms == 0) c->ms = -1;
	if (c->ms > 0) c->ms = time_out;
	if (c->setup) c->setup(c);
	must(-pthread_create(&t, 0, caller, c));
	while (!c->tid) usleep(100);
	printf("thread %d %s\n", c->tid, c->name);
}

static struct call **all;

// progress is that of the call with the least: its time-outs, if it has one, else its returns. Short counts are
// included: on a busy machine hardly any call that takes milliseconds returns between two stops.
long progress(void) {
	long n = 1L << 60;
	for (struct call **g = all; *g; g++)
		for (struct call *c = *g; c->name; c++)
			n = least(n, c->ms > 0 ? c->count[EXPIRED] : c->count[DONE] + c->count[SHORT]);
	return n;
}

struct waker { struct call **groups; useconds_t period; };

static void *waker(void *arg) {
	struct waker *w = arg;
	for (;; usleep(w->period))
		for (struct call **g = w->groups; *g; g++)
			for (struct call *c = *g; c->name; c++)
				if (c->wake) c->wake(c);
	return 0;
}

int main(int argc, char **argv) {
	struct call *wait[] = {event_calls, socket_calls, ipc_calls, 0};
	struct call *partial[] = {partial_calls, 0}, *run[] = {running_calls, 0};
	static struct waker w;
	if (argc != 4) return 2;
	w.groups = strcmp(argv[1], "wait") == 0 ? wait : strcmp(argv[1], "partial") == 0 ? partial : run;
	all = w.groups;
	w.period = atoi(argv[2]);
	time_out = atoi(argv[3]);
	signal(SIGPIPE, SIG_IGN);
	sigset_t block; // these are waited for, or sent to one thread
	sigemptyset(&block);
	for (int i = 0; i < 8; i++) sigaddset(&block, SIGRTMIN + i);
	// An ignored signal is not dropped while its thread is traced: it wakes another thread. A blocked one wakes none.
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, 0);
	for (struct call **g = w.groups; *g; g++)
		for (struct call *c = *g; c->name; c++) start(c);
	pthread_t t;
	must(-pthread_create(&t, 0, waker, &w));
	serve_until_eof();
	static const char *outcome[OUTCOMES] = {"done", "expired", "broken", "short", "failed", "changed"};
	for (struct call **g = w.groups; *g; g++)
		for (struct call *c = *g; c->name; c++) {
			for (int i = 0; i < OUTCOMES; i++) printf("%s.%s %ld\n", c->name, outcome[i], c->count[i]);
			if (c->error) printf("%s.errno %d\n", c->name, c->error);
		}
	done();
}

// SPDX-License-Identifier: Apache-2.0
