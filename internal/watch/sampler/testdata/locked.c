// A thread holds a lock for good, in flush_here; three others wait for it. The lock is a static variable. It says "ready"
// when all wait, or are about to.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

pthread_mutex_t cache_mu = PTHREAD_MUTEX_INITIALIZER;
static volatile int there;

__attribute__((noinline)) static void flush_here(void) {
  for (;;) usleep(500000);
}

static void *holder(void *unused) {
  pthread_setname_np(pthread_self(), "holder");
  pthread_mutex_lock(&cache_mu);
  __sync_fetch_and_add(&there, 1);
  flush_here();
  return unused;
}

__attribute__((noinline)) static void wait_here(void) {
  pthread_mutex_lock(&cache_mu);
  pthread_mutex_unlock(&cache_mu);
}

static void *waiter(void *unused) {
  pthread_setname_np(pthread_self(), "waiter");
  __sync_fetch_and_add(&there, 1);
  wait_here();
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
