// A recursion of 100,000 calls, on a stack that is large enough, which sleeps at its end.
#include <pthread.h>
#include <string.h>
#include <unistd.h>

volatile int zero;

__attribute__((noinline)) int sink(int n) {
  while (n == 0) {
    write(1, "ready\n", 6);
    for (;;) pause();
  }
  return n;
}

__attribute__((noinline)) int deep(int n) {
  volatile char room[120];
  room[n % 100] = 1;
  if (n == 0) return sink(zero);
  return deep(n - 1) + room[n % 100];
}

static void *start(void *arg) { return (void *)(long)deep(100000 - 1 + zero); }

int main(void) {
  pthread_attr_t a;
  pthread_t t;
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, 64 << 20);
  pthread_create(&t, &a, start, NULL);
  pthread_join(t, NULL);
  return 0;
}
