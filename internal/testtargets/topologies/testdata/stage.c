// SPDX-License-Identifier: Apache-2.0

// A stage of a service: stage LOG IN-R IN-W OUT-R OUT-W [mutex] PHASE…, with descriptors, -1 for none.
// For each byte that it reads from IN, or without IN again and again, it goes through its phases: compute:MS, nap:MS,
// and call, which asks the stage at OUT. LOG gets the phases with their times. With mutex, another thread holds a mutex
// meanwhile, for which the first one waits.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static FILE *out;
static int in_r, in_w, out_r, out_w, phases;
static char **phase;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((always_inline)) static inline long long now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
__attribute__((noinline)) void compute(long ms) {
  for (long long end = now(CLOCK_MONOTONIC) + ms * 1000000; now(CLOCK_MONOTONIC) < end;) {
  }
}
__attribute__((noinline)) void nap(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}
__attribute__((noinline)) void call(void) {
  char c = 0;
  if (write(out_w, &c, 1) != 1 || read(out_r, &c, 1) != 1) exit(0);
}
__attribute__((noinline)) void handle(void) {
  for (int i = 0; i < phases; i++) {
    long long begun = now(CLOCK_REALTIME);
    char *ms = strchr(phase[i], ':');
    int length = ms ? (int)(ms - phase[i]) : (int)strlen(phase[i]);
    if (!ms)
      call();
    else if (!strncmp(phase[i], "nap", 3))
      nap(atol(ms + 1));
    else
      compute(atol(ms + 1));
    fprintf(out, "%.*s %lld %lld\n", length, phase[i], begun, now(CLOCK_REALTIME));
  }
}
static pthread_barrier_t begun, ended;
static void *holder(void *unused) {
  for (;;) {
    pthread_barrier_wait(&ended);
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&begun);
    handle();
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}
__attribute__((noinline)) void await_mutex(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
__attribute__((noinline)) void await_request(void) {
  char c;
  if (read(in_r, &c, 1) != 1) exit(0);
}

int main(int n, char **args) {
  out = fopen(args[1], "w");
  setvbuf(out, NULL, _IOLBF, 0);
  in_r = atoi(args[2]), in_w = atoi(args[3]), out_r = atoi(args[4]), out_w = atoi(args[5]);
  int locks = !strcmp(args[6], "mutex");
  phase = args + 6 + locks, phases = n - 6 - locks;
  if (locks) {
    pthread_t thread;
    pthread_barrier_init(&begun, NULL, 2);
    pthread_barrier_init(&ended, NULL, 2);
    pthread_create(&thread, NULL, holder, NULL);
  }
  for (;;) {
    if (in_r >= 0) await_request();
    if (locks) {
      pthread_barrier_wait(&ended);
      pthread_barrier_wait(&begun);
      await_mutex();
    } else
      handle();
    if (in_w >= 0 && write(in_w, "", 1) != 1) exit(0);
  }
}
