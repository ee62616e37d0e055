// Threads that wait for locks that a thread named "owner" holds, in C that any C library compiles. Each is named after
// its row. It prints "ready", the owner's number and the heir's, and ends when its standard input does.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t mu_normal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t mu_recursive, mu_errorcheck, mu_robust, mu_dead;
static volatile int heir_tid;
pthread_rwlock_t rw_written = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
sem_t sem;
static pthread_mutex_t cond_mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_t owner_thread;
static volatile int owner_tid;
static sem_t held, named;

static void name(const char *s) { prctl(PR_SET_NAME, s); }
static void forever(void) { for (;;) pause(); }

static void make(pthread_mutex_t *m, int type, int robust) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, type);
  if (robust) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(m, &a);
}

static void *owner(void *unused) {
  name("owner");
  owner_tid = syscall(SYS_gettid);
  pthread_mutex_lock(&mu_normal);
  pthread_mutex_lock(&mu_recursive);
  pthread_mutex_lock(&mu_errorcheck);
  pthread_mutex_lock(&mu_robust);
  pthread_rwlock_wrlock(&rw_written);
  sem_post(&held);
  forever();
  return unused;
}

static void *dying(void *unused) { pthread_mutex_lock(&mu_dead); return unused; }
static void *heir(void *unused) { // takes what the dead one held
  name("heir");
  heir_tid = syscall(SYS_gettid);
  pthread_mutex_lock(&mu_dead);
  sem_post(&held);
  forever();
  return unused;
}

static void *wait_mutex(void *m) { pthread_mutex_lock(m); forever(); return m; }
static void *wait_timed(void *m) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += 3600;
  pthread_mutex_timedlock(m, &t);
  return m;
}
static void *wait_read(void *l) { pthread_rwlock_rdlock(l); return l; }
static void *wait_write(void *l) { pthread_rwlock_wrlock(l); return l; }
static void *wait_cond(void *c) { pthread_mutex_lock(&cond_mu); pthread_cond_wait(c, &cond_mu); return c; }
static void *wait_sem(void *s) { sem_wait(s); return s; }
static void *wait_join(void *unused) { pthread_join(owner_thread, 0); return unused; }

struct row { const char *name; void *(*f)(void *); void *arg; };
static void *row(void *r_) { struct row *r = r_; name(r->name); sem_post(&named); return r->f(r->arg); }

int main(void) {
  make(&mu_recursive, PTHREAD_MUTEX_RECURSIVE, 0);
  make(&mu_errorcheck, PTHREAD_MUTEX_ERRORCHECK, 0);
  make(&mu_robust, PTHREAD_MUTEX_NORMAL, 1);
  make(&mu_dead, PTHREAD_MUTEX_NORMAL, 1);
  sem_init(&sem, 0, 0);
  sem_init(&held, 0, 0);
  sem_init(&named, 0, 0);
  pthread_t t;
  pthread_create(&owner_thread, 0, owner, 0);
  sem_wait(&held);
  pthread_create(&t, 0, dying, 0);
  pthread_join(t, 0);
  pthread_create(&t, 0, heir, 0);
  sem_wait(&held);
  struct row rows[] = {
    {"normal", wait_mutex, &mu_normal}, {"recursive", wait_mutex, &mu_recursive}, {"errorcheck", wait_mutex, &mu_errorcheck},
    {"robust", wait_mutex, &mu_robust}, {"timed", wait_timed, &mu_recursive}, {"rdlock", wait_read, &rw_written},
    {"wrlock", wait_write, &rw_written}, {"cond", wait_cond, &cond}, {"sem", wait_sem, &sem}, {"join", wait_join, 0},
    {"dead", wait_mutex, &mu_dead},
  };
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    pthread_create(&t, 0, row, &rows[i]);
    sem_wait(&named);
  }
  printf("ready %d %d\n", owner_tid, heir_tid);
  fflush(stdout);
  char b;
  while (read(0, &b, 1) > 0) {}
  _exit(0);
}
