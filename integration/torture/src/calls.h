// Blocking calls, one thread each, and their outcomes.
#include "torture.h"
#include <stdatomic.h>

// CHANGED: the call changed memory of the program that it does not change without a stop.
enum outcome { DONE, EXPIRED, BROKEN, SHORT, FAILED, CHANGED, OUTCOMES };

struct call {
	const char *name;
	enum outcome (*call)(struct call *);
	void (*wake)(struct call *); // lets the call end; never blocks; 0 if it ends by itself
	void (*setup)(struct call *);
	int ms;      // the time-out of those that have one; -1: none
	int a, b;    // descriptors and the like
	long x;
	void *p;
	atomic_int tid;
	atomic_long count[OUTCOMES];
	int error; // errno of the last FAILED
};

extern struct call event_calls[], socket_calls[], ipc_calls[], partial_calls[], running_calls[];
extern int time_out; // milliseconds, for the calls that have one

// judge turns a result into an outcome; fewer than want is a short count.
static inline enum outcome judge(struct call *c, long r, long want) {
	if (r >= want) return DONE;
	if (r >= 0) return SHORT;
	switch (errno) {
	case EINTR: return BROKEN;
	case EAGAIN: case ETIMEDOUT: case ETIME: case EINPROGRESS: return EXPIRED;
	}
	c->error = errno;
	return FAILED;
}

// SPDX-License-Identifier: Apache-2.0
