/* Computes in functions whose frames are large, at a depth that changes all the time: as recursive coders and parsers
   with arrays on the stack do. */
#include <stdio.h>
#include <string.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void leaf(char *b, int n)
{
	for (int i = 0; i < 20000; i++)
		sink += b[i % n] + i;
}

__attribute__((noinline)) static void block(int depth, unsigned seed);

#define FRAME(name, bytes)                                                     \
	__attribute__((noinline)) static void name(int depth, unsigned seed)   \
	{                                                                      \
		char b[bytes];                                                 \
		b[seed % sizeof b] = (char)seed;                               \
		leaf(b, sizeof b);                                             \
		if (depth > 0)                                                 \
			block(depth - 1, seed * 1103515245u + 12345u);         \
		leaf(b, sizeof b);                                             \
		sink += b[seed % sizeof b];                                    \
	}

FRAME(small, 300)
FRAME(medium, 9000)
FRAME(large, 70000)
FRAME(huge, 210000)

__attribute__((noinline)) static void block(int depth, unsigned seed)
{
	switch (seed >> 16 & 7) {
	case 0: huge(depth, seed); break;
	case 1: case 2: large(depth, seed); break;
	case 3: case 4: medium(depth, seed); break;
	default: small(depth, seed);
	}
	sink++;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (unsigned seed = 1;; seed = seed * 69069u + 1)
		block(12, seed % 64);
}
