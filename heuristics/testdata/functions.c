/* Functions with frames of many shapes, for the comparison with the call frame
 * information that the compiler makes for them. */
#include <alloca.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

extern int sink(void *, ...);
extern void fail(const char *) __attribute__((noreturn));
typedef double wide __attribute__((vector_size(32)));

int leaf(int a, int b) { return a * b + 3; }

int many_registers(int *p, int n, int a, int b, int c, int d, int e) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		s += sink(p + i, a, b, c) * d + e;
		a ^= s, b += a, c -= b, d += i, e ^= d;
	}
	return s + a + b + c + d + e;
}

int variable(int n) {
	char *p = alloca(n);
	memset(p, 1, n);
	for (int i = 0; i < n; i++)
		if (sink(p, i))
			return i;
	return p[n - 1];
}

int large(int k) {
	char buf[70000];
	memset(buf, k, sizeof buf);
	return sink(buf) + buf[k];
}

double aligned(wide *v, int n) {
	wide t[4] = {v[0], v[1], v[2], v[3]};
	for (int i = 0; i < n; i++) {
		t[i & 3] += v[i];
		sink(t, i);
	}
	return t[0][0] + t[1][1] + t[2][2] + t[3][3];
}

int table(int op, int *a, int *b) {
	switch (op) {
	case 0: return sink(a) + *b;
	case 1: return sink(b) - *a;
	case 2: *a = *b; return sink(a, b);
	case 3: if (*a > *b) return sink(b, a, 1); break;
	case 4: sink(a); sink(b); return *a * *b;
	case 5: while (sink(a)) ++*b; break;
	case 6: return leaf(*a, *b);
	case 7: fail("seven");
	case 8: return sink(a, 8);
	}
	return sink(a, b, 3) + 1;
}

int early(int *p) {
	if (!p)
		return -1;
	int a = sink(p), b = sink(p + 1), c = sink(p + 2);
	if (a == b)
		fail("same");
	return a + b * c;
}

int arguments(int n, ...) {
	va_list l;
	int s = 0;
	va_start(l, n);
	while (n--)
		s += sink(0, va_arg(l, int), va_arg(l, double));
	va_end(l);
	return s;
}

int many_arguments(int a, int b, int c, int d, int e, int f, int g, int h) {
	return sink(0, a, b, c, d, e, f, g, h, a + b, c + d) + h;
}

int tail(int *p) { return p[0] ? sink(p, 1) : many_registers(p, 1, 2, 3, 4, 5, 6); }

void forever(int *p) {
	for (;;)
		*p += sink(p, *p);
}

void never(int *p) {
	sink(p);
	fail(sink(p, 1) ? "a" : "b");
}

int recursive(int n, int *p) {
	return n < 2 ? sink(p) : recursive(n - 1, p) + recursive(n - 2, p + 1) * p[n];
}
