/* Functions that gcc -O2 splits into a hot part and a .cold one; compiled without call frame information, so
   that only their instructions and symbols tell. All cold parts are executed. */
#include <alloca.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "mark.h"

#define PART __attribute__((noinline, noclone, noipa))

static volatile long sink;
static jmp_buf out;

PART __attribute__((cold)) void note(long a, long b) { sink += a * 31 + b; }
PART __attribute__((cold)) long ask(long a) { sink ^= a; return a + 1; }
PART __attribute__((cold, noreturn)) void leave(int n) { longjmp(out, n); }
PART long step(long a) { return a * 3 + sink % 2; }

/* The cold part jumps back into the hot one. */
PART long back(long n, long m)
{
	long sum = 0;
	for (long i = 0; i < n; i++) {
		sum += step(i) * m;
		if (__builtin_expect(i == m, 0)) {
			note(i, sum);
			note(sum, m);
		}
		sum ^= step(sum);
	}
	return sum;
}

/* The cold part returns by itself. */
PART long gone(long *v, long n)
{
	long a = v[0], b = v[1], c = v[2];
	for (long i = 0; i < n; i++) {
		a += step(b), b += step(c), c += a;
		if (__builtin_expect(a == 4, 0)) {
			note(a, b);
			v[0] = ask(b) + ask(c);
			return ask(a + b + c) * 2;
		}
	}
	v[1] = c;
	return a + b + c;
}

/* The cold part has two calls that do not return, one at its end. */
PART long never(long n, long m)
{
	char room[200];
	memset(room, (int)n, sizeof room);
	for (long i = 0; i < n; i++) {
		room[i] += step(i);
		if (__builtin_expect(room[i] == 77, 0)) leave((int)ask(i) + 1);
		if (__builtin_expect(i == m, 0)) {
			note(i, m);
			leave((int)ask(m) + 2);
		}
	}
	return room[n % 200] + m;
}

/* Shrink-wrapped: the cold part is reached before the frame exists, and from inside it. */
PART long wrapped(long *v, long n)
{
	if (__builtin_expect(v == NULL, 0)) {
		note(n, 1);
		return ask(n);
	}
	if (n < 2) return v[0];
	long a = step(v[0]), b = step(v[1]), c = step(a + b);
	for (long i = 2; i < n; i++) a += step(v[i]) * b + c;
	if (__builtin_expect(a == 0, 0)) {
		note(a, b);
		c = ask(c);
	}
	return a + b + c;
}

/* With a frame of variable size, which needs the frame pointer. */
PART long variable(long n)
{
	long *v = alloca((size_t)n * sizeof *v), sum = 0;
	for (long i = 0; i < n; i++) v[i] = step(i);
	if (__builtin_expect(n % 5 == 3, 0)) {
		note(v[n - 1], n);
		v[0] = ask(v[n - 1]);
		note(v[0], n);
	}
	for (long i = 0; i < n; i++) sum += v[i];
	return sum;
}

/* The cold part ends in a tail call. */
PART long tail(long n, long m)
{
	long a = step(n), b = step(m);
	if (__builtin_expect(n == 6, 0)) {
		note(a, b);
		return ask(a + b);
	}
	return back(a % 4, b);
}

int main(void)
{
	static long v[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	for (int round = 0;; round++) {
		MARK("back");
		sink += back(9, round % 9);
		MARK("gone");
		v[0] = 1, v[1] = v[2] = round % 3;
		sink += gone(v, 8);
		MARK("never");
		if (setjmp(out) == 0) sink += never(60, 20 + round % 50);
		MARK("wrapped");
		sink += wrapped(round % 2 ? NULL : v, 8);
		for (int i = 0; i < 8; i++) v[i] = 0;
		sink = 0;
		sink += wrapped(v, 8);
		MARK("variable");
		sink += variable(8 + round % 10);
		MARK("tail");
		sink += tail(round % 8, 3);
	}
}
