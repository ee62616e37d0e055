// A program that ends by an exception that nobody catches, in a thread of its own.
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct Guard {
  ~Guard() { write(1, "", 0); }
};

__attribute__((noinline)) void thrower(int depth) {
  Guard g;
  if (depth == 0) throw std::runtime_error("nobody catches this");
  thrower(depth - 1);
  asm volatile("" ::: "memory");
}

static void *sleeper(void *) {
  for (;;) pause();
}

// joining tells whether the first thread sleeps in pthread_join, where the core is to show it.
static bool joining() {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", getpid());
  FILE *f = fopen(path, "r");
  if (!f) return true;  // a kernel without this file: the test says so
  long call = -1;
  int found = fscanf(f, "%ld", &call);
  fclose(f);
  return found == 1 && call == SYS_futex;
}

static void *start(void *) {
  while (!joining()) sched_yield();
  thrower(5);
  return nullptr;
}

int main() {
  pthread_t a, b;
  pthread_create(&a, nullptr, sleeper, nullptr);
  usleep(100000);
  pthread_create(&b, nullptr, start, nullptr);
  pthread_join(b, nullptr);
}
