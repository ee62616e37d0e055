// Command cgo sleeps in C called by Go called by C called by Go.
package main

/*
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern int goBack(int);

#define KEEP __attribute__((noinline, noclone, unused))
static int use(volatile char *b) { return b[0]; }
KEEP static int c_waits(int n)
{
	char b[300];
	memset(b, n, sizeof b);
	puts("ready");
	fflush(stdout);
	pause();
	return use(b) + 1;
}
KEEP static int c_calls(int n) { char b[200]; memset(b, n, sizeof b); return c_waits(use(b)) + use(b); }
KEEP static int c_back(int n) { char b[500]; memset(b, n, sizeof b); return goBack(use(b)) + use(b); }
KEEP static int c_first(int n) { char b[100]; memset(b, n, sizeof b); return c_back(use(b)) + use(b); }
*/
import "C"

//go:noinline
func deep(n int) C.int {
	var a [100]int // grows the goroutine's stack
	if n == 0 {
		return C.c_calls(3)
	}
	a[n] = int(deep(n - 1))
	return C.int(a[n]) + 1
}

//export goBack
func goBack(n C.int) C.int { return deep(40) + n }

//go:noinline
func goFirst() C.int { return C.c_first(2) + 1 }

func main() { println(goFirst()) }
