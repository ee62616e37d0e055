// A thread holds a lock for half a second at a time, in flush_here; three others wait for it. The lock is a static
// variable. It says "ready" when all are there.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

pthread_mutex_t cache_mu = PTHREAD_MUTEX_INITIALIZER;
static volatile int there, turn;

__attribute__((noinline)) static void flush_here(void) { usleep(500000); }

static void *holder(void *unused) {
  pthread_setname_np(pthread_self(), "holder");
  for (;;) {
    pthread_mutex_lock(&cache_mu);
    __sync_fetch_and_add(&there, 1);
    flush_here();
    pthread_mutex_unlock(&cache_mu);
    usleep(20000);
  }
  return unused;
}

__attribute__((noinline)) static void wait_here(void) {
  pthread_mutex_lock(&cache_mu);
  pthread_mutex_unlock(&cache_mu);
}

static void *waiter(void *unused) {
  pthread_setname_np(pthread_self(), "waiter");
  __sync_fetch_and_add(&there, 1);
  for (;;) wait_here(), usleep(1000);
  return unused;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, holder, 0);
  while (there < 1) usleep(1000);
  for (int i = 0; i < 3; i++) pthread_create(&t, 0, waiter, 0);
  while (there < 4) usleep(1000);
  puts("ready");
  fflush(stdout);
  alarm(900);
  for (;;) pause();
}
