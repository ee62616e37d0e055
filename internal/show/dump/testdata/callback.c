// A library that calls the program back, and, with PROGRAM, that program, which then sleeps.
#include <unistd.h>

int library_main(int (*callback)(int));

#ifdef PROGRAM
__attribute__((noinline)) static int leaf(int n) {
  write(1, "ready\n", 6);
  for (;;) pause();
  return n;
}

int main(void) { return library_main(leaf) + 1; }
#else
__attribute__((noinline)) static int in_library(int (*callback)(int), int n) { return callback(n) + n; }

__attribute__((noinline)) static int deep_in_library(int (*callback)(int), int n) {
  volatile char room[100];
  room[n] = 1;
  return in_library(callback, n) + room[n];
}

int library_main(int (*callback)(int)) { return deep_in_library(callback, 1) + 2; }
#endif
