// Functions of the kinds that an unwinder of arm64 has to tell apart. Each is called once, and stopped in
// by its name (cores_test.go). It is compiled in several ways: with and without call frame information,
// with signed return addresses, and linked to the C library statically and dynamically.
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTLINE __attribute__((noinline, noclone))
// A call before it in a function is no tail call.
#define STAY __asm__ volatile("" ::: "memory")

static volatile long sink;
static const char *volatile text = "some text";

OUTLINE long leaf(long v) { return v * 3 + sink; }

OUTLINE long inner(long v) { return v * 5 - sink; }

// Saves registers besides x29 and x30, so that its prologue and epilogue are several instructions.
OUTLINE long framed(long a, long b, long c)
{
	long r = leaf(a);
	STAY;
	r += leaf(b) * c;
	STAY;
	return r + a + b;
}

// Its stack pointer is known only when it runs.
OUTLINE long dynamic(long n)
{
	long *room = alloca(n * sizeof *room);
	memset(room, 1, n * sizeof *room);
	__asm__ volatile("" : : "r"(room) : "memory");
	long r = inner(room[n - 1]);
	STAY;
	return r + room[0];
}

__attribute__((cold, noinline, noclone)) long rare(long v) { return v + sink; }

// The call of rare is in a part that the compiler splits off.
OUTLINE long split(long v, long w)
{
	long r = leaf(v) + leaf(w);
	if (__builtin_expect(r != -1, 1) && v == 77) {
		sink += rare(v);
		sink += rare(w);
		r += sink;
	}
	STAY;
	return r + v * w;
}

OUTLINE void handler(int s) { sink += s; }

OUTLINE long interrupted(long v)
{
	signal(SIGUSR1, handler);
	kill(getpid(), SIGUSR1);
	STAY;
	return v + sink;
}

OUTLINE long stub(long v)
{
	v += strlen(text);
	STAY;
	return v;
}

__attribute__((noreturn, noinline, noclone)) void done(long v)
{
	sink += v;
	_exit(0);
}

// Its last instruction is a call: the return address is that of what comes after it.
__attribute__((noreturn, noinline, noclone)) void last(long v)
{
	done(v + 1);
}

int main(void)
{
	alarm(60);
	sink += framed(1, 2, 3);
	sink += dynamic(30);
	sink += split(77, 5);
	sink += interrupted(4);
	sink += stub(5);
	last(sink);
}
