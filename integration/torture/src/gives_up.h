#include <stdatomic.h>

// call is one kind of call. make makes it once and tells outcome.
struct call {
	const char *name;
	int (*prepare)(const char *dir); // < 0 with errno: not possible here
	void (*make)(void);
	void (*clean)(void);
	int computes; // the thread computes between two calls
};

extern const struct call bpf_load, hugetlb, notify, fuse_stat, fuse_mkdir, kvm;
extern atomic_long calls, eintr, eagain, shorts, other, twice, spins;

// outcome counts what a call gave: less than want is short.
void outcome(long result, int err, long want);

// SPDX-License-Identifier: Apache-2.0
