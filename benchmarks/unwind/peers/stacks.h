// SPDX-License-Identifier: Apache-2.0
/* Reads a file of recorded stacks (the format is told in ../snapshot/doc.go), and prints a result. */
#ifndef STACKS_H
#define STACKS_H

#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct module {
	uint64_t start, end, bias;
	char *path;
	const unsigned char *file; /* its bytes, NULL if it cannot be read */
	size_t size;
};

struct stack {
	uint64_t pc, regs[16], addr;
	const unsigned char *bytes;
	uint32_t len, depth;
	const unsigned char *pcs; /* depth words, not aligned */
};

static struct module *modules;
static struct stack *stacks;
static uint32_t n_modules, n_stacks;

static const unsigned char *at, *end_of_file;

static const unsigned char *take(size_t n)
{
	if ((size_t)(end_of_file - at) < n) {
		fprintf(stderr, "the file of stacks is cut off\n");
		exit(1);
	}
	const unsigned char *p = at;
	at += n;
	return p;
}

static uint64_t word_at(const unsigned char *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return v;
}

static uint64_t take_word(void) { return word_at(take(8)); }

static uint32_t take_number(void)
{
	uint32_t v;
	memcpy(&v, take(4), 4);
	return v;
}

static const unsigned char *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
		p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return NULL;
	*size = st.st_size;
	return p;
}

static void load(const char *path)
{
	size_t size = 0;
	at = map_file(path, &size);
	if (at == NULL || size < 8 || memcmp(at, "PWSTACK1", 8) != 0) {
		fprintf(stderr, "%s is no file of stacks\n", path);
		exit(1);
	}
	end_of_file = at + size;
	take(8);
	n_modules = take_number();
	modules = calloc(n_modules + 1, sizeof *modules);
	for (uint32_t i = 0; i < n_modules; i++) {
		struct module *m = &modules[i];
		m->start = take_word();
		m->end = take_word();
		m->bias = take_word();
		uint32_t n = take_number();
		m->path = strndup((const char *)take(n), n);
		m->file = map_file(m->path, &m->size);
	}
	n_stacks = take_number();
	stacks = calloc(n_stacks + 1, sizeof *stacks);
	for (uint32_t i = 0; i < n_stacks; i++) {
		struct stack *s = &stacks[i];
		s->pc = take_word();
		for (int r = 0; r < 16; r++)
			s->regs[r] = take_word();
		s->addr = take_word();
		s->len = take_number();
		s->bytes = take(s->len);
		s->depth = take_number();
		s->pcs = take(8 * (size_t)s->depth);
	}
}

static inline struct module *find_module(uint64_t pc)
{
	for (uint32_t i = 0; i < n_modules; i++)
		if (pc >= modules[i].start && pc < modules[i].end)
			return &modules[i];
	return NULL;
}

static int stack_word(const struct stack *s, uint64_t addr, uint64_t *v)
{
	if (addr < s->addr || s->len < 8 || addr - s->addr > s->len - 8)
		return 0;
	*v = word_at(s->bytes + (addr - s->addr));
	return 1;
}

/* The processor time of this thread in nanoseconds. */
static int64_t cpu_time(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* What is measured when nothing happens between two readings. */
static inline int64_t clock_cost(void)
{
	int64_t least = 1 << 30;
	for (int i = 0; i < 1000; i++) {
		int64_t from = cpu_time(), d = cpu_time() - from;
		if (d < least)
			least = d;
	}
	return least;
}

#define MAX_FRAMES 4096
static uint64_t got[MAX_FRAMES];

static int is_right(const struct stack *s, int n)
{
	if (n > 0 && got[n - 1] == 0)
		n--; /* a caller at address 0 is none */
	if ((uint32_t)n != s->depth)
		return 0;
	for (int i = 0; i < n; i++)
		if (got[i] != word_at(s->pcs + 8 * (size_t)i))
			return 0;
	return 1;
}

static void print_result(long frames, double warm, double cold, int right)
{
	printf("{\"frames\":%ld,\"ns_per_frame_warm\":%.2f,\"ns_per_frame_cold\":%.2f,\"right\":%d,\"stacks\":%u}\n",
	       frames, warm, cold, right, n_stacks);
}

#endif
