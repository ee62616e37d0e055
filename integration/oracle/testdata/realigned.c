/* Functions whose stack gcc realigns (-mstackrealign): their call frame information says where registers lie by the
   frame pointer, also where that was popped already. Their callers need the frame pointer that they get back. */
#include <alloca.h>
#include <string.h>

#include "mark.h"

#define PART __attribute__((noinline, noclone, noipa))

static volatile long sink;

PART long leaf(long a, long b)
{
	long room[4] = {a, b, a ^ b, a + b};
	sink += room[sink & 3];
	return room[(a + b) & 3];
}

/* Saves all callee-saved registers. */
PART long many(long a, long b, long c, long d)
{
	__attribute__((aligned(32))) long room[8];
	long e = leaf(a, b), f = leaf(c, d), g = leaf(a, d), h = leaf(b, c), i = leaf(a, c);
	for (int k = 0; k < 8; k++) room[k] = leaf(e + k, f) + g * h - i + a + b + c + d;
	return leaf(room[e & 7], room[f & 7]) + room[g & 7] + e + f + g + h + i;
}

/* Stack arguments keep the register that addresses them in use. */
PART long eight(long a, long b, long c, long d, long e, long f, long g, long h)
{
	__attribute__((aligned(32))) long room[4] = {a, b, c, d};
	room[e & 3] += leaf(g, h);
	long x = many(room[0], room[1], e + g, f + h);
	return leaf(room[f & 3], x) + h + g;
}

/* Passes arguments on the stack; its own are addressed by r10. */
PART long varies(long n)
{
	char *room = alloca((n & 7) * 40 + 64);
	memset(room, (int)n, 64);
	long x = many(n, n + 1, n + 2, room[3]);
	x += eight(n, x, room[1], 4, room[2], 6, n, x);
	return x + leaf(room[n & 63], x);
}

/* The caller's frame is found by the frame pointer only, which is wrong at the last instructions of the callee. */
PART long outer(long n)
{
	char *room = alloca((n & 3) * 24 + 64);
	memset(room, (int)n, 64);
	long x = varies(n) + eight(n, room[1], room[2], room[3], 5, 6, 7, 8) + varies(room[n & 63]);
	return x ^ leaf(n, x);
}

int main(void)
{
	for (;;) {
		MARK("realigned");
		for (long n = 0; n < 20; n++) sink += outer(n);
		MARK("");
	}
}
