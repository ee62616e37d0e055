// A recursion of functions whose frames have a size known only at run time, in which the innermost computes: without
// its frame pointer no caller is proven.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile uint64_t sink;

__attribute__((noinline)) uint64_t nest(uint64_t depth, uint64_t n) {
  uint64_t room[n % 64 + 8];
  memset(room, (int)n, sizeof room);
  __asm__ volatile("" : : "r"(room) : "memory");
  uint64_t v = n;
  if (depth == 0) {
    puts("ready");
    fflush(stdout);
    for (;;) sink = v = v * 6364136223846793005u + room[v % 8];
  }
  v += nest(depth - 1, n + 1);
  __asm__ volatile("" ::: "memory");
  return v + room[v % 8];
}

int main(void) {
  alarm(600);
  return (int)nest(5, sink + 20);
}
