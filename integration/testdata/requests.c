// SPDX-License-Identifier: Apache-2.0
// Threads that publish the request on which they work (OTEP 4947), with LIBRARY the library that has the variable.
// An argument is the library's path, to be opened at run time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
	uint8_t attributes[64];
} __attribute__((packed));

#if defined(LIBRARY) || defined(WHOLE)
__attribute__((visibility("default"), retain)) __thread struct record *otel_thread_ctx_v1;

__attribute__((visibility("default"))) void attach(struct record *r) { otel_thread_ctx_v1 = r; }
#else
void attach(struct record *r);
#endif

#ifndef LIBRARY
static void (*set)(struct record *);

static uint8_t *field(uint8_t *to, int key, const void *content, int size) {
	*to++ = key << 3 | 2, *to++ = size;
	memcpy(to, content, size);
	return to + size;
}

// publish makes the process's context (OTEP 4719), with the names of the attributes.
static void publish(void) {
	const char *names[] = {"http.route", "user"}, *map = "threadlocal.attribute_key_map";
	uint8_t value[64], list[128], any[128], pair[200], *end = list;
	for (int i = 0; i < 2; i++)
		end = field(end, 1, value, field(value, 1, names[i], strlen(names[i])) - value);
	int size = field(any, 5, list, end - list) - any;
	end = field(field(pair, 1, map, strlen(map)), 2, any, size);
	int fd = memfd_create("OTEL_CTX", 0);
	if (fd < 0 || ftruncate(fd, 4096))
		exit(1);
	char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	uint32_t head[2] = {2, field((uint8_t *)page + 32, 1, pair, end - pair) - (uint8_t *)page - 32};
	uint64_t rest[2] = {1, (uint64_t)page + 32};
	memcpy(page + 8, head, 8);
	memcpy(page + 16, rest, 16);
	__sync_synchronize();
	memcpy(page, "OTEL_CTX", 8);
}

// make fills a record: trace and span have bytes of the number n.
static void make(struct record *r, int n, const char *route, int valid) {
	memset(r, 0, sizeof *r);
	memset(r->trace, n, 16);
	memset(r->span, n + 16, 8);
	uint8_t *a = r->attributes;
	const char *values[] = {"first", route, "x"};
	for (int i = 0; i < 3; i++) {
		*a++ = "\0\0\7"[i]; // the second value of a key counts; there is no name of 7
		*a++ = strlen(values[i]);
		memcpy(a, values[i], strlen(values[i])), a += strlen(values[i]);
	}
	r->size = a - r->attributes;
	r->valid = valid;
}

static void name(const char *s) { prctl(PR_SET_NAME, s); }

static void *computes(void *x) {
	static struct record r;
	name("computes");
	make(&r, 1, "/a", 1);
	set(&r);
	for (volatile unsigned long n = 0;; n++)
		;
}

static void *sleeps(void *x) {
	static struct record r;
	name("sleeps");
	make(&r, 2, "/b", 1);
	set(&r);
	for (;;)
		pause();
}

static void *invalid(void *x) {
	static struct record r;
	name("invalid");
	make(&r, 3, "/c", 0);
	set(&r);
	for (;;)
		pause();
}

static void *detached(void *x) {
	static struct record r;
	name("detached");
	make(&r, 4, "/d", 1);
	set(&r);
	set(0);
	for (;;)
		pause();
}

int main(int argc, char **argv) {
	void *(*run[])(void *) = {computes, sleeps, invalid, detached};
	pthread_t t;
	publish();
#ifdef OPENED
	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	set = (void (*)(struct record *))dlsym(library, "attach");
#else
	set = attach;
#endif
	for (int i = 0; i < 4; i++)
		pthread_create(&t, 0, run[i], 0);
	sleep(1000);
}
#endif
