// A program that sleeps three calls deep; with OTHER, at the same places, another one.
#include <unistd.h>

volatile int zero;

#ifdef OTHER
#define inner decoy_inner
#define middle decoy_middle
#define outer decoy_outer
__attribute__((noinline)) int pad(int n) { return n ? pad(n - 1) * 3 + zero : 7; }
#else
__attribute__((noinline)) int pad(int n) { return n; }
#endif

__attribute__((noinline)) int inner(int n) {
  volatile char room[40 + 8 * sizeof(int)];
  room[n] = 1;
  write(1, "ready\n", 6);
  for (;;) pause();
  return room[n];
}

__attribute__((noinline)) int middle(int n) {
  volatile char room[200];
  room[n] = 2;
  return inner(n) + room[n];
}

__attribute__((noinline)) int outer(int n) { return middle(n) + pad(n); }

int main(void) { return outer(zero); }
