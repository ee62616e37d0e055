// A program that ends by an exception that nobody catches, in a thread of its own.
#include <atomic>
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

static std::atomic<int> sleeper_tid{0};

static void *sleeper(void *) {
  sleeper_tid = syscall(SYS_gettid);
  for (;;) pause();
}

// The call that a thread sleeps in; -1: it does not.
static long call_of(int tid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
  FILE *f = fopen(path, "r");
  long call = -1;
  if (!f || fscanf(f, "%ld", &call) != 1) call = -1;
  if (f) fclose(f);
  return call;
}

static void *start(void *) {
  bool known = access("/proc/self/syscall", R_OK) == 0;  // else the test fails at times
  while (known && (call_of(getpid()) != SYS_futex || call_of(sleeper_tid) < 0)) sched_yield();
  thrower(5);
  return nullptr;
}

int main() {
  pthread_t a, b;
  pthread_create(&a, nullptr, sleeper, nullptr);
  pthread_create(&b, nullptr, start, nullptr);
  pthread_join(b, nullptr);
}
