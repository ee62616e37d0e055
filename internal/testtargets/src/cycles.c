// Threads that wait for each other, or seem to: the first argument says how. It prints "ready" and numbers, and ends
// with its standard input.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mu[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t all_have_one;
static volatile int tids[3], started, holding;
static int timed;
static pthread_t first;

static void die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); close(0); }
static void forever(void) { for (;;) pause(); }
static void in_time(pthread_mutex_t *m) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += 3600;
  pthread_mutex_timedlock(m, &t);
}

static void *member(void *n_) {
  long n = (long)n_;
  tids[n] = syscall(SYS_gettid);
  pthread_mutex_lock(&mu[n]);
  __sync_fetch_and_add(&holding, 1);
  pthread_barrier_wait(&all_have_one);
  if (timed && n == 2) in_time(&mu[0]);
  else pthread_mutex_lock(&mu[(n + 1) % 3]);
  return 0;
}

static void *other(void *n) {
  __sync_fetch_and_add(&started, 1);
  if ((long)n % 2) pthread_mutex_lock(&mu[(long)n % 3]);
  else usleep(3600u * 1000000);
  return 0;
}

static void *joiner(void *unused) { // holds mu[0] and waits for the end of one that waits for mu[0]
  tids[0] = syscall(SYS_gettid);
  pthread_mutex_lock(&mu[0]);
  pthread_barrier_wait(&all_have_one);
  pthread_join(first, 0);
  return unused;
}
static void *joined(void *unused) {
  tids[1] = syscall(SYS_gettid);
  pthread_barrier_wait(&all_have_one);
  pthread_mutex_lock(&mu[0]);
  return unused;
}
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static void *writer(void *unused) { // has the rwlock to write, and wants the mutex
  tids[0] = syscall(SYS_gettid);
  pthread_rwlock_wrlock(&rw);
  pthread_barrier_wait(&all_have_one);
  pthread_mutex_lock(&mu[0]);
  return unused;
}
static void *reader(void *unused) {
  tids[1] = syscall(SYS_gettid);
  pthread_mutex_lock(&mu[0]);
  pthread_barrier_wait(&all_have_one);
  pthread_rwlock_rdlock(&rw);
  return unused;
}
static void *twice(void *unused) {
  tids[0] = syscall(SYS_gettid);
  pthread_mutex_lock(&mu[0]);
  pthread_mutex_lock(&mu[0]);
  return unused;
}

static pthread_mutex_t *shared(int robust) {
  pthread_mutex_t *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
  if (robust) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(m, &a);
  return m;
}

int main(int argc, char **argv) {
  char *how = argc > 1 ? argv[1] : "cycle";
  int crowd = argc > 2 ? atoi(argv[2]) : 0;
  pid_t child = 0;
  pthread_t t;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  if (!strcmp(how, "cycle") || !strcmp(how, "timed")) {
    timed = !strcmp(how, "timed");
    pthread_barrier_init(&all_have_one, 0, 3);
    for (long n = 0; n < 3; n++) pthread_create(&t, &small, member, (void *)n);
    while (holding < 3) usleep(1000); // else one of the crowd may have a lock before its member has
  } else if (!strcmp(how, "join")) {
    pthread_barrier_init(&all_have_one, 0, 2);
    pthread_create(&first, &small, joined, 0);
    pthread_create(&t, &small, joiner, 0);
  } else if (!strcmp(how, "rwlock") || !strcmp(how, "pi")) {
    if (!strcmp(how, "pi")) {
      pthread_mutexattr_t a;
      pthread_mutexattr_init(&a);
      pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
      pthread_mutex_init(&mu[0], &a);
    }
    pthread_barrier_init(&all_have_one, 0, 2);
    pthread_create(&t, &small, writer, 0);
    pthread_create(&t, &small, reader, 0);
  } else if (!strcmp(how, "twice")) {
    pthread_create(&t, &small, twice, 0);
  } else if (!strcmp(how, "fork")) { // the child has a copy of a lock that its parent holds
    pthread_mutex_lock(&mu[0]);
    if ((child = fork()) == 0) { die_with_parent(); pthread_mutex_lock(&mu[0]); forever(); }
  } else if (!strcmp(how, "shared")) { // a lock of two processes
    pthread_mutex_t *m = shared(0);
    pthread_mutex_lock(m);
    if ((child = fork()) == 0) { die_with_parent(); pthread_mutex_lock(m); forever(); }
  } else if (!strcmp(how, "both")) { // two locks of two processes, the wrong way round
    pthread_mutex_t *a = shared(0), *b = shared(0);
    pthread_mutex_lock(a);
    int p[2];
    char c;
    if (pipe(p)) return 1;
    if ((child = fork()) == 0) {
      die_with_parent();
      pthread_mutex_lock(b);
      if (write(p[1], "x", 1)) {}
      pthread_mutex_lock(a);
      forever();
    }
    if (read(p[0], &c, 1)) {}
    tids[0] = getpid();
    printf("ready %d %d %d %d\n", tids[0], tids[1], tids[2], child);
    fflush(stdout);
    pthread_mutex_lock(b);
  }
  for (long n = 0; n < crowd; n++) pthread_create(&t, &small, other, (void *)n);
  while (started < crowd) usleep(1000);
  usleep(50000);
  printf("ready %d %d %d %d\n", tids[0], tids[1], tids[2], child);
  fflush(stdout);
  char b;
  while (read(0, &b, 1) > 0) {}
  if (child) kill(child, SIGKILL);
  _exit(0);
}

// SPDX-License-Identifier: Apache-2.0
