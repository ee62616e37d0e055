// A program that dies in a signal handler which runs on a stack of its own.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

volatile int *nowhere;

__attribute__((noinline)) static void die(void) {
  abort();
}

static void handler(int sig) {
  (void)sig;
  die();
}

__attribute__((noinline)) int fault(int depth) {
  if (depth == 0) return *nowhere;
  return fault(depth - 1) + 1;
}

int main(void) {
  stack_t alt = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&alt, 0);
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  sa.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &sa, 0);
  return fault(10);
}
