/* Calls through libffi, which moves its return address up before it calls on, and gives up the stack below. It is
   loaded as the program runs, and its prototypes are here, so that its headers need not be installed. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "mark.h"

#define PART __attribute__((noinline, noclone, noipa))
#define MOST 12

static volatile long sink;
static int (*prepare)(void *cif, int abi, unsigned n, void *result, void **arguments);
static void (*call)(void *cif, void (*function)(void), void *result, void **values);
static void *(*make)(size_t size, void **code);
static int (*bind)(void *closure, void *cif, void (*function)(void *, void *, void **, void *), void *own, void *code);
static void *integer, *real;

static void *need(void *lib, const char *name)
{
	void *p = dlsym(lib, name);
	if (!p) { fprintf(stderr, "oracle: %s: %s\n", name, dlerror()); exit(1); }
	return p;
}

PART long leaf(long a, long b)
{
	sink += a ^ b;
	return a + b;
}

PART long two(long a, long b) { return leaf(a, b) + leaf(b, a) + 1; }

PART long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	return leaf(a + c + e + g + i, b + d + f + h + j) + two(a, j);
}

PART double reals(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j)
{
	return leaf((long)(a + b + c + d + e), (long)(f + g + h + i + j)) * 0.5;
}

/* The target of a closure. */
PART void closed(void *cif, void *result, void **values, void *own)
{
	*(long *)result = two(*(long *)values[0], *(long *)values[1]) + (own == cif);
}

PART long round_trip(void *few, void *lots, void *halves, long (*code)(long, long), long n)
{
	long in[MOST], out = 0;
	double half[MOST], result = 0;
	void *longs[MOST], *doubles[MOST];
	for (int i = 0; i < MOST; i++) {
		in[i] = n + i, half[i] = in[i] * 0.5;
		longs[i] = &in[i], doubles[i] = &half[i];
	}
	call(few, (void (*)(void))two, &out, longs);
	sink += out;
	call(lots, (void (*)(void))many, &out, longs);
	sink += out;
	call(halves, (void (*)(void))reals, &result, doubles);
	sink += (long)result;
	return code(n, out) + leaf(n, out);
}

int main(int argc, char **argv)
{
	void *lib = dlopen("libffi.so.8", RTLD_NOW);
	if (!lib) { fprintf(stderr, "oracle: %s\n", dlerror()); return 1; }
	*(void **)&prepare = need(lib, "ffi_prep_cif");
	*(void **)&call = need(lib, "ffi_call");
	*(void **)&make = need(lib, "ffi_closure_alloc");
	*(void **)&bind = need(lib, "ffi_prep_closure_loc");
	integer = need(lib, "ffi_type_sint64");
	real = need(lib, "ffi_type_double");
	static char few[256], lots[256], halves[256];
	static void *longs[MOST], *doubles[MOST];
	for (int i = 0; i < MOST; i++) longs[i] = integer, doubles[i] = real;
	const int usual = 2; /* FFI_UNIX64 */
	void *code = NULL, *closure = make(4096, &code);
	if (prepare(few, usual, 2, integer, longs) || prepare(lots, usual, 10, integer, longs) ||
		prepare(halves, usual, 10, real, doubles) || !closure || bind(closure, few, closed, few, code))
		return 1;
	if (argc > 1) return 0; /* all is there */
	for (;;) {
		MARK("ffi");
		for (long n = 0; n < 20; n++) sink += round_trip(few, lots, halves, (long (*)(long, long))code, n);
		MARK("");
	}
}
