/*
 * Computes below a buffer of 32 KiB on the stack that it never writes, so that most of the buffer's pages are not
 * there. It ends after fifteen minutes.
 */
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) void spin(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink * 31 + i;
}

__attribute__((noinline)) void buffered(void)
{
	char buffer[32 << 10];

	for (;;) {
		__asm__ volatile("" : : "r"(buffer) : "memory");
		spin(300000);
	}
}

int main(void)
{
	alarm(900);
	puts("ready");
	fflush(stdout);
	buffered();
}

// SPDX-License-Identifier: Apache-2.0
