// Threads in a recursion of 450,000 calls of f and as many of g: three sleep at its end, one computes there.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { threads = 4 };
static long calls = 900000;
volatile int zero, ready;
volatile long sum;

__attribute__((noinline)) int inner(int sleeps) {
  __sync_fetch_and_add(&ready, 1);
  while (sleeps) pause();
  for (;;) sum++;
}

__attribute__((noinline)) int g(long n, int sleeps);

__attribute__((noinline)) int f(long n, int sleeps) {
  volatile char room[40];
  room[n % 30] = 1;
  return (n <= 0 ? inner(sleeps) : g(n - 1, sleeps)) + room[n % 30];
}

__attribute__((noinline)) int g(long n, int sleeps) {
  volatile char room[40];
  room[n % 30] = 1;
  return (n <= 0 ? inner(sleeps) : f(n - 1, sleeps)) + room[n % 30];
}

static void *start(void *arg) { return (void *)(long)f(calls - 1 + zero, (long)arg); }

int main(int argc, char **argv) {
  pthread_attr_t a;
  pthread_t t;
  if (argc > 1) calls = atol(argv[1]);
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, 256 << 20);
  for (long i = 0; i < threads; i++) pthread_create(&t, &a, start, i ? (void *)1 : NULL);
  while (ready < threads) usleep(1000);
  write(1, "ready\n", 6);
  pthread_join(t, NULL);
  return 0;
}
