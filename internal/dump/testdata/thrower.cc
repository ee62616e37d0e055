// A program that ends by an exception that nobody catches, in a thread of its own.
#include <pthread.h>
#include <stdexcept>
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

static void *start(void *) {
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
